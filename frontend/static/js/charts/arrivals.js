// Arrival rate over time: recorded, expected of the process, or one sample of it, which says so.
import { rate, written } from "../format.js";
import { spell, timeAxis, timeUnit } from "./time-axis.js";
import { ceiling, curve } from "./style.js";

const SAID = { poisson: "Poisson", renewal: "gamma renewal", mmpp: "two-state Markov-modulated Poisson", diurnal: "diurnal Poisson", recorded: "recorded" };

function end({ seconds, interval_s: interval }) {
  return interval ? seconds.at(-1) + interval : seconds.at(-1);
}

// Steps of equal length, the last of them drawn to its end.
const steps = (shown) => ({ x: [...shown.seconds, end(shown)], y: [...shown.rate_rps, shown.rate_rps.at(-1)] });

function told({ process, shown_rps: mean, rate_rps: given, cv, states, expected }) {
  const much = given == null ? "drawn at 1 req/s, since no rate is given" : `mean ${rate(mean)} req/s`;
  if (process === "recorded") return `Recorded rate, ${much}, in intervals of ${spell(expected.interval_s)}.`;
  if (process === "diurnal") return `Expected rate over a day, UTC, ${much}.`;
  if (process === "mmpp") {
    const parts = states.map((state) => `${rate(state.rate_rps)} req/s for ${spell(state.sojourn_s)} on average (${written(1, 100)(state.time_share)} % of the time)`);
    return `Two rates in turn, ${much}: ${parts.join(", ")}; cv ${written(2)(cv)}.`;
  }
  return `${SAID[process]} arrivals, the same rate expected at any time, ${much}; cv ${written(2)(cv)}.`;
}

export const arrivals = {
  caption({ arrivals: shown }) {
    const sample = shown.sample
      ? ` The steps are one random sample of ${written(0)(shown.sample.arrivals)} arrivals in intervals of ${spell(shown.sample.interval_s)}, not a record.`
      : "";
    const fast = shown.process === "mmpp" && !shown.sample ? " The states change too often to be drawn." : "";
    return told(shown) + sample + fast;
  },

  origins: ({ arrivals: { provenance } }) => [provenance],

  figure({ arrivals: shown }, colours) {
    const known = shown.expected ?? shown.sample;
    const last = known ? end(known) : 60;
    const unit = timeUnit(last);
    const data = [];
    const level = (name, y, more) => curve(name, [0, last / unit.seconds], [y, y], { color: colours.ink, width: 2, ...more }, "%{y:.4g} req/s");
    const time = (x) => x.map((value) => value / unit.seconds);
    if (shown.sample) {
      const { x, y } = steps(shown.sample);
      data.push(curve("one sample, not a record", time(x), y, { color: colours["ink-2"], width: 1, shape: "hv" }, `%{x:.3g} ${unit.name}: %{y:.4g} req/s`));
    }
    if (shown.expected) {
      const { x, y } = shown.expected.interval_s ? steps(shown.expected) : { x: shown.expected.seconds, y: shown.expected.rate_rps };
      data.push(curve(shown.process === "recorded" ? "recorded" : "expected", time(x), y, { color: colours.ink, width: 1.5, shape: shown.expected.interval_s ? "hv" : "linear" }, `%{x:.4g} ${unit.name}: %{y:.4g} req/s`));
    }
    data.push(level("mean", shown.shown_rps, { dash: "dash", width: 1.5 }));
    for (const [at, state] of (shown.states ?? []).entries()) {
      data.push(level(`state ${at + 1}: ${rate(state.rate_rps)} req/s`, state.rate_rps, { color: colours.accent, dash: ["9px,3px", "2px,3px"][at] }));
    }
    const top = ceiling(1.12 * Math.max(...data.flatMap((trace) => trace.y)));
    return {
      data,
      layout: { showlegend: true, xaxis: timeAxis(unit, last, shown.process === "diurnal"), yaxis: { title: "arrivals, req/s", range: [0, top] } },
    };
  },

  table({ arrivals: shown }) {
    const known = shown.expected ?? shown.sample;
    const sampled = !shown.expected;
    return {
      columns: [{ label: "from", unit: "s", write: written(1) }, { label: sampled ? "one sample" : "rate", unit: "req/s", write: rate }],
      rows: known ? known.seconds.map((at, row) => [at, known.rate_rps[row]]) : [[0, shown.shown_rps]],
    };
  },
};
