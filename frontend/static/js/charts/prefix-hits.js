// Share of a prompt's tokens that the prefix cache holds, against the prompt's length.
import { percent, written } from "../format.js";
import { lengthAxis } from "./axes.js";
import { curve, limit, rings } from "./style.js";

const HOVER = "%{x:,.0f} tokens: %{y:.1f} % cached";

export const prefixHits = {
  empty({ prefix }) {
    if (!prefix) return "No prefix reuse: every prompt is prefilled whole. Give hit ratios by length, or import a trace with block hashes.";
    return prefix.points.tokens.length ? null : `Of all prompt tokens ${percent(prefix.token_hit_ratio)} % are cached; how that depends on the length is known of imported traces only.`;
  },

  caption({ prefix }) {
    if (prefix.reuse === "by_length") return "Straight over the logarithm of the length between the given points, level outside.";
    return `As recorded, with a cache that forgets nothing: ${percent(prefix.token_hit_ratio)} % of all prompt tokens were there before. Each ring is the mean over prompts of about that length.`;
  },

  origins: ({ prefix }) => [prefix.provenance],

  figure({ prefix, lengths }, colours, width) {
    const { tokens, hit_ratio: ratio } = prefix.points;
    const every = [...tokens, ...(prefix.curve?.tokens ?? [])];
    const edges = prefix.curve ? [Math.min(...every), Math.max(...every)] : [Math.min(lengths[0].edges_tokens[0], ...every), Math.max(lengths[0].edges_tokens.at(-1), ...every)];
    const data = prefix.curve ? [curve("cached share", prefix.curve.tokens, prefix.curve.hit_ratio.map((part) => part * 100), { color: colours.ink, width: 2 }, HOVER)] : [];
    const marker = { symbol: "circle-open", size: 9, color: colours.ink, line: { width: 2 } };
    data.push({ ...rings("given", tokens, ratio.map((part) => part * 100), marker, HOVER), ...(prefix.curve ? {} : { mode: "lines+markers", line: { color: colours["ink-2"], width: 1 }, name: "recorded" }) });
    if (prefix.token_hit_ratio != null) data.push(limit(colours, `all tokens: ${percent(prefix.token_hit_ratio)} %`, edges[0], edges[1], prefix.token_hit_ratio * 100));
    return {
      data,
      layout: { xaxis: lengthAxis("prompt length", ...edges, width), yaxis: { title: "prompt tokens cached, %", range: [0, 105] } },
    };
  },

  table({ prefix: { points } }) {
    return {
      columns: [
        { label: "prompt length", unit: "tokens", write: written(0) }, { label: "cached", unit: "%", write: percent, scale: 100 },
        ...(points.requests ? [{ label: "requests", write: written(0) }] : []),
      ],
      rows: points.tokens.map((tokens, at) => [tokens, points.hit_ratio[at], ...(points.requests ? [points.requests[at]] : [])]),
    };
  },
};
