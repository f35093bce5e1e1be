// A measurement's errors over length: asks for the comparison that the page shows, and draws it.
import { get, Refused } from "./api.js";
import { accuracyResiduals } from "./charts/accuracy-residuals.js";
import { mount } from "./charts/base.js";

const section = document.querySelector("[data-accuracy]");

async function draw() {
  const chart = mount("accuracy-residuals", accuracyResiduals);
  try {
    await chart.show(await get(section.dataset.url));
    section.dataset.shown = "";
  } catch (error) {
    const place = section.querySelector("[data-charts-error]");
    place.textContent = `The chart could not be had: ${error.message} Reload to try again.`;
    place.hidden = false;
    if (!(error instanceof Refused)) reportError(error);
  }
}

if (section) await draw();
