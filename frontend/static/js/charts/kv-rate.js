// Φ_kv of one instance against length, a curve for each profile; beyond its points a curve is thin.
import { gbps, written } from "../format.js";
import { lengthAxis, logAxis, short } from "./axes.js";
import { curve, rings, series } from "./style.js";

const GIGA = 1e9;
const HOVER = "%{x:,.0f} tokens: %{y:.3g} Gbps";
const named = (rate) => `${rate.gpus_per_instance} × ${rate.hardware}`;

// The profiles' own names where hardware and size do not tell them apart.
function names(rates) {
  const texts = rates.map(named);
  return rates.map((rate, at) => (texts.filter((text) => text === texts[at]).length > 1 ? rate.profile : texts[at]));
}

function curves(colours, rate, name, at) {
  const { line, marker } = series(colours, at);
  const [shortest, longest] = rate.measured_tokens;
  const part = (keep) => rate.bps.map((bps, i) => (keep(rate.tokens[i]) ? bps / GIGA : null));
  return [
    curve(name, rate.tokens, part((tokens) => tokens >= shortest && tokens <= longest), line, HOVER),
    curve(`${name}, extrapolated`, rate.tokens, part((tokens) => tokens <= shortest || tokens >= longest), { ...line, width: 0.8 }, HOVER, { showlegend: false }),
    rings(`${name}, from a given point`, rate.points.tokens, rate.points.bps.map((bps) => bps / GIGA), marker, HOVER, { showlegend: false }),
  ];
}

export const kvRate = {
  empty: ({ kv_rate: rates }) => (rates.length ? null : "No profile says how fast any hardware prefills this model: add one, or import a benchmark, and Φ_kv is drawn here."),

  caption({ kv_rate: rates }) {
    const texts = rates.map((rate, at) => {
      const top = rate.points.bps.indexOf(Math.max(...rate.points.bps));
      return `${names(rates)[at]} pushes out at most ${gbps(rate.points.bps[top])} Gbps, at ${short(rate.points.tokens[top])} tokens`;
    });
    return `One busy instance of ${texts.join("; of ")}. Φ_kv = S_kv / T_prefill (eq. 1); thin where extrapolated.`;
  },

  origins: ({ kv_rate: rates }) => rates.map(({ provenance }) => provenance),

  figure({ kv_rate: rates }, colours, width) {
    const data = rates.flatMap((rate, at) => curves(colours, rate, names(rates)[at], at));
    const tokens = rates.flatMap((rate) => rate.tokens);
    return {
      data,
      layout: {
        showlegend: true,
        xaxis: lengthAxis("prompt length", Math.min(...tokens), Math.max(...tokens), width),
        yaxis: logAxis("Φ<sub>kv</sub>, Gbps", rates.flatMap(({ bps }) => bps.map((value) => value / GIGA))),
      },
    };
  },

  table({ kv_rate: rates }) {
    return {
      columns: [
        { label: "profile", write: String }, { label: "length", unit: "tokens", write: written(0) },
        { label: "Φ_kv", unit: "Gbps", write: gbps, scale: 1 / GIGA }, { label: "range", write: String },
      ],
      rows: rates.flatMap((rate) => rate.tokens.map((tokens, at) => [
        rate.profile, tokens, rate.bps[at],
        tokens < rate.measured_tokens[0] || tokens > rate.measured_tokens[1] ? "extrapolated" : "within the points",
      ])),
    };
  },
};
