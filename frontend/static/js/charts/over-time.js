// What a simulation did over its time: egress against the link, the threshold, and how many requests were in the system.
import { gbps, rate, tokens, written } from "../format.js";
import { ceiling, curve, line } from "./style.js";
import { timeAxis, timeUnit } from "./time-axis.js";

const GIGA = 1e9;
const one = written(1);
// A link that carries so many times as much is not drawn to scale: egress would lie flat on the axis.
const FAR = 3;

const ends = ({ bin_s: width, egress_bps: bins }) => width * bins.length;
const middles = ({ bin_s: width, egress_bps: bins }, unit) => bins.map((_, at) => ((at + 0.5) * width) / unit.seconds);
const starts = ({ bin_s: width, egress_bps: bins }) => bins.map((_, at) => at * width);
const over = (many) => (many > 1 ? `the mean over ${many} replications` : "one replication");

// What is not counted is shaded.
const warmUp = ({ warm_up_s: seconds }, unit, colours) => (seconds > 0 ? [{
  type: "rect", xref: "x", yref: "paper", x0: 0, x1: seconds / unit.seconds, y0: 0, y1: 1, fillcolor: colours.grid, opacity: 0.6, line: { width: 0 }, layer: "below",
}] : []);
const shaded = ({ warm_up_s: seconds }) => (seconds > 0 ? " Shaded: about the warm-up, which is not counted." : "");

function layout(shown, unit, colours, yaxis) {
  return { showlegend: true, shapes: warmUp(shown, unit, colours), xaxis: timeAxis(unit, ends(shown.series)), yaxis };
}

const top = (values) => ceiling(1.08 * Math.max(...values.filter((value) => value != null), 1e-3));
const level = (name, value, until, more) => curve(name, [0, until], [value, value], more, "%{y:.4g}", { hoverinfo: "skip", hovertemplate: null });

// Steps up to the end of what was simulated.
function capacitySteps({ capacity: { seconds, bps }, series }, unit) {
  const until = ends(series);
  const kept = seconds.filter((at) => at < until).length;
  return {
    x: [...seconds.slice(0, kept), until].map((at) => at / unit.seconds),
    y: [...bps.slice(0, kept), bps[kept - 1]].map((value) => value / GIGA),
  };
}

function band(shown, unit, colours) {
  const { egress_min_bps: low, egress_max_bps: high } = shown.series;
  const x = middles(shown.series, unit);
  const edge = { color: colours["stage-link"], width: 0.5, dash: "2px,3px" };
  const giga = (values) => values.map((value) => (value == null ? null : value / GIGA));
  const more = { hoverinfo: "skip", hovertemplate: null };
  return [
    { ...curve("least and most", x, giga(low), edge, ""), ...more, showlegend: false },
    { ...curve("least and most of any replication", x, giga(high), edge, ""), ...more, fill: "tonexty", fillcolor: colours["stage-link"].replace("rgb(", "rgba(").replace(")", ", 0.18)") },
  ];
}

export const egressOverTime = {
  empty: ({ has_link: hasLink }) => (hasLink ? null : "This deployment has no link: nothing crosses."),

  caption(shown) {
    const { series, steady_egress_bps: steady, replications } = shown;
    const most = Math.max(...series.egress_max_bps.map((value) => value ?? 0));
    const formulas = steady == null ? "" : ` The formulas say ${gbps(steady)} Gbps at this rate, t as given.`;
    return `Egress in steps of ${one(series.bin_s)} s, ${over(replications)}; the band is from the least to the most in any short window, ${gbps(most)} Gbps at most.${formulas}${shaded(shown)}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(shown, colours) {
    const { series, capacity, steady_egress_bps: steady } = shown;
    const unit = timeUnit(ends(series));
    const until = ends(series) / unit.seconds;
    const data = [...band(shown, unit, colours)];
    data.push(curve("egress, mean", middles(series, unit), series.egress_bps.map((value) => (value == null ? null : value / GIGA)), { ...line(colours, "link"), dash: "solid" }, `%{x:.4g} ${unit.name}: %{y:.2f} Gbps`));
    if (steady != null) data.push(level("steady state", steady / GIGA, until, { color: colours["ink-2"], width: 1.5, dash: "2px,3px" }));
    let high = top(data.flatMap(({ y }) => y));
    if (capacity) {
      const { x, y } = capacitySteps(shown, unit);
      const isFar = Math.min(...y) > FAR * high;
      const name = isFar ? `link, above: ${gbps(Math.min(...y) * GIGA)} Gbps` : "link";
      data.push(curve(name, x, y, { color: colours.ink, width: 1.5, dash: "dash", shape: "hv" }, `%{x:.4g} ${unit.name}: %{y:.2f} Gbps`));
      if (!isFar) high = top([high / 1.08, ...y]);
    }
    return { data, layout: layout(shown, unit, colours, { title: "egress, Gbps", range: [0, high] }) };
  },

  table({ series }) {
    const unit = { unit: "Gbps", write: gbps, scale: 1 / GIGA };
    return {
      columns: [{ label: "from", unit: "s", write: one }, { label: "egress, mean", ...unit }, { label: "least", ...unit }, { label: "most", ...unit }],
      rows: starts(series).map((from, at) => [from, series.egress_bps[at], series.egress_min_bps[at], series.egress_max_bps[at]]),
    };
  },
};

export const thresholdOverTime = {
  empty({ has_link: hasLink, series }) {
    if (!hasLink) return "This deployment has no PrfaaS cluster: there is no threshold.";
    return series.threshold_tokens.some((value) => value != null) ? null : "Nothing is offloaded: t has no end.";
  },

  caption(shown) {
    const { series, given_threshold_tokens: given, replications } = shown;
    const known = series.threshold_tokens.filter((value) => value != null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const said = tokens(low) === tokens(high) ? `t stays at ${tokens(low)} tokens` : `t is between ${tokens(low)} and ${tokens(high)} tokens, ${over(replications)}`;
    return `${said}${given == null ? "" : `; as given it is ${tokens(given)}`}. Longer requests are prefilled remotely.${shaded(shown)}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(shown, colours) {
    const { series, given_threshold_tokens: given } = shown;
    const unit = timeUnit(ends(series));
    const data = [curve("t, mean", middles(series, unit), series.threshold_tokens, { color: colours.ink, width: 2 }, `%{x:.4g} ${unit.name}: %{y:,.0f} tokens`)];
    if (given != null) data.push(level("as given", given, ends(series) / unit.seconds, { color: colours["ink-2"], width: 1.5, dash: "2px,3px" }));
    return { data, layout: layout(shown, unit, colours, { title: "threshold t, tokens", range: [0, top(data.flatMap(({ y }) => y))] }) };
  },

  table: ({ series }) => ({
    columns: [{ label: "from", unit: "s", write: one }, { label: "t, mean", unit: "tokens", write: tokens }],
    rows: starts(series).map((from, at) => [from, series.threshold_tokens[at]]),
  }),
};

export const inSystem = {
  caption(shown) {
    const { series, stable, growth_rps: growth, replications } = shown;
    const most = Math.max(...series.in_system.map((value) => value ?? 0));
    const said = stable ? `at most ${one(most)} in any step` : `${rate(growth.mean)} more every second`;
    return `Requests that wait, are prefilled, sent or decoded, ${over(replications)}: ${said}.${shaded(shown)}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(shown, colours) {
    const { series } = shown;
    const unit = timeUnit(ends(series));
    const data = [curve("requests in the system", middles(series, unit), series.in_system, { color: colours.ink, width: 2 }, `%{x:.4g} ${unit.name}: %{y:,.1f} requests`)];
    return { data, layout: { ...layout(shown, unit, colours, { title: "requests", range: [0, top(series.in_system)] }), showlegend: false } };
  },

  table: ({ series }) => ({
    columns: [{ label: "from", unit: "s", write: one }, { label: "in the system", unit: "requests", write: one }],
    rows: starts(series).map((from, at) => [from, series.in_system[at]]),
  }),
};
