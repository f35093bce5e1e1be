// A study on its job's page: what the replications that have ended say while it runs, then its charts.
import { get } from "./api.js";
import { mount } from "./charts/base.js";
import { studyDifferences, studyStages, studyTtft } from "./charts/study.js";
import { PartEnds, showOnce } from "./part-ends.js";

const CHARTS = { "study-ttft": studyTtft, "study-differences": studyDifferences, "study-stages": studyStages };

export function variantsSoFar(place) {
  const chart = mount("study-ttft", studyTtft);
  return new PartEnds(async () => {
    const found = await get(place.dataset.variants).catch(() => null); // the next one's end asks again
    if (!found?.chart) return;
    showOnce();
    place.textContent = `So far, of ${found.ended} of ${found.parts} replications. ${found.headline}`;
    chart.show(found.chart);
  });
}

export function showStudy(found) {
  for (const [name, chart] of Object.entries(CHARTS)) {
    if (document.querySelector(`[data-chart="${name}"]`)) mount(name, chart).show(found);
  }
}
