// Progress of a running job: bar, count, rate over the last seconds, and how long it will take.
import { written } from "./format.js";
import { duration, moment } from "./time.js";

const WINDOW_MS = 10000;
const [whole, tenths] = [written(0), written(1)];

export class Progress {
  constructor(page) {
    this.page = page;
    this.seen = [];
    this.ticking = setInterval(() => this.tick(), 1000);
  }

  stop() {
    clearInterval(this.ticking);
  }

  show(job) {
    if (job.attempt !== this.job?.attempt || job.done < (this.job?.done ?? 0)) this.seen = [];
    this.job = job;
    const now = performance.now();
    this.seen = [...this.seen, { at: now, done: job.done }].filter(({ at }) => now - at < WINDOW_MS);
    const bar = this.page.querySelector("[data-progress]");
    bar.max = job.total || 1;
    bar.value = job.done;
    this.state(job);
    // How much there is to do, a worker says as it begins.
    this.fact("done", job.total ? `${whole(job.done)} / ${whole(job.total)}` : "–");
    this.fact("attempt", String(job.attempt));
    this.fact("started", job.started_at ? moment(job.started_at) : "–");
    this.page.querySelector("[data-attempt]").hidden = job.attempt < 2;
    this.estimate(job);
    this.tick();
  }

  state(job) {
    const place = this.page.querySelector("[data-state-text]");
    place.className = `state state-${job.state}`;
    place.textContent = job.state;
    const message = job.cancel_requested ? "Cancelling…" : job.state === "queued" ? "Waits for a worker." : job.message;
    this.write("[data-message]", message);
  }

  estimate(job) {
    const first = this.seen[0];
    const last = this.seen.at(-1);
    const rate = last.at > first.at ? (1000 * (last.done - first.done)) / (last.at - first.at) : 0;
    this.fact("rate", rate > 0 ? (rate < 1000 ? tenths : whole)(rate) : "–");
    this.fact("eta", rate > 0 ? duration((job.total - job.done) / rate) : "–");
  }

  tick() {
    if (!this.job) return;
    this.fact("elapsed", this.job.started_at ? duration((Date.now() - Date.parse(this.job.started_at)) / 1000) : "–");
  }

  fact(name, text) {
    this.write(`[data-fact="${name}"]`, text);
  }

  write(selector, text) {
    const place = this.page.querySelector(selector);
    if (place && place.textContent !== text) place.textContent = text;
  }
}
