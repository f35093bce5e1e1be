// Charts over time: lines of a grid in panels above one another, limits, marks, a day before, and grey where nothing came.
import { ceiling } from "../charts/style.js";
import { trailing } from "./grid.js";
import { seenOf } from "./notes.js";
import { DAY, MINUTE } from "./view.js";
import { moment, shifted, zoneName } from "./zone.js";

// What is so many times as high as all else is not drawn to scale: the rest would lie flat on the axis.
const FAR = 3;
const SILENT_MS = 5000;
// Of the width: marks that are nearer to one another have their numbers in one place.
const NEAR = 0.03;
const [MOST_NAMED_MARKS, MOST_AT_ONCE] = [12, 3];
const MOST_KEPT = 500;
const LEGEND = { orientation: "h", x: 0, xanchor: "left", yanchor: "bottom", font: { size: 11 }, traceorder: "normal", itemwidth: 30 };
const GAP = 0.2;
// In pixels: of a chart with one panel, of more panels, of a row of the legend, of a letter and of what stands beside a name.
const [HEIGHT, MORE, ROW, LETTER, SAMPLE] = [250, 30, 17, 6.4, 50];
const NUMBERS = ["", "2", "3"];

// Times as the axis has them; the same array until the grid has moved.
const axes = new WeakMap();
export function timesOf(grid, zone, later = 0) {
  const known = axes.get(grid);
  if (known?.last === grid.last && known.zone === zone) return known.x;
  const x = known?.x ?? new Float64Array(grid.size);
  for (let at = 0; at < grid.size; at += 1) x[at] = shifted(grid.times[at] + later, zone);
  axes.set(grid, { x, last: grid.last, zone });
  return x;
}

export class TimeChart {
  // Curves move all the time: Plotly is told of all of them.
  isDrawnAnew = true;

  // `panels(shown)` gives [{title, unit, scale, write, lines: [{key, name, line, ...}], over, most, isFromZero}]; `over`
  // so many milliseconds a line shows the mean.
  constructor({ panels, caption, none }) {
    Object.assign(this, { panels, say: caption, none, scratch: new Map() });
  }

  // Panels in which there is something to draw.
  drawn(shown) {
    return this.panels(shown).map((panel) => ({ ...panel, lines: panel.lines.filter(({ key }) => shown.grid.has(key)) })).filter(({ lines }) => lines.length);
  }

  empty(shown) {
    return this.drawn(shown).length ? null : this.none;
  }

  caption(shown) {
    return this.say(shown);
  }

  // Values in the axis' unit, in an array that is used again and again.
  scaled(name, values, scale) {
    // Names of links come and go for ever.
    if (this.scratch.size > MOST_KEPT) this.scratch.clear();
    let kept = this.scratch.get(name);
    if (kept?.length !== values.length) this.scratch.set(name, (kept = new Float64Array(values.length)));
    for (let at = 0; at < values.length; at += 1) kept[at] = values[at] * scale;
    return kept;
  }

  figure(shown, colours, width) {
    const panels = this.drawn(shown);
    const data = panels.flatMap((panel, at) => this.traces(panel, shown, colours).map((trace) => ({ ...trace, xaxis: "x", yaxis: `y${NUMBERS[at]}` })));
    const share = (1 - GAP * (panels.length - 1)) / panels.length;
    const tops = panels.map((_, at) => 1 - at * (share + GAP));
    const frames = panels.map((panel, at) => [`yaxis${NUMBERS[at]}`, {
      range: this.range(panel, shown), fixedrange: true, domain: [Math.max(0, tops[at] - share), tops[at]], nticks: panels.length > 1 ? 4 : 6, tickfont: { size: 11 },
    }]);
    const annotations = panels.map((panel, at) => heading(panel, tops[at], colours));
    const height = HEIGHT + (panels.length > 1 ? MORE : 0) + ROW * (rowsOf(data, width) - 1);
    return { data, height, layout: { ...Object.fromEntries(frames), ...frame(shown, colours, NUMBERS[panels.length - 1]), annotations, legend: { ...LEGEND, y: 1 + 18 / (height - 74) } } };
  }

  traces(panel, shown, colours) {
    const [now, before] = [[], []];
    for (const line of panel.lines) {
      if (line.isBanded && shown.grid.step > 1000) now.push(this.band(line, panel, shown, colours));
      now.push(this.trace(line, panel, shown.grid, timesOf(shown.grid, shown.view.zone), line.line));
      if (shown.past?.has(line.key) && !line.isLimit) before.push(this.ghost(line, panel, shown, colours));
    }
    return [...before, ...now];
  }

  trace({ key, name, shape = "linear", factor = 1, isNamed = true }, { scale, unit, over, digits = 2 }, grid, x, line, more = {}) {
    const known = means(grid, key, over);
    return {
      type: "scatter", mode: "lines", name: name.replace("Λ_max", "Λ<sub>max</sub>"), x, y: this.scaled(`${name} ${key}`, known, scale * factor), line: { width: 1.75, ...line, shape, simplify: true },
      showlegend: isNamed, connectgaps: false, hovertemplate: `%{x|%H:%M:%S} ${name}: %{y:,.${digits}f} ${unit}<extra></extra>`, ...more,
    };
  }

  ghost(line, panel, { past, view }, colours) {
    const style = { color: colours["ink-2"], width: 1, dash: line.line.dash === "solid" ? "1px,2px" : line.line.dash };
    return this.trace({ ...line, name: `${line.name}, a day before` }, panel, past, timesOf(past, view.zone, DAY), style, { opacity: 0.7, showlegend: false });
  }

  band({ key, name, line }, { scale }, { grid, view }, colours) {
    const { low, high } = grid.lines.get(key);
    const fillcolor = (line.color ?? colours.ink).replace("rgb(", "rgba(").replace(")", ", 0.18)");
    return {
      type: "scatter", mode: "none", name: `${name}, least to most`, ...outline(timesOf(grid, view.zone), low, high, scale),
      fill: "toself", fillcolor, hoverinfo: "skip", showlegend: false, connectgaps: false,
    };
  }

  // From zero to the most of what is measured; limits that are far above are left outside.
  range({ lines, scale, least = 1, most, isFromZero = true }, { grid, past }) {
    const measured = lines.filter(({ isLimit }) => !isLimit);
    const highs = [grid, past].filter(Boolean).flatMap((each) => measured.map(({ key }) => extent(each, key)[1]));
    let high = Math.max(...highs, 0) * scale || 0;
    for (const { key, factor = 1 } of lines.filter(({ isLimit }) => isLimit)) {
      const near = nearest(grid, key, (FAR * Math.max(high, least)) / (scale * factor));
      high = Math.max(high, near * scale * factor);
    }
    if (most) high = Math.max(high / 1.08, most / 1.08);
    if (isFromZero) return [0, ceiling(Math.max(1.08 * high, least))];
    const low = Math.min(...measured.map(({ key }) => extent(grid, key)[0])) * scale;
    const room = Math.max((high - low) * 0.1, high * 0.02);
    return [low - room, high + room];
  }

  table(shown) {
    const { grid, view } = shown;
    const lines = this.drawn(shown).flatMap(({ lines: each, ...panel }) => each.map((line) => [line, panel, means(grid, line.key, panel.over)]));
    const columns = lines.map(([{ name }, { title, unit, write, scale }]) => ({ label: name.includes(title) || lines.length === 1 ? name : `${title}: ${name}`, unit, write, scale }));
    const rows = Array.from(grid.times, (ms, at) => [
      new Date(ms).toISOString(), ...lines.map(([{ factor = 1 }, , values]) => known(values[at] * factor)),
    ]);
    const write = (iso) => moment(Date.parse(iso), view.zone);
    return { columns: [{ label: "time", unit: view.zone === "utc" ? "UTC" : "local", write }, ...columns], rows: rows.filter((row) => row.some((value, at) => at && value !== null)) };
  }
}

// The names stand in columns as wide as the longest one.
function rowsOf(traces, width) {
  const names = traces.filter(({ showlegend: is }) => is !== false).map(({ name }) => name.replace(/<[^>]+>/g, ""));
  const column = SAMPLE + LETTER * Math.max(...names.map(({ length }) => length));
  return Math.ceil(names.length / Math.max(1, Math.floor((width - 54) / column)));
}

// On along the most and back along the least of each stretch of which something is known: nothing is filled across a gap.
function outline(times, low, high, scale) {
  const [x, y] = [[], []];
  const add = (time, value) => { x.push(time); y.push(value); };
  for (let from = 0, to; from < times.length; from = to + 1) {
    for (to = from; to < times.length && !Number.isNaN(high[to]); to += 1) add(times[to], high[to] * scale);
    for (let at = to - 1; at >= from; at -= 1) add(times[at], low[at] * scale);
    if (to > from) add(times[from], NaN);
  }
  return { x, y };
}

const known = (value) => (Number.isNaN(value) ? null : value);

function means(grid, key, over = 0) {
  const { mean } = grid.lines.get(key);
  const steps = Math.floor(over / grid.step);
  return steps > 1 ? trailing(mean, steps) : mean;
}

function extent(grid, key) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of grid.lines.get(key)?.high ?? []) {
    if (value > high) high = value;
    if (value < low) low = value;
  }
  return [low, high];
}

// The highest value that is not beyond a bound.
function nearest(grid, key, bound) {
  let found = 0;
  for (const value of grid.lines.get(key).mean) if (value > found && value <= bound) found = value;
  return found;
}

// A panel's quantity and unit stand above it: beside it they would take the height of one another.
const heading = ({ title, unit }, y, colours) => ({
  text: unit ? `${title}, ${unit}` : title, x: 0, xanchor: "left", xref: "paper", y, yanchor: "bottom", yref: "paper", showarrow: false, font: { size: 11, color: colours["ink-2"] },
});

// --- what all charts over time share -------------------------------------------------------------------------------

function frame(shown, colours, lowest) {
  const { view, start, end } = shown;
  const xaxis = {
    type: "date", range: [shifted(start, view.zone), shifted(end, view.zone)], title: { text: `time, ${zoneName(view.zone, end)}`, standoff: 2, font: { size: 11 } },
    anchor: `y${lowest}`, hoverformat: "%Y-%m-%d %H:%M:%S", nticks: 7, automargin: true, tickfont: { size: 11 }, tickformat: ticks(view.range),
  };
  return {
    showlegend: true, xaxis, shapes: [...silence(shown, colours), ...marks(shown, colours)], hovermode: "closest",
    dragmode: "zoom", margin: { l: 40, r: 14, t: 20, b: 34 }, uirevision: `${view.watch} ${view.range} ${view.end ?? ""} ${view.zone}`,
  };
}

const ticks = (range) => (range > 2 * DAY ? "%b %-d" : range > 5 * MINUTE ? "%H:%M" : "%H:%M:%S");

// Since when nothing has come.
function silence({ silentSince, end, view }, colours) {
  if (silentSince === null || end - silentSince < SILENT_MS) return [];
  return [{
    type: "rect", xref: "x", yref: "paper", x0: shifted(silentSince, view.zone), x1: shifted(end, view.zone), y0: 0, y1: 1,
    fillcolor: colours.grid, opacity: 0.6, line: { width: 0 }, layer: "below", label: { text: "no data", font: { size: 11, color: colours["ink-2"] }, textposition: "top right" },
  }];
}

// Annotations, by their numbers in the list of events. However many go on at a time, what they lie upon is shaded once.
function marks({ notes, start, end, view }, colours) {
  const { seen } = seenOf(notes, start, end);
  const at = (ms) => shifted(ms, view.zone);
  const shade = (kind) => (kind === "alert" ? colours.danger : colours.accent);
  const spans = seen.filter(({ until }) => until !== null);
  // Grey is what is stale: a span of an alert is of another colour.
  const shades = [...new Set(spans.map(({ kind }) => shade(kind)))].flatMap((fillcolor) => united(spans.filter(({ kind }) => shade(kind) === fillcolor), start, end).map(([from, to]) => ({
    type: "rect", xref: "x", yref: "paper", x0: at(from), x1: at(to), y0: 0, y1: 1, line: { width: 0 }, fillcolor, opacity: 0.08, layer: "below",
  })));
  const groups = together(seen.filter(({ ts_ms: from }) => from >= start), NEAR * (end - start));
  const ends = spans.filter(({ until }) => until < end).map(({ until }) => mark(at(until), "", colours));
  const isNamed = groups.length <= MOST_NAMED_MARKS;
  const lines = groups.flatMap((group) => group.map(({ ts_ms: from }, place) => mark(at(from), isNamed && !place ? numbers(group.map(({ number }) => number)) : "", colours)));
  const before = seen.filter(({ ts_ms: from }) => from < start).map(({ number }) => number);
  return [...shades, ...ends, ...lines, ...(before.length ? [mark(at(start), numbers(before), colours, { width: 0, label: { xanchor: "left", yanchor: "top" } })] : [])];
}

const mark = (x, text, colours, { label, ...more } = {}) => ({
  type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color: colours["ink-2"], width: 1, dash: "4px,2px", ...more },
  ...(text ? { label: { text, textposition: "end", textangle: 0, font: { size: 11, color: colours.ink }, ...label } } : {}),
});

// A few of them, where there is no place for all.
const numbers = (all) => (all.length <= MOST_AT_ONCE ? all : [...all.slice(0, MOST_AT_ONCE), `+${all.length - MOST_AT_ONCE}`]).join(" ");

// What begins at about the same time, the earliest first.
function together(notes, withinMs) {
  const found = [];
  for (const note of [...notes].sort((a, b) => a.ts_ms - b.ts_ms || a.id - b.id)) {
    if (found.length && note.ts_ms - found.at(-1)[0].ts_ms < withinMs) found.at(-1).push(note);
    else found.push([note]);
  }
  return found;
}

// Times that any of the spans covers, within what is shown.
function united(spans, start, end) {
  const found = [];
  for (const [from, to] of spans.map(({ ts_ms: from, until }) => [Math.max(from, start), Math.min(until, end)]).sort((a, b) => a[0] - b[0])) {
    if (found.length && from <= found.at(-1)[1]) found.at(-1)[1] = Math.max(found.at(-1)[1], to);
    else found.push([from, to]);
  }
  return found;
}
