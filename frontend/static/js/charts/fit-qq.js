// Quantiles of a fit against those of the record: on the diagonal where the fit is right.
import { percent, written } from "../format.js";
import { lengthAxis } from "./axes.js";
import { familyName } from "./length-histogram.js";
import { rings } from "./style.js";

export const fitQq = {
  empty: ({ is_recorded: recorded, fits, fit }) => {
    if (!recorded) return "The lengths are given as a distribution already: there is no record to fit one to.";
    if (fits && !fits.length) return "Every request has the same length: nothing to fit.";
    return fit ? null : "Distributions are being fitted to the record …";
  },

  caption({ fit }) {
    const verdict = fit.warning
      ? `more than ${percent(fit.large_ks)} %: keep empirical`
      : `at most ${percent(fit.large_ks)} %: it may stand for the record`;
    return `${familyName(fit)}: the shares of requests up to some length differ by ${percent(fit.ks_distance)} % (KS distance), ${verdict}.`;
  },

  origins: ({ lengths }) => [lengths[0].provenance],

  figure({ fit: { qq } }, colours, width) {
    const every = [...qq.recorded_tokens, ...qq.fitted_tokens];
    const [low, high] = [Math.min(...every), Math.max(...every)];
    const { title, ...axis } = lengthAxis("", low, high, width);
    return {
      data: [
        { type: "scatter", mode: "lines", name: "equal", x: [low, high], y: [low, high], line: { color: colours.ink, width: 1.5, dash: "dash" }, hoverinfo: "skip" },
        rings("percentiles", qq.recorded_tokens, qq.fitted_tokens, { symbol: "circle-open", size: 6, color: colours.accent, line: { width: 1.5 } },
          "%{customdata:.0%}: recorded %{x:,.0f}, fitted %{y:,.0f} tokens", { customdata: qq.probability }),
      ],
      layout: {
        showlegend: true,
        xaxis: { ...axis, title: "recorded, tokens (log; K = 1024)" },
        yaxis: { ...axis, title: "fitted, tokens (log)" },
      },
    };
  },

  table({ fit: { qq } }) {
    return {
      columns: [
        { label: "requests", unit: "%", write: percent, scale: 100 }, { label: "recorded up to", unit: "tokens", write: written(0) },
        { label: "fitted up to", unit: "tokens", write: written(0) },
      ],
      rows: qq.probability.map((share, at) => [share, qq.recorded_tokens[at], qq.fitted_tokens[at]]),
    };
  },
};
