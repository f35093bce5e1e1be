// What is worked out beside the table, one part of the page each.
import { attribution } from "./attribution.js";
import { breakEven } from "./break-even.js";
import { growth } from "./growth.js";
import { sensitivity } from "./sensitivity.js";
import { uncertainty } from "./uncertainty.js";

const PARTS = { attribution, breakEven, growth, sensitivity, uncertainty };

export function analyses(place) {
  const parts = [...place.querySelectorAll("[data-analysis]")].map((section) => PARTS[section.dataset.analysis](section));
  return {
    show: (spec, names) => parts.forEach((part) => part.show(spec, names)),
    // Without waiting until they come into view.
    askAll: () => Promise.all(parts.map((part) => part.ask())),
  };
}
