// From the baseline to the candidate: a bar for what each cause adds or takes, between the two ends.
import { percent, written } from "../format.js";

const AXES = { lambda_max_rps: "Λ<sub>max</sub>, req/s", usd_per_million_tokens: "a million tokens, USD", ttft_p90_s: "TTFT P90 unloaded, s" };
const DIGITS = { lambda_max_rps: 3, usd_per_million_tokens: 4, ttft_p90_s: 2 };
const NARROW = 520;
const NARROW_HEIGHT = 460;
// What rounds to nothing has no sign.
export const signed = (value, write) => {
  const text = write(value);
  return /[1-9]/.test(text) ? `${value > 0 ? "+" : ""}${text.replace("-", "−")}` : text.replace("-", "");
};
const plain = (title) => title.replace(/([A-ZΘΛΦ])_([a-z-]+)/g, "$1<sub>$2</sub>");

// Bars from where the last one ended; `range` has for each the least and the most that it might be.
function figure({ names, changes, from, to, metric, ranges }, colours, width) {
  const write = written(DIGITS[metric]);
  const bases = changes.map((_, at) => changes.slice(0, at).reduce((sum, change) => sum + change, from));
  const tops = bases.map((base, at) => base + changes[at]);
  const values = [from, ...tops, to, ...(ranges ?? []).flatMap(([least, most], at) => [bases[at] + least, bases[at] + most])];
  // On a phone bars are narrower than words.
  const isNarrow = width < NARROW;
  const labels = ["baseline", ...names.map((name) => (isNarrow ? plain(name) : plain(name).replaceAll(" ", "<br>"))), "candidate"];
  const bar = (name, at, pattern, colour) => ({
    type: "bar", name, x: at.map((place) => labels[place]), showlegend: true, cliponaxis: false,
    marker: { color: colour, line: { color: colours.surface, width: 1 }, pattern: { shape: pattern, fillmode: "overlay", fgcolor: colours.surface, size: 7, solidity: 0.25 } },
  });
  const places = changes.map((_, at) => at + 1);
  const error = (at) => (ranges ? { type: "data", symmetric: false, array: at.map((place) => Math.max(ranges[place - 1][1] - changes[place - 1], 0)), arrayminus: at.map((place) => Math.max(changes[place - 1] - ranges[place - 1][0], 0)), color: colours.ink, thickness: 1.2, width: 5 } : undefined);
  const moved = (name, keep, pattern, colour) => {
    const at = places.filter((place) => keep(changes[place - 1]));
    if (!at.length) return [];
    return [{ ...bar(name, at, pattern, colour), base: at.map((place) => bases[place - 1]), y: at.map((place) => changes[place - 1]), error_y: error(at), customdata: at.map((place) => [signed(changes[place - 1], write), ranges ? ` in the average; ${signed(ranges[place - 1][0], write)} to ${signed(ranges[place - 1][1], write)} in any order` : ""]), hovertemplate: "%{x}<br>%{customdata[0]}%{customdata[1]}<extra></extra>" }];
  };
  const data = [
    { ...bar("the two deployments", [0, labels.length - 1], "", colours["ink-2"]), y: [from, to], hovertemplate: "%{x}<br>%{y:.4g}<extra></extra>" },
    ...moved("adds", (change) => change >= 0, "/", colours["stage-prfaas"]),
    ...moved("takes", (change) => change < 0, "x", colours["stage-pd-p"]),
  ];
  const tallest = (at) => Math.max(bases[at], tops[at], ...(ranges ? [bases[at] + ranges[at][1]] : []));
  const said = [from, ...changes.map((_, at) => tallest(at)), to].map((y, at) => ({
    x: labels[at], y, text: at % (labels.length - 1) ? signed(changes[at - 1], write) : write(y), showarrow: false, yanchor: "bottom", yshift: 3, textangle: isNarrow ? -60 : 0, font: { size: isNarrow ? 10 : 11, color: colours.ink },
  }));
  const room = (isNarrow ? 0.3 : 0.12) * (Math.max(...values, 0) - Math.min(...values, 0));
  return {
    data,
    ...(isNarrow ? { height: NARROW_HEIGHT } : {}),
    layout: {
      barmode: "overlay", bargap: 0.35, showlegend: true, annotations: said,
      xaxis: { title: "", type: "category", categoryorder: "array", categoryarray: labels, showgrid: false, tickangle: isNarrow ? -60 : 0 },
      yaxis: { title: AXES[metric], range: [Math.min(...values, 0), Math.max(...values) + room] },
    },
  };
}

const columns = (metric) => {
  const write = written(DIGITS[metric]);
  return [{ label: "cause", write: String }, { label: AXES[metric].replace(/<.?sub>/g, ""), write }, { label: "least in any order", write }, { label: "most in any order", write }];
};

// Shares of a whole; where causes work against one another, there is no whole that they are shares of.
function shares(factors) {
  if (factors.some(({ share_of_total: share }) => share === null || share < -0.0005)) return "";
  return ` ${factors.map(({ title, share_of_total: share }) => `${title} ${percent(Math.abs(share))} %`).join(", ")} of the change.`;
}

export const shapley = {
  isDrawnAnew: true,
  caption: ({ factors, orders = factors[0].orders }) => `The average over all ${orders.toLocaleString("en-US")} orders; the lines reach from the least to the most that a cause brings in any of them.${shares(factors)}`,
  figure: (answer, colours, width) => figure({ ...answer, names: answer.factors.map(({ title }) => title), changes: answer.factors.map(({ share }) => share), ranges: answer.factors.map(({ least, greatest }) => [least, greatest]) }, colours, width),
  table: ({ factors, metric }) => ({ columns: columns(metric), rows: factors.map(({ title, share, least, greatest }) => [title, share, least, greatest]) }),
};

export const steps = {
  isDrawnAnew: true,
  caption: ({ steps: { length } }) => `${length} steps in the order of the table below, where each can be opened and moved.`,
  figure: (answer, colours, width) => {
    const titles = Object.fromEntries(answer.factors.map(({ factor, title }) => [factor, title]));
    return figure({ ...answer, names: answer.steps.map(({ factor }) => titles[factor]), changes: answer.steps.map(({ change }) => change), ranges: null }, colours, width);
  },
  table: ({ steps: found, factors, metric, from }) => {
    const titles = Object.fromEntries(factors.map(({ factor, title }) => [factor, title]));
    const write = written(DIGITS[metric]);
    return {
      columns: [{ label: "step", write: String }, { label: AXES[metric].replace(/<.?sub>/g, ""), write }, { label: "change", write }],
      rows: [["baseline", from, null], ...found.map(({ factor, value, change }) => [titles[factor], value, change])],
    };
  },
};
