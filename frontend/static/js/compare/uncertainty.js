// How sure a comparison is: draws of every figure within what its evidence lets one expect.
import { mount } from "../charts/base.js";
import { spread } from "../charts/spread.js";
import { percent, written } from "../format.js";
import { mark } from "../mark.js";
import { symbols } from "../symbols.js";
import { Analysis, notes, row, value } from "./analysis.js";
import { unitOf, write } from "./units.js";

const PERCENT = 100;
const tenths = written(1, PERCENT);

export function uncertainty(section) {
  const chart = mount("spread", spread);
  const fields = [...section.querySelectorAll('[data-ask="sigma"]')];

  return new Analysis(section, {
    asked() {
      const typed = fields.filter((field) => field.value !== "").map((field) => [field.dataset.kind, Number((field.valueAsNumber / PERCENT).toPrecision(12))]);
      return { draws: Number(value(section, "draws")), uncertain_prices: value(section, "uncertain_prices") === "true", ...(typed.length ? { sigmas: Object.fromEntries(typed) } : {}) };
    },
    show(answer) {
      for (const field of fields) field.value ||= String(Number((answer.assumptions.sigmas[field.dataset.kind] * PERCENT).toPrecision(6)));
      const outcome = answer.outcomes.find((each) => each.outcome === value(section, "outcome"));
      section.querySelector("[data-sentence]").replaceChildren(symbols(sentence(answer, outcome)));
      section.querySelector("[data-beaten]").replaceChildren(heading(answer));
      section.querySelector("[data-beats]").replaceChildren(...answer.scenarios.map((_, at) => beats(answer, outcome, at)));
      section.querySelector("[data-inputs]").replaceChildren(...answer.inputs.map((input) => figure(input, answer)));
      notes(section.querySelector("[data-notes]"), answer.notes);
      return chart.show({ ...answer, outcome });
    },
  });
}

function sentence({ scenarios, draws }, { best, best_error: error, label }) {
  if (best.some((share) => share === null)) return `${label} is not known of all of them.`;
  const first = best.indexOf(Math.max(...best));
  return `${scenarios[first].title} is best in ${label} in ${percent(best[first])} % of ${written(0)(draws)} draws (± ${tenths(error[first])}).`;
}

function heading({ scenarios }) {
  const element = document.createElement("tr");
  for (const [at, text] of ["", ...scenarios.map(({ title }) => `beats ${title}`), "is best"].entries()) {
    const cell = document.createElement(at ? "th" : "td");
    if (at) cell.scope = "col";
    cell.textContent = text;
    element.append(cell);
  }
  return element;
}

function beats({ scenarios }, { beats: shares, beats_error: errors, best, best_error: bestErrors }, at) {
  const told = (share, error) => (share == null ? "–" : `${percent(share)} ± ${tenths(error)}`);
  return row([scenarios[at].title, ...shares[at].map((share, other) => (other === at ? "–" : told(share, errors[at][other]))), told(best[at], bestErrors[at])]);
}

function figure({ label, unit, value: now, kind, source, sigma, used_in: used }, { scenarios }) {
  const titles = scenarios.filter(({ name }) => used.includes(name)).map(({ title }) => title);
  return row([{ nodes: [symbols(label)] }, { nodes: [write(unit, now), mark(kind, source)] }, { text: unitOf(unit), className: "text unit" }, tenths(sigma), { text: titles.length === scenarios.length ? "all" : titles.join(", "), className: "text wrap" }]);
}
