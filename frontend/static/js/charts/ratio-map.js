// The ratio of two deployments over two figures, with the line on which they tie.
import { factor, unitOf, write } from "../compare/units.js";

const ROOM_FOR_NUMBERS = 900;
// K is 1024 here, so that nothing is written with Plotly's k.
const NUMBERS = { exponentformat: "none", separatethousands: true, nticks: 8 };
const scale = ({ unit, value, values, factors }) => (values ? { at: values.map((number) => Number(write(unit, number).replaceAll(",", ""))), title: unitOf(unit), now: Number(write(unit, value).replaceAll(",", "")) } : { at: factors, title: "× as it is", now: 1 });
const said = (label) => label.replace(/([A-ZΘΛΦST])_([A-Za-z-]+)/g, "$1<sub>$2</sub>");
// A point of a tie, by its factors, in the units of the axes.
const place = (axis, times) => scale(axis).now * times;

export const ratioMap = {
  isDrawnAnew: true,
  caption: ({ titles, label, better, ties }) => `${label} of ${titles[0]} over that of ${titles[1]}: ${better === "more" ? "above" : "below"} 1 ${titles[0]} is better. ${ties.length ? "The dashed line is where they tie; the dot is as it stands." : "Nowhere in this range do they tie; the dot is as it stands."}`,

  figure(answer, colours, width) {
    const { x, y, ratio, ties } = answer;
    const [across, up] = [scale(x), scale(y)];
    const furthest = Math.max(...ratio.flat().filter((value) => value > 0).map((value) => Math.abs(Math.log(value))), 1e-6);
    return {
      height: 460,
      data: [
        {
          type: "heatmap", x: across.at, y: up.at, z: ratio.map((cells) => cells.map((value) => (value > 0 ? Math.log(value) : null))), zmin: -furthest, zmax: furthest,
          colorscale: [[0, colours["map-high"]], [0.5, colours["map-low"]], [1, colours["map-beyond"]]], customdata: ratio.map((cells) => cells.map(factor)),
          texttemplate: width >= ROOM_FOR_NUMBERS && ratio.length <= 12 ? "%{customdata}" : "", textfont: { size: 11, color: colours["map-ink"] },
          colorbar: { title: { text: "ratio" }, thickness: 12, outlinewidth: 0, tickvals: [-furthest, 0, furthest], ticktext: [Math.exp(-furthest), 1, Math.exp(furthest)].map((value) => value.toPrecision(3)) },
          hovertemplate: `${x.label} %{x:.4g} ${across.title}<br>${y.label} %{y:.4g} ${up.title}<br>ratio %{customdata}<extra></extra>`,
        },
        ...ties.map((line) => ({
          type: "scatter", mode: "lines", name: "they tie", x: line.map((point) => place(x, point.x_factor)), y: line.map((point) => place(y, point.y_factor)),
          line: { color: colours["map-ink"], width: 2.5, dash: "dash" }, hovertemplate: "they tie at %{x:.4g}, %{y:.4g}<extra></extra>",
        })),
        { type: "scatter", mode: "markers", name: "as it stands", x: [across.now], y: [up.now], marker: { size: 10, color: colours["map-ink"], line: { color: colours["map-low"], width: 1 } }, hovertemplate: "as it stands: %{x:.4g}, %{y:.4g}<extra></extra>" },
      ],
      layout: {
        // Ink that is read on the map is not read beside it when that is dark: the caption says what line and dot are.
        showlegend: false,
        xaxis: { title: `${said(x.label)}, ${across.title} (log)`, type: "log", showgrid: false, ...NUMBERS },
        yaxis: { title: `${said(y.label)}, ${up.title} (log)`, type: "log", showgrid: false, ...NUMBERS },
      },
    };
  },

  table({ x, y, ratio }) {
    return {
      columns: [{ label: x.label, unit: unitOf(x.unit), write: String }, { label: y.label, unit: unitOf(y.unit), write: String }, { label: "ratio", write: factor }],
      rows: ratio.flatMap((cells, up) => cells.map((value, across) => [write(x.unit, x.values ? x.values[across] : x.factors[across]), write(y.unit, y.values ? y.values[up] : y.factors[up]), value])),
    };
  },
};
