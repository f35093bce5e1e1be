// The panel of numbers: writes a result into the places that the template has laid out.
import { boundBy, gbps, percent, rate, ratio, seconds, tokens } from "./format.js";
import { mark } from "./mark.js";
import { symbols } from "./symbols.js";

const WEAKEST = "the weakest kind of figure that this number rests on";

// "stages.link" or "lambda_max_rps"; nothing for a stage that no request passes.
const evidence = (known, path) => path.split(".").reduce((part, key) => part?.[key], known) ?? null;

export function showNumbers(panel, result, baseline) {
  const out = (name, text) => {
    const place = panel.querySelector(`[data-out="${name}"]`);
    if (place.textContent !== text) place.textContent = text;
  };
  const ttft = result.ttft_unloaded_s;
  out("lambda", rate(result.lambda_max_rps));
  out("ratio", ratio(result.lambda_max_rps / baseline));
  out("binding", result.binding.length ? `Bound by ${boundBy(result.binding)}.` : "Nothing binds.");
  out("offload", percent(result.offload_fraction));
  out("means", `${tokens(result.mean_offloaded_tokens)} / ${tokens(result.mean_local_tokens)}`);
  out("egress", gbps(result.egress_bps));
  out("link", percent(result.link_utilisation));
  out("ttft-mean", seconds(ttft.mean));
  out("ttft-percentiles", [ttft.p50, ttft.p90, ttft.p99].map(seconds).join(" / "));
  panel.querySelector('[data-out="notes"]').replaceChildren(symbols(result.notes.join(" ")));
  for (const place of panel.querySelectorAll("[data-mark]")) {
    const kind = evidence(result.evidence, place.dataset.mark);
    place.replaceChildren(...(kind ? [mark(kind, WEAKEST)] : []));
  }
  for (const row of panel.querySelectorAll("[data-stage]")) showStage(row, result);
}

function showStage(row, result) {
  const name = row.dataset.stage;
  const stage = result.stages[name];
  const values = {
    theta: rate(result.theta_rps[name]),
    lambda: rate(stage?.lambda_rps),
    used: percent(stage?.utilisation),
    slack: percent(stage?.slack),
  };
  for (const cell of row.querySelectorAll("[data-value]")) cell.textContent = values[cell.dataset.value];
}
