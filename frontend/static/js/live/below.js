// Below the charts: alerts, events and the health of sources.
import { attribute, hide, keyed, out, row, text } from "./dom.js";
import { seenOf } from "./notes.js";
import { DAY } from "./view.js";
import { age, clock, moment, utc } from "./zone.js";

const skew = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" });

function list(name, items, key, cells, show) {
  const table = document.querySelector(`[data-${name}]`);
  hide(table, !items.length);
  hide(document.querySelector(`[data-no-${name}]`), items.length > 0);
  keyed(table.tBodies[0], items, key, () => row(cells), show);
}

// The day only where it is another one; all of it for who hovers.
const brief = (ms, zone, now) => (Math.abs(now - ms) < DAY / 2 ? clock(ms, zone) : moment(ms, zone));

function when(line, name, value, ...times) {
  out(line, name, value);
  attribute(line.querySelector(`[data-out="${name}"]`), "title", times.map(utc).join(" to "));
}

// Each has a page, where it is acknowledged or silenced, or where it says how it does; where such pages are installed.
function named(line, column, title, id) {
  const { pages } = line.closest("table").dataset;
  if (!pages) return out(line, column, title);
  const cell = line.querySelector(`[data-out="${column}"]`);
  const link = cell.querySelector("a") ?? cell.appendChild(document.createElement("a"));
  attribute(link, "href", `${pages}${id}/`);
  return text(link, title);
}

export function showAlerts(alerts, zone, now) {
  const cells = [["state", "text"], ["rule", "text"], ["since", "text"], ["what", "text wrap"]];
  list("alerts", alerts, ({ id }) => id, cells, (line, alert) => {
    out(line, "state", alert.state);
    line.dataset.state = alert.state;
    named(line, "rule", `${alert.rule} (${alert.severity})`, alert.id);
    when(line, "since", brief(alert.since_ms, zone, now), alert.since_ms);
    const more = [alert.acknowledged_by ? `acknowledged by ${alert.acknowledged_by}` : "", alert.silenced_until_ms ? `silenced until ${clock(alert.silenced_until_ms, zone)}` : ""];
    out(line, "what", [alert.text, ...more.filter(Boolean)].join("; "));
  });
}

// What was typed or told is changed and deleted by who has signed in; our own alerts tell of themselves.
function changing(line, { id, kind }, isSignedIn) {
  const cell = line.querySelector('[data-out="do"]');
  if (!isSignedIn || kind === "alert") return cell.replaceChildren();
  if (cell.firstChild) return undefined;
  const button = Object.assign(document.createElement("button"), { type: "button", className: "button quiet", textContent: "Change" });
  button.dataset.note = id;
  button.setAttribute("aria-label", `Change annotation ${id}`);
  return cell.append(button);
}

// The rest is on a page of its own, which is led to with what is looked at.
function leadToAll({ seen, all }, unheard, { view, start, end }) {
  const link = document.querySelector("[data-all-events]");
  if (!link) return;
  const asked = { start: new Date(start).toISOString(), ...(view.end === null ? {} : { end: new Date(end).toISOString() }), ...(view.watch ? { watch: view.watch } : {}) };
  const is = all + unheard > seen.length;
  attribute(link, "href", `${link.dataset.allEvents}${is ? `?${new URLSearchParams(asked)}` : ""}`);
  text(link, is ? `The newest ${seen.length} of ${all + unheard}: all of them` : "All of them");
}

export function showEvents({ notes, unheardNotes, start, end, view, isSignedIn, isStored }) {
  const found = seenOf(notes, start, end);
  const { seen } = found;
  leadToAll(found, unheardNotes, { view: { ...view, watch: isStored ? view.watch : "" }, start: Math.floor(start / 60_000) * 60_000, end });
  const cells = [["number", ""], ["time", "text"], ["kind", "text"], ["what", "text wrap"], ["do", "text no-kiosk"]];
  list("events", seen, ({ id }) => id, cells, (line, note) => {
    out(line, "number", String(note.number));
    const times = [note.ts_ms, note.end_ms].filter((ms) => ms != null);
    when(line, "time", times.map((ms) => brief(ms, view.zone, end)).join(" to ") + (note.is_open ? ", goes on" : ""), ...times);
    out(line, "kind", note.kind);
    out(line, "what", note.text);
    changing(line, note, isSignedIn);
  });
}

// A source's age goes on while nothing comes.
export function showHealth(sources, sinceMs) {
  const cells = [["name", "text wrap"], ["state", "text"], ["age", ""], ["skew", ""]];
  list("health", sources, ({ name }) => name, cells, (line, source) => {
    named(line, "name", source.problem ? `${source.name}: ${source.problem}` : source.name, encodeURIComponent(source.name));
    out(line, "state", source.state);
    line.dataset.state = source.state;
    out(line, "age", source.age_ms == null ? "–" : age(source.age_ms + sinceMs));
    out(line, "skew", source.skew_ms == null ? "–" : skew.format(source.skew_ms / 1000));
  });
}
