// How far predictions are from measurements, over prompt length: a symbol a quantity; where bounds hold, it lies at 0.
import { percent, written } from "../format.js";
import { lengthAxis } from "./axes.js";
import { rings, series } from "./style.js";

const NAMES = {
  ttft_mean_s: "TTFT, mean", ttft_p50_s: "TTFT, P50", ttft_p90_s: "TTFT, P90", ttft_p99_s: "TTFT, P99", tpot_s: "TPOT",
  throughput_rps: "throughput", egress_bps: "egress",
};
const PLACES = { within: "within the bounds", above: "above the bounds", below: "below the bounds", "": "of a value" };
const compared = ({ lines }) => lines.filter(({ error }) => error !== null);
const quantities = (lines) => Object.keys(NAMES).filter((name) => lines.some(({ quantity }) => quantity === name));
const significant = (value) => (value == null ? "–" : Number(value.toPrecision(4)).toLocaleString("en-US", { maximumSignificantDigits: 4 }));

export const accuracyResiduals = {
  empty: (given) => (compared(given).length ? null : "Nothing could be compared, so there are no errors to show."),

  caption(given) {
    const lines = compared(given);
    if (!lines.length) return "";
    const bounded = lines.filter(({ place }) => place);
    const worst = Math.max(...lines.map(({ error }) => Math.abs(error)));
    const bounds = bounded.length ? ` ${bounded.length} are of bounds, ${bounded.filter(({ place }) => place === "within").length} of them held.` : "";
    return `${lines.length} figures, off by at most ${percent(worst)} %; above 0 the prediction is too high.${bounds}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(given, colours, width) {
    const lines = compared(given);
    const lengths = lines.map(({ input_tokens: tokens }) => tokens);
    const data = quantities(lines).map((name, at) => {
      const own = lines.filter(({ quantity }) => quantity === name);
      const text = own.map(({ concurrency, place }) => `${concurrency === null ? "" : `${concurrency} in flight, `}${PLACES[place]}`);
      return rings(NAMES[name], own.map(({ input_tokens: tokens }) => tokens), own.map(({ error }) => 100 * error), { ...series(colours, at).marker, size: 10 }, "%{x:,.0f} tokens: %{y:+.1f} %, %{text}", { text, cliponaxis: false });
    });
    const errors = lines.map(({ error }) => 100 * error);
    const [low, high] = [Math.min(0, ...errors), Math.max(0, ...errors)];
    const room = Math.max(1, 0.08 * (high - low));
    return {
      data,
      layout: {
        showlegend: true,
        xaxis: lengthAxis("prompt length", Math.min(...lengths), Math.max(...lengths), width),
        yaxis: { title: "predicted over measured, less one, %", range: [low - room, high + room], zeroline: true, zerolinecolor: colours["ink-2"], zerolinewidth: 1 },
      },
    };
  },

  table(given) {
    return {
      columns: [
        { label: "length", unit: "tokens", write: written(0) }, { label: "quantity", write: String }, { label: "in flight", write: significant },
        { label: "measured", unit: "SI", write: significant }, { label: "predicted from", unit: "SI", write: significant }, { label: "predicted to", unit: "SI", write: significant },
        { label: "error", unit: "%", write: percent, scale: 100 }, { label: "place", write: String },
      ],
      rows: compared(given).map((line) => [line.input_tokens, NAMES[line.quantity], line.concurrency, line.measured, line.lower, line.upper, line.error, PLACES[line.place]]),
    };
  },
};
