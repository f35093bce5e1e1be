// Uncached prompt lengths by route, with the threshold in force and the one that is recommended.
import { percent, tokens, written } from "../format.js";
import { lengthAxis } from "../charts/axes.js";
import { ceiling, STAGES } from "../charts/style.js";

const ROUTES = { local: ["pd_p", "prefilled locally"], remote: ["prfaas", "prefilled by PrfaaS"] };
const total = (values) => values.reduce((before, value) => before + value, 0);

export class LengthsChart {
  isDrawnAnew = true;

  empty({ lengths }) {
    return lengths && total(Object.values(lengths.counts).flat()) > 0 ? null : "No uncached length has been measured in this time.";
  }

  caption({ lengths, current, advice }) {
    const all = total(Object.values(lengths.counts).flat());
    const t = current === null ? "t in force is unknown" : `t in force ${tokens(current)} tokens`;
    const wanted = advice?.threshold_tokens == null ? "" : `; recommended ${tokens(advice.threshold_tokens)}`;
    return `${tokens(all)} requests over ${written(0)(lengths.window_s)} s, by bucket of the engines' histograms. ${t}${wanted}.`;
  }

  edges({ bounds, counts }) {
    const every = Object.values(counts);
    const ends = [bounds[0] / 2, ...bounds, bounds.at(-1) * 2];
    const used = ends.slice(1).map((_, at) => every.some((values) => values[at] > 0));
    return { ends, from: Math.max(0, used.indexOf(true)), to: used.lastIndexOf(true) + 1 };
  }

  figure({ lengths, current, advice }, colours, width) {
    const { ends, from, to } = this.edges(lengths);
    const all = total(Object.values(lengths.counts).flat());
    const data = Object.entries(ROUTES).filter(([route]) => lengths.counts[route]).map(([route, [stage, name]]) => {
      const share = lengths.counts[route].slice(from, to).map((count) => (100 * count) / all);
      return this.outline(name, ends.slice(from, to + 1), share, { ...STAGES[stage], colour: colours[STAGES[stage].colour] }, colours);
    });
    const high = ceiling(1.15 * Math.max(...data.flatMap(({ y }) => y), 1));
    data.push(...this.thresholds({ current, advice, high }, colours));
    const known = [ends[from], ends[to], current, advice?.threshold_tokens].filter((value) => value > 0);
    return {
      data,
      layout: {
        showlegend: true, legend: { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", font: { size: 11 } }, margin: { l: 52, r: 14, t: 24, b: 40 },
        xaxis: { ...lengthAxis("uncached length", Math.min(...known), Math.max(...known), width), fixedrange: true },
        yaxis: { title: "requests, %", range: [0, high], fixedrange: true },
      },
    };
  }

  outline(name, ends, share, { colour, dash }, colours) {
    return {
      type: "scatter", mode: "lines", name, x: [ends[0], ...ends], y: [0, ...share, 0], line: { color: colour, dash, width: 1.75, shape: "hv" },
      fill: "tozeroy", fillpattern: { shape: dash === "solid" ? "/" : "\\", fgcolor: colour, bgcolor: colours.surface, size: 6, solidity: 0.15 },
      hovertemplate: `from %{x:,.0f} tokens, ${name}: %{y:.2f} % of all<extra></extra>`,
    };
  }

  thresholds({ current, advice, high }, colours) {
    const line = (name, at, style) => ({ type: "scatter", mode: "lines", name, x: [at, at], y: [0, high], line: { width: 1.5, ...style }, hovertemplate: `${name}: %{x:,.0f} tokens<extra></extra>` });
    const found = [];
    if (current !== null) found.push(line("t in force", current, { color: colours.ink }));
    if (advice?.threshold_tokens != null) found.push(line("t recommended", advice.threshold_tokens, { color: colours.accent, dash: "9px,3px" }));
    return found;
  }

  table({ lengths }) {
    const { ends, from, to } = this.edges(lengths);
    const routes = Object.keys(ROUTES).filter((route) => lengths.counts[route]);
    const all = total(Object.values(lengths.counts).flat());
    return {
      columns: [
        { label: "from", unit: "tokens", write: tokens }, { label: "to", unit: "tokens", write: (value) => (value === null ? "∞" : tokens(value)) },
        ...routes.flatMap((route) => [{ label: ROUTES[route][1], unit: "requests", write: tokens }, { label: ROUTES[route][1], unit: "% of all", write: percent, scale: 100 }]),
      ],
      rows: ends.slice(from, to).map((low, row) => {
        const at = from + row;
        return [at ? low : 0, at + 1 < ends.length - 1 ? ends[at + 1] : null, ...routes.flatMap((route) => [lengths.counts[route][at], lengths.counts[route][at] / all])];
      }),
    };
  }
}
