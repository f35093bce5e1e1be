// What a simulation did over its time, in panels above one another on one time axis: egress against the link, the
// threshold, requests in the system, instances by role, and what was sent again.
import { gbps, percent, rate, tokens, written } from "../format.js";
import { ceiling, curve, line } from "./style.js";
import { spell, timeAxis, timeUnit } from "./time-axis.js";

const GIGA = 1e9;
const one = written(1);
// A link that carries so many times as much is not drawn to scale: egress would lie flat on the axis.
const FAR = 3;
// A share below it is none to speak of.
const NOTHING = 1e-5;
// Of each panel, of the axis, and of a name in the legend, in pixels.
const [PANEL, FRAME, NAME] = [185, 80, { width: 230, height: 19 }];
const DASHED = "2px,3px";
const LEGEND = { orientation: "h", x: 0, y: 1.01, xanchor: "left", yanchor: "bottom", font: { size: 12 }, traceorder: "normal" };

export const ends = ({ bin_s: width, egress_bps: bins }) => width * bins.length;
const middles = ({ bin_s: width, egress_bps: bins }, unit) => bins.map((_, at) => ((at + 0.5) * width) / unit.seconds);
const starts = ({ bin_s: width, egress_bps: bins }) => bins.map((_, at) => at * width);
const over = (many) => (many > 1 ? `the mean over ${many} replications` : "one replication");
const most = (values) => Math.max(...values.map((value) => value ?? 0));
const varies = (values) => Boolean(values?.some((value) => value !== values[0]));
const top = (values) => ceiling(1.08 * Math.max(...values.filter((value) => value != null), 1e-3));
const level = (name, value, until, more) => curve(name, [0, until], [value, value], more, "%{y:.4g}", { hoverinfo: "skip", hovertemplate: null });
const giga = (values) => values.map((value) => (value == null ? null : value / GIGA));

// --- egress ------------------------------------------------------------------------------------------------------

// Steps up to the end of what was simulated.
function capacitySteps({ capacity: { seconds, bps }, series }, unit) {
  const until = ends(series);
  const kept = seconds.filter((at) => at < until).length;
  return {
    x: [...seconds.slice(0, kept), until].map((at) => at / unit.seconds),
    y: [...bps.slice(0, kept), bps[kept - 1]].map((value) => value / GIGA),
  };
}

function band({ series }, unit, colours) {
  const x = middles(series, unit);
  const edge = { color: colours["stage-link"], width: 0.5, dash: DASHED };
  const more = { hoverinfo: "skip", hovertemplate: null };
  return [
    { ...curve("least and most", x, giga(series.egress_min_bps), edge, ""), ...more, showlegend: false },
    { ...curve("least and most of any replication", x, giga(series.egress_max_bps), edge, ""), ...more, fill: "tonexty", fillcolor: colours["stage-link"].replace("rgb(", "rgba(").replace(")", ", 0.18)") },
  ];
}

const egress = {
  missing: ({ has_link: hasLink }) => (hasLink ? null : "This deployment has no link: nothing crosses."),
  isWorth: () => true,

  caption({ series, steady_egress_bps: steady, steady_rate_rps: at }) {
    const formulas = steady == null ? "" : ` The formulas say ${gbps(steady)} Gbps at ${rate(at)} req/s, t as given.`;
    return `Egress: the band is from the least to the most in any short window, ${gbps(most(series.egress_max_bps))} Gbps at most.${formulas}`;
  },

  panel(shown, unit, colours) {
    const { series, capacity, steady_egress_bps: steady } = shown;
    const until = ends(series) / unit.seconds;
    const data = [...band(shown, unit, colours)];
    data.push(curve("egress, mean", middles(series, unit), giga(series.egress_bps), { ...line(colours, "link"), dash: "solid" }, `%{x:.4g} ${unit.name}: %{y:.2f} Gbps`));
    if (steady != null) data.push(level("steady state", steady / GIGA, until, { color: colours["ink-2"], width: 1.5, dash: DASHED }));
    let high = top(data.flatMap(({ y }) => y));
    if (capacity) {
      const { x, y } = capacitySteps(shown, unit);
      const isFar = Math.min(...y) > FAR * high;
      const name = isFar ? `link, above: ${gbps(Math.min(...y) * GIGA)} Gbps` : "link";
      data.push(curve(name, x, y, { color: colours.ink, width: 1.5, dash: "dash", shape: "hv" }, `%{x:.4g} ${unit.name}: %{y:.2f} Gbps`));
      if (!isFar) high = top([high / 1.08, ...y]);
    }
    return { data, axis: { title: "egress, Gbps", range: [0, high] } };
  },

  columns({ series, has_link: hasLink }) {
    const unit = { unit: "Gbps", write: gbps, scale: 1 / GIGA };
    if (!hasLink) return [];
    return [
      [{ label: "egress, mean", ...unit }, series.egress_bps], [{ label: "least", ...unit }, series.egress_min_bps],
      [{ label: "most", ...unit }, series.egress_max_bps], [{ label: "link", ...unit }, series.capacity_bps],
    ];
  },
};

// --- t, requests, instances and what is sent again ----------------------------------------------------------------

const threshold = {
  missing({ has_link: hasLink, series, remote_share: share }) {
    if (!hasLink) return "This deployment has no PrfaaS cluster: there is no threshold.";
    if (series.threshold_tokens.some((value) => value != null)) return null;
    return share == null ? "Nothing is offloaded: t has no end." : "Requests are routed whatever their lengths: there is no t.";
  },
  isWorth: ({ series }) => varies(series.threshold_tokens),

  caption({ series, given_threshold_tokens: given }) {
    const known = series.threshold_tokens.filter((value) => value != null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const said = tokens(low) === tokens(high) ? `t stays at ${tokens(low)} tokens` : `t is between ${tokens(low)} and ${tokens(high)} tokens`;
    return `${said}${given == null ? "" : `; as given it is ${tokens(given)}`}. Longer requests are prefilled remotely.`;
  },

  panel({ series, given_threshold_tokens: given }, unit, colours) {
    const data = [curve("t, mean", middles(series, unit), series.threshold_tokens, { color: colours.ink, width: 2 }, `%{x:.4g} ${unit.name}: %{y:,.0f} tokens`)];
    if (given != null) data.push(level("t as given", given, ends(series) / unit.seconds, { color: colours["ink-2"], width: 1.5, dash: DASHED }));
    return { data, axis: { title: "t, tokens", range: [0, top(data.flatMap(({ y }) => y))] } };
  },

  columns: ({ series }) => [[{ label: "t, mean", unit: "tokens", write: tokens }, series.threshold_tokens]],
};

const inSystem = {
  missing: () => null,
  isWorth: () => true,

  caption({ series, stable, growth_rps: growth }) {
    const said = stable ? `at most ${one(most(series.in_system))} in any step` : `${rate(growth.mean)} more every second`;
    return `Requests that wait, are prefilled, sent or decoded: ${said}.`;
  },

  panel({ series }, unit, colours) {
    const data = [curve("requests in the system", middles(series, unit), series.in_system, { color: colours.ink, width: 2 }, `%{x:.4g} ${unit.name}: %{y:,.1f} requests`)];
    return { data, axis: { title: "requests", range: [0, top(series.in_system)] } };
  },

  columns: ({ series }) => [[{ label: "in the system", unit: "requests", write: one }, series.in_system]],
};

const ROLES = { prfaas_instances: ["prfaas", "PrfaaS instances"], prefill_instances: ["pd_p", "prefill instances"], decode_instances: ["pd_d", "decode instances"] };

const instances = {
  missing: ({ series }) => (series.decode_instances ? null : "This was simulated before instances were counted over time."),
  isWorth: ({ series }) => Object.keys(ROLES).some((name) => varies(series[name])),

  caption({ series }) {
    const said = Object.entries(ROLES).filter(([name]) => varies(series[name])).map(([name, [, title]]) => `${title} between ${one(Math.min(...series[name]))} and ${one(most(series[name]))}`);
    return `Instances that were up in each role: ${said.length ? said.join(", ") : "as many all the time"}.`;
  },

  panel({ series }, unit, colours) {
    const data = Object.entries(ROLES).filter(([name]) => most(series[name]) > 0).map(([name, [stage, title]]) =>
      curve(title, middles(series, unit), series[name], { ...line(colours, stage), shape: "hvh" }, `%{x:.4g} ${unit.name}: %{y:.3g}`));
    return { data, axis: { title: "instances", range: [0, top(data.flatMap(({ y }) => y))] } };
  },

  columns: ({ series }) => Object.entries(ROLES).map(([name, [, title]]) => [{ label: title, unit: "", write: written(2) }, series[name]]),
};

const resent = {
  missing: ({ has_link: hasLink, series }) => (hasLink && series.resent_fraction ? null : "Nothing crosses that could be sent again."),
  isWorth: ({ series }) => most(series.resent_fraction) > NOTHING,
  caption: ({ series }) => `Sent again, of what crossed: ${most(series.resent_fraction) > NOTHING ? `${written(3, 100)(most(series.resent_fraction))} % at most` : "none to speak of"}.`,

  panel({ series }, unit, colours) {
    const share = series.resent_fraction.map((value) => (value == null ? null : 100 * value));
    const data = [curve("sent again", middles(series, unit), share, { color: colours.warn, width: 2, dash: "9px,3px" }, `%{x:.4g} ${unit.name}: %{y:.3g} %`)];
    return { data, axis: { title: "sent again, %", range: [0, top(share)] } };
  },

  columns: ({ series, has_link: hasLink }) => (hasLink ? [[{ label: "sent again", unit: "%", write: percent, scale: 100 }, series.resent_fraction]] : []),
};

export const PANELS = { egress, threshold, "in-system": inSystem, instances, resent };

// --- the chart ---------------------------------------------------------------------------------------------------

// What is not counted is shaded.
const warmUp = ({ warm_up_s: seconds }, unit, colours) => (seconds > 0 ? [{
  type: "rect", xref: "x", yref: "paper", x0: 0, x1: seconds / unit.seconds, y0: 0, y1: 1, fillcolor: colours.grid, opacity: 0.6, line: { width: 0 }, layer: "below",
}] : []);

const axisName = (at) => (at ? String(at + 1) : "");
const drawn = (shown) => shown.chosen.filter((name) => !PANELS[name].missing(shown));

// `shown` has the result's numbers, `chosen` names of panels, `range` in seconds or null for all of it, and `revision`,
// which changes where the range was set by us.
export const overTime = {
  // Plotly loses lines of the lower panels where curves are moved and not drawn anew.
  isDrawnAnew: true,

  empty: (shown) => (drawn(shown).length ? null : shown.chosen.map((name) => PANELS[name].missing(shown))[0] ?? "Nothing is chosen: tick a series above."),

  caption(shown) {
    const { series, replications, range, warm_up_s: warm } = shown;
    const within = range ? ` Shown: ${spell(range[1] - range[0])} from ${spell(range[0])} on, of ${spell(ends(series))}.` : "";
    const shaded = warm > 0 ? " Shaded: about the warm-up, which is not counted." : "";
    const soFar = shown.so_far ? `So far, of ${shown.so_far} replications. ` : "";
    return `${soFar}Steps of ${one(series.bin_s)} s, ${over(replications)}. ${drawn(shown).map((name) => PANELS[name].caption(shown)).join(" ")}${shaded}${within}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(shown, colours, width) {
    const unit = timeUnit(ends(shown.series));
    const panels = drawn(shown).map((name) => PANELS[name].panel(shown, unit, colours));
    const [share, gap] = [1 / panels.length, panels.length > 1 ? 0.03 : 0];
    const axes = panels.map(({ axis }, at) => [`yaxis${axisName(at)}`, { ...axis, fixedrange: true, domain: [1 - (at + 1) * share + (at + 1 < panels.length ? gap : 0), 1 - at * share - (at ? gap : 0)] }]);
    const xaxis = timeAxis(unit, ends(shown.series));
    if (shown.range) xaxis.range = shown.range.map((at) => at / unit.seconds);
    const data = panels.flatMap(({ data: traces }, at) => traces.map((trace) => ({ ...trace, xaxis: "x", yaxis: `y${axisName(at)}` })));
    const rows = Math.ceil(data.filter(({ showlegend: isNamed }) => isNamed !== false).length / Math.max(1, Math.floor(width / NAME.width)));
    return {
      data,
      height: FRAME + PANEL * panels.length + NAME.height * rows,
      layout: {
        showlegend: true, legend: LEGEND, shapes: warmUp(shown, unit, colours), uirevision: shown.revision,
        xaxis: { ...xaxis, anchor: `y${axisName(panels.length - 1)}` }, ...Object.fromEntries(axes),
      },
    };
  },

  // All series, whichever are drawn.
  table(shown) {
    const columns = Object.values(PANELS).filter((panel) => !panel.missing(shown)).flatMap((panel) => panel.columns(shown)).filter(([, values]) => values);
    return {
      columns: [{ label: "from", unit: "s", write: one }, ...columns.map(([column]) => column)],
      rows: starts(shown.series).map((from, at) => [from, ...columns.map(([, values]) => values[at] ?? null)]),
    };
  },
};
