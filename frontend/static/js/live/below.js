// Below the charts: alerts, events and the health of sources.
import { written } from "../format.js";
import { hide, keyed, out, row } from "./dom.js";
import { age, clock, moment, utc } from "./zone.js";

const skew = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" });
const figure = written(2);
const MOST_EVENTS = 50;

function list(name, items, key, cells, show) {
  const table = document.querySelector(`[data-${name}]`);
  hide(table, !items.length);
  hide(document.querySelector(`[data-no-${name}]`), items.length > 0);
  keyed(table.tBodies[0], items, key, () => row(cells), show);
}

function when(line, name, ms, write, zone) {
  out(line, name, write(ms, zone));
  line.querySelector(`[data-out="${name}"]`).title = utc(ms);
}

export function showAlerts(alerts, zone) {
  const cells = [["state", "text"], ["rule", "text"], ["since", "text"], ["what", "text wrap"]];
  list("alerts", alerts, ({ id }) => id, cells, (line, alert) => {
    out(line, "state", alert.state);
    line.dataset.state = alert.state;
    out(line, "rule", `${alert.rule} (${alert.severity})`);
    when(line, "since", alert.since_ms, moment, zone);
    const more = [alert.value == null ? "" : `now ${figure(alert.value)}`, alert.acknowledged_by ? `acknowledged by ${alert.acknowledged_by}` : "", alert.silenced_until_ms ? `silenced until ${clock(alert.silenced_until_ms, zone)}` : ""];
    out(line, "what", [alert.text, ...more.filter(Boolean)].join("; "));
  });
}

export function showEvents(notes, { start, end, view }) {
  const seen = notes.filter(({ ts_ms: from, end_ms: to }) => from <= end && (to ?? from) >= start).sort((a, b) => b.ts_ms - a.ts_ms).slice(0, MOST_EVENTS);
  const cells = [["number", ""], ["time", "text"], ["kind", "text"], ["what", "text wrap"]];
  list("events", seen, ({ id }) => id, cells, (line, note) => {
    out(line, "number", String(note.number));
    when(line, "time", note.ts_ms, (ms, zone) => `${moment(ms, zone)}${note.end_ms ? ` to ${moment(note.end_ms, zone)}` : ""}`, view.zone);
    out(line, "kind", note.kind);
    out(line, "what", note.text);
  });
}

// A source's age goes on while nothing comes.
export function showHealth(sources, sinceMs) {
  const cells = [["name", "text"], ["state", "text"], ["age", ""], ["skew", ""], ["problem", "text wrap"]];
  list("health", sources, ({ name }) => name, cells, (line, source) => {
    out(line, "name", source.name);
    out(line, "state", source.state);
    line.dataset.state = source.state;
    out(line, "age", source.age_ms == null ? "–" : age(source.age_ms + sinceMs));
    out(line, "skew", source.skew_ms == null ? "–" : skew.format(source.skew_ms / 1000));
    out(line, "problem", source.problem ?? "");
  });
}
