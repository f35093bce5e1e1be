// A simulation on its job's page: what the replications that have ended say while it runs, then its charts.
import { get } from "./api.js";
import { mount } from "./charts/base.js";
import { ttft } from "./charts/ttft.js";
import { Explorer } from "./explorer.js";
import { PartEnds, showOnce } from "./part-ends.js";

const has = (name) => document.querySelector(`[data-chart="${name}"]`);

// What the replications that have ended say.
export function replicationsSoFar(place) {
  const [times, time] = [mount("ttft", ttft), new Explorer()];
  return new PartEnds(async () => {
    const found = await get(place.dataset.replications).catch(() => null); // the next one's end asks again
    if (!found?.chart) return;
    showOnce();
    const soFar = `${found.ended} of ${found.parts}`;
    place.textContent = `So far, of ${soFar} replications. ${found.headline}`;
    times.show({ ...found.chart, so_far: soFar });
    time.show({ ...found.chart, so_far: soFar });
  });
}

export function showSimulation(found) {
  if (has("ttft")) mount("ttft", ttft).show(found);
  if (has("over-time")) new Explorer().show(found);
}
