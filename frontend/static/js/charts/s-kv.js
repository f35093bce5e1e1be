// S_kv against length in its two parts: what is kept a request, and on top of it what is kept a token.
import { written } from "../format.js";
import { lengthAxis, logAxis, short } from "./axes.js";
import { curve, rings } from "./style.js";

const MIB = 2 ** 20;
const mib = written(1, 1 / MIB);
const AT = 32768;
const HOVER = "%{x:,.0f} tokens: %{y:,.1f} MiB";
const inMib = (values) => values.map((value) => value / MIB);
const total = ({ block_level_bytes: block, request_level_bytes: request }) => block.map((bytes, at) => bytes + request[at]);

function own(colours, kv) {
  const part = kv.parts[kv.kv_dtype];
  const data = [];
  const hatched = (shape, colour) => ({ shape, fgcolor: colours[colour], bgcolor: colours.surface, size: 6, solidity: 0.22 });
  const keeps = part.request_level_bytes.some((bytes) => bytes > 0);
  if (keeps) {
    data.push(curve("request-level: states, windows", kv.tokens, inMib(part.request_level_bytes), { color: colours.warn, width: 1.5, dash: "2px,3px" }, HOVER,
      { fill: "tozeroy", fillpattern: hatched("\\", "warn") }));
  }
  const grows = part.block_level_bytes.some((bytes) => bytes > 0);
  if (grows || !keeps) {
    data.push(curve(keeps ? "block-level on top: every token" : "block-level: every token", kv.tokens, inMib(total(part)), { color: colours.ink, width: 2.5 }, HOVER,
      { fill: keeps ? "tonexty" : "tozeroy", fillpattern: hatched("/", "ink-2") }));
  }
  return data;
}

const others = (kv) => Object.keys(kv.parts ?? {}).filter((dtype) => dtype !== kv.kv_dtype);

export const sKv = {
  caption({ s_kv: kv }) {
    const at = kv.tokens.indexOf(AT);
    const where = at < 0 ? kv.tokens.length - 1 : at;
    const prompt = `A prompt of ${short(Math.round(kv.tokens[where]))} tokens leaves ${mib(kv.used_bytes[where])} MiB at ${kv.kv_dtype}`;
    const part = kv.parts?.[kv.kv_dtype];
    const blocks = kv.block_tokens > 1 ? `, in blocks of ${kv.block_tokens} tokens` : "";
    const split = part ? `; by its layers ${mib(part.block_level_bytes[where])} block-level${blocks} and ${mib(part.request_level_bytes[where])} request-level` : "";
    return `${prompt}${kv.measured ? " as measured" : ""}${split}. Both axes are logarithmic: an area is no measure of bytes.`;
  },

  origins: ({ s_kv: { provenance } }) => [provenance.measured, provenance.layers].filter(Boolean),

  figure({ s_kv: kv }, colours, width) {
    const data = kv.parts ? own(colours, kv) : [curve("as read by scenarios", kv.tokens, inMib(kv.used_bytes), { color: colours.ink, width: 2.5 }, HOVER)];
    for (const dtype of others(kv)) {
      data.push(curve(`both at ${dtype}`, kv.tokens, inMib(total(kv.parts[dtype])), { color: colours.accent, width: 2, dash: "9px,3px" }, HOVER));
    }
    if (kv.measured) {
      data.push(rings("measured", kv.measured.tokens, inMib(kv.measured.bytes), { symbol: "circle-open", size: 11, color: colours.ink, line: { width: 2 } }, HOVER));
    }
    const values = data.flatMap(({ y }) => y);
    return {
      data,
      layout: { xaxis: lengthAxis("prompt length", kv.tokens[0], kv.tokens.at(-1), width), yaxis: logAxis("S<sub>kv</sub>, MiB", values) },
    };
  },

  table({ s_kv: kv }) {
    const dtypes = Object.keys(kv.parts ?? {});
    const column = (label) => ({ label, unit: "MiB", write: mib, scale: 1 / MIB });
    const columns = dtypes.flatMap((dtype) => [column(`${dtype} block-level`), column(`${dtype} request-level`)]);
    const measured = new Map(kv.measured?.tokens.map((tokens, at) => [tokens, kv.measured.bytes[at]]));
    return {
      columns: [{ label: "length", unit: "tokens", write: written(0) }, ...columns, column("as scenarios read it"), ...(kv.measured ? [column("measured")] : [])],
      rows: kv.tokens.map((tokens, at) => [
        tokens, ...dtypes.flatMap((dtype) => [kv.parts[dtype].block_level_bytes[at], kv.parts[dtype].request_level_bytes[at]]),
        kv.used_bytes[at], ...(kv.measured ? [measured.get(tokens)] : []),
      ]),
    };
  },
};
