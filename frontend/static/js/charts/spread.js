// The spread of an outcome over all draws: from the 5th to the 95th percentile, the median, and the value as given.
import { unitOf, write } from "../compare/units.js";

const ROW_PX = 44;
const FRAME_PX = 130;
const named = (label) => label.replace(/([ΛΘ])_([a-z-]+)/, "$1<sub>$2</sub>");
const known = ({ outcome }) => outcome.spread.every(({ p50 }) => p50 !== null);

export const spread = {
  isDrawnAnew: true,
  empty: (shown) => (known(shown) ? null : "Not known of every deployment: a price is missing, or nothing is carried."),
  caption: ({ scenarios, outcome }) => `90 % of the draws: ${scenarios.map(({ title }, at) => `${title} ${write(outcome.unit, outcome.spread[at].p05)} to ${write(outcome.unit, outcome.spread[at].p95)}`).join("; ")} ${unitOf(outcome.unit)}.`,
  origins: ({ outcome }) => [{ kind: outcome.kind, source: "the weakest figure under it" }],

  figure({ scenarios, outcome }, colours) {
    const y = scenarios.map(({ title }) => title);
    const told = (name) => outcome.spread.map((each) => write(outcome.unit, each[name]));
    return {
      height: FRAME_PX + ROW_PX * y.length,
      data: [
        {
          type: "scatter", mode: "markers", name: "median, 5 % to 95 %", x: outcome.spread.map(({ p50 }) => p50), y, marker: { symbol: "line-ns-open", size: 16, color: colours.ink, line: { width: 2.5 } },
          error_x: { type: "data", symmetric: false, array: outcome.spread.map(({ p50, p95 }) => p95 - p50), arrayminus: outcome.spread.map(({ p05, p50 }) => p50 - p05), color: colours["stage-prfaas"], thickness: 5, width: 0 },
          customdata: outcome.spread.map((_, at) => [told("p05")[at], told("p50")[at], told("p95")[at]]), hovertemplate: `%{y}<br>median %{customdata[1]}, 90 %% between %{customdata[0]} and %{customdata[2]} ${unitOf(outcome.unit)}<extra></extra>`,
        },
        { type: "scatter", mode: "markers", name: "as given", x: outcome.spread.map((each) => each.as_given), y, marker: { symbol: "circle", size: 10, color: colours.ink, line: { color: colours.surface, width: 1 } }, hovertemplate: "%{y} as given: %{x:.4g}<extra></extra>" },
      ],
      layout: {
        showlegend: true, xaxis: { title: `${named(outcome.label)}, ${unitOf(outcome.unit)}` },
        yaxis: { title: "", type: "category", autorange: "reversed", showgrid: true, categoryorder: "array", categoryarray: y },
      },
    };
  },

  table({ scenarios, outcome }) {
    const value = (number) => write(outcome.unit, number);
    const unit = unitOf(outcome.unit);
    return {
      columns: [{ label: "deployment", write: String }, ...["as given", "5 %", "median", "95 %", "mean"].map((label) => ({ label, unit, write: value }))],
      rows: scenarios.map(({ title }, at) => [title, ...["as_given", "p05", "p50", "p95", "mean"].map((name) => outcome.spread[at][name])]),
    };
  },
};
