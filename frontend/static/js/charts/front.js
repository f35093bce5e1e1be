// USD an hour against TTFT, a curve for each rate: what no other deployment beats in cost, rate and TTFT.
import { rate, seconds, written } from "../format.js";
import { logAxis } from "./axes.js";
import { chosen, labels, series } from "./style.js";

const usd = written(2);
const MOST_IN_A_LEGEND = 10;
const drawn = ({ points }) => points.filter((point) => point.seconds > 0);

// [rate, its points from the fastest to the slowest], by rate.
function curves(shown) {
  const rates = [...new Set(drawn(shown).map((point) => point.rate_rps))].sort((one, other) => one - other);
  return rates.map((of) => [of, drawn(shown).filter((point) => point.rate_rps === of).sort((one, other) => one.seconds - other.seconds)]);
}

const hover = ({ percentile }) => `%{y:,.2f} USD/h, P${percentile} of TTFT %{x:.3g} s<br>%{text}`;

function trace(shown, [of, points], colours, at, showlegend) {
  const { line, marker } = series(colours, at);
  const name = `${rate(of)} req/s`;
  return {
    type: "scatter", mode: "lines+markers", name, showlegend, x: points.map((point) => point.seconds), y: points.map((point) => point.usd_per_h),
    text: points.map((point) => point.fleet), customdata: points.map((point) => point.at), line: { ...line, width: 1.25 }, marker,
    hovertemplate: `${name}<br>${hover(shown)}<extra></extra>`,
  };
}

function marked(shown, colours) {
  const point = drawn(shown).find(({ at }) => at === shown.at);
  if (!point) return [];
  const found = chosen(colours, point.seconds, point.usd_per_h, hover(shown));
  return [{ ...found, text: [point.fleet], customdata: [point.at], showlegend: false }];
}

// Beside the dearest point of each rate, where the curves part.
const named = (found, colours) => labels(found.map(([of, [point]]) => ({
  text: rate(of), colour: colours["ink-2"], x: point.seconds, y: point.usd_per_h, position: "top center",
})));

export const front = {
  empty(shown) {
    if (drawn(shown).length) return null;
    return shown.parts === undefined ? "Nothing was found." : "No rate has been computed yet: its points appear here as soon as one has.";
  },

  caption(shown) {
    const soFar = shown.parts === undefined ? "" : ` So far, of ${shown.ended} of ${shown.parts} rates.`;
    const point = drawn(shown).find(({ at }) => at === shown.at);
    const said = point ? ` Chosen: ${rate(point.rate_rps)} req/s, ${usd(point.usd_per_h)} USD/h, ${seconds(point.seconds)} s.` : "";
    return `Each point is a deployment that no other beats in cost, rate and P${shown.percentile} of TTFT under load (approximation).${soFar}${said}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(shown, colours) {
    const found = curves(shown);
    const inLegend = found.length <= MOST_IN_A_LEGEND;
    const costs = drawn(shown).map((point) => point.usd_per_h);
    const fromZero = Math.min(...costs) < Math.max(...costs) / 2;
    const data = [...found.map((each, at) => trace(shown, each, colours, at, inLegend)), ...(inLegend ? [] : [named(found, colours)]), ...marked(shown, colours)];
    return {
      data,
      layout: {
        showlegend: inLegend,
        xaxis: logAxis(`P${shown.percentile} of TTFT, s`, drawn(shown).map((point) => point.seconds)),
        yaxis: { title: "cost, USD/h", ...(fromZero ? { range: [0, 1.08 * Math.max(...costs)] } : {}) },
      },
    };
  },

  table({ points, percentile }) {
    return {
      columns: [
        { label: "point", write: String }, { label: "rate", unit: "req/s", write: rate }, { label: "cost", unit: "USD/h", write: usd },
        { label: `P${percentile} of TTFT`, unit: "s", write: seconds }, { label: "what is bought", write: String },
      ],
      rows: points.map((point) => [point.at + 1, point.rate_rps, point.usd_per_h, point.seconds, point.fleet]),
    };
  },
};
