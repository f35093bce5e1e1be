// TTFT as it was simulated, with 95 % intervals, beside the unloaded one and the approximation under load.
import { seconds } from "../format.js";

const NAMES = { mean: "mean", p50: "P50", p90: "P90", p99: "P99" };
const LOOKS = {
  all: { title: "simulated, all", colour: "ink", shape: "" },
  local: { title: "prefilled locally", colour: "stage-pd-p", shape: "/" },
  remote: { title: "prefilled by PrfaaS", colour: "stage-prfaas", shape: "x" },
};
const parts = Object.keys(NAMES);
// Groups stand at whole numbers, so that marks can be put between them; the gap is a share of a group's width.
const places = parts.map((_, at) => at);
const GAP = 0.25;

const simulated = ({ ttft, routes }) => Object.entries({ all: ttft, ...routes }).filter(([, times]) => times);
const isSure = (value) => value.low != null && value.high != null;
const written = (value) => seconds(value.mean) + (isSure(value) ? ` [${seconds(value.low)}, ${seconds(value.high)}]` : "");

function bars([route, times], colours) {
  const { title, colour, shape } = LOOKS[route];
  const found = parts.map((part) => times[part]);
  return {
    type: "bar", name: title, x: places, customdata: Object.values(NAMES), y: found.map(({ mean }) => mean), text: found.map(written), textposition: "none",
    error_y: {
      type: "data", symmetric: false, visible: found.some(isSure), color: colours["ink-2"], thickness: 1.5, width: 4,
      array: found.map((value) => (isSure(value) ? value.high - value.mean : 0)), arrayminus: found.map((value) => (isSure(value) ? value.mean - value.low : 0)),
    },
    marker: { color: colours[colour], opacity: 0.75, pattern: { shape, fillmode: "overlay", fgcolor: colours.surface, size: 7, solidity: 0.25 } },
    hovertemplate: `${title}<br>%{customdata} of TTFT %{text} s<extra></extra>`,
  };
}

// Formulas are of all requests: their marks stand on the first bar of each group of so many.
const points = (name, values, marker, many) => ({
  type: "scatter", mode: "markers", name, x: places.map((at) => at - ((1 - GAP) * (many - 1)) / (2 * many)), customdata: Object.values(NAMES), y: parts.map((part) => values[part]), marker,
  hovertemplate: `${name}<br>%{customdata} of TTFT %{y:.2f} s<extra></extra>`,
});

export const ttft = {
  // Axes do not follow curves that are moved.
  isDrawnAnew: true,

  empty: ({ ttft: times }) => (times ? null : "Not stable so far: a TTFT would say how long was simulated."),

  caption({ ttft: { p90 }, unloaded, approximation, decoding, so_far: soFar }) {
    const near = approximation ? `; the approximation under load has ${seconds(approximation.p90)} s` : "";
    const bars = isSure(p90) ? " Bars are 95 % confidence intervals of the mean over replications." : "";
    const ended = soFar ? `So far, of ${soFar} replications: ` : "";
    return `${ended}P90 of TTFT ${written(p90)} s, decode ${decoding}; unloaded ${seconds(unloaded.p90)} s${near}.${bars}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(shown, colours) {
    const many = simulated(shown).length;
    const ring = { color: colours.ink, line: { width: 2, color: colours.ink } };
    const data = [
      ...simulated(shown).map((each) => bars(each, colours)),
      points("unloaded, formulas", shown.unloaded, { ...ring, symbol: "line-ew-open", size: 34 }, many),
      ...(shown.approximation ? [points("approximation under load", shown.approximation, { ...ring, color: colours.accent, symbol: "diamond-open", size: 10, line: { width: 2, color: colours.accent } }, many)] : []),
    ];
    return {
      data,
      layout: { barmode: "group", bargap: GAP, showlegend: true, xaxis: { title: "", tickmode: "array", tickvals: places, ticktext: Object.values(NAMES), range: [-0.5, parts.length - 0.5], showgrid: false }, yaxis: { title: "TTFT, s", rangemode: "tozero" } },
    };
  },

  table(shown) {
    const columns = [{ label: "TTFT", write: String }, ...simulated(shown).flatMap(([route]) => ["mean", "low", "high"].map((name) => ({ label: name === "mean" ? LOOKS[route].title : `${LOOKS[route].title}, 95 % ${name}`, unit: "s", write: seconds })))];
    columns.push({ label: "unloaded", unit: "s", write: seconds }, { label: "approximation under load", unit: "s", write: seconds });
    const rows = parts.map((part) => [
      NAMES[part], ...simulated(shown).flatMap(([, times]) => [times[part].mean, times[part].low, times[part].high]), shown.unloaded[part], shown.approximation?.[part] ?? null,
    ]);
    return { columns, rows };
  },
};
