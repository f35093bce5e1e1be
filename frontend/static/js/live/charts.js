// The charts of the screen: which lines each draws, in which unit, and what it says of now.
import { gbps, percent, seconds, tokens, written } from "../format.js";
import { palette, series, STAGES } from "../charts/style.js";
import { LengthsChart } from "./lengths.js";
import { TimeChart } from "./time-chart.js";

const one = written(1);
const whole = written(0);
const per = written(2);
const DASHES = ["solid", "9px,3px", "2px,3px", "8px,3px,2px,3px"];

const stage = (name, at = 0) => ({ color: palette()[STAGES[name].colour], dash: at ? DASHES[at % DASHES.length] : STAGES[name].dash });
const solid = (name, at = 0) => ({ ...stage(name), dash: DASHES[at % DASHES.length] });
const limit = (more = {}) => ({ color: palette().ink, dash: "dash", width: 1.25, ...more });
const nth = (at) => series(palette(), at).line;
const ROLES = { prfaas: ["prfaas", "PrfaaS"], prefill: ["pd_p", "prefill"], decode: ["pd_d", "decode"] };
const role = (name) => ROLES[name] ?? ["link", name];

// The links that are looked at, by their names in the lines.
function links({ grid, view }, prefix) {
  const names = grid.keys(prefix).map((key) => key.slice(prefix.length + 1));
  return view.link ? names.filter((name) => name === view.link) : names;
}
const named = (many, name, what) => (many.length > 1 ? `${what}, ${name}` : what);
const now = ({ grid, end }, key) => grid.latest(key, end, 10_000 + 2 * grid.step)?.value ?? null;
const listed = (parts) => (parts.length ? `${parts.join("; ")}.` : "Nothing of it is known at the end of what is shown.");

const egress = new TimeChart({
  none: "No link's egress has been measured in this time.",

  panels(shown) {
    const every = links(shown, "egress_bps");
    const lines = every.flatMap((name, at) => [
      { key: `egress_bps.${name}`, name: named(every, name, "egress"), line: solid("link", at), isBanded: true },
      { key: `kv_bps.${name}`, name: named(every, name, "KVCache sent"), line: { color: palette()["ink-2"], dash: "1px,2px", width: 1.25 } },
      { key: `capacity_bps.${name}`, name: named(every, name, "capacity"), line: limit(), shape: "hv", isLimit: true },
      { key: `capacity_bps.${name}`, name: named(every, name, `less ${percent(shown.headroom)} % headroom`), line: limit({ dash: "1px,3px", color: palette().warn }), shape: "hv", isLimit: true, factor: 1 - shown.headroom },
    ]);
    return [{ title: "egress", unit: "Gbps", scale: 1e-9, write: gbps, least: 0.1, lines }];
  },

  caption(shown) {
    return listed(links(shown, "egress_bps").flatMap((name) => {
      const [rate, capacity] = [now(shown, `egress_bps.${name}`), now(shown, `capacity_bps.${name}`)];
      if (rate === null) return [];
      return [`${name}: ${gbps(rate)} ${capacity ? `of ${gbps(capacity)} Gbps, ${percent(rate / capacity)} %` : "Gbps; its capacity is unknown"}`];
    }));
  },
});

const requests = new TimeChart({
  none: "No request has been counted in this time.",

  panels: () => [
    {
      title: "requests", unit: "req/s", scale: 1, write: per, least: 0.1,
      lines: [
        { key: "requests_rps.remote", name: "prefilled by PrfaaS", line: stage("prfaas") },
        { key: "requests_rps.local", name: "prefilled locally", line: stage("pd_p") },
        { key: "failed_rps", name: "failed", line: { color: palette().danger, dash: "2px,3px" } },
        { key: "lambda_max_rps", name: "Λ_max", line: limit(), isLimit: true },
      ],
    },
    { title: "offloaded", unit: "%", scale: 100, digits: 1, write: percent, most: 100, lines: [{ key: "offload", name: "offloaded", line: { color: palette().ink, dash: "solid" } }] },
  ],

  caption(shown) {
    const [remote, local, most] = ["requests_rps.remote", "requests_rps.local", "lambda_max_rps"].map((key) => now(shown, key));
    const parts = [];
    if (remote !== null && local !== null) parts.push(`${per(remote + local)} req/s, ${per(remote)} of them prefilled by PrfaaS`);
    else if (remote !== null || local !== null) parts.push(`${per(remote)} req/s prefilled by PrfaaS, ${per(local)} locally`);
    if (most !== null) parts.push(`Λ_max ${per(most)} req/s`);
    return listed(parts);
  },
});

const QUEUES = {
  "prefill.link": ["prefill", () => stage("prfaas")], "transfer.link": ["transfer", () => stage("link")], "decode.link": ["decode", () => stage("pd_d")],
  "prefill.compute": ["prefill", () => stage("pd_p")], "transfer.compute": ["transfer", () => stage("link")], "decode.compute": ["decode", () => stage("pd_d")],
};
const waiting = (bound) => Object.entries(QUEUES).filter(([key]) => key.endsWith(bound)).map(([key, [name, line]]) => ({ key: `queue.${key}`, name: `${name}, ${bound}-bound`, line: line() }));
// A sum with a hole would look like fewer.
const sum = (shown, bound) => {
  const every = waiting(bound).filter(({ key }) => shown.grid.has(key)).map(({ key }) => now(shown, key));
  return every.length && !every.includes(null) ? every.reduce((before, value) => before + value, 0) : null;
};

const queues = new TimeChart({
  none: "No queue has been told of in this time.",
  panels: () => ["link", "compute"].map((bound) => ({ title: `${bound}-bound`, unit: "requests", scale: 1, digits: 1, write: one, least: 1, lines: waiting(bound) })),
  caption: (shown) => listed(["link", "compute"].flatMap((bound) => (sum(shown, bound) === null ? [] : [`${one(sum(shown, bound))} requests wait for ${bound === "link" ? "the link" : "compute"}`]))),
});

const ttft = new TimeChart({
  none: "No time to first token has been measured in this time.",
  panels: () => [{
    title: "TTFT", unit: "s", scale: 1, write: seconds, least: 0.1,
    lines: ["p50", "p90", "p99"].map((which, at) => ({ key: `ttft_s.${which}`, name: which.toUpperCase(), line: nth(at) })),
  }],
  caption(shown) {
    const parts = ["p50", "p90", "p99"].map((which) => [which.toUpperCase(), now(shown, `ttft_s.${which}`)]).filter(([, value]) => value !== null);
    const over = shown.now?.ttft_s?.window_s;
    return listed(parts.length ? [`${parts.map(([name, value]) => `${name} ${seconds(value)} s`).join(", ")}${over ? `, over the last ${whole(over)} s of each moment` : ""}`] : []);
  },
});

const congestion = new TimeChart({
  none: "Neither retransmits, round-trip times nor drops have been measured in this time.",

  panels(shown) {
    const of = (prefix, what) => links(shown, prefix).map((name, at, every) => ({ key: `${prefix}.${name}`, name: named(every, name, what), line: prefix === "rtt_s" ? { color: palette().ink, dash: DASHES[at % DASHES.length] } : solid("link", at) }));
    return [
      { title: "resent", unit: "%", scale: 100, digits: 3, write: written(3, 100), least: 0.01, lines: of("resent", "resent") },
      { title: "RTT", unit: "ms", scale: 1000, digits: 1, write: written(1, 1000), least: 1, lines: of("rtt_s", "RTT") },
      { title: "dropped", unit: "packets/s", scale: 1, digits: 1, write: one, least: 1, lines: of("dropped_pps", "dropped") },
    ];
  },

  caption(shown) {
    return listed(links(shown, "egress_bps").flatMap((name) => {
      const [resent, rtt, dropped] = ["resent", "rtt_s", "dropped_pps"].map((key) => now(shown, `${key}.${name}`));
      const parts = [];
      if (resent !== null) parts.push(`${written(3, 100)(resent)} % sent again`);
      if (rtt !== null) parts.push(`RTT ${written(1, 1000)(rtt)} ms`);
      if (dropped !== null) parts.push(`${one(dropped)} packets/s dropped`);
      return parts.length ? [`${name}: ${parts.join(", ")}`] : [];
    }));
  },
});

// Of few instances one more or less is busy each second.
const BUSY_MS = 30_000;

const utilisation = new TimeChart({
  none: "Nobody has told how busy instances are in this time.",

  panels(shown) {
    const roles = shown.grid.keys("utilisation").map((key) => [key, ...role(key.slice("utilisation.".length))]);
    const lines = roles.map(([key, colour, name]) => ({ key, name, line: stage(colour) }));
    const every = links(shown, "link_utilisation");
    lines.push(...every.map((name, at) => ({ key: `link_utilisation.${name}`, name: named(every, name, "link"), line: at ? solid("link", at) : stage("link") })));
    const title = shown.grid.step < BUSY_MS ? `busy over ${BUSY_MS / 1000} s` : "busy";
    return [{ title, unit: "%", scale: 100, digits: 1, write: percent, most: 100, over: BUSY_MS, lines }];
  },

  caption(shown) {
    const [panel] = utilisation.drawn(shown);
    const said = (panel?.lines ?? []).map(({ key, name }) => [name, now(shown, key)]).filter(([, value]) => value !== null);
    return listed(said.length ? [`now ${said.map(([name, value]) => `${name} ${percent(value)} %`).join(", ")}`] : []);
  },
});

const instances = ({ grid }) => Object.entries(ROLES).flatMap(([name, [colour, title]]) => [
  { key: `instances.${name}`, name: title, line: stage(colour), shape: "hv" },
  { key: `recommended_instances.${name}`, name: `${title}, recommended`, line: { ...stage(colour), width: 1.25, dash: "1px,2px" }, shape: "hv", isNamed: false },
]).filter(({ key }) => grid.has(key));

const threshold = new TimeChart({
  none: "Neither t in force nor a recommended one is known in this time.",
  panels: (shown) => [
    {
      title: "t", unit: "tokens", scale: 1, digits: 0, write: tokens, isFromZero: false,
      lines: [
        { key: "threshold_tokens", name: "t in force", line: { color: palette().ink, dash: "solid" }, shape: "hv" },
        { key: "recommended_threshold_tokens", name: "t recommended", line: { color: palette().accent, dash: "9px,3px" }, shape: "hv" },
      ],
    },
    { title: "instances", unit: "", scale: 1, digits: 1, write: one, least: 1, lines: instances(shown) },
  ],
  caption(shown) {
    const [current, wanted] = ["threshold_tokens", "recommended_threshold_tokens"].map((key) => now(shown, key));
    return listed([`t is ${current === null ? "unknown" : `${tokens(current)} tokens`}; recommended: ${wanted === null ? "nothing" : `${tokens(wanted)} tokens`}. Its axis does not begin at zero; recommended instances are dotted`]);
  },
});

export const CHARTS = { egress, requests, lengths: new LengthsChart(), queues, ttft, congestion, utilisation, threshold };
