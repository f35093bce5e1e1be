// What is known of a moment; of one that lies back there is no snapshot any more, but the lines that are drawn.
import { moment, zoneName } from "./zone.js";

const WITHIN_MS = 10_000;

const absent = { value: null, ts_ms: null, age: "absent" };
const rest = (key, prefix) => key.slice(prefix.length + 1);

export function momentOf(grid, end, name) {
  const within = WITHIN_MS + 2 * grid.step;
  const value = (key) => {
    const found = grid.latest(key, end, within);
    return found ? { ...found, age: "live" } : absent;
  };
  const setting = (key) => ({ ...value(key), origin: grid.has(key) ? "telemetry" : "unknown", by: "" });
  const numbers = (prefix) => Object.fromEntries(grid.keys(prefix).map((key) => [rest(key, prefix), value(key).value]).filter(([, each]) => each !== null));
  return {
    name,
    links: grid.keys("egress_bps").map((key) => rest(key, "egress_bps")).map((link) => ({
      name: link, egress_bps: value(`egress_bps.${link}`), capacity_bps: value(`capacity_bps.${link}`), utilisation: value(`link_utilisation.${link}`),
    })),
    requests_rps: { local: value("requests_rps.local"), remote: value("requests_rps.remote") },
    offload: value("offload"),
    threshold_tokens: setting("threshold_tokens"),
    roles: grid.keys("instances").map((key) => ({ role: rest(key, "instances"), instances: setting(key) })),
    advice: advice(value("recommended_threshold_tokens").value, numbers("recommended_instances"), value("lambda_max_rps").value),
  };
}

function advice(threshold, instances, lambda) {
  if (threshold === null) return null;
  return { threshold_tokens: threshold, instances, lambda_max_rps: { current: lambda, recommended: null }, problems: [], sentence: "", binding: "", drift: [], utilisation: {} };
}

// Whether there is anything of now to show beside charts.
export function isAnythingSaid(now) {
  if (!now) return false;
  const settings = [now.threshold_tokens, ...now.roles.map(({ instances }) => instances)];
  return Boolean(now.advice) || now.links.length > 0 || settings.some(({ value }) => value !== null);
}

// Of a time of which nothing is known.
export function nothingOf({ view, start, end, isStored }) {
  if (view.end !== null) return `Nothing was measured from ${moment(start, view.zone)} to ${moment(end, view.zone)} (${zoneName(view.zone, end)}).`;
  return `Nothing ${isStored ? "of this watch " : ""}has been measured in the time that is shown: its sources stand below. Charts begin with the first of what comes.`;
}
