// Λ against the split of the PD cluster: at this t, and with t found anew for every split.
import { rate, tokens } from "../format.js";
import { ceiling, chosen, published } from "./style.js";

const names = (sweep) => sweep.prefill_instances.map((prefill, at) => `${prefill}/${sweep.decode_instances[at]}`);

function trace(name, sweep, values, colour, dash, symbol) {
  return {
    type: "scatter", mode: "lines+markers", name, x: sweep.prefill_instances, y: values, customdata: names(sweep),
    line: { color: colour, width: 2, dash }, marker: { symbol, size: 6, color: colour },
    hovertemplate: `${name}<br>N_p/N_d %{customdata}: %{y:.3f} req/s<extra></extra>`,
  };
}

export const lambdaSplit = {
  caption({ answer: { split_sweep: sweep } }) {
    const values = sweep.best_lambda_max_rps ?? sweep.lambda_max_rps;
    const at = values.indexOf(Math.max(...values));
    const threshold = sweep.best_threshold_tokens ? ` at t = ${tokens(sweep.best_threshold_tokens[at])}` : "";
    return `The best split is ${names(sweep)[at]}${threshold}: ${rate(values[at])} req/s.`;
  },

  figure({ answer, scenario }, colours) {
    const { result, split_sweep: sweep } = answer;
    const data = [];
    if (sweep.best_lambda_max_rps) {
      data.push(trace("best t for each split", sweep, sweep.best_lambda_max_rps, colours.ink, "solid", "diamond-open"));
    }
    data.push(trace(sweep.best_lambda_max_rps ? "at this t" : "Λ_max", sweep, sweep.lambda_max_rps, colours["ink-2"], "5px,3px", "circle-open"));
    const paper = scenario.published;
    if (paper) data.push(published(colours, paper.instances.prefill ?? 0, paper.lambda_max_rps, "N_p = %{x}, %{y:.2f} req/s"));
    data.push(chosen(colours, result.instances.prefill, result.lambda_max_rps, "N_p = %{x}, %{y:.3f} req/s"));
    const top = ceiling(1.05 * Math.max(paper?.lambda_max_rps ?? 0, ...sweep.lambda_max_rps, ...(sweep.best_lambda_max_rps ?? [])));
    return {
      data,
      layout: {
        xaxis: { title: "N<sub>p</sub> / N<sub>d</sub>, instances", tickvals: sweep.prefill_instances, ticktext: names(sweep) },
        yaxis: { title: "Λ<sub>max</sub>, req/s", range: [0, top] },
      },
    };
  },

  table({ answer: { split_sweep: sweep } }) {
    return {
      columns: [
        { label: "N_p", unit: "instances", write: tokens },
        { label: "N_d", unit: "instances", write: tokens },
        { label: "Λ_max at this t", unit: "req/s", write: rate },
        { label: "Λ_max at the best t", unit: "req/s", write: rate },
        { label: "best t", unit: "tokens", write: tokens },
      ],
      rows: sweep.prefill_instances.map((prefill, at) => [
        prefill, sweep.decode_instances[at], sweep.lambda_max_rps[at],
        sweep.best_lambda_max_rps?.[at], sweep.best_threshold_tokens?.[at],
      ]),
    };
  },
};
