// Axes that several charts have: lengths in tokens, quantities over orders of magnitude, and what lies beyond the points.
const K = 1024;
const ROOM_FOR_A_TICK = 46;

export const short = (tokens) => {
  if (tokens >= K * K && tokens % (K * K) === 0) return `${tokens / K / K}M`;
  return tokens >= K && tokens % K === 0 ? `${tokens / K}K` : tokens.toLocaleString("en-US", { maximumFractionDigits: 0 });
};

// A log axis of lengths with a tick at every power of two that there is room for.
export function lengthAxis(title, from, to, width = 600) {
  const octaves = Math.log2(to / from);
  const step = Math.max(1, Math.ceil(octaves / Math.max(2, Math.floor((width - 70) / ROOM_FOR_A_TICK))));
  const ticks = [];
  for (let power = Math.ceil(Math.log2(from) - 1e-9); 2 ** power <= to * (1 + 1e-9); power += 1) {
    if (power % step === 0) ticks.push(2 ** power);
  }
  const text = ticks.length > 1 ? { tickvals: ticks, ticktext: ticks.map(short) } : {};
  const room = octaves ? octaves * Math.log10(2) * 0.015 : 0.1;
  return { title: `${title}, tokens (log; K = 1024)`, type: "log", ...text, range: [Math.log10(from) - room, Math.log10(to) + room] };
}

// A log axis over positive values, half a step of room at either end.
export function logAxis(title, values) {
  const positive = values.filter((value) => value > 0);
  const [low, high] = [Math.min(...positive), Math.max(...positive)].map(Math.log10);
  const room = Math.max(0.08, (high - low) * 0.06);
  return { title: `${title} (log)`, type: "log", range: [low - room, high + room], ...ticks(low - room, high + room) };
}

// Few decades leave room for more than the powers of ten.
function ticks(low, high) {
  const decades = high - low;
  const within = decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : decades > 0.5 ? [1, 1.5, 2, 3, 5, 7] : null;
  if (!within) return { nticks: 6 };
  const tickvals = [];
  for (let power = Math.floor(low); power <= high; power += 1) tickvals.push(...within.map((step) => step * 10 ** power));
  return { tickvals, ticktext: tickvals.map((value) => value.toLocaleString("en-US", { maximumSignificantDigits: 2 })) };
}

const shade = (colours, x0, x1) => ({
  type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, fillcolor: colours.grid, opacity: 0.6, line: { width: 0 }, layer: "below",
});

const said = (colours, x, isLeft) => ({
  x: Math.log10(x), y: isLeft ? 0.98 : 0.02, xref: "x", yref: "paper", text: "extrapolated", showarrow: false, yanchor: isLeft ? "top" : "bottom", font: { size: 11, color: colours["ink-2"] },
});

// Shaded and named: lengths at which nothing was measured. The x axis is a log axis.
export function beyond(colours, from, to, [shortest, longest]) {
  const parts = [[from, Math.min(shortest, to)], [Math.max(longest, from), to]].filter(([low, high]) => high > low * 1.001);
  return {
    shapes: parts.map(([low, high]) => shade(colours, low, high)),
    annotations: parts.filter(([low, high]) => high / low > 1.9).map(([low, high]) => said(colours, Math.sqrt(low * high), high <= shortest)),
  };
}
