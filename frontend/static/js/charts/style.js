// Colours from the page's tokens, and one look for every stage and kind of point.
const NAMES = ["ink", "ink-2", "rule", "grid", "surface", "accent", "warn", "danger", "map-low", "map-high", "map-beyond", "map-ink", "stage-prfaas", "stage-link", "stage-pd-p", "stage-pd-d"];

// A token may be light-dark(...): only an element that uses it says which colour that is now.
let known = null;
document.addEventListener("themechange", () => { known = null; });

// Kept, because reading a style makes the browser lay out the page.
export const palette = () => (known ??= read());

function read() {
  const probe = document.body.appendChild(document.createElement("span"));
  const colours = Object.fromEntries(
    NAMES.map((name) => {
      probe.style.color = `var(--${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  );
  probe.remove();
  return colours;
}

export const STAGES = {
  prfaas: { name: "PrfaaS", colour: "stage-prfaas", dash: "solid" },
  link: { name: "Link", colour: "stage-link", dash: "2px,3px" },
  pd_p: { name: "PD-P", colour: "stage-pd-p", dash: "9px,3px" },
  pd_d: { name: "PD-D", colour: "stage-pd-d", dash: "8px,3px,2px,3px" },
};

export const line = (colours, stage) => ({ color: colours[STAGES[stage].colour], dash: STAGES[stage].dash, width: 2 });

const point = (name, x, y, marker, hover) => ({
  type: "scatter", mode: "markers", name, x: [x], y: [y], marker, hovertemplate: `${name}<br>${hover}<extra></extra>`,
});

export const chosen = (colours, x, y, hover) =>
  point("chosen", x, y, { symbol: "circle", size: 10, color: colours.ink, line: { color: colours.surface, width: 1 } }, hover);

export const published = (colours, x, y, hover) =>
  point("published", x, y, { symbol: "circle-open", size: 13, color: colours.ink, line: { width: 2 } }, hover);

export const best = (colours, x, y, hover) =>
  point("best t", x, y, { symbol: "diamond-open", size: 10, color: colours["ink-2"], line: { width: 1.5 } }, hover);

// Names beside the curves, so that nobody needs their colours: [{text, colour, x, y, position}]. A trace and not
// annotations, because a trace can move without a redraw of the whole chart. `lift` keeps them off their line.
export const labels = (items, lift = 0) => ({
  type: "scatter", mode: "text", showlegend: false, hoverinfo: "skip", cliponaxis: false,
  x: items.map(({ x }) => x), y: items.map(({ y, position }) => y + (position.startsWith("top") ? lift : -lift)), text: items.map(({ text }) => text),
  textposition: items.map(({ position }) => position), textfont: { size: 12, color: items.map(({ colour }) => colour) },
});

// The end of an axis that holds a value with room to spare, in steps coarse enough to stay while a slider moves.
export function ceiling(value) {
  const step = 10 ** Math.floor(Math.log10(value)) / 4;
  return step * Math.ceil(value / step);
}

// Curves that are no stage: told apart by dash and by the symbol of their points before colour.
const SERIES = [
  { colour: "ink", dash: "solid", symbol: "circle" }, { colour: "accent", dash: "9px,3px", symbol: "diamond" },
  { colour: "warn", dash: "2px,3px", symbol: "square" }, { colour: "ink-2", dash: "8px,3px,2px,3px", symbol: "triangle-up" },
  { colour: "accent", dash: "4px,2px", symbol: "triangle-down" }, { colour: "ink", dash: "14px,4px", symbol: "cross" },
  { colour: "warn", dash: "8px,3px,2px,3px", symbol: "x" }, { colour: "ink-2", dash: "2px,3px", symbol: "star" },
  { colour: "accent", dash: "solid", symbol: "hexagon" }, { colour: "ink", dash: "2px,5px", symbol: "pentagon" },
];

export function series(colours, at) {
  const { colour, dash, symbol } = SERIES[at % SERIES.length];
  return { line: { color: colours[colour], dash, width: 2 }, marker: { symbol: `${symbol}-open`, size: 9, color: colours[colour], line: { width: 1.75 } } };
}

export const curve = (name, x, y, line, hover, more = {}) => ({
  type: "scatter", mode: "lines", name, x, y, line, hovertemplate: `${name}<br>${hover}<extra></extra>`, ...more,
});

export const rings = (name, x, y, marker, hover, more = {}) => ({
  type: "scatter", mode: "markers", name, x, y, marker, hovertemplate: `${name}<br>${hover}<extra></extra>`, ...more,
});

// A limit is a dashed line across the picture, named in the legend.
export const limit = (colours, name, from, to, y) => ({
  type: "scatter", mode: "lines", name, x: [from, to], y: [y, y], line: { color: colours.ink, width: 1.5, dash: "dash" }, showlegend: true, hoverinfo: "skip",
});
