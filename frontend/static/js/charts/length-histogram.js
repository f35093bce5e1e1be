// How long requests are, per doubling of the length, so that bins of any width compare; a fit over it where one is chosen.
import { percent, written } from "../format.js";
import { lengthAxis, short } from "./axes.js";
import { ceiling, curve, series } from "./style.js";

// Share of requests per doubling of the length.
const density = (edges, share) => share.map((part, at) => (100 * part) / Math.log2(edges[at + 1] / edges[at]));

const steps = (edges, heights) => ({ x: [edges[0], ...edges], y: [0, ...heights, 0] });

function outline(colours, name, { edges_tokens: edges, share }, at, more = {}) {
  const { x, y } = steps(edges, density(edges, share));
  const { line } = series(colours, at);
  return curve(name, x, y, { ...line, width: 1.75, shape: "hv" }, "%{x:,.0f} tokens: %{y:.2f} % per doubling", more);
}

export const familyName = ({ parameters: { distribution, components } }) =>
  (components ? `mixture of ${components.length}` : distribution.replaceAll("_", " ").replace("log normal", "log-normal"));

// Lengths that differ: a single one has no distribution to draw.
export const varied = (lengths) => lengths.filter(({ cdf }) => cdf.tokens.length > 1);

export const noneVaries = ({ lengths }) => (varied(lengths).length ? null
  : `Every request has the same lengths: ${lengths.map(({ what, mean_tokens: mean }) => `${what} ${written(0)(mean)} tokens`).join(", ")}.`);

function span({ what, mean_tokens: mean, edges_tokens: edges, cdf }) {
  if (cdf.tokens.length === 1) return `${what} always ${written(0)(mean)}`;
  return `${what} from ${short(Math.ceil(edges[0]))} to ${short(Math.floor(edges.at(-1)))}, mean ${written(0)(mean)}`;
}

export const lengthHistogram = {
  empty: noneVaries,

  caption({ lengths, fit }) {
    const told = lengths.map(span);
    const over = fit ? ` Over the input: the ${familyName(fit)} fit.` : "";
    return `Tokens: ${told.join("; ")}. Heights are shares per doubling of the length, areas are shares.${over}`;
  },

  origins: ({ lengths }) => lengths.map(({ provenance }) => provenance),

  figure({ lengths: every, fit }, colours, width) {
    const lengths = varied(every);
    const fill = { fill: "tozeroy", fillpattern: { shape: "/", fgcolor: colours["ink-2"], bgcolor: colours.surface, size: 6, solidity: 0.2 } };
    const data = lengths.map((each, at) => outline(colours, each.what, each, at, at ? {} : fill));
    if (fit) data.push(outline(colours, `input, ${familyName(fit)}`, fit, lengths.length + 1, { line: { color: colours.ink, width: 2.5, dash: "4px,2px", shape: "hv" } }));
    const edges = lengths.flatMap((each) => [each.edges_tokens[0], each.edges_tokens.at(-1)]);
    return {
      data,
      layout: {
        showlegend: true,
        xaxis: lengthAxis("length", Math.min(...edges), Math.max(...edges), width),
        yaxis: { title: "requests, % per doubling", range: [0, ceiling(1.08 * Math.max(...data.flatMap(({ y }) => y)))] },
      },
    };
  },

  table({ lengths, fit }) {
    return {
      columns: [
        { label: "what", write: String }, { label: "from", unit: "tokens", write: written(1) }, { label: "to", unit: "tokens", write: written(1) },
        { label: "requests", unit: "%", write: percent, scale: 100 }, ...(fit ? [{ label: "by the fit", unit: "%", write: percent, scale: 100 }] : []),
      ],
      rows: lengths.flatMap(({ what, edges_tokens: edges, share }) => share.map((part, at) => [
        what, edges[at], edges[at + 1], part, ...(fit ? [what === "input" ? fit.share[at] : null] : []),
      ])),
    };
  },
};
