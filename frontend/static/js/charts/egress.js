// What crosses between the datacenters at Λ_max, against what the link can carry.
import { gbps, lengthTick, lengthTicks, percent, tokens } from "../format.js";
import { ceiling, chosen, labels, line, published } from "./style.js";

const GIGA = 1e9;

export const egressChart = {
  empty({ answer }) {
    if (answer.result.remote_share != null) return "Egress is drawn over the threshold, and this router knows none.";
    return answer.threshold_sweep ? null : "This deployment has no link: nothing crosses.";
  },

  caption({ answer: { result } }) {
    const used = result.link_utilisation == null ? "" : `, ${percent(result.link_utilisation)} % of the link`;
    return `Egress at Λ_max is ${gbps(result.egress_bps)} Gbps${used}.`;
  },

  figure({ answer, scenario }, colours) {
    const { result, threshold_sweep: sweep } = answer;
    const capacity = result.link_usable_bps;
    const data = [{
      type: "scatter", mode: "lines", name: "egress at Λ_max", showlegend: false, x: sweep.threshold_tokens,
      y: sweep.egress_bps.map((value) => value / GIGA), line: { ...line(colours, "link"), width: 2.5 },
      hovertemplate: "t = %{x:,.0f}: %{y:.2f} Gbps<extra></extra>",
    }];
    const paper = scenario.published;
    if (paper?.egress_bps) {
      data.push(published(colours, paper.threshold_tokens, paper.egress_bps / GIGA, "t = %{x:,.0f}, about %{y} Gbps"));
    }
    const first = sweep.threshold_tokens[0];
    if (result.threshold_tokens >= first) {
      data.push(chosen(colours, result.threshold_tokens, result.egress_bps / GIGA, "t = %{x:,.0f}, %{y:.2f} Gbps"));
    }
    const top = ceiling(1.05 * Math.max(capacity ?? 0, ...sweep.egress_bps, GIGA) / GIGA);
    const from = Math.min(1024, Math.max(result.threshold_tokens ?? first, first));
    const left = Math.log10(from);
    const names = [{ text: "egress at Λ<sub>max</sub>", colour: colours["stage-link"], x: 1.03 * from, y: sweep.egress_bps[0] / GIGA, position: "top right" }];
    if (capacity != null) {
      const limit = capacity / GIGA;
      data.push({
        type: "scatter", mode: "lines", name: "usable bandwidth", showlegend: false, hoverinfo: "skip",
        x: [first, sweep.threshold_tokens.at(-1)], y: [limit, limit], line: { color: colours.ink, width: 1.5, dash: "dash" },
      });
      names.push({ text: `usable bandwidth ${gbps(capacity)} Gbps`, colour: colours.ink, x: 1.03 * from, y: limit, position: "bottom right" });
    }
    data.push(labels(names, top / 80));
    return {
      data,
      layout: {
        xaxis: {
          title: "threshold t, tokens (log; K = 1024)", type: "log", tickvals: lengthTicks, ticktext: lengthTicks.map(lengthTick),
          range: [left, Math.log10(sweep.threshold_tokens.at(-1))],
        },
        yaxis: { title: "egress, Gbps", range: [0, top] },
      },
    };
  },

  table({ answer: { threshold_sweep: sweep } }) {
    return {
      columns: [
        { label: "t", unit: "tokens", write: tokens },
        { label: "egress at Λ_max", unit: "Gbps", write: gbps, scale: 1 / GIGA },
      ],
      rows: sweep.threshold_tokens.map((threshold, at) => [threshold, sweep.egress_bps[at]]),
    };
  },
};
