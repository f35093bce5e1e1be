// TTFT of a replay: measured, with the bucket that it lies in, beside each simulation with its 95 % interval.
import { seconds } from "../format.js";
import { logAxis } from "./axes.js";
import { series } from "./style.js";

const PARTS = { p50: "P50", p90: "P90", p99: "P99" };
const WIDE = 20;
const NAME = { width: 260, height: 19 };
const parts = Object.keys(PARTS);

// One for each look: {title, of(part) -> {value, low, high} or null}.
function rows({ measured, runs }) {
  const told = measured ? [{ title: "measured", of: (part) => measured[part] }] : [];
  return [...told, ...runs.map(({ title, ttft_s: times }) => ({ title, of: (part) => ({ value: times[part].mean, low: times[part].low, high: times[part].high }) }))];
}

const written = (found) => (found?.value == null ? "–" : seconds(found.value) + (found.low == null || found.high == null ? "" : ` [${seconds(found.low)}, ${seconds(found.high)}]`));

function trace({ title, of }, number, many, colours, first) {
  const found = parts.map(of);
  const look = series(colours, first + number);
  const error = (bound) => found.map((each) => (each?.value == null || each[bound] == null ? 0 : Math.abs(each[bound] - each.value)));
  return {
    type: "scatter", mode: "markers", name: title, x: parts.map((_, at) => at + (number - (many - 1) / 2) * Math.min(0.16, 0.8 / many)), y: found.map((each) => each?.value ?? null), text: found.map(written),
    marker: look.marker, error_y: { type: "data", symmetric: false, array: error("high"), arrayminus: error("low"), color: look.line.color, thickness: 1.5, width: 4 },
    customdata: Object.values(PARTS), hovertemplate: `${title}<br>%{customdata} of TTFT %{text} s<extra></extra>`, cliponaxis: false,
  };
}

export const replayTtft = {
  // Axes do not follow points that are moved.
  isDrawnAnew: true,

  empty: (shown) => (rows(shown).length ? null : "There is no TTFT: it was not measured, and requests were never finished."),

  caption({ measured, replications }) {
    const told = measured ? "Of what was measured, bars are the bucket in which a percentile lies." : "TTFT was not measured in one set of buckets.";
    return `${told} ${replications > 1 ? "Of what was simulated, they are 95 % confidence intervals of the mean over replications." : "One replication alone has no interval."}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(shown, colours, width) {
    const all = rows(shown);
    const data = all.map((row, number) => trace(row, number, all.length, colours, shown.measured ? 0 : 1));
    const ends = all.flatMap(({ of }) => parts.map(of)).flatMap((each) => [each?.value, each?.low, each?.high]).filter((value) => value > 0);
    const isWide = Math.max(...ends) / Math.min(...ends) > WIDE;
    const lines = Math.ceil(all.length / Math.max(1, Math.floor(width / NAME.width)));
    return {
      data,
      height: 320 + NAME.height * lines,
      layout: {
        showlegend: true, xaxis: { title: "", tickmode: "array", tickvals: parts.map((_, at) => at), ticktext: Object.values(PARTS), range: [-0.5, parts.length - 0.5], showgrid: false },
        yaxis: isWide ? logAxis("TTFT, s", ends) : { title: "TTFT, s", rangemode: "tozero" },
      },
    };
  },

  table(shown) {
    const all = rows(shown);
    const bounds = ({ title }) => ["value", "low", "high"].map((bound) => ({ label: bound === "value" ? title : `${title}, ${bound}`, unit: "s", write: seconds }));
    return {
      columns: [{ label: "TTFT", write: String }, ...all.flatMap(bounds)],
      rows: parts.map((part) => [PARTS[part], ...all.flatMap(({ of }) => ["value", "low", "high"].map((bound) => of(part)?.[bound] ?? null))]),
    };
  },
};
