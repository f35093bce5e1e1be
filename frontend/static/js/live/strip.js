// The top of the screen: each link, the offload ratio, t and instances beside what is recommended, and why.
import { gbps, percent, tokens, written } from "../format.js";
import { mark } from "../mark.js";
import { showAdvice } from "./advice.js";
import { attribute, hide, keyed, out, spelled, text } from "./dom.js";
import { age, moment } from "./zone.js";

const whole = written(0);
const per = written(2);
const BOUND = { prfaas: "PrfaaS", link: "Link", pd_p: "PD-P", pd_d: "PD-D" };
const element = document.querySelector("[data-strip]");
const cell = (name) => element.querySelector(`[data-cell="${name}"]`);
const cells = element.querySelector(".cells");
const pattern = element.querySelector("[data-link-cell]");
pattern.remove();

// --- ages ---------------------------------------------------------------------------------------------------------

const worst = (values) => ["absent", "stale", "live"].find((each) => values.some(({ age: is }) => is === each)) ?? "absent";

// The oldest figure of a place says how old the place is.
function showAge(place, values, { now }) {
  const is = worst(values);
  attribute(place, "data-age", is === "live" ? null : is);
  const times = values.map(({ ts_ms: ts }) => ts).filter((ts) => ts !== null && ts !== undefined);
  const said = { live: "", stale: times.length ? `stale: ${age(now - Math.min(...times))} old` : "stale", absent: "no data" };
  out(place, "age", said[is]);
}

// --- links and requests --------------------------------------------------------------------------------------------

function showLink(place, link, shown) {
  const [rate, capacity] = [link.egress_bps.value, link.capacity_bps.value];
  const share = rate !== null && capacity ? rate / capacity : null;
  out(place, "name", link.name);
  out(place, "egress", gbps(rate));
  out(place, "capacity", gbps(capacity));
  out(place, "share", percent(share));
  const left = share === null ? null : capacity * (1 - shown.headroom) - rate;
  out(place, "left", left === null ? "–" : gbps(Math.abs(left)));
  out(place, "side", left !== null && left < 0 ? "beyond" : "to");
  out(place, "headroom", whole(100 * shown.headroom));
  place.querySelector("[data-gauge]").style.width = `${100 * Math.min(1, share ?? 0)}%`;
  place.querySelector("[data-headroom]").style.left = `${100 * (1 - shown.headroom)}%`;
  attribute(place, "data-is", share === null ? null : share > 1 - shown.headroom ? "over" : "under");
  attribute(place, "title", link.is_clamped ? "more was measured than the link carries; shown is what it carries" : null);
  showAge(place, [link.egress_bps], shown);
  out(place, "of-capacity", capacityAge(link.capacity_bps, shown));
}

function capacityAge({ age: is, ts_ms: ts }, { now }) {
  if (is === "live") return "";
  return is === "stale" ? `its capacity is stale: ${age(now - ts)} old` : "its capacity is unknown";
}

function makeLink() {
  const made = pattern.cloneNode(true);
  made.hidden = false;
  return made;
}

function showLinks(links, shown) {
  const chosen = shown.view.link ? links.filter(({ name }) => name === shown.view.link) : links;
  const others = [...cells.children].filter((child) => child.dataset.cell);
  keyed(cells, [...chosen, ...others], (item) => item.dataset?.cell ?? `link ${item.name}`, makeLink, (place, item) => item.dataset || showLink(place, item, shown));
}

function showOffload({ offload, requests_rps: rates }, shown) {
  const place = cell("offload");
  const parts = Object.values(rates).map(({ value }) => value);
  out(place, "offload", percent(offload.value));
  // A sum with a hole would look like less.
  out(place, "rate", parts.length && !parts.includes(null) ? per(parts.reduce((sum, value) => sum + value, 0)) : "–");
  showAge(place, [offload], shown);
}

// --- what is in force, and what is recommended ----------------------------------------------------------------------

const ORIGINS = { telemetry: ["measured", "told by telemetry"], entered: ["user", "entered"] };

function origin(place, { origin: from, by, ts_ms: ts }, zone) {
  const slot = place.querySelector("[data-mark]");
  const [kind, says] = ORIGINS[from] ?? [];
  const title = from === "entered" ? `${says}${by ? ` by ${by}` : ""}, ${moment(ts, zone)}` : says;
  const key = kind ? `${kind} ${title}` : "";
  if (slot.dataset.key === key) return;
  slot.dataset.key = key;
  slot.replaceChildren(...(kind ? [mark(kind, title)] : []));
}

function wanted(place, value, at) {
  out(place, "wanted", value);
  const slot = place.querySelector("[data-wanted-mark]");
  if (Boolean(slot.firstChild) === (value !== "–")) return;
  slot.replaceChildren(...(value === "–" ? [] : [mark("estimated", at)]));
}

const ADVISED = "recommended by this program, from the observed lengths and rates and the scenario's curves";

// Where t goes in steps; t to set now may lie outside the interval.
function goal(advice) {
  const best = advice?.objectives?.[advice.objective]?.threshold_tokens;
  if (best == null) return "";
  if (advice.objective === "ttft") return `least TTFT at ${tokens(best)}`;
  const within = advice.threshold_low == null || advice.threshold_high == null ? "" : ` (${tokens(advice.threshold_low)} to ${tokens(advice.threshold_high)})`;
  return `greatest Λ_max at ${tokens(best)}${within}`;
}

function showThreshold({ threshold_tokens: current }, advice, shown) {
  const place = cell("threshold");
  out(place, "current", current.value === null ? "unknown" : tokens(current.value));
  origin(place, current, shown.view.zone);
  wanted(place, advice?.threshold_tokens == null ? "–" : tokens(advice.threshold_tokens), ADVISED);
  spelled(place.querySelector('[data-out="interval"]'), goal(advice));
  place.classList.toggle("differs", current.value !== null && advice?.threshold_tokens != null && Math.abs(advice.threshold_tokens - current.value) > 0.005 * current.value);
  if (current.origin === "telemetry") showAge(place, [current], shown);
  else aged(place, current, shown);
}

// What was typed holds until it is changed: its time is told, but it does not grow old.
function aged(place, { origin: from, ts_ms: ts, by }, { now }) {
  attribute(place, "data-age", from === "unknown" ? "absent" : null);
  out(place, "age", from === "entered" ? `entered ${age(now - ts)} ago${by ? ` by ${by}` : ""}` : "told by no telemetry");
}

const count = (value) => (value === null || value === undefined ? "?" : whole(value));

function converted(advice) {
  const best = advice?.converted_instances ?? {};
  return "prefill" in best ? `${count(best.prefill)} / ${count(best.decode)} would carry ${per(advice.lambda_max_converted_rps)} req/s` : "";
}

function showSplit({ roles }, advice, shown) {
  const place = cell("split");
  const of = Object.fromEntries(roles.map(({ role, instances }) => [role, instances]));
  const known = ["prefill", "decode"].map((role) => of[role]).filter((each) => each && each.value !== null);
  out(place, "current", known.length ? `${count(of.prefill?.value)} / ${count(of.decode?.value)}` : "unknown");
  const has = Boolean(advice?.instances && "prefill" in advice.instances);
  wanted(place, has ? `${count(advice.instances.prefill)} / ${count(advice.instances.decode)}` : "–", ADVISED);
  out(place, "prfaas", of.prfaas?.value == null ? "PrfaaS: unknown" : `PrfaaS: ${count(of.prfaas.value)}`);
  spelled(place.querySelector('[data-out="converted"]'), converted(advice));
  const first = known[0] ?? { origin: "unknown", value: null, ts_ms: null, age: "absent" };
  origin(place, first, shown.view.zone);
  place.classList.toggle("differs", has && known.length === 2 && (advice.instances.prefill !== of.prefill.value || advice.instances.decode !== of.decode.value));
  if (known.length && known.every(({ origin: from }) => from === "telemetry")) showAge(place, known, shown);
  else aged(place, first, shown);
}

// What lies back is told by what is on record of it.
function showBinding(advice, { isPast, reason }) {
  const place = cell("binding");
  const now = advice?.lambda_max_rps?.current ?? null;
  const then = (isPast ? reason?.recommended?.lambda_max_rps : advice?.lambda_max_rps?.recommended) ?? null;
  const binding = isPast ? reason?.current?.binding : advice?.binding;
  out(place, "binding", binding ? BOUND[binding] ?? binding : "–");
  spelled(place.querySelector('[data-out="lambda"]'), now === null && then === null ? "" : `Λ_max ${per(now)}${then === null || per(then) === per(now) ? "" : ` → ${per(then)}`} req/s`);
}

// Those that fired at a moment that lies back have left a span each.
const fired = ({ notes, end }) => notes.filter(({ kind, ts_ms: from, until }) => kind === "alert" && from <= end && until !== null && until >= end).length;

function showAlerts(shown) {
  const place = cell("alerts");
  const { alerts, isPast } = shown;
  const firing = isPast ? fired(shown) : alerts.filter(({ state }) => state === "firing").length;
  out(place, "firing", String(firing));
  out(place, "pending", !isPast && alerts.length > firing ? `${alerts.length - firing} pending` : "");
  attribute(place, "data-is", firing ? "over" : null);
}

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

const unsaid = ({ isStored, scenario }) => (!isStored ? "" : scenario ? "Nothing has been recommended yet." : "This watch names no scenario: nothing is recommended.");

function showReason(advice, shown) {
  const then = shown.reason?.problems.map(({ text: said }) => said);
  const problems = (shown.isPast ? then : advice?.problems) ?? [];
  const said = shown.isPast ? shown.reason?.sentence ?? "No recommendation is on record of this moment." : advice ? advice.sentence : unsaid(shown);
  // What hinders stands below, one by one.
  const sentence = element.querySelector("[data-sentence]");
  spelled(sentence, problems.length ? "" : capital(said));
  attribute(sentence, "title", (shown.isPast ? shown.reason : advice)?.reason || null);
  const box = element.querySelector("[data-problems]");
  hide(box, !problems.length);
  keyed(box.querySelector("ul"), problems, (problem) => problem, () => document.createElement("li"), (item, problem) => spelled(item, problem));
}

// --- the whole ------------------------------------------------------------------------------------------------------

// `shown` is {now: WatchNow, alerts, view, headroom, objective, now_ms, isStale, isPast, asOf}.
export function showStrip(shown) {
  const { now: watch } = shown;
  const advice = watch.advice ?? null;
  const valid = advice && !advice.problems.length ? advice : null;
  const at = { ...shown, now: shown.nowMs };
  attribute(element, "data-stale", shown.isStale ? "" : null);
  const asOf = element.querySelector("[data-asof]");
  hide(asOf, !shown.isPast && !shown.isStale);
  text(asOf, shown.isPast ? `As of ${moment(shown.end, shown.view.zone)}, from what was stored.` : shown.isStale ? `Nothing new since ${moment(shown.silentSince ?? shown.nowMs, shown.view.zone)}: what stands here is of then.` : "");
  showLinks(watch.links, at);
  showOffload(watch, at);
  showThreshold(watch, valid, at);
  showSplit(watch, valid, at);
  showBinding(advice, shown);
  showAlerts(shown);
  showReason(advice, shown);
  for (const button of element.querySelectorAll("[data-enter]")) hide(button, !shown.isStored || shown.isPast);
  showAdvice(element, watch, shown);
}
