// A chart of several measured curves, one a group, with the fit's line behind each group's points.
import { written } from "../format.js";
import { curve, rings, series } from "./style.js";

// {key, over, unit, scale, nameOf, empty, caption, axes(values, colours, width)} -> a chart.
export function groupChart({ key, over, label, unit, scale = 1, nameOf, empty, caption, axes }) {
  const scaled = (values) => values.map((value) => value * scale);
  const hover = `${label} %{x:,.0f}: %{y:.4g} ${unit}`;
  return {
    empty: (charts) => (charts[key] ? null : empty),
    caption: (charts) => caption(charts[key].groups),
    origins: (charts) => [charts[key].provenance],

    figure(charts, colours, width) {
      const { groups } = charts[key];
      const data = groups.flatMap((group, at) => {
        const { line, marker } = series(colours, at);
        const name = nameOf(group);
        const fit = group.fit ? [curve(`${name}, fit`, group.fit[over], scaled(group.fit.seconds), { ...line, width: 1.5 }, hover, { showlegend: false })] : [];
        return [...fit, { ...rings(name, group.points[over], scaled(group.points.seconds), marker, hover), mode: group.fit ? "markers" : "lines+markers", line: { ...line, width: 1 } }];
      });
      const [x, y] = [data.flatMap((trace) => trace.x), data.flatMap((trace) => trace.y)];
      return { data, layout: { showlegend: true, ...axes(x, y, width) } };
    },

    table(charts) {
      return {
        columns: [
          { label: "curve", write: String }, { label, unit: over === "batch" ? "requests" : "tokens", write: written(0) },
          { label: "given", unit, write: written(4, scale), scale },
        ],
        rows: charts[key].groups.flatMap((group) => group.points[over].map((x, at) => [nameOf(group), x, group.points.seconds[at]])),
      };
    },
  };
}
