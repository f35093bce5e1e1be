// Time of a decode step against batch, a curve for each context.
import { short } from "./axes.js";
import { groupChart } from "./groups.js";
import { ceiling } from "./style.js";

export const decodeSteps = groupChart({
  key: "decode", over: "batch", label: "batch", unit: "ms", scale: 1e3,
  nameOf: ({ context_tokens: context }) => (context == null ? "context not stated" : `context ${short(context)}`),
  empty: "Nobody measured decode steps of this profile: add batch, context and seconds, and the largest batch that meets an SLO follows.",
  caption: (groups) => (groups.some(({ fit }) => fit)
    ? "Points as given; lines are the fit s₀ + s₁·batch + s₂·batch·context."
    : "Points as given: steps at several batches and contexts would tell a fit."),
  axes: (x, y) => ({
    xaxis: { title: "batch, requests", range: [0, 1.08 * Math.max(...x)] },
    yaxis: { title: "decode step, ms", range: [0, ceiling(1.08 * Math.max(...y))] },
  }),
});
