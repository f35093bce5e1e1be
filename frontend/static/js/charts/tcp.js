// What TCP connections can carry across a link: by window, and by loss.
import { gbps, seconds, written } from "../format.js";
import { logAxis } from "./axes.js";
import { curve, limit, series } from "./style.js";

const GIGA = 1e9;
const HOVER = "%{x:,.0f} connections: %{y:.3g} Gbps";
const inGbps = (values) => values.map((value) => value / GIGA);
const nameOf = ({ window_bytes: bytes }) => `window ${bytes / 2 ** 20} MiB`;
const fewest = (tcp, { bps }) => Math.ceil(tcp.bandwidth_bps / bps[tcp.connections.indexOf(1)]);

export const tcpChart = {
  empty: ({ tcp }) => (tcp ? null : "The round-trip time of this link is not stated: with it, what TCP connections can carry is drawn here."),

  caption({ tcp }) {
    const one = tcp.windows.map(({ bps }) => bps[tcp.connections.indexOf(1)] / GIGA);
    const filled = tcp.bandwidth_bps == null ? null : fewest(tcp, tcp.windows[1]);
    const fill = filled ? `; with 4 MiB windows ${written(0)(filled)} connections fill the link` : "";
    const loss = tcp.loss_bps
      ? `At a loss of ${written(3, 100)(tcp.loss)} %, Reno-like TCP is bound by n · MSS/RTT · C/√p, C = √(3/2), MSS 1,460 bytes (Mathis et al., ACM CCR 27(3), 1997): a pessimistic bound, CUBIC and BBR do better.`
      : "Loss is not stated, so its bound is not drawn.";
    return `One connection carries a window a round trip: ${seconds(one[0])} to ${seconds(one.at(-1))} Gbps at ${written(1, 1e3)(tcp.rtt_s)} ms${fill}. ${loss}`;
  },

  origins: ({ tcp }) => [tcp.provenance],

  figure({ tcp }, colours) {
    const { connections } = tcp;
    const [first, last] = [connections[0], connections.at(-1)];
    const data = tcp.windows.map((window, at) => curve(nameOf(window), connections, inGbps(window.bps), series(colours, at).line, HOVER));
    if (tcp.loss_bps) data.push(curve("bound by loss", connections, inGbps(tcp.loss_bps), { color: colours["stage-link"], width: 3 }, HOVER));
    if (tcp.bandwidth_bps) data.push(limit(colours, `bandwidth ${gbps(tcp.bandwidth_bps)} Gbps`, first, last, tcp.bandwidth_bps / GIGA));
    const shapes = tcp.chosen_connections
      ? [{ type: "line", xref: "x", yref: "paper", x0: tcp.chosen_connections, x1: tcp.chosen_connections, y0: 0, y1: 1, line: { color: colours.ink, width: 1.5 } }]
      : [];
    const annotations = shapes.map(({ x0 }) => ({ x: Math.log10(x0), y: 0.02, yref: "paper", xanchor: "left", yanchor: "bottom", showarrow: false, text: ` ${x0} connections`, font: { size: 12 } }));
    return {
      data,
      layout: {
        shapes, annotations, showlegend: true,
        xaxis: { ...logAxis("connections", connections), dtick: undefined, tickvals: [1, 4, 16, 64, 256, 1024, 4096], ticktext: ["1", "4", "16", "64", "256", "1,024", "4,096"] },
        yaxis: logAxis("can carry, Gbps", data.flatMap(({ y }) => y)),
      },
    };
  },

  table({ tcp }) {
    const column = (label) => ({ label, unit: "Gbps", write: gbps, scale: 1 / GIGA });
    return {
      columns: [{ label: "connections", write: written(0) }, ...tcp.windows.map((window) => column(nameOf(window))), ...(tcp.loss_bps ? [column("bound by loss")] : [])],
      rows: tcp.connections.map((count, at) => [count, ...tcp.windows.map(({ bps }) => bps[at]), ...(tcp.loss_bps ? [tcp.loss_bps[at]] : [])]),
    };
  },
};
