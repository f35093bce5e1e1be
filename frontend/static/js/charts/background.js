// What others use of a link, and what they leave, over the day or over the record.
import { gbps, percent, written } from "../format.js";
import { timeAxis, timeUnit } from "./time-axis.js";
import { curve } from "./style.js";

export const background = {
  empty: ({ background: shown }) => (shown ? null : "Nobody says what others use of this link: without background use, scenarios have all of it."),

  caption({ background: { kind, share, bandwidth_bps: capacity } }) {
    const most = Math.max(...share);
    const left = capacity == null ? "" : `, which leaves ${gbps(capacity * (1 - most))} of ${gbps(capacity)} Gbps`;
    const how = { constant: "Others use the same share all day", diurnal: "Over the day others use a share that swings", recorded: "As recorded, others use a share that varies" };
    return `${how[kind]}: at most ${percent(most)} %${left}.`;
  },

  origins: ({ background: { provenance } }) => [provenance],

  figure({ background: shown }, colours) {
    const recorded = shown.kind === "recorded";
    const last = recorded && shown.seconds.length > 1 ? 2 * shown.seconds.at(-1) - shown.seconds.at(-2) : Math.max(shown.seconds.at(-1), 1);
    const unit = recorded ? timeUnit(last) : { name: "hours", seconds: 3600 };
    const x = [...shown.seconds, ...(recorded ? [last] : [])].map((at) => at / unit.seconds);
    const y = [...shown.share, ...(recorded ? [shown.share.at(-1)] : [])].map((part) => part * 100);
    return {
      data: [curve("used by others", x, y, { color: colours["stage-link"], width: 2, shape: recorded ? "hv" : "linear" }, `%{x:.3g} ${unit.name}: %{y:.1f} %`, {
        fill: "tozeroy", fillpattern: { shape: "/", fgcolor: colours["stage-link"], bgcolor: colours.surface, size: 6, solidity: 0.25 } })],
      layout: { xaxis: timeAxis(unit, last, !recorded), yaxis: { title: "used by others, % of the bandwidth", range: [0, 102] } },
    };
  },

  table({ background: { seconds, share, bandwidth_bps: capacity } }) {
    return {
      columns: [{ label: "from", unit: "s", write: written(0) }, { label: "used by others", unit: "%", write: percent, scale: 100 }, { label: "left", unit: "Gbps", write: gbps, scale: 1e-9 }],
      rows: seconds.map((at, row) => [at, share[row], capacity == null ? null : capacity * (1 - share[row])]),
    };
  },
};
