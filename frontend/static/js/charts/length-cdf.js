// The share of requests up to each length.
import { percent, written } from "../format.js";
import { lengthAxis } from "./axes.js";
import { familyName, noneVaries, varied } from "./length-histogram.js";
import { curve, series } from "./style.js";

const whole = written(0);
const HOVER = "%{y:.1f} % of requests have at most %{x:,.0f} tokens";
export const lengthCdf = {
  empty: noneVaries,

  caption({ lengths }) {
    const told = varied(lengths).map(({ what, p50_tokens: half, p90_tokens: most }) => `${what} ${whole(half)} and ${whole(most)}`);
    return `Half and nine tenths of requests have so many tokens at most: ${told.join("; ")}.`;
  },

  origins: ({ lengths }) => lengths.map(({ provenance }) => provenance),

  figure({ lengths: every, fit }, colours, width) {
    const lengths = varied(every);
    const data = lengths.map(({ what, cdf }, at) => curve(what, cdf.tokens, cdf.share.map((part) => part * 100), series(colours, at).line, HOVER));
    if (fit) data.push(curve(`input, ${familyName(fit)}`, fit.cdf.tokens, fit.cdf.share.map((part) => part * 100), { color: colours.ink, width: 1.5, dash: "4px,2px" }, HOVER));
    const tokens = lengths.flatMap(({ cdf }) => cdf.tokens);
    return {
      data,
      layout: {
        showlegend: true,
        xaxis: lengthAxis("length", Math.min(...tokens), Math.max(...tokens), width),
        yaxis: { title: "requests up to this length, %", range: [0, 102] },
      },
    };
  },

  table({ lengths, fit }) {
    return {
      columns: [{ label: "what", write: String }, { label: "up to", unit: "tokens", write: written(0) }, { label: "requests", unit: "%", write: percent, scale: 100 }],
      rows: [...lengths, ...(fit ? [{ what: `input, ${familyName(fit)}`, cdf: fit.cdf }] : [])].flatMap(({ what, cdf }) =>
        cdf.tokens.map((tokens, at) => [what, tokens, cdf.share[at]])),
    };
  },
};
