// What is predicted, by the values in force and by those recommended; both objectives' t; the drift of the profile.
import { gbps, percent, rate, seconds, tokens, written } from "../format.js";
import { hide, keyed, out, row, spelled, text } from "./dom.js";

const two = written(2);
const DRIFTING = { "prefill_s.remote": "T_prefill of PrfaaS", "prefill_s.local": "T_prefill, local", kv_bytes: "KVCache a request" };
const STAGES = { prfaas: "PrfaaS", link: "link", pd_p: "PD-P", pd_d: "PD-D" };

function predictions({ lambda_max_rps: lambda, egress_bps: egress, ttft_mean_s: mean, ttft_p90_s: p90, utilisation }) {
  return [
    ["Λ_max", lambda, rate, "req/s"], ["egress", egress, gbps, "Gbps"], ["TTFT, mean", mean, seconds, "s"], ["TTFT, P90", p90, seconds, "s"],
    ...Object.entries(utilisation ?? {}).map(([stage, pair]) => [`${STAGES[stage] ?? stage} busy`, pair, percent, "%"]),
  ].filter(([, pair]) => pair && (pair.current != null || pair.recommended != null));
}

function showPredicted(table, none, advice) {
  const known = advice ? predictions(advice) : [];
  hide(table, !known.length);
  hide(none, known.length > 0);
  const make = () => row([["quantity", "text"], ["current", ""], ["recommended", ""], ["unit", "text"]]);
  keyed(table.tBodies[0], known, ([name]) => name, make, (line, [name, pair, write, unit]) => {
    spelled(line.querySelector('[data-out="quantity"]'), name);
    out(line, "current", write(pair.current));
    out(line, "recommended", write(pair.recommended));
    out(line, "unit", unit);
  });
}

function basis({ samples, conversion_s: conversion, lambda_max_converted_rps: converted }) {
  const said = [`From the lengths of ${tokens(samples)} requests.`];
  if (converted != null) said.push(`Converting instances as recommended would give ${two(converted)} req/s${conversion == null ? "" : `; what it costs is made up for after ${tokens(conversion)} s`}.`);
  return said.join(" ");
}

function showObjective(place, advice, { objective, isSignedIn }) {
  const own = advice?.threshold_tokens ?? null;
  const other = advice?.other_threshold_tokens ?? null;
  const followed = advice?.objective || objective;
  out(place, "throughput", tokens(followed === "ttft" ? other : own));
  out(place, "ttft", tokens(followed === "ttft" ? own : other));
  for (const radio of place.querySelectorAll("input")) {
    if (radio.disabled === isSignedIn) radio.disabled = !isSignedIn;
    // Somebody's choice is not turned back before the server has heard of it.
    if (!place.dataset.pending && radio.checked !== (radio.value === objective)) radio.checked = radio.value === objective;
  }
}

function showDrift(list, drift, none) {
  hide(none, drift.length > 0);
  keyed(list, drift, ({ what }) => what, () => document.createElement("li"), (item, { what, ratio, low, high, is_off: isOff }) => {
    item.className = isOff ? "off" : "";
    spelled(item, `${DRIFTING[what] ?? what}: ${two(ratio)} times the prediction (${two(low)} to ${two(high)})${isOff ? ": the profile no longer describes it" : ""}`);
  });
}

export function showAdvice(within, advice, shown) {
  const place = within.querySelector("[data-advice]");
  hide(place, shown.isPast || !shown.isStored);
  if (place.hidden) return;
  showPredicted(place.querySelector("[data-predicted]"), place.querySelector("[data-no-predicted]"), advice);
  text(place.querySelector("[data-basis]"), advice ? basis(advice) : "");
  showObjective(place.querySelector("[data-objective]"), advice, shown);
  showDrift(place.querySelector("[data-drift]"), advice?.drift ?? [], place.querySelector("[data-no-drift]"));
}
