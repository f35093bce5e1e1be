// How far curve and fit miss the given points, and each point the curve that is drawn without it.
import { percent, written } from "../format.js";
import { lengthAxis, short } from "./axes.js";
import { rings, series } from "./style.js";

const KINDS = [
  ["curve", "as scenarios read it"],
  ["fit", "quadratic fit"],
  ["left_out", "log-log line without the point"],
];
const there = (shown) => KINDS.filter(([key]) => shown[key]?.some((value) => value != null));
const largest = (values) => Math.max(0, ...(values ?? []).map((value) => Math.abs(value ?? 0)));

export const residuals = {
  caption({ residuals: shown }) {
    const fit = shown.fit ? `The quadratic fit is off by at most ${percent(largest(shown.fit))} %` : "Too few points for a fit";
    const without = largest(shown.left_out) ? `; a point is missed by up to ${percent(largest(shown.left_out))} % when the line is drawn without it, which is what to expect between points` : "";
    const falls = shown.falls.map(([from, to]) => ` The time falls from ${short(from)} to ${short(to)} tokens: that is noise.`).join("");
    return `${fit}${without}.${falls || " The times rise throughout."}`;
  },

  origins: ({ residuals: { provenance } }) => [provenance],

  figure({ residuals: shown }, colours, width) {
    const { tokens } = shown;
    const data = there(shown).map(([key, name], at) => {
      const y = shown[key].map((value) => (value == null ? null : value * 100));
      return rings(name, tokens, y, { ...series(colours, at).marker, size: 10 }, "%{x:,.0f} tokens: %{y:+.2f} %");
    });
    const top = Math.max(1, 130 * Math.max(...there(shown).map(([key]) => largest(shown[key]))));
    return {
      data,
      layout: {
        showlegend: true,
        xaxis: lengthAxis("prompt length", tokens[0], tokens.at(-1), width),
        yaxis: { title: "over the given time, less one, %", range: [-top, top], zeroline: true, zerolinecolor: colours["ink-2"], zerolinewidth: 1 },
      },
    };
  },

  table({ residuals: shown }) {
    return {
      columns: [{ label: "length", unit: "tokens", write: written(0) }, ...KINDS.map(([, label]) => ({ label, unit: "%", write: written(2, 100), scale: 100 }))],
      rows: shown.tokens.map((tokens, at) => [tokens, ...KINDS.map(([key]) => shown[key]?.[at])]),
    };
  },
};
