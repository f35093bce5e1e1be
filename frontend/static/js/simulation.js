// A simulation on its job's page: what the replications that have ended say while it runs, then its charts.
import { get } from "./api.js";
import { mount } from "./charts/base.js";
import { egressOverTime, inSystem, thresholdOverTime } from "./charts/over-time.js";
import { ttft } from "./charts/ttft.js";
import { PartEnds } from "./part-ends.js";

const CHARTS = { ttft, "egress-time": egressOverTime, "threshold-time": thresholdOverTime, "in-system": inSystem };

// What the replications that have ended say.
export function replicationsSoFar(place) {
  return new PartEnds(async () => {
    const found = await get(place.dataset.replications).catch(() => null); // the next one's end asks again
    if (found?.ended) place.textContent = `So far, of ${found.ended} of ${found.parts} replications. ${found.headline}`;
  });
}

export function showSimulation(found) {
  for (const [name, chart] of Object.entries(CHARTS)) {
    if (document.querySelector(`[data-chart="${name}"]`)) mount(name, chart).show(found);
  }
}
