// What is looked at, as it is chosen: watch, link, time, zone; and what the toolbar says of the view and the connection.
import { attribute, hide, text } from "./dom.js";
import { DAY, RANGES, spelled, within } from "./view.js";
import { age, clock, fromField, moment, toField, utc, zoneName } from "./zone.js";

const find = (name) => document.querySelector(`[data-${name}]`);
const all = (name) => document.querySelectorAll(`[data-${name}]`);
const CONNECTION = { connecting: "connecting", live: "live", polling: "polling: the websocket fails, asked every 2 s", reconnecting: "reconnecting", stale: "stale since" };

export class Toolbar {
  // `change(part of a view)` and `act(name)` are the page's.
  constructor(change, act, present) {
    Object.assign(this, { change, act, present });
    find("watch").addEventListener("change", ({ target }) => change({ watch: target.value, link: "" }));
    find("link-filter").addEventListener("change", ({ target }) => change({ link: target.value }));
    find("ranges").addEventListener("change", ({ target }) => this.range(target.value));
    find("zones").addEventListener("change", ({ target }) => change({ zone: target.value }));
    find("past").addEventListener("change", ({ target }) => change({ past: target.checked }));
    find("custom").addEventListener("submit", (event) => this.custom(event));
    for (const name of ["pause", "back", "forward", "follow", "annotate", "permalink", "kiosk", "help", "edit-watch", "new-watch"]) {
      for (const button of all(name)) button.addEventListener("click", () => act(name));
    }
  }

  range(value) {
    hide(find("custom"), value !== "custom");
    if (value === "custom") return find("custom").elements.from.focus();
    return this.change({ range: RANGES.find((each) => spelled(each) === value) });
  }

  custom(event) {
    event.preventDefault();
    const [from, to] = ["from", "to"].map((name) => fromField(find("custom").elements[name].value, this.view.zone));
    const wrong = from === null || to === null ? "Type both times." : to <= from ? "The end must be after the beginning." : to - from > 31 * DAY ? "At most 31 days are shown." : to > this.present() ? "The end lies in the future." : "";
    text(find("custom-error"), wrong);
    if (!wrong) this.change({ range: within(to - from), end: to });
  }

  // --- what is chosen ---

  show(view, watches, linkNames) {
    this.view = view;
    this.choose(find("watch"), watches.map(({ name, title }) => [name, title || name]), view.watch);
    this.choose(find("link-filter"), [["", "all"], ...linkNames.map((name) => [name, name])], view.link);
    hide(find("link-choice"), linkNames.length < 2 && !view.link);
    const known = RANGES.includes(view.range) ? spelled(view.range) : "custom";
    for (const radio of find("ranges").elements) radio.checked = radio.value === known;
    for (const radio of find("zones").elements) radio.checked = radio.value === view.zone;
    find("past").checked = view.past;
    this.showTimes(view, known);
    this.showPause(view);
  }

  choose(select, options, value) {
    const there = [...select.options].map((option) => `${option.value}=${option.text}`).join();
    if (there !== options.map(([key, name]) => `${key}=${name}`).join()) select.replaceChildren(...options.map(([key, name]) => new Option(name, key)));
    if (select.value !== value) select.value = value;
  }

  showTimes(view, known) {
    const form = find("custom");
    hide(form, known !== "custom");
    const end = view.end ?? this.present();
    form.elements.from.value = toField(end - view.range, view.zone);
    form.elements.to.value = toField(end, view.zone);
    text(find("custom-zone"), zoneName(view.zone, end));
    text(find("custom-error"), "");
  }

  showPause(view) {
    const isPaused = view.end !== null;
    attribute(find("pause"), "aria-pressed", isPaused);
    text(find("pause"), isPaused ? "Resume" : "Pause");
    find("forward").disabled = find("follow").disabled = !isPaused;
    const place = find("paused");
    hide(place, !isPaused);
    text(place, isPaused ? `Paused: shown is ${moment(view.end - view.range, view.zone)} to ${moment(view.end, view.zone)} (${zoneName(view.zone, view.end)}). The present goes on unseen.` : "");
    if (isPaused) place.title = `${utc(view.end - view.range)} to ${utc(view.end)}`;
  }

  // --- what is heard ---

  showConnection(state, lastMs, zone) {
    attribute(find("connection"), "data-connection", state);
    text(find("connection-text"), state === "stale" ? `${CONNECTION.stale} ${clock(lastMs, zone)}, reconnecting` : CONNECTION[state]);
  }

  showProblem(problem) {
    hide(find("history-problem"), !problem);
    text(find("history-problem"), problem ? `What was before could not be had, and is asked for again: ${problem}` : "");
  }

  tick(nowMs, lastMs, zone) {
    text(find("clock"), `${clock(nowMs, zone)} ${zone === "utc" ? "UTC" : ""}`);
    attribute(find("clock"), "title", `the server's time: ${utc(nowMs)}`);
    text(find("connection-age"), lastMs === null || nowMs - lastMs < 3000 ? "" : `(${age(nowMs - lastMs)})`);
  }
}

// A notice stays until another takes its place.
export function notice(said) {
  hide(find("notice"), !said);
  text(find("notice"), said);
}

// Nothing was ever sent, or not in this time, or all that is measured is shown because nobody has said what is one
// deployment. `silence` says that nothing is known of what is looked at.
export function showEmpty({ isStored, hasSources, hasWatches, isSignedIn, silence }) {
  hide(find("empty-state"), hasSources && isStored && !silence);
  hide(find("empty-sources"), hasSources);
  hide(find("empty-telemetry"), !silence || !hasSources);
  text(find("empty-telemetry"), silence);
  hide(find("empty-watches"), isStored);
  hide(find("watched"), !hasSources || !hasWatches);
  hide(find("edit-watch"), !isStored || !isSignedIn);
  for (const button of document.querySelectorAll(".toolbar [data-new-watch]")) hide(button, !isSignedIn || !isStored);
  text(find("empty-title"), !hasSources ? "Nothing was ever sent" : silence ? "Nothing to show" : "Everything that is measured");
}
