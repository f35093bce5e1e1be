// Demand by model and length as a map: each cell has its number, the link that carries it, and what is published.
import { gbps, written } from "../format.js";
import { short } from "./axes.js";

const GIGA = 1e9;
const ROW_PX = 52;
const AROUND_PX = 110;
const ROOM_FOR_UNITS = 640;
const UNITS = [[1e12, "Tbps"], [1e9, "Gbps"], [1e6, "Mbps"], [1e3, "kbps"]];
const DERIVED = "from which the profile was derived";

export function bitRate(bps) {
  const [size, unit] = UNITS.find(([each]) => bps >= 0.99995 * each) ?? UNITS.at(-1);
  return `${Number((bps / size).toPrecision(4))} ${unit}`;
}

// Of a cell, what the view shows: one instance, or a fleet.
export const demand = (cell, view) => (view ? cell.fleets.find(({ gpus }) => gpus === view) : cell.instance);
export const carrier = ({ link_class: name, link_count: count }) => (count === 1 ? name : `${count} × ${name}`);
export const viewName = (view) => (view ? `${written(0)(view)} GPUs` : "one instance");

const bare = (title) => title.split("/").at(-1);

// Rows need names that differ: hardware is added where a model stands there twice.
function names({ rows }, width) {
  const titles = rows.map(({ title }) => bare(title));
  const full = rows.map((row, at) => (titles.filter((title) => title === titles[at]).length > 1 ? `${titles[at]}<br>${row.gpus_per_instance} × ${row.hardware}` : titles[at]));
  return full.map((name) => (width < ROOM_FOR_UNITS ? name.replace(/^(.{9,14}?)-/, "$1-<br>") : name)).map((name, at) => name + "\u200b".repeat(at));
}

function text(cell, view, width) {
  const shown = demand(cell, view);
  const star = cell.is_extrapolated ? "*" : "";
  if (width < ROOM_FOR_UNITS) return `${bitRate(shown.egress_bps).replace(" ", "").replace("bps", "")}${star}<br>→ ${carrier(shown).replace(" Gbps", "G").replace(" Tbps", "T")}`;
  const printed = view || cell.published_bps == null ? "" : `<br>○ ${bitRate(cell.published_bps)}`;
  return `<b>${bitRate(shown.egress_bps)}</b>${star}<br>→ ${carrier(shown)}${printed}`;
}

const hover = (row, cell, view) => {
  const shown = demand(cell, view);
  const printed = cell.published_bps == null ? "" : `<br>published Φ_kv ${bitRate(cell.published_bps)}, ${cell.difference == null ? DERIVED : `ours ${(100 * cell.difference).toFixed(1)} %`}`;
  return `${bare(row.title)}, ${row.gpus_per_instance} × ${row.hardware}, ${short(cell.length_tokens)} tokens<br>${viewName(view)}: ${bitRate(shown.egress_bps)}, carried by ${carrier(shown)}${printed}${cell.is_extrapolated ? "<br>extrapolated" : ""}`;
};

const height = ({ rows }) => Math.max(240, AROUND_PX + ROW_PX * rows.length);

export const wallChart = {
  empty: ({ wall }) => (wall.rows.length ? null : "None of the published models is stored with its profile: choose a model above, or add a profile."),

  caption({ wall, view }) {
    const every = wall.rows.flatMap((row) => row.cells.map((cell) => [row, cell]));
    const by = (sign) => every.reduce((a, b) => (sign * demand(a[1], view).egress_bps >= sign * demand(b[1], view).egress_bps ? a : b));
    const told = ([row, cell]) => `${bare(row.title)} at ${short(cell.length_tokens)}, ${bitRate(demand(cell, view).egress_bps)}`;
    const printed = view ? "" : " Where there is room, a ring stands before the published value.";
    return `Of ${viewName(view)}, the most is ${told(by(1))}; the least ${told(by(-1))}. An arrow leads to the smallest link that carries it with ${(100 * wall.asked.headroom).toFixed(0)} % to spare.${printed}`;
  },

  origins: ({ wall }) => wall.rows.map(({ provenance }) => provenance),

  height: ({ wall }) => height(wall),

  figure({ wall, view }, colours, width) {
    const cells = wall.rows.map((row) => row.cells);
    const lengths = wall.asked.lengths.map(short);
    const z = cells.map((row) => row.map((cell) => Math.log10(demand(cell, view).egress_bps)));
    const classes = wall.link_classes.filter(({ bandwidth_bps: bps }) => Math.log10(bps) >= Math.min(...z.flat()) && Math.log10(bps) <= Math.max(...z.flat()));
    const wide = width >= ROOM_FOR_UNITS;
    return {
      data: [{
        type: "heatmap", x: lengths, y: names(wall, width), z, text: cells.map((row) => row.map((cell) => text(cell, view, width))), texttemplate: "%{text}",
        customdata: wall.rows.map((row) => row.cells.map((cell) => hover(row, cell, view))), hovertemplate: "%{customdata}<extra></extra>",
        colorscale: [[0, colours["map-low"]], [1, colours["map-high"]]], textfont: { size: 11, color: colours["map-ink"] }, xgap: 2, ygap: 2, showscale: wide,
        colorbar: { title: { text: "demand<br>(log)" }, thickness: 12, outlinewidth: 0, tickvals: classes.map(({ bandwidth_bps: bps }) => Math.log10(bps)), ticktext: classes.map(({ name }) => name) },
      }],
      layout: {
        height: height(wall),
        xaxis: { title: "length of every request, tokens (K = 1024)", type: "category", showgrid: false },
        yaxis: { type: "category", autorange: "reversed", showgrid: false, tickfont: { size: wide ? 12 : 10 } },
      },
    };
  },

  table({ wall }) {
    return {
      columns: [
        { label: "model", write: String }, { label: "profile", write: String }, { label: "length", unit: "tokens", write: written(0) },
        { label: "S_kv", unit: "MiB", write: written(1, 2 ** -20), scale: 2 ** -20 }, { label: "T_prefill", unit: "s", write: written(3) },
        { label: "range", write: String }, { label: "cluster", unit: "GPUs", write: written(0) }, { label: "demand", unit: "Gbps", write: gbps, scale: 1 / GIGA },
        { label: "carried by", write: String }, { label: "published Φ_kv", unit: "Gbps", write: gbps, scale: 1 / GIGA }, { label: "difference", unit: "%", write: written(2, 100), scale: 100 },
        { label: "published serves", write: String },
        ...wall.links.map(({ name }) => ({ label: `${name} used`, unit: "%", write: written(1, 100), scale: 100 })),
      ],
      rows: wall.rows.flatMap((row) => row.cells.flatMap((cell) => [0, ...wall.asked.gpus].map((view) => {
        const shown = demand(cell, view);
        const printed = view || cell.published_bps == null ? [null, null, ""] : [cell.published_bps, cell.difference, cell.difference == null ? "as source of the profile" : "as check"];
        return [
          row.model, row.profile, cell.length_tokens, cell.s_kv_bytes, cell.t_prefill_s, cell.is_extrapolated ? "extrapolated" : "within the points",
          view || row.gpus_per_instance, shown.egress_bps, carrier(shown), ...printed, ...shown.links.map(({ used }) => used),
        ];
      }))),
    };
  },
};
