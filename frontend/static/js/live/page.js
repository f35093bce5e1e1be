// The SRE's screen: joins the stream of snapshots, the history of what is looked at, the strip, the charts and the keys.
import { get } from "../api.js";
import { palette } from "../charts/style.js";
import { copied, showLog, showRefit, showRouter } from "./advice-dialogs.js";
import { showAlerts, showEvents, showHealth } from "./below.js";
import { live } from "./chart.js";
import { CHARTS } from "./charts.js";
import { Clock } from "./clock.js";
import { Dialogs } from "./dialogs.js";
import { attribute, hide } from "./dom.js";
import { Feed } from "./feed.js";
import { listenToKeys } from "./keys.js";
import { Notes } from "./notes.js";
import { isAnythingSaid, momentOf, nothingOf } from "./moment.js";
import { Stream } from "./stream.js";
import { showStrip } from "./strip.js";
import { notice, showEmpty, Toolbar } from "./toolbar.js";
import { RANGES, read, within, written } from "./view.js";
import { unshifted } from "./zone.js";

const told = JSON.parse(document.getElementById("live-data").textContent);
const root = document.documentElement;
const BEAT_MS = 1000;
const HEADROOM = 0.1;

class Screen {
  constructor() {
    this.clock = new Clock(told.now_ms);
    this.dialogs = new Dialogs(told);
    this.toolbar = new Toolbar((part) => this.change(part), (name) => this.act(name), () => this.clock.now());
    this.notes = new Notes(told.api);
    this.feed = new Feed(told.api, this.clock, () => this.draw(), (ms) => this.stream?.recallFrom(ms));
    this.watches = [];
    this.snapshot = this.frozen = null;
    const { view, unusable } = read(location.search);
    this.view = view;
    if (unusable.length) notice(`The address held no usable value for: ${unusable.join(", ")}. Shown as usual.`);
    this.charts = Object.entries(CHARTS).map(([name, chart]) => live(name, chart, (range) => this.zoomed(range)));
    listenToKeys(this.keys());
    addEventListener("popstate", () => this.look(read(location.search).view));
    document.addEventListener("visibilitychange", () => this.beat());
    document.querySelector("[data-objective]").addEventListener("change", ({ target }) => this.setObjective(target));
    for (const button of document.querySelectorAll("[data-enter]")) button.addEventListener("click", () => this.enter(button.dataset.enter));
    for (const button of document.querySelectorAll("[data-router]")) button.addEventListener("click", () => showRouter(this.dialogs.watch(this.view.watch), button.dataset.router));
    document.querySelector("[data-log]").addEventListener("click", () => showLog(this.dialogs.watch(this.view.watch), this.view.zone, this.view.end));
    document.querySelector("[data-refit]").addEventListener("click", () => showRefit(this.dialogs.watch(this.view.watch), told.login, told.signed_in));
    document.querySelector("[data-events]").addEventListener("click", ({ target }) => target.dataset.note && this.changeNote(Number(target.dataset.note)));
    for (const chart of this.charts) chart.plot.addEventListener("dblclick", () => this.view.end !== null && this.act("follow"));
    this.begin();
  }

  async begin() {
    await this.askWatches();
    this.look(this.view);
    this.stream = new Stream(told, this.clock, {
      onTick: (snapshot, isNext) => this.take(snapshot, isNext),
      onMissed: (snapshots) => { this.feed.takeMissed(snapshots); this.draw(); },
      onGap: () => this.feed.load(this.view),
      onState: () => this.beat(),
    });
    setInterval(() => this.beat(), BEAT_MS);
  }

  async askWatches() {
    const answer = await get(`${told.api}watches/`).catch(() => null);
    if (answer) this.watches = answer.results ?? answer;
  }

  // --- what is looked at ---

  // Everything that somebody chooses has an address, and the browser's back button leads back.
  change(part) {
    const view = { ...this.view, ...part };
    if (written(view) !== written(this.view)) history.pushState(null, "", `${location.pathname}${written(view)}`);
    this.look(view);
  }

  look(view) {
    const before = this.view;
    this.view = { ...view, watch: view.watch || this.names()[0] || "" };
    if (view.end === null) this.frozen = null;
    root.toggleAttribute("data-kiosk", view.kiosk);
    this.askNotes();
    const isSame = this.feed.grid && ["watch", "range", "end", "past"].every((name) => before[name] === this.view[name]);
    if (isSame) this.feed.view = this.view;
    else this.feed.load(this.view);
    this.draw();
  }

  names() {
    return this.watches.length ? this.watches.map(({ name }) => name) : this.snapshot?.watches.map(({ name }) => name) ?? [];
  }

  zoomed(range) {
    if (!range) return;
    const [from, to] = range.map((at) => unshifted(typeof at === "number" ? at : Date.parse(`${at.replace(" ", "T")}Z`), this.view.zone));
    const end = Math.min(to, this.clock.now());
    this.change({ range: within(end - from), end: Math.round(end) });
  }

  scrub(direction) {
    const end = (this.view.end ?? this.clock.now()) + (direction * this.view.range) / 2;
    this.change({ end: end >= this.clock.now() ? null : Math.round(end) });
  }

  // What is seen when somebody pauses stays seen, its sentence too.
  pause() {
    if (this.view.end !== null) return this.change({ end: null });
    const end = Math.round(this.clock.now());
    this.frozen = { end, snapshot: this.snapshot };
    return this.change({ end });
  }

  act(name) {
    const actions = {
      pause: () => this.pause(), back: () => this.scrub(-1), forward: () => this.scrub(1), follow: () => this.change({ end: null }),
      kiosk: () => this.kiosk(), help: () => this.dialogs.help(), permalink: () => this.copyLink(), annotate: () => this.annotate(),
      "new-watch": () => this.dialogs.editWatch(null, (watch) => this.stored(watch)),
      "edit-watch": () => this.dialogs.editWatch(this.watch(), (watch) => this.stored(watch)),
    };
    actions[name]();
  }

  keys() {
    const ranges = Object.fromEntries(RANGES.map((range, at) => [String(at + 1), () => this.change({ range })]));
    return {
      ...ranges, " ": () => this.pause(), ArrowLeft: () => this.scrub(-1), ArrowRight: () => this.scrub(1), l: () => this.change({ end: null }),
      y: () => this.change({ past: !this.view.past }), z: () => this.change({ zone: this.view.zone === "utc" ? "local" : "utc" }),
      a: () => this.annotate(), c: () => this.copyLink(), k: () => this.kiosk(), "?": () => this.dialogs.help(),
      Escape: () => this.view.kiosk && this.kiosk(),
    };
  }

  kiosk() {
    const kiosk = !this.view.kiosk;
    this.change({ kiosk });
    // A browser may refuse: then the page alone is without its bar.
    if (kiosk) root.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
  }

  async copyLink() {
    const view = { ...this.view, end: this.view.end ?? Math.round(this.clock.now()) };
    const address = `${location.origin}${location.pathname}${written(view)}`;
    notice((await copied(address)) ? `Copied: ${address}` : `The address of this view: ${address}`);
  }

  annotate() {
    const from = this.view.end ?? this.clock.now();
    this.dialogs.annotate({ watch: this.watch() ? this.view.watch : "", ts_ms: from }, this.view.zone, () => this.askNotes());
  }

  // Nothing is answered where it was deleted.
  changeNote(id) {
    const note = this.notes.known.get(id);
    if (!note) return;
    this.dialogs.annotate(note, this.view.zone, (answer) => {
      if (!answer) this.notes.drop(id);
      this.askNotes();
    });
  }

  askNotes() {
    return this.notes.load(this.view, this.clock.now()).then(() => this.draw());
  }

  // --- the watch ---

  // Open at once; others enter values too, so that what is there already is asked for anew.
  enter(what) {
    const tell = this.dialogs.enter(this.view.watch, what, this.view.zone, () => this.watch()?.entered ?? {}, () => this.askWatches());
    if (told.signed_in) this.askWatches().then(tell);
  }

  watch() {
    return this.watches.find(({ name }) => name === this.view.watch) ?? null;
  }

  // Nothing where it was deleted.
  async stored(watch) {
    await this.askWatches();
    this.change({ watch: watch?.name ?? "", link: "" });
    this.draw();
  }

  async setObjective({ value }) {
    const place = document.querySelector("[data-objective]");
    const problem = document.querySelector("[data-objective-error]");
    place.dataset.pending = "yes";
    problem.textContent = "";
    await this.dialogs.setObjective(this.view.watch, value).catch(({ message }) => { problem.textContent = message; });
    await this.askWatches();
    delete place.dataset.pending;
    this.draw();
  }

  // --- what is heard ---

  take(snapshot, isNext) {
    this.clock.hear(snapshot.ts_ms);
    const isFirst = !this.snapshot;
    this.snapshot = snapshot;
    this.notes.take(snapshot.notes ?? []);
    this.feed.take(snapshot, isNext);
    const names = snapshot.watches.map(({ name }) => name).join();
    if (names !== this.heardNames) this.askAgain(names);
    if (isFirst && !this.view.watch) this.look(this.view);
    this.beat();
  }

  // Watches were made or removed, here or by somebody else: who has not chosen one is led to the first.
  async askAgain(names) {
    const isNew = this.heardNames !== undefined;
    this.heardNames = names;
    if (isNew) await this.askWatches();
    const isChosen = read(location.search).view.watch !== "";
    if (!isChosen && !this.names().includes(this.view.watch)) this.look({ ...this.view, watch: "" });
    this.draw();
  }

  beat() {
    if (document.hidden) return;
    this.feed.advance();
    if (this.view.end === null && this.notes.isDue(this.clock.now())) this.askNotes();
    this.draw();
  }

  // --- what is shown ---

  draw() {
    if (this.isDue || document.hidden) return;
    this.isDue = true;
    // However much is heard, it is drawn once a frame.
    requestAnimationFrame(() => {
      this.isDue = false;
      if (!document.hidden) this.show();
    });
  }

  shown() {
    const { view, snapshot, feed } = this;
    const end = view.end ?? this.clock.now();
    const isPaused = view.end !== null;
    const kept = isPaused && this.frozen?.end === view.end ? this.frozen.snapshot : isPaused ? null : snapshot;
    const now = kept?.watches.find(({ name }) => name === view.watch) ?? null;
    const isPast = isPaused && !now;
    const watch = this.watch();
    return {
      view, end, start: end - view.range, grid: feed.grid, past: view.past ? feed.past : null, nowMs: this.clock.now(), isTold: Boolean(now), notes: this.notes.of(view.watch, end), unheardNotes: this.notes.more,
      now: now ?? (feed.grid ? momentOf(feed.grid, end, view.watch) : null), isPast, alerts: snapshot?.alerts ?? [],
      headroom: watch?.headroom ?? HEADROOM, objective: watch?.objective ?? "throughput", isSignedIn: told.signed_in, isStored: Boolean(watch), scenario: watch?.scenario ?? "",
      isStale: !isPaused && this.isStale, silentSince: !isPaused && this.isStale ? this.stream.last.ts_ms : null,
      reason: isPast ? feed.reason : null, lengths: isPast ? feed.lengths : now?.lengths ?? feed.lengths,
    };
  }

  get isStale() {
    return this.stream?.state === "stale";
  }

  show() {
    const shown = this.shown();
    const { view, nowMs } = shown;
    const last = this.stream?.last ?? null;
    attribute(document.querySelector("[data-live]"), "data-stale", this.isStale ? "" : null);
    this.toolbar.show(view, this.offered(), this.linkNames(shown));
    this.toolbar.showConnection(this.stream?.state ?? "connecting", last?.ts_ms ?? nowMs, view.zone);
    this.toolbar.tick(nowMs, last?.ts_ms ?? null, view.zone);
    const { sources = [] } = this.snapshot ?? {};
    // Before it is known what there is, nothing is shown that might be taken away again.
    if (this.snapshot && (this.feed.drawn || !this.names().length)) this.showWhatThereIs(shown, sources.length > 0);
    showAlerts(shown.alerts, view.zone, nowMs);
    showEvents(shown);
    showHealth(sources, last ? Math.max(0, nowMs - last.ts_ms) : 0);
    this.toolbar.showProblem(this.feed.problem);
    if (!shown.grid || !shown.now || !view.watch) return;
    showStrip(shown);
    // The figures are on the screen before the charts are drawn, which takes longer.
    requestAnimationFrame(() => this.showCharts(this.shown()));
  }

  showWhatThereIs(shown, hasSources) {
    const isBlank = shown.grid.lines.size === 0 && !shown.lengths?.bounds.length && !this.feed.problem;
    const silence = isBlank && this.view.watch ? nothingOf(shown) : "";
    showEmpty({ isStored: shown.isStored, hasWatches: this.names().length > 0, hasSources, isSignedIn: told.signed_in, silence });
    hide(document.querySelector("[data-charts]"), isBlank);
    hide(document.querySelector("[data-strip]"), isBlank && !isAnythingSaid(shown.now));
  }

  // What the address asks for is offered even if it is not there (any more).
  offered() {
    const names = this.names();
    const known = names.map((name) => this.watches.find((watch) => watch.name === name) ?? this.snapshot.watches.find((watch) => watch.name === name));
    return this.view.watch && !names.includes(this.view.watch) ? [...known, { name: this.view.watch, title: `${this.view.watch}: not watched` }] : known;
  }

  linkNames({ grid, now }) {
    return [...new Set([...(now?.links ?? []).map(({ name }) => name), ...(grid?.keys("egress_bps") ?? []).map((key) => key.slice("egress_bps.".length))])].sort();
  }

  showCharts(shown) {
    if (document.hidden || !shown.grid || !shown.now) return;
    palette();
    const advice = shown.now.advice && !shown.now.advice.problems.length ? shown.now.advice : null;
    const data = { ...shown, advice, current: shown.now.threshold_tokens.value };
    // What is paused does not change: it is drawn when something of it does.
    const key = this.view.end === null ? null : JSON.stringify([this.view, this.feed.asked, shown.notes, shown.grid.isFilled]);
    if (key !== null && key === this.drawnKey && this.drawnGrid === shown.grid) return;
    Object.assign(this, { drawnKey: key, drawnGrid: shown.grid });
    for (const chart of this.charts) chart.show(data);
  }
}

new Screen();
