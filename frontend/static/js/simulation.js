// A simulation on its job's page: what the replications that have ended say while it runs, then its charts.
import { get } from "./api.js";
import { mount } from "./charts/base.js";
import { egressOverTime, inSystem, thresholdOverTime } from "./charts/over-time.js";
import { ttft } from "./charts/ttft.js";

const ASK_EVERY_MS = 1000;
const CHARTS = { ttft, "egress-time": egressOverTime, "threshold-time": thresholdOverTime, "in-system": inSystem };

// Asked for whenever one more has ended.
export class Replications {
  constructor(place) {
    this.place = place;
    this.ask();
  }

  heard({ message }) {
    if (message === this.message) return;
    this.message = message;
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.ask(), Math.max(0, (this.askedAt ?? 0) + ASK_EVERY_MS - performance.now()));
  }

  async ask() {
    this.askedAt = performance.now();
    const found = await get(this.place.dataset.replications).catch(() => null); // the next one's end asks again
    if (found?.ended) this.place.textContent = `So far, of ${found.ended} of ${found.parts} replications. ${found.headline}`;
  }
}

export function showSimulation(found) {
  for (const [name, chart] of Object.entries(CHARTS)) {
    if (document.querySelector(`[data-chart="${name}"]`)) mount(name, chart).show(found);
  }
}
