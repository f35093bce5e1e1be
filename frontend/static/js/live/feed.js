// The grid of the view that is looked at: its history from the server, then each snapshot's points; another grid for the
// same time a day before. What is shown stays until what replaces it is there.
import { get } from "../api.js";
import { Grid } from "./grid.js";
import { DAY } from "./view.js";

const MOST_POINTS = 600;
const LEAST_STEP_MS = 1000;
// Snapshots that history may not have yet.
const RECENT = 30;
// History is some seconds behind what is heard, on a machine that is busy by more.
const BEHIND_MS = 60_000;
// What comes in turn within this time has nothing missing between.
const BEAT_MS = 3500;
const RETRY_MS = 5000;
// A rate of now is that of the last ten seconds; the past, which is told by shorter steps, is drawn the same.
const RATE_MS = 10_000;
// At least.
const WRITTEN_EVERY_MS = 11 * 60_000;
const RATES = /^(egress_bps|ingress_bps|link_utilisation|kv_bps|resent|dropped_pps|requests_rps|failed_rps|(in|out)put_tps|cached_tps)(\.|$)/;

// What is kept of a snapshot; `before` is the one before it, if none is missing between.
function tickOf({ ts_ms: ts, watches }, before) {
  const points = Object.fromEntries(watches.map(({ name, points: own }) => [name, own]));
  return { ts_ms: ts, points, bridged: before && ts - before.ts_ms <= BEAT_MS ? before.ts_ms : null };
}

export class Feed {
  // `onHole(ms)` asks for what was said from then on, and was not heard.
  constructor(api, clock, onChange, onHole) {
    Object.assign(this, { api, clock, onChange, onHole, view: null, grid: null, past: null, lengths: null, recent: [], asked: 0, problem: "", reason: null });
  }

  get end() {
    return this.view.end ?? this.clock.now();
  }

  // --- history ---

  async load(view) {
    this.view = view;
    const asked = (this.asked += 1);
    clearTimeout(this.retrying);
    if (!view.watch) return this.put(this.empty(this.end), null, null);
    const { end } = this;
    const [history, past, reason] = await Promise.all([this.history(end, view.range), this.before(end), this.said(view)]);
    if (asked !== this.asked) return undefined; // somebody looks at something else by now
    this.problem = history.problem ?? "";
    this.reason = reason;
    if (history.problem) this.retrying = setTimeout(() => this.load(view), RETRY_MS);
    // What is shown stays; nothing that could take its place has come.
    if (history.problem && this.grid && this.drawn === view.watch) return this.onChange();
    return this.put(this.filled(history, end, view.range), past, history.lengths ?? null);
  }

  put(grid, past, lengths) {
    Object.assign(this, { grid, past, lengths, drawn: this.view.watch });
    if (this.view.end === null) this.catchUp();
    this.onChange();
  }

  // The day before, some way ahead of the present, so that it need not be asked for each second.
  async before(end) {
    const { past, range, end: stop } = this.view;
    if (!past) return null;
    const ahead = stop === null ? range / 4 : 0;
    const history = await this.history(end - DAY + ahead, range + ahead);
    return history.problem ? null : this.filled(history, end - DAY + ahead, range + ahead);
  }

  // What was recommended at a moment that lies back, and why: what was written last before it.
  async said({ watch, end }) {
    if (end === null) return null;
    const answer = await get(`${this.api}watches/${encodeURIComponent(watch)}/recommendations/?end=${Math.round(end)}&page_size=1`).catch(() => null);
    const found = answer?.results?.[0];
    return found && end - found.at_ms <= WRITTEN_EVERY_MS ? found : null;
  }

  async history(end, range) {
    const { watch } = this.view;
    const query = new URLSearchParams({ start: Math.round(end - range), end: Math.round(end), points: MOST_POINTS });
    return get(`${this.api}watches/${encodeURIComponent(watch)}/history/?${query}`).catch(({ message }) => ({ problem: message }));
  }

  filled(history, end, range) {
    if (history.problem) return this.empty(end);
    const grid = new Grid(Math.max(LEAST_STEP_MS, history.step_ms), range, end);
    grid.fill(history);
    grid.trail(RATES, RATE_MS);
    grid.divide("offload", "requests_rps.remote", ["requests_rps.remote", "requests_rps.local"]);
    return grid;
  }

  empty(end) {
    const step = LEAST_STEP_MS * Math.ceil(this.view.range / MOST_POINTS / LEAST_STEP_MS);
    return new Grid(step, this.view.range, end);
  }

  // History is some seconds behind what was sent.
  catchUp() {
    this.mend();
    const known = this.grid.isFilled ? this.newest() : -Infinity;
    for (const each of this.recent) if (each.ts_ms > known) this.append(each);
  }

  // Between the end of history and the first that is heard nothing is to be missing.
  mend() {
    const [first] = this.recent;
    if (!first || !this.grid.isFilled) return;
    const from = Math.max(this.newest() + this.grid.step, first.ts_ms - BEHIND_MS);
    if (first.ts_ms - from > BEAT_MS) this.onHole(from);
  }

  newest() {
    for (let at = this.grid.size - 1; at >= 0; at -= 1) {
      for (const { mean } of this.grid.lines.values()) if (!Number.isNaN(mean[at])) return this.grid.times[at];
    }
    return -Infinity;
  }

  // --- snapshots ---

  take(snapshot, isNext) {
    const tick = tickOf(snapshot, isNext ? this.recent.at(-1) : null);
    const isFirst = !this.recent.length;
    this.keep([tick]);
    if (!this.grid || this.view.end !== null) return;
    if (isFirst) this.mend();
    this.append(tick);
  }

  // The latest, in the order of their times.
  keep(ticks) {
    this.recent.push(...ticks);
    this.recent.sort((a, b) => a.ts_ms - b.ts_ms);
    this.recent.splice(0, this.recent.length - RECENT);
  }

  append({ ts_ms: ts, points, bridged }) {
    const of = points[this.view.watch];
    if (!of) return this.grid.advance(ts);
    // A beat that fell over the edge of its step leaves no gap, as nothing was sent between.
    for (let at = (bridged ?? ts) + this.grid.step; at < ts - this.grid.step / 2; at += this.grid.step) {
      if (this.grid.place(at) !== this.grid.place(ts) && this.isUnknown(at)) this.grid.add(at, of);
    }
    this.grid.add(ts, of);
  }

  isUnknown(ms) {
    const at = this.grid.place(ms);
    return at >= 0 && [...this.grid.lines.values()].every(({ count }) => !count[at]);
  }

  // Those that were asked for afterwards.
  takeMissed(snapshots) {
    const heard = new Set(this.recent.map(({ ts_ms: ts }) => ts));
    const ticks = [];
    for (const snapshot of snapshots) if (!heard.has(snapshot.ts_ms)) ticks.push(tickOf(snapshot, ticks.at(-1)));
    this.keep(ticks);
    if (!this.grid || this.view.end !== null) return;
    for (const tick of ticks.filter(({ ts_ms: ts }) => this.isUnknown(ts))) this.append(tick);
  }

  // The axis goes on also when nothing comes: a gap is seen to grow.
  advance() {
    if (this.view?.end !== null || !this.grid) return;
    const now = this.clock.now();
    this.grid.advance(now);
    if (this.past && this.past.last * this.past.step < now - DAY) this.goOn(this.view);
  }

  // The day before goes on too.
  async goOn(view) {
    if (this.isGoingOn) return;
    this.isGoingOn = true;
    const past = await this.before(this.clock.now());
    this.isGoingOn = false;
    if (view === this.view && past) this.past = past;
  }
}
