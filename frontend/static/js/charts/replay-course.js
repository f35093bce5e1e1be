// A recorded window over its time, in panels above one another: what was measured, and each simulation of it with the
// 95 % interval of its mean.
import { gbps, rate, tokens, written } from "../format.js";
import { moment } from "../time.js";
import { ceiling, curve, series } from "./style.js";
import { timeAxis, timeUnit } from "./time-axis.js";

const GIGA = 1e9;
const one = written(1);
// Of each panel, of the axis, and of a name in the legend, in pixels.
const [PANEL, FRAME, NAME] = [185, 80, { width: 260, height: 19 }];
const LEGEND = { orientation: "h", x: 0, y: 1.01, xanchor: "left", yanchor: "bottom", font: { size: 12 }, traceorder: "normal" };
const same = (values) => values;
const giga = (values) => values.map((value) => (value == null ? null : value / GIGA));
const top = (values) => ceiling(1.08 * Math.max(...values.filter((value) => value != null), 1e-3));
const flat = (values) => ({ mean: values });

// What each panel draws of what was measured, and of a run: {mean, low?, high?} over time.
const PANELS = [
  { axis: "requests, req/s", measured: "rate_rps", run: () => null, scaled: same, write: rate, unit: "req/s", name: "rate" },
  { axis: "egress, Gbps", measured: "egress_bps", run: ({ egress_bps: found }) => found, scaled: giga, write: gbps, unit: "Gbps", scale: 1 / GIGA, limit: "capacity_bps", name: "egress" },
  { axis: "requests that wait", measured: "waiting", run: ({ waiting }) => waiting, scaled: same, write: one, unit: "", name: "waiting" },
  { axis: "t, tokens", measured: "threshold_tokens", advised: "recommended_threshold_tokens", run: ({ threshold_tokens: found }) => (found.some((value) => value != null) ? flat(found) : null), scaled: same, write: tokens, unit: "tokens", name: "t" },
];

const drawn = (shown) => PANELS.filter((panel) => (shown.measured[panel.measured] || shown.runs.some((run) => panel.run(run))) && (panel.name !== "rate" || !shown.runs.length));
const middles = (count, width, unit) => Array.from({ length: count }, (_, at) => ((at + 0.5) * width) / unit.seconds);
const faint = (colour) => colour.replace("rgb(", "rgba(").replace(")", ", 0.16)");

function band({ mean, low, high }, run, panel, unit, colour) {
  if (!low || low.every((value) => value == null)) return [];
  const x = middles(mean.length, run.bin_s, unit);
  const edge = { width: 0, color: colour };
  const more = { hoverinfo: "skip", hovertemplate: null, showlegend: false, legendgroup: run.title };
  // Less than nothing cannot be, though an interval may say so.
  const least = panel.scaled(low).map((value) => (value == null ? null : Math.max(0, value)));
  return [{ ...curve("low", x, least, edge, ""), ...more }, { ...curve("high", x, panel.scaled(high), edge, ""), ...more, fill: "tonexty", fillcolor: faint(colour) }];
}

// What was recommended at the time; beside simulations, the one that follows it has its line.
function recommended(panel, { measured, runs }, unit, colours) {
  const told = panel.advised && !runs.length && measured[panel.advised];
  if (!told) return [];
  const hover = `%{x:.4g} ${unit.name}: %{y:,.4g} ${panel.unit}`;
  return [curve("recommended", middles(told.length, measured.step_s, unit), panel.scaled(told), { ...series(colours, 1).line, dash: "dot" }, hover, { legendgroup: "recommended" })];
}

function traces(panel, shown, unit, colours) {
  const { measured, runs } = shown;
  const hover = `%{x:.4g} ${unit.name}: %{y:,.4g} ${panel.unit}`;
  const bands = runs.flatMap((run, at) => (panel.run(run) ? band(panel.run(run), run, panel, unit, series(colours, at + 1).line.color) : []));
  const lines = runs.flatMap((run, at) => {
    const found = panel.run(run);
    return found ? [curve(run.title, middles(found.mean.length, run.bin_s, unit), panel.scaled(found.mean), series(colours, at + 1).line, hover, { legendgroup: run.title })] : [];
  });
  const told = measured[panel.measured];
  const own = told ? [curve("measured", middles(told.length, measured.step_s, unit), panel.scaled(told), series(colours, 0).line, hover, { legendgroup: "measured" })] : [];
  return [...bands, ...own, ...recommended(panel, shown, unit, colours), ...lines];
}

// A link that carries many times as much is named and not drawn: egress would lie flat on the axis.
function capacity(panel, shown, unit, colours, high) {
  const told = panel.limit && shown.measured[panel.limit];
  if (!told) return [];
  const cut = panel.scaled(told).map((value) => (value == null || value > 1.5 * high ? null : value));
  const name = cut.some((value) => value == null) ? "link, where it is near" : "link";
  const x = middles(told.length, shown.measured.step_s, unit);
  return cut.some((value) => value != null) ? [curve(name, x, cut, { color: colours.warn, width: 1.5, dash: "dash", shape: "hvh" }, `%{x:.4g} ${unit.name}: %{y:.2f} Gbps`, { legendgroup: name })] : [];
}

function panelOf(panel, shown, unit, colours) {
  const data = traces(panel, shown, unit, colours);
  const high = top(data.flatMap(({ y }) => y));
  const link = capacity(panel, shown, unit, colours, high);
  return { data: [...data, ...link], axis: { title: panel.axis, range: [0, top([high / 1.08, ...link.flatMap(({ y }) => y)])] } };
}

const axisName = (at) => (at ? String(at + 1) : "");

// Each name once, whichever panel has it first.
function named(data) {
  const seen = new Set();
  for (const trace of data) {
    if (trace.showlegend === false) continue;
    trace.showlegend = !seen.has(trace.name);
    seen.add(trace.name);
  }
  return data;
}

const at = (values, seconds, width) => values?.[Math.floor((seconds + width / 2) / width)] ?? null;

function columns(panel, { measured, runs }) {
  const how = { unit: panel.unit, write: panel.write, scale: panel.scale };
  const own = measured[panel.measured] ? [[{ label: `${panel.name}, measured`, ...how }, (from) => at(measured[panel.measured], from, measured.step_s)]] : [];
  const link = panel.limit && measured[panel.limit] ? [[{ label: "link, measured", ...how }, (from) => at(measured[panel.limit], from, measured.step_s)]] : [];
  const advised = panel.advised && measured[panel.advised] && !runs.length ? [[{ label: `${panel.name}, recommended`, ...how }, (from) => at(measured[panel.advised], from, measured.step_s)]] : [];
  const simulated = runs.flatMap((run) => Object.entries(panel.run(run) ?? {}).map(([bound, values]) =>
    [{ label: `${panel.name}, ${run.title}${bound === "mean" ? "" : `, 95 % ${bound}`}`, ...how }, (from) => at(values, from, run.bin_s)]));
  return [...own, ...advised, ...link, ...simulated];
}

export const replayCourse = {
  // Plotly loses lines of the lower panels where curves are moved and not drawn anew.
  isDrawnAnew: true,

  empty: (shown) => (drawn(shown).length ? null : "Nothing was measured over time."),

  caption(shown) {
    const begin = moment(new Date(shown.start_ms).toISOString());
    const gaps = shown.measured.rate_rps?.some((value) => value == null) ? " Gaps were not measured." : "";
    const bands = shown.runs.length && shown.replications > 1 ? " Bands are 95 % confidence intervals of the mean over replications." : "";
    return `Time 0 is ${begin}. Steps of ${one(shown.measured.step_s)} s.${gaps}${bands}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(shown, colours, width) {
    const unit = timeUnit(shown.duration_s);
    const panels = drawn(shown).map((panel) => panelOf(panel, shown, unit, colours));
    const [share, gap] = [1 / panels.length, panels.length > 1 ? 0.03 : 0];
    const axes = panels.map(({ axis }, number) => [`yaxis${axisName(number)}`, { ...axis, fixedrange: true, domain: [1 - (number + 1) * share + (number + 1 < panels.length ? gap : 0), 1 - number * share - (number ? gap : 0)] }]);
    const data = named(panels.flatMap(({ data: own }, number) => own.map((trace) => ({ ...trace, xaxis: "x", yaxis: `y${axisName(number)}` }))));
    const rows = Math.ceil(data.filter(({ showlegend: isNamed }) => isNamed).length / Math.max(1, Math.floor(width / NAME.width)));
    return {
      data,
      height: FRAME + PANEL * panels.length + NAME.height * rows,
      layout: { showlegend: true, legend: LEGEND, xaxis: { ...timeAxis(unit, shown.duration_s), anchor: `y${axisName(panels.length - 1)}` }, ...Object.fromEntries(axes) },
    };
  },

  table(shown) {
    const width = shown.runs[0]?.bin_s ?? shown.measured.step_s;
    const told = drawn(shown).flatMap((panel) => columns(panel, shown));
    const starts = Array.from({ length: Math.ceil(shown.duration_s / width) }, (_, number) => number * width);
    return {
      columns: [{ label: "from", unit: "s", write: one }, ...told.map(([column]) => column)],
      rows: starts.map((from) => [from, ...told.map(([, value]) => value(from))]),
    };
  },
};
