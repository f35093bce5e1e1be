// In sentences, where a unit is not parted from its number: what a recommendation rests on, what nobody tells and what follows from that, what converting costs.
import { gbps, percent, rate, tokens, written } from "../format.js";
import { age } from "./zone.js";

const one = written(1);
const whole = written(0);
const STAGES = { prfaas: "PrfaaS", link: "the link", pd_p: "PD-P", pd_d: "PD-D" };

// --- what it rests on ---------------------------------------------------------------------------------------------

function bestOne({ objectives, threshold_low: low, threshold_high: high, confidence }, current) {
  const best = objectives?.throughput?.threshold_tokens;
  if (best == null) return [];
  const within = low != null && high != null ? `, and between ${tokens(low)} and ${tokens(high)} for all that buckets and chance leave open` : "";
  const said = [`The greatest Λ_max is at t of ${tokens(best)}\u00a0tokens${within}.`];
  if (confidence != null && current !== null) said.push(`It is ${best < current ? "below" : "above"} t in force with a probability of ${percent(confidence)}\u00a0%, as far as chance goes.`);
  return said;
}

export function basis(advice, current, headroom) {
  const said = [];
  if (advice.binding) said.push(`Λ_max with t in force is bound by ${STAGES[advice.binding] ?? advice.binding}.`);
  said.push(...bestOne(advice, current));
  if (advice.samples > 0) said.push(`Lengths: ${tokens(advice.samples)} requests.`);
  if (advice.link_carries_bps != null) said.push(`The link is counted with ${gbps(advice.link_carries_bps)}\u00a0Gbps, less ${percent(headroom)}\u00a0% headroom.`);
  return said;
}

// --- what is not known --------------------------------------------------------------------------------------------

const FOLLOWS = {
  egress: "what the request rate predicts is taken for it",
  retransmits: "they raise no alarm",
  "request rate": "TTFT, utilisation and egress at the present load cannot be predicted",
  "queue for the link": "KVCaches that wait raise no alarm",
  "queue for PrfaaS": "requests that wait there raise no alarm",
  "queue for PD-P": "requests that wait there raise no alarm",
};
const ENDLESS = [["current", "t in force"], ["recommended", "t to set now"]];

export function unknowns({ unknown = [], objectives = {}, problems, ttft_mean_s: ttft }) {
  const said = unknown.map((what) => `${what.slice(0, 1).toUpperCase()}${what.slice(1)}: told by no telemetry${FOLLOWS[what] ? `; ${FOLLOWS[what]}` : ""}.`);
  const isRated = !unknown.includes("request rate");
  if (!problems.length && !objectives.ttft) said.push(`The t of the least TTFT: ${isRated ? "no t carries the present load, so that a queue grows without end" : "it hangs on the request rate"}.`);
  for (const [side, name] of ENDLESS) {
    if (!problems.length && isRated && ttft[side] == null) said.push(`TTFT with ${name}: a queue grows without end at the present load.`);
  }
  return said;
}

// --- another split ------------------------------------------------------------------------------------------------

export function conversion(advice, there) {
  const { converted_instances: best = {}, instances, lambda_max_converted_rps: lambda } = advice;
  if (advice.problems.length) return "";
  if (!("prefill" in best)) return "No other split carries more: nothing is to be converted.";
  const many = Math.abs(best.prefill - there.prefill);
  const [from, to] = best.prefill > there.prefill ? ["decode", "prefill"] : ["prefill", "decode"];
  const lost = advice.conversion_lost_requests;
  const pays = advice.conversion_s == null ? "at the present load that is never made up for" : `made up for after ${age(1000 * advice.conversion_s)}`;
  const isNow = instances.prefill !== there.prefill;
  return `Converting ${whole(many)} of ${whole(there[from])} ${from} instances to ${to} would give Λ_max ${rate(lambda)}\u00a0req/s. It costs ${lost == null ? "requests" : `${one(lost)} requests`} that are not served meanwhile, `
    + `a minute an instance; ${pays}. ${isNow ? "It is recommended now." : "It is not recommended now: that needs a role that was short for minutes, and a gain that outlasts the conversion."}`;
}
