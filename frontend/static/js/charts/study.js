// A study's variants: TTFT, its differences and how busy stages are, over a number that is varied or side by side.
import { percent, rate, seconds, written } from "../format.js";
import { logAxis } from "./axes.js";
import { curve, limit, line, series, STAGES } from "./style.js";

const PARTS = { mean: "mean", p50: "P50", p90: "P90" };
const WIDE = 20;
const milli = written(3);

const isSure = (value) => value?.low != null && value.high != null;
const bounded = (write) => (value) => (value == null ? "–" : write(value.mean) + (isSure(value) ? ` [${write(value.low)}, ${write(value.high)}]` : ""));
const inSeconds = bounded(seconds);

// Where a variant stands on the axis: its number in people's unit, or its name in two lines where it is long.
const places = ({ variants, scale, is_numeric: isNumeric }) => variants.map(({ value, name }) => (isNumeric ? value / scale : name.replace(": ", ":<br>")));
const rising = (shown) => ({ ...shown, variants: shown.is_numeric ? [...shown.variants].sort((a, b) => a.value - b.value) : shown.variants });
const titled = ({ title, unit }) => (unit ? `${title}, ${unit}` : title);

function numbers({ is_log: isLog }, title, values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low > 0 && (isLog || high / low > WIDE) ? logAxis(title, values) : { title };
}

// Positions are numbers on the x axis, or words down the y axis; values go along the other one.
function placed(shown, at, values) {
  return shown.is_numeric ? { x: at, y: values } : { x: values, y: at };
}

function axes(shown, at, values) {
  const legend = { orientation: "h", x: 0, y: 1.01, xanchor: "left", yanchor: "bottom", font: { size: 12 }, traceorder: "normal" };
  if (shown.is_numeric) return { legend, xaxis: numbers(shown, titled(shown), at), yaxis: values };
  return { legend, xaxis: values, yaxis: { title: "", type: "category", categoryorder: "array", categoryarray: at, autorange: "reversed", showgrid: false } };
}

function errors(shown, found, colour) {
  return {
    [shown.is_numeric ? "error_y" : "error_x"]: {
      type: "data", symmetric: false, visible: found.some(isSure), color: colour, thickness: 1.5, width: 4,
      array: found.map((value) => (isSure(value) ? value.high - value.mean : 0)), arrayminus: found.map((value) => (isSure(value) ? value.mean - value.low : 0)),
    },
  };
}

// --- TTFT --------------------------------------------------------------------------------------------------------

function band(at, found, { color }) {
  const known = at.map((x, index) => [x, found[index]]).filter(([, value]) => isSure(value));
  const edge = { type: "scatter", mode: "lines", x: known.map(([x]) => x), line: { width: 0 }, hoverinfo: "skip", showlegend: false };
  const fillcolor = color.replace("rgb(", "rgba(").replace(")", ", 0.2)");
  return [{ ...edge, y: known.map(([, { low }]) => low) }, { ...edge, y: known.map(([, { high }]) => high), fill: "tonexty", fillcolor }];
}

function times(shown, at, colours) {
  return Object.entries(PARTS).flatMap(([part, name], index) => {
    const found = shown.variants.map(({ ttft_s: ttft }) => ttft?.[part] ?? null);
    const look = series(colours, index);
    const trace = {
      type: "scatter", mode: shown.is_numeric ? "lines+markers" : "markers", name, ...placed(shown, at, found.map((value) => value?.mean ?? null)), ...look,
      text: found.map(inSeconds), cliponaxis: false, hovertemplate: `${name} of TTFT %{text} s<extra></extra>`, connectgaps: false,
    };
    return shown.is_numeric ? [...band(at, found, look.line), trace] : [{ ...trace, ...errors(shown, found, look.line.color) }];
  });
}

function unloaded(shown, at, colours) {
  const values = shown.variants.map(({ unloaded_s: times }) => times.p90);
  const name = "P90 unloaded, formulas";
  if (shown.is_numeric) return { ...curve(name, at, values, { color: colours["ink-2"], width: 1.5, dash: "dash" }, "%{y:.2f} s"), showlegend: true };
  return { type: "scatter", mode: "markers", name, x: values, y: at, marker: { symbol: "line-ns-open", size: 18, color: colours["ink-2"], line: { width: 2, color: colours["ink-2"] } }, hovertemplate: `${name} %{x:.2f} s<extra></extra>` };
}

// From half-way to the next stable one, or to the end.
function unstable({ variants, is_numeric: isNumeric, is_log: isLog }, at, colours) {
  if (!isNumeric) return [];
  const between = (one, other) => (isLog ? Math.sqrt(one * other) : (one + other) / 2);
  const middle = (one, other) => (at[other] === undefined ? at[one] : between(at[one], at[other]));
  return variants.flatMap(({ stable }, index) => (stable ? [] : [{
    type: "rect", xref: "x", yref: "paper", x0: middle(index, index - 1), x1: middle(index, index + 1), y0: 0, y1: 1, fillcolor: colours.warn, opacity: 0.14, line: { width: 0 }, layer: "below",
  }]));
}

// Where as many requests are offered as the formulas say can be carried.
function capacity(shown, high, colours) {
  const first = shown.variants.find(({ load }) => load);
  if (!shown.is_load || !first) return [];
  const x = first.value / shown.scale / first.load;
  return [{ ...curve("Λ<sub>max</sub>, formulas", [x, x], [0, high], { color: colours.ink, width: 1.5, dash: "2px,3px" }, `${written(3)(x)} ${shown.unit}`), showlegend: true }];
}

function turn({ knee, scale, unit }, colours) {
  if (knee?.at == null) return [];
  const hover = `TTFT turns up at %{x:.3g} ${unit}: P90 %{y:.2f} s<extra></extra>`;
  return [{ type: "scatter", mode: "markers", name: "knee", x: [knee.at / scale], y: [knee.ttft_p90_s], marker: { symbol: "star", size: 13, color: colours.ink }, hovertemplate: hover }];
}

const known = (data, key) => data.flatMap((trace) => trace[key]).filter((value) => value != null && value > 0);

export const studyTtft = {
  // Axes do not follow curves that are moved.
  isDrawnAnew: true,

  empty: ({ variants }) => (variants.some(({ ttft_s: ttft }) => ttft) ? null : "No variant is stable: there is no TTFT."),

  caption({ variants, is_numeric: isNumeric, replications, knee, unit, scale, decoding }) {
    const how = decoding ? ` Decode ${decoding}.` : "";
    const off = variants.filter(({ stable }) => !stable);
    const lost = !off.length ? "" : isNumeric ? " Shaded: not stable, without a TTFT." : ` Not stable, without a TTFT: ${off.map(({ name }) => name).join(", ")}.`;
    const turns = knee?.at == null ? "" : ` The star is the knee, ${written(1)(knee.at / scale)} ${unit}: P90 is twice that at the lowest load.`;
    const sure = replications > 1 ? `${isNumeric ? "Bands" : "Bars"} are 95 % confidence intervals of the mean over replications.` : "One replication alone has no interval.";
    return `${sure}${lost}${turns}${how}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(given, colours) {
    const shown = rising(given);
    const at = places(shown);
    const data = [...times(shown, at, colours), unloaded(shown, at, colours)];
    const values = known(data, shown.is_numeric ? "y" : "x");
    const isWide = Math.max(...values) / Math.min(...values) > WIDE;
    const axis = isWide ? logAxis("TTFT, s", values) : { title: "TTFT, s", rangemode: "tozero" };
    data.push(...capacity(shown, Math.max(...values), colours), ...turn(shown, colours));
    return { data, layout: { showlegend: true, shapes: unstable(shown, at, colours), ...axes(shown, at, axis) } };
  },

  table(given) {
    const shown = rising(given);
    const bounds = ["mean", "low", "high"];
    const columns = [
      { label: titled(shown), write: String },
      ...Object.values(PARTS).flatMap((name) => bounds.map((bound) => ({ label: bound === "mean" ? name : `${name}, 95 % ${bound}`, unit: "s", write: seconds }))),
      { label: "P90 unloaded", unit: "s", write: seconds }, { label: "Λ_max", unit: "req/s", write: rate }, { label: "stable", write: String },
    ];
    const rows = shown.variants.map(({ name, ttft_s: ttft, unloaded_s: formulas, lambda_max_rps: most, stable }) => [
      name, ...Object.keys(PARTS).flatMap((part) => bounds.map((bound) => ttft?.[part][bound] ?? null)), formulas.p90, most, stable ? "yes" : "no",
    ]);
    return { columns, rows };
  },
};

// --- differences -------------------------------------------------------------------------------------------------

const of = ({ differences }) => differences?.ttft_p90_s ?? null;
const VERDICTS = { clear: "clear", within_chance: "within chance", no_difference: "no difference" };
// Studies of before verdicts say only whether a difference is clear.
const judged = (value) => (value?.is_clear == null ? "–" : VERDICTS[value.verdict ?? (value.is_clear ? "clear" : "within_chance")]);
const others = (shown) => ({ ...shown, variants: shown.variants.filter(({ differences }) => differences) });

export const studyDifferences = {
  empty: ({ variants }) => (variants.some(of) ? null : "No two variants are stable: their TTFT cannot be compared."),

  caption({ baseline, replications }) {
    const chance = replications > 1 ? " Hollow: the interval spans 0, so that it may be chance." : " One replication alone has no interval: it may be chance.";
    return `P90 of TTFT less that with ${baseline}, replication by replication, by the same requests.${chance}`;
  },

  origins: ({ provenance }) => [provenance],

  figure(given, colours) {
    const shown = others(rising(given));
    const at = places(shown);
    const found = shown.variants.map(of);
    const symbol = found.map((value) => (value?.is_clear ? "circle" : "circle-open"));
    const dots = {
      type: "scatter", mode: "markers", name: "difference", ...placed(shown, at, found.map((value) => value?.mean ?? null)), text: found.map((value) => bounded(milli)(value) + " s" + (isSure(value) ? `, ${judged(value)}` : "")), ...errors(shown, found, colours["ink-2"]),
      marker: { symbol, size: 10, color: colours.ink, line: { width: 2, color: colours.ink } }, hovertemplate: "P90 %{text}<extra></extra>", showlegend: false, cliponaxis: false,
    };
    const zero = shown.is_numeric ? limit(colours, "as the baseline", at[0], at.at(-1), 0) : { ...limit(colours, "as the baseline", 0, 0, 0), y: [at[0], at.at(-1)] };
    const axis = { title: "difference of P90, s", rangemode: "tozero" };
    return { data: [zero, dots], layout: { showlegend: true, ...axes(shown, at, axis) } };
  },

  table(given) {
    const shown = others(rising(given));
    const bounds = ["mean", "low", "high"].map((bound) => ({ label: bound === "mean" ? "difference of P90" : `95 % ${bound}`, unit: "s", write: milli }));
    return {
      columns: [{ label: titled(shown), write: String }, ...bounds, { label: "judged", write: String }],
      rows: shown.variants.map((variant) => {
        const found = of(variant);
        return [variant.name, found?.mean ?? null, found?.low ?? null, found?.high ?? null, judged(found)];
      }),
    };
  },
};

// --- stages ------------------------------------------------------------------------------------------------------

const stages = ({ variants }) => Object.keys(STAGES).filter((stage) => variants.some(({ utilisation }) => utilisation[stage]));
const SYMBOLS = { prfaas: "circle", link: "diamond", pd_p: "square", pd_d: "triangle-up" };

export const studyStages = {
  caption: () => "Share of the time that a stage's instances, its slots or the link are busy, the mean over replications; the link by what crossed of all that could have crossed, over all of the time together.",

  origins: ({ provenance }) => [provenance],

  figure(given, colours) {
    const shown = rising(given);
    const at = places(shown);
    const data = stages(shown).map((stage) => {
      const busy = shown.variants.map(({ utilisation }) => utilisation[stage] ?? null);
      const look = line(colours, stage);
      return {
        type: "scatter", mode: shown.is_numeric ? "lines+markers" : "markers", name: STAGES[stage].name, line: look, ...placed(shown, at, busy.map((value) => (value == null ? null : 100 * value.mean))),
        marker: { symbol: `${SYMBOLS[stage]}-open`, size: 9, color: look.color, line: { width: 1.75 } }, text: busy.map(bounded(percent)), cliponaxis: false, hovertemplate: `${STAGES[stage].name} %{text} %<extra></extra>`,
      };
    });
    return { data, layout: { showlegend: true, shapes: unstable(shown, at, colours), ...axes(shown, at, { title: "busy, %", range: [0, 104] }) } };
  },

  table(given) {
    const shown = rising(given);
    const columns = stages(shown).map((stage) => ({ label: STAGES[stage].name, unit: "%", write: percent, scale: 100 }));
    return {
      columns: [{ label: titled(shown), write: String }, ...columns],
      rows: shown.variants.map(({ name, utilisation }) => [name, ...stages(shown).map((stage) => utilisation[stage]?.mean ?? null)]),
    };
  },
};
