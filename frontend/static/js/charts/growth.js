// Λ_max of every deployment as chips get faster, and how full that makes its link.
import { percent, rate } from "../format.js";
import { factor } from "../compare/units.js";
import { series } from "./style.js";

const share = ({ lambda_max_rps: most, stage_lambda_rps: stages }) => (stages.link ? most / stages.link : null);

export const growthChart = {
  isDrawnAnew: true,
  caption: ({ scenarios }) => scenarios.map(({ title, speeds }) => `${title}: ${rate(speeds[0].lambda_max_rps)} req/s at × ${factor(speeds[0].chips)}, ${rate(speeds.at(-1).lambda_max_rps)} at × ${factor(speeds.at(-1).chips)}`).join("; ") + ". Below: what Λmax uses of the link; at 100 % it binds.",

  figure({ scenarios }, colours) {
    const x = scenarios[0].speeds.map(({ chips }) => chips);
    const curves = scenarios.map(({ title, speeds }, at) => ({ type: "scatter", mode: "lines+markers", name: title, x, y: speeds.map(({ lambda_max_rps: most }) => most), ...series(colours, at), hovertemplate: `${title}, chips × %{x}: %{y:.3f} req/s<extra></extra>` }));
    const links = scenarios.flatMap(({ title, speeds }, at) => (speeds.some((speed) => share(speed) !== null) ? [{ type: "scatter", mode: "lines+markers", name: `${title}, link`, showlegend: false, x, y: speeds.map((speed) => 100 * share(speed)), yaxis: "y2", ...series(colours, at), hovertemplate: `${title}, chips × %{x}: link %{y:.1f} % used<extra></extra>` }] : []));
    const full = { type: "scatter", mode: "lines", name: "link full", x: [x[0], x.at(-1)], y: [100, 100], yaxis: "y2", line: { color: colours.ink, width: 1.5, dash: "dash" }, hoverinfo: "skip" };
    return {
      height: 440,
      data: links.length ? [...curves, ...links, full] : curves,
      layout: {
        showlegend: true,
        xaxis: { title: "speed of prefill chips, × as they are (log)", type: "log", tickvals: x, ticktext: x.map(factor), anchor: links.length ? "y2" : "y" },
        yaxis: { title: "Λ<sub>max</sub>, req/s", rangemode: "tozero", domain: links.length ? [0.45, 1] : [0, 1] },
        ...(links.length ? { yaxis2: { title: "link used, %", rangemode: "tozero", domain: [0, 0.38] } } : {}),
      },
    };
  },

  table({ scenarios }) {
    return {
      columns: [{ label: "deployment", write: String }, { label: "chips", unit: "×", write: factor }, { label: "Λmax", unit: "req/s", write: rate }, { label: "link used at Λmax", unit: "%", write: percent, scale: 100 }],
      rows: scenarios.flatMap(({ title, speeds }) => speeds.map((speed) => [title, speed.chips, speed.lambda_max_rps, share(speed)])),
    };
  },
};
