// Λ_max over bandwidth and σ: numbers in the cells where there is room, so that colour is never alone.
import { gbps, rate, seconds, tokens } from "../format.js";

const GIGA = 1e9;
const ROOM_FOR_NUMBERS = 700;

export const values = ({ map, split }) =>
  split === "best" ? map.best_lambda_max_rps : map.lambda_max_rps.map((row) => row.map((cell) => cell[Number(split)]));

const thresholds = ({ map, split }) =>
  split === "best" ? map.best_threshold_tokens : map.threshold_tokens.map((row) => row.map((cell) => cell[Number(split)]));

const prefill = ({ map, split }, b, s) =>
  split === "best" ? map.best_prefill_instances[b][s] : map.prefill_instances[Number(split)];

const hasBoth = ({ map }) => map.bandwidth_bps[0] != null && map.sigma[0] != null;
const transposed = (rows) => rows[0].map((_, at) => rows.map((row) => row[at]));

// Borders of the given cell: half a step to each side, in equal ratios on the log axis.
function cell({ map }) {
  const x = map.given.bandwidth_bps / GIGA;
  const half = Math.sqrt(map.bandwidth_bps[1] / map.bandwidth_bps[0]);
  const step = (map.sigma[1] - map.sigma[0]) / 2;
  return { x, y: map.given.sigma, x0: x / half, x1: x * half, y0: map.given.sigma - step, y1: map.given.sigma + step };
}

function heat(shown, colours, width) {
  const { map } = shown;
  const given = cell(shown);
  const bandwidths = map.bandwidth_bps.map((value) => value / GIGA);
  const split = map.bandwidth_bps.map((_, b) => map.sigma.map((__, s) => prefill(shown, b, s)));
  const t = thresholds(shown).map((row) => row.map(tokens));
  return {
    data: [
      {
        type: "heatmap", x: bandwidths, y: map.sigma, z: transposed(values(shown)), colorscale: [[0, colours["map-low"]], [1, colours["map-high"]]],
        customdata: transposed(split.map((row, b) => row.map((count, s) => [count, t[b][s]]))),
        texttemplate: width >= ROOM_FOR_NUMBERS ? "%{z:.2f}" : "", textfont: { size: 11, color: colours["map-ink"] }, xgap: 1, ygap: 1,
        colorbar: { title: { text: "Λ<sub>max</sub>,<br>req/s" }, thickness: 12, outlinewidth: 0 },
        hovertemplate: "%{x:.3g} Gbps, σ %{y:.3f}<br>Λ_max %{z:.3f} req/s<br>N_p %{customdata[0]}, t %{customdata[1]}<extra></extra>",
      },
      {
        type: "scatter", mode: "markers", name: "as given", x: [given.x], y: [given.y0 + (given.y1 - given.y0) * 0.16], showlegend: true,
        marker: { size: 7, color: colours["map-ink"], line: { color: colours["map-low"], width: 1 } },
        hovertemplate: `as given: ${given.x.toPrecision(3)} Gbps, σ ${seconds(given.y)}<extra></extra>`,
      },
    ],
    layout: {
      shapes: [{ type: "rect", x0: given.x0, x1: given.x1, y0: given.y0, y1: given.y1, line: { color: colours["map-ink"], width: 2.5 } }],
      xaxis: {
        title: "usable link bandwidth, Gbps (log)", type: "log", showgrid: false,
        tickvals: bandwidths.filter((_, at) => at % 2 === 0), ticktext: bandwidths.filter((_, at) => at % 2 === 0).map((value) => value.toPrecision(3)),
      },
      yaxis: { title: "σ of log input length", showgrid: false },
    },
  };
}

// With only one of the two axes there is nothing to colour: a line over it.
function single(shown, colours) {
  const { map } = shown;
  const overSigma = map.sigma[0] != null;
  const x = overSigma ? map.sigma : map.bandwidth_bps.map((value) => value / GIGA);
  return {
    data: [{
      type: "scatter", mode: "lines+markers", x, y: values(shown).flat(), line: { color: colours.ink, width: 2 }, name: "Λ<sub>max</sub>",
      hovertemplate: "%{x:.3g}: %{y:.3f} req/s<extra></extra>",
    }],
    layout: {
      xaxis: { title: overSigma ? "σ of log input length" : "usable link bandwidth, Gbps (log)", type: overSigma ? "linear" : "log" },
      yaxis: { title: "Λ<sub>max</sub>, req/s", rangemode: "tozero" },
    },
  };
}

export const mapChart = {
  caption({ map, split }) {
    const cuts = map.threshold_tokens.flat(2).some((value) => value != null);
    const { bandwidth_bps: bandwidth, sigma } = map.given;
    const where = [bandwidth == null ? null : `${gbps(bandwidth)} Gbps`, sigma == null ? null : `σ ${seconds(sigma)}`];
    const best = cuts ? "t and split are the best of each cell" : "the split is the best of each cell";
    const fixed = cuts ? "t is the best of each cell at this split" : "every cell has this split";
    return `Outlined and dotted: as given, ${where.filter(Boolean).join(", ")}. In the map ${split === "best" ? best : fixed}.`;
  },

  figure: (shown, colours, width) => (hasBoth(shown) ? heat(shown, colours, width) : single(shown, colours)),

  table(shown) {
    const { map } = shown;
    const [lambda, t] = [values(shown), thresholds(shown)];
    return {
      columns: [
        { label: "bandwidth", unit: "Gbps", write: gbps, scale: 1 / GIGA },
        { label: "σ", unit: "", write: rate },
        { label: "N_p", unit: "instances", write: tokens },
        { label: "Λ_max", unit: "req/s", write: rate },
        { label: "t", unit: "tokens", write: tokens },
      ],
      rows: map.bandwidth_bps.flatMap((bandwidth, b) =>
        map.sigma.map((sigma, s) => [bandwidth, sigma, prefill(shown, b, s), lambda[b][s], t[b][s]])),
    };
  },
};
