// The gain over a parameter, the line at 1 below which PrfaaS does not pay, and where both meet.
import { ratio } from "../format.js";
import { curve, limit } from "./style.js";

const WIDE = 20;
const title = ({ title: name, unit }) => (unit && unit !== "×" ? `${name}, ${unit}` : `${name}${unit && !name.includes(":") ? ", ×" : ""}`);

// Of the values that can be drawn: on a log axis none is 0.
const ends = ({ values, scale }) => [values[0] / scale, values.at(-1) / scale];

function axis(shown) {
  const [low, high] = ends(shown);
  const isLog = low > 0 && high / low > WIDE;
  return isLog ? { title: `${title(shown)} (log)`, type: "log", range: [Math.log10(low), Math.log10(high)] } : { title: title(shown), range: [low, high] };
}

const level = (colours, x, name) => ({
  type: "scatter", mode: "markers", name, x: [x], y: [1], showlegend: true, hovertemplate: `${name}<extra></extra>`,
  marker: { symbol: "diamond-open", size: 12, color: colours.ink, line: { width: 2 } },
});

export const breakEven = {
  empty: ({ gain }) => (gain.some((value) => value != null) ? null : "Without PrfaaS the same money buys nothing in this whole range."),

  caption: ({ headline }) => headline,

  origins: ({ provenance }) => [provenance],

  figure(shown, colours) {
    const { gain, ties, given, scale } = shown;
    const x = shown.values.map((value) => value / scale);
    const [low, high] = ends(shown);
    const known = gain.filter((value) => value != null);
    const [least, most] = [Math.min(1, ...known), Math.max(1, ...known)];
    const room = Math.max(0.05, 0.08 * (most - least));
    const range = [Math.max(0, least - room), most + room];
    const data = [
      curve("gain", x, gain, { color: colours["stage-prfaas"], width: 2.5 }, "%{x:.4g}: %{y:.3f} times"),
      limit(colours, "equal: 1", low, high, 1),
      ...ties.map(({ value, text }) => level(colours, value / scale, `tie at ${text}`)),
    ];
    const at = given == null ? null : given / scale;
    if (at != null && at >= low && at <= high) {
      data.push({ ...curve("as given", [at, at], range, { color: colours["ink-2"], width: 1, dash: "2px,3px" }, "as given: %{x:.4g}"), showlegend: true });
    }
    return { data, layout: { showlegend: true, xaxis: axis(shown), yaxis: { title: "gain, times", range } } };
  },

  table({ values, gain, ties, scale, title: name, unit }) {
    const rows = [...values.map((value, at) => [value, gain[at], ""]), ...ties.map(({ value }) => [value, 1, "tie"])];
    return {
      columns: [{ label: name, unit, write: (value) => String(Number((value / scale).toPrecision(6))), scale: 1 / scale }, { label: "gain", unit: "times", write: ratio }, { label: "note", write: String }],
      rows: rows.sort(([a], [b]) => a - b),
    };
  },
};
