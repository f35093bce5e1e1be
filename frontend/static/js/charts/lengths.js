// How long requests are, cut at t: the part to the right is prefilled remotely. Where a share of all is, each side has
// its part of every bin.
import { lengthTick, lengthTicks, percent, tokens } from "../format.js";
import { ceiling, labels, STAGES } from "./style.js";

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

const part = (lengths, of) => ({ ...lengths, share: lengths.share.map((share) => of * share) });

function areas({ result, lengths }, at, colours) {
  const [first, last] = [lengths.edges_tokens[0], lengths.edges_tokens.at(-1)];
  const away = result.remote_share;
  if (away == null) return [area("pd_p", lengths, first, at, colours, "\\"), area("prfaas", lengths, at, last, colours, "/")];
  // PrfaaS's part stands on PD-P's, which is drawn over the whole.
  const whole = { ...area("prfaas", lengths, first, last, colours, "/"), hoverinfo: "skip", hovertemplate: null };
  return [whole, area("pd_p", part(lengths, 1 - away), first, last, colours, "\\")];
}

const cutLine = (at, top, colours) =>
  ({ type: "scatter", mode: "lines", name: "t", x: [at, at], y: [0, top], line: { color: colours.ink, width: 1.5 }, showlegend: false, hoverinfo: "skip" });

const text = (stage, share, colours, x, y, position) =>
  ({ text: `${STAGES[stage].name} ${percent(share)} %`, colour: colours[STAGES[stage].colour], x, y, position });

export const lengthsChart = {
  caption({ answer }) {
    const { result } = answer;
    if (result.remote_share != null) return `PrfaaS prefills ${percent(result.remote_share)} % of requests, whatever their lengths.`;
    if (result.threshold_tokens == null) return "Every request is prefilled by PD-P.";
    return `${percent(result.offload_fraction)} % of requests are longer than t = ${tokens(result.threshold_tokens)} tokens.`;
  },

  figure({ answer }, colours) {
    const { result, lengths } = answer;
    const [first, last] = [lengths.edges_tokens[0], lengths.edges_tokens.at(-1)];
    const at = Math.min(Math.max(cut(answer, lengths), first), last);
    const top = ceiling(115 * Math.max(...lengths.share));
    const data = [
      ...areas(answer, at, colours),
      ...(result.remote_share == null ? [cutLine(at, top, colours)] : []),
      labels([
        text("pd_p", 1 - result.offload_fraction, colours, 1.06 * first, 0.98 * top, "bottom right"),
        text("prfaas", result.offload_fraction, colours, last / 1.06, 0.98 * top, "bottom left"),
      ]),
    ];
    return {
      data,
      layout: {
        xaxis: {
          title: "input length, tokens (log; K = 1024)", type: "log", tickvals: lengthTicks, ticktext: lengthTicks.map(lengthTick),
          range: [Math.log10(first), Math.log10(last)],
        },
        yaxis: { title: "requests, % per bin", range: [0, top] },
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
