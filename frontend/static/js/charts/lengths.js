// How long requests are, cut at t: the part to the right is prefilled remotely.
import { lengthTick, lengthTicks, percent, tokens } from "../format.js";
import { STAGES } from "./style.js";

// The outline of the bins between two lengths; a bin that the cut goes through gives each side its part of the width.
function outline({ edges_tokens: edges, share }, from, to) {
  const x = [];
  const y = [];
  share.forEach((part, at) => {
    const left = Math.max(edges[at], from);
    const right = Math.min(edges[at + 1], to);
    if (left < right) {
      x.push(left, right);
      y.push(part * 100, part * 100);
    }
  });
  return x.length ? { x: [x[0], ...x, x.at(-1)], y: [0, ...y, 0] } : { x: [], y: [] };
}

function area(stage, lengths, from, to, colours, pattern) {
  const colour = colours[STAGES[stage].colour];
  return {
    type: "scatter", mode: "lines", name: STAGES[stage].name, ...outline(lengths, from, to), fill: "toself", showlegend: false,
    line: { color: colour, width: 1.5 }, fillpattern: { shape: pattern, fgcolor: colour, bgcolor: colours.surface, size: 5, solidity: 0.35 },
    hovertemplate: `${STAGES[stage].name}<br>%{x:,.0f} tokens: %{y:.2f} % of requests<extra></extra>`, hoveron: "points",
  };
}

const cut = ({ result }, lengths) =>
  result.threshold_tokens ?? (result.offload_fraction > 0 ? lengths.edges_tokens[0] : lengths.edges_tokens.at(-1));

const text = (name, share, colour, x, xanchor) => ({
  text: `${name} ${percent(share)} %`, xref: "paper", yref: "paper", x, y: 1.02, xanchor, yanchor: "bottom", showarrow: false,
  font: { color: colour, size: 12 },
});

export const lengthsChart = {
  caption({ answer }) {
    const { result } = answer;
    if (result.threshold_tokens == null) return "Every request is prefilled by PD-P.";
    return `${percent(result.offload_fraction)} % of requests are longer than t = ${tokens(result.threshold_tokens)} tokens.`;
  },

  figure({ answer }, colours) {
    const { result, lengths } = answer;
    const [first, last] = [lengths.edges_tokens[0], lengths.edges_tokens.at(-1)];
    const at = Math.min(Math.max(cut(answer, lengths), first), last);
    const data = [
      area("pd_p", lengths, first, at, colours, "\\"),
      area("prfaas", lengths, at, last, colours, "/"),
    ];
    return {
      data,
      layout: {
        annotations: [
          text("PD-P", 1 - result.offload_fraction, colours["stage-pd-p"], 0.01, "left"),
          text("PrfaaS", result.offload_fraction, colours["stage-prfaas"], 0.99, "right"),
        ],
        shapes: result.threshold_tokens == null ? [] : [
          { type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper", line: { color: colours.ink, width: 1.5 } },
        ],
        xaxis: {
          title: "input length, tokens (log; K = 1024)", type: "log", tickvals: lengthTicks, ticktext: lengthTicks.map(lengthTick),
          range: [Math.log10(first), Math.log10(last)],
        },
        yaxis: { title: "requests, % per bin", rangemode: "tozero" },
      },
    };
  },

  table({ answer: { lengths } }) {
    return {
      columns: [
        { label: "from", unit: "tokens", write: tokens },
        { label: "to", unit: "tokens", write: tokens },
        { label: "requests", unit: "%", write: percent, scale: 100 },
      ],
      rows: lengths.share.map((share, at) => [lengths.edges_tokens[at], lengths.edges_tokens[at + 1], share]),
    };
  },
};
