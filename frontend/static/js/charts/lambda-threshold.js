// Λ against t: what each stage could carry, and the least of them.
import { lengthTick, lengthTicks, rate, tokens } from "../format.js";
import { best, ceiling, chosen, labels, line, published, STAGES } from "./style.js";

const curve = (sweep, stage) => sweep[`${stage}_lambda_rps`];
const drawn = (sweep) => Object.keys(STAGES).filter((stage) => curve(sweep, stage));

// The best t of this split as the search's grid has it: far finer than the curve drawn here.
function peak({ result, split_sweep: splits }) {
  const at = splits.prefill_instances.indexOf(result.instances.prefill);
  return { threshold: splits.best_threshold_tokens[at], lambda: splits.best_lambda_max_rps[at] };
}

// Where a curve is inside the picture: at the right end for the one that falls, at the left for the others.
function labelAt(sweep, stage, from, top) {
  // Off the axis by a hair: a name that begins on it would be taken for one outside the picture.
  const inside = sweep.threshold_tokens
    .map((threshold, at) => [threshold, curve(sweep, stage)[at]])
    .filter(([threshold, value]) => threshold > 1.03 * from && value != null && value > 0 && value < 0.93 * top);
  if (!inside.length) return null;
  return stage === "pd_p" ? [...inside.at(-1), "top left"] : [...inside[0], "top right"];
}

export const lambdaThreshold = {
  empty({ answer }) {
    if (answer.result.remote_share != null) return "Requests are routed whatever their lengths: there is no threshold.";
    return answer.threshold_sweep && answer.result.threshold_tokens != null
      ? null
      : "This deployment has no PrfaaS cluster, so there is no threshold.";
  },

  caption({ answer, scenario }) {
    if (!scenario.threshold) return "Every request is prefilled remotely: this deployment's threshold is fixed at 0.";
    const found = peak(answer);
    return `At this split the best t is about ${tokens(found.threshold)} tokens: ${rate(found.lambda)} req/s.`;
  },

  figure({ answer, scenario }, colours) {
    const { result, threshold_sweep: sweep, split_sweep: splits } = answer;
    const found = peak(answer);
    const from = Math.min(1024, Math.max(result.threshold_tokens, sweep.threshold_tokens[0]));
    // The best of any split, so that the axis stays while the split moves.
    const top = ceiling(1.6 * Math.max(...splits.best_lambda_max_rps, 0.1));
    const data = drawn(sweep).map((stage) => ({
      type: "scatter", mode: "lines", name: STAGES[stage].name, x: sweep.threshold_tokens, y: curve(sweep, stage),
      line: line(colours, stage), showlegend: false,
      hovertemplate: `${STAGES[stage].name} full at %{y:.3f} req/s<br>t = %{x:,.0f}<extra></extra>`,
    }));
    data.push({
      type: "scatter", mode: "lines", name: "Λ<sub>max</sub>", x: sweep.threshold_tokens, y: sweep.lambda_max_rps,
      line: { color: colours.ink, width: 3.5 }, opacity: 0.45, hoverinfo: "skip",
    });
    data.push(best(colours, found.threshold, found.lambda, "t = %{x:,.0f}, %{y:.3f} req/s"));
    const paper = scenario.published;
    if (paper?.threshold_tokens) {
      data.push(published(colours, paper.threshold_tokens, paper.lambda_max_rps, "t = %{x:,.0f}, %{y:.2f} req/s"));
    }
    if (result.threshold_tokens >= sweep.threshold_tokens[0]) {
      data.push(chosen(colours, result.threshold_tokens, result.lambda_max_rps, "t = %{x:,.0f}, %{y:.3f} req/s"));
    }
    const placed = drawn(sweep).map((stage) => [STAGES[stage], labelAt(sweep, stage, from, top)]).filter(([, at]) => at);
    data.push(labels(placed.map(([stage, [x, y, position]]) => (
      { text: stage.name, colour: colours[stage.colour], x, y, position })), top / 80));
    return {
      data,
      layout: {
        xaxis: {
          title: "threshold t, tokens (log; K = 1024)", type: "log", tickvals: lengthTicks, ticktext: lengthTicks.map(lengthTick),
          range: [Math.log10(from), Math.log10(sweep.threshold_tokens.at(-1))],
        },
        yaxis: { title: "Λ, req/s", range: [0, top] },
      },
    };
  },

  table({ answer }) {
    const sweep = answer.threshold_sweep;
    const stages = drawn(sweep);
    return {
      columns: [
        { label: "t", unit: "tokens", write: tokens },
        ...stages.map((stage) => ({ label: STAGES[stage].name, unit: "req/s", write: rate })),
        { label: "Λ_max", unit: "req/s", write: rate },
      ],
      rows: sweep.threshold_tokens.map((threshold, at) => [
        threshold, ...stages.map((stage) => curve(sweep, stage)[at]), sweep.lambda_max_rps[at],
      ]),
    };
  },
};
