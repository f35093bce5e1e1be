// What is recommended beside what is in force: what each t and each split brings, and what it all rests on.
import { gbps, percent, rate, seconds, tokens, written } from "../format.js";
import { basis, conversion, unknowns } from "./advice-words.js";
import { attribute, hide, keyed, out, row, spelled } from "./dom.js";

const two = written(2);
const whole = written(0);
const DRIFTING = { "prefill_s.remote": "T_prefill of PrfaaS", "prefill_s.local": "T_prefill, local", kv_bytes: "KVCache a request" };
const STAGES = { prfaas: "PrfaaS", link: "link", pd_p: "PD-P", pd_d: "PD-D" };
const COLUMNS = ["current", "recommended", "throughput", "ttft"];

// --- by t ---------------------------------------------------------------------------------------------------------

const QUANTITIES = [["Λ_max", "lambda_max_rps", rate, "req/s"], ["egress", "egress_bps", gbps, "Gbps"], ["TTFT mean", "ttft_mean_s", seconds, "s"], ["TTFT P90", "ttft_p90_s", seconds, "s"]];

// [name and unit, value by column, how it is written]; of what is known nowhere there is no line.
function predictions({ threshold_tokens: wanted, objectives = {}, utilisation = {}, ...advice }, current) {
  const { throughput = {}, ttft = {} } = objectives;
  const by = (name, pair) => ({ ...pair, throughput: throughput[name], ttft: ttft[name] });
  const busy = Object.entries(utilisation).map(([stage, pair]) => [
    `${STAGES[stage] ?? stage} busy`, { ...pair, throughput: throughput.utilisation?.[stage], ttft: ttft.utilisation?.[stage] }, percent, "%",
  ]);
  const t = ["t", by("threshold_tokens", { current, recommended: wanted }), tokens, "tokens"];
  const lines = QUANTITIES.map(([name, key, write, unit]) => [name, by(key, advice[key]), write, unit]);
  return [t, ...lines, ...busy].map(([name, values, write, unit]) => [`${name}, ${unit}`, values, write]).filter(([, values]) => COLUMNS.some((column) => values[column] != null));
}

function showPredicted(table, none, advice, current) {
  const known = advice ? predictions(advice, current) : [];
  hide(table, !known.length);
  hide(none, known.length > 0);
  attribute(table, "data-followed", advice?.objective ?? null);
  for (const place of table.querySelectorAll("[data-if]")) hide(place, place.dataset.if !== advice?.objective);
  const make = () => row([["quantity", "text"], ["current", ""], ["recommended", ""], ["throughput", "first"], ["ttft", ""]]);
  keyed(table.tBodies[0], known, ([name]) => name, make, (line, [name, values, write]) => {
    spelled(line.querySelector('[data-out="quantity"]'), name);
    for (const column of COLUMNS) out(line, column, write(values[column]));
  });
}

// Somebody's choice is not turned back before the server has heard of it.
function showObjective(place, { objective, isSignedIn }) {
  for (const radio of place.querySelectorAll("input")) {
    if (radio.disabled === isSignedIn) radio.disabled = !isSignedIn;
    if (!place.dataset.pending && radio.checked !== (radio.value === objective)) radio.checked = radio.value === objective;
  }
}

// --- by split -----------------------------------------------------------------------------------------------------

const isSame = (one, other) => ["prefill", "decode"].every((role) => one[role] === other[role]);

function splits(advice, there) {
  const { lambda_max_rps: lambda, instances, converted_instances: best = {} } = advice;
  const isOther = "prefill" in best;
  const lines = [["in force", there, lambda.current]];
  if ("prefill" in instances) lines.push(["recommended now", instances, isOther && isSame(instances, best) ? advice.lambda_max_converted_rps : lambda.recommended]);
  if (isOther) lines.push(["carries the most", best, advice.lambda_max_converted_rps]);
  return lines;
}

function showSplits(table, note, advice, there) {
  hide(table, !advice);
  const known = advice ? splits(advice, there) : [];
  keyed(table.tBodies[0], known, ([name]) => name, () => row([["split", "text"], ["prefill", ""], ["decode", ""], ["prfaas", ""], ["lambda", ""]]), (line, [name, instances, lambda]) => {
    out(line, "split", name);
    for (const role of ["prefill", "decode", "prfaas"]) out(line, role, whole(instances[role]));
    out(line, "lambda", rate(lambda));
  });
  spelled(note, advice ? conversion(advice, there) : "");
}

// --- the rest -----------------------------------------------------------------------------------------------------

function listed(list, said, none = null) {
  if (none) hide(none, said.length > 0);
  hide(list, !said.length);
  keyed(list, [...said.entries()], ([at]) => at, () => document.createElement("li"), (item, [, each]) => spelled(item, each));
}

function showDrift(list, drift, none) {
  hide(none, drift.length > 0);
  keyed(list, drift, ({ what }) => what, () => document.createElement("li"), (item, { what, ratio, low, high, is_off: isOff }) => {
    item.className = isOff ? "off" : "";
    spelled(item, `${DRIFTING[what] ?? what}: ${two(ratio)} times the prediction (${two(low)} to ${two(high)})${isOff ? ": the profile no longer describes it" : ""}`);
  });
}

export function showAdvice(within, { advice, threshold_tokens: current, roles }, shown) {
  const place = within.querySelector("[data-advice]");
  hide(place, shown.isPast || !shown.isStored);
  // What is put together from lines alone says too little.
  if (place.hidden || !shown.isTold) return;
  const find = (name) => place.querySelector(`[data-${name}]`);
  const there = Object.fromEntries(roles.map(({ role, instances }) => [role, instances.value]));
  showPredicted(find("predicted"), find("no-predicted"), advice, current.value);
  showObjective(find("objective"), shown);
  showSplits(find("splits"), find("conversion"), advice, there);
  listed(find("basis"), advice ? basis(advice, current.value, shown.headroom) : []);
  listed(find("unknown"), advice ? unknowns(advice) : [], find("no-unknown"));
  showDrift(find("drift"), advice?.drift ?? [], find("no-drift"));
}
