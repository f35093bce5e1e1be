// A tornado: from an outcome as it is, a bar to where the low and the high end of every figure take it, widest first.
import { factor, unitOf, write } from "../compare/units.js";

const ROW_PX = 26;
const FRAME_PX = 120;
const MOST = 14;
const HALF = 0.36;

// Those that move it; the rest are told in words.
const moving = ({ outcome }) => outcome.bars.filter(({ has_influence: moves }) => moves);
const still = ({ outcome }) => outcome.bars.filter(({ has_influence: moves }) => !moves);
const named = ({ label }) => label.replace(/([A-ZΘΛΦST])_([A-Za-z-]+)/g, "$1<sub>$2</sub>");
const input = (bar, end) => (bar[`${end}_input`] == null ? `× ${factor(bar[`${end}_factor`])}` : `${write(bar.unit, bar[`${end}_input`])} ${unitOf(bar.unit)}`);

function side(shown, end, name, pattern, colour, colours) {
  const { outcome } = shown;
  const bars = moving(shown).slice(0, MOST).filter((bar) => bar[end] !== null);
  return {
    // Half a row each: where both ends lie on one side, neither hides the other.
    type: "bar", orientation: "h", name, width: HALF, offset: end === "low" ? -HALF : 0, y: bars.map(named), base: bars.map(() => outcome.value), x: bars.map((bar) => bar[end] - outcome.value), showlegend: true,
    marker: { color: colour, line: { color: colours.surface, width: 1 }, pattern: { shape: pattern, fillmode: "overlay", fgcolor: colours.surface, size: 7, solidity: 0.25 } },
    customdata: bars.map((bar) => [input(bar, end), write(outcome.unit, bar[end])]),
    hovertemplate: `%{y} at %{customdata[0]}: %{customdata[1]} ${unitOf(outcome.unit)}<extra></extra>`,
  };
}

function retuned(shown, colours) {
  const { outcome } = shown;
  const points = moving(shown).slice(0, MOST).flatMap((bar) => (bar.retuned ? ["low", "high"].filter((end) => bar.retuned[end] !== null).map((end) => ({ bar, end })) : []));
  if (!points.length) return [];
  return [{
    type: "scatter", mode: "markers", name: "retuned: t at its best", x: points.map(({ bar, end }) => bar.retuned[end]), y: points.map(({ bar }) => named(bar)),
    marker: { symbol: "diamond-open", size: 9, color: colours.ink, line: { width: 1.5 } }, customdata: points.map(({ bar, end }) => [input(bar, end), write(outcome.unit, bar.retuned[end])]),
    hovertemplate: `%{y} at %{customdata[0]}, t retuned: %{customdata[1]} ${unitOf(outcome.unit)}<extra></extra>`,
  }];
}

export const tornado = {
  isDrawnAnew: true,
  empty: ({ outcome }) => (outcome.value === null ? "Nothing to show: a price is not known, or nothing is carried." : null),
  caption: (shown) => {
    const quiet = still(shown).map(({ label }) => label);
    const left = moving(shown).length > MOST ? ` The ${MOST} widest of ${moving(shown).length}.` : "";
    return `${shown.title}, ${write(shown.outcome.unit, shown.outcome.value)} ${unitOf(shown.outcome.unit)} as given.${left}${quiet.length ? ` Without influence: ${quiet.join(", ")}.` : ""}`;
  },
  origins: ({ outcome }) => [{ kind: outcome.kind, source: "the weakest figure under it" }],

  figure(shown, colours) {
    const { outcome } = shown;
    const bars = moving(shown).slice(0, MOST);
    return {
      height: FRAME_PX + ROW_PX * bars.length,
      data: [side(shown, "low", "figure lower", "", colours["stage-pd-p"], colours), side(shown, "high", "figure higher", "/", colours["stage-prfaas"], colours), ...retuned(shown, colours)],
      layout: {
        barmode: "overlay", showlegend: true,
        shapes: [{ type: "line", xref: "x", yref: "paper", x0: outcome.value, x1: outcome.value, y0: 0, y1: 1, line: { color: colours.ink, width: 1.5 } }],
        xaxis: { title: `${outcome.label.replace(/([ΛΘ])_([a-z-]+)/, "$1<sub>$2</sub>")}, ${unitOf(outcome.unit)}` },
        yaxis: { title: "", type: "category", autorange: "reversed", showgrid: false, categoryorder: "array", categoryarray: bars.map(named) },
      },
    };
  },

  table({ outcome }) {
    const value = (number) => write(outcome.unit, number);
    const unit = unitOf(outcome.unit);
    return {
      columns: [
        { label: "figure", write: String }, { label: "unit", write: String }, { label: "low", write: String }, { label: "high", write: String },
        { label: "outcome at low", unit, write: value }, { label: "outcome at high", unit, write: value }, { label: "retuned at low", unit, write: value }, { label: "retuned at high", unit, write: value },
        { label: "elasticity", write: factor }, { label: "evidence", write: String },
      ],
      rows: outcome.bars.map((bar) => [bar.label, unitOf(bar.unit), write(bar.unit, bar.low_input), write(bar.unit, bar.high_input), bar.low, bar.high, bar.retuned?.low ?? null, bar.retuned?.high ?? null, bar.elasticity, bar.kind]),
    };
  },
};
