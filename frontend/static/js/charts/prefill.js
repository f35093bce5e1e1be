// T_prefill: the points, the curve that scenarios read, and the quadratic fit beside it.
import { written } from "../format.js";
import { beyond, lengthAxis, logAxis, short } from "./axes.js";
import { curve, rings } from "./style.js";

const INTERPOLATION = { log_log: "straight lines in log-log", linear: "straight lines", quadratic: "the quadratic fit" };
const HOVER = "%{x:,.0f} tokens: %{y:.4g} s";
const seconds = written(4);

export const prefill = {
  caption({ prefill: { points, interpolation, measured_tokens: [shortest, longest], fit } }) {
    const through = interpolation === "quadratic" ? "Scenarios read the quadratic fit" : `Scenarios read ${INTERPOLATION[interpolation]} through the ${points.tokens.length} points`;
    const beside = fit ? "" : " Two points tell no fit: three are needed.";
    return `${through}. Given from ${short(shortest)} to ${short(longest)} tokens; shaded beyond, where it is extrapolated.${beside}`;
  },

  origins: ({ prefill: { provenance } }) => [provenance],

  figure({ prefill: shown }, colours, width) {
    const { tokens, points } = shown;
    const data = [];
    if (shown.fit_seconds && shown.interpolation !== "quadratic") {
      data.push(curve("fit t₀ + a·l + b·l²", tokens, shown.fit_seconds, { color: colours.accent, width: 2, dash: "9px,3px" }, HOVER));
    }
    data.push(
      curve(INTERPOLATION[shown.interpolation], tokens, shown.seconds, { color: colours.ink, width: 2 }, HOVER),
      rings("given", points.tokens, points.seconds, { symbol: "circle-open", size: 11, color: colours.ink, line: { width: 2 } }, HOVER),
    );
    return {
      data,
      layout: {
        ...beyond(colours, tokens[0], tokens.at(-1), shown.measured_tokens),
        xaxis: lengthAxis("prompt length", tokens[0], tokens.at(-1), width),
        yaxis: logAxis("T<sub>prefill</sub>, s", [...shown.seconds, ...(shown.fit_seconds ?? [])]),
      },
    };
  },

  table({ prefill: shown }) {
    const given = new Map(shown.points.tokens.map((tokens, at) => [tokens, shown.points.seconds[at]]));
    const [shortest, longest] = shown.measured_tokens;
    return {
      columns: [
        { label: "length", unit: "tokens", write: written(0) }, { label: "given", unit: "s", write: seconds },
        { label: "as scenarios read it", unit: "s", write: seconds }, { label: "quadratic fit", unit: "s", write: seconds }, { label: "range", write: String },
      ],
      rows: shown.tokens.map((tokens, at) => [
        tokens, given.get(tokens), shown.seconds[at], shown.fit_seconds?.[at], tokens < shortest || tokens > longest ? "extrapolated" : "within the points",
      ]),
    };
  },
};
