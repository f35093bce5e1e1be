// Moves single points without a redraw. Plotly's cheapest way computes every trace of the chart anew, some 10 ms each
// time, of which a slider that moves four charts within 100 ms has none to spare; a point needs only its two axes.
const isDot = (trace) => trace.mode === "markers" && trace.x.length === 1;

function place(plot, trace, node) {
  const { xaxis, yaxis } = plot._fullLayout;
  const [x, y] = [xaxis.d2p(trace.x[0]), yaxis.d2p(trace.y[0])];
  const inside = x >= 0 && x <= xaxis._length && y >= 0 && y <= yaxis._length;
  if (inside) node.setAttribute("transform", `translate(${x},${y})`);
  return inside;
}

// False if any of them is more than a point, is not drawn, or leaves the picture: then the chart has to be redrawn.
export function moveDots(plot, traces, moved) {
  const nodes = moved.map((at) => plot.querySelector(`.trace${plot._fullData[at].uid} .point`));
  if (!moved.every((at, index) => isDot(traces[at]) && nodes[index])) return false;
  return moved.every((at, index) => place(plot, traces[at], nodes[index]));
}
