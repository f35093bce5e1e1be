// What the recommendation leads to: a router's configuration to paste, the profile fitted anew.
import { get, getText, post, signIn } from "../api.js";
import { seconds, tokens, written } from "../format.js";
import { hide, keyed, out, row, spelled } from "./dom.js";
import { moment, utc } from "./zone.js";

const dialog = (name) => document.querySelector(`[data-dialog="${name}"]`);
const two = written(2);

export const copied = (text) => navigator.clipboard?.writeText(text).then(() => true, () => false) ?? false;

export async function showRouter(watchUrl, kind) {
  const shown = dialog("router");
  const [status, place] = [shown.querySelector("[data-router-status]"), shown.querySelector("[data-router-text]")];
  status.textContent = place.textContent = "";
  shown.querySelector("h2").textContent = kind === "dynamo" ? "For Dynamo's router" : "For llm-d's router";
  shown.showModal();
  try {
    place.textContent = await getText(`${watchUrl}router/${kind}/`);
    status.textContent = (await copied(place.textContent)) ? "Copied." : "This browser does not let pages copy here: select and copy it.";
  } catch (error) {
    status.textContent = error.message;
  }
}

// --- the audit log ------------------------------------------------------------------------------------------------

const MOST_LOGGED = 50;
const LOGGED = [["time", "text"], ["t", "", "t"], ["split", "", "prefill / decode"], ["why", "text wrap"]];
const threshold = ({ threshold_tokens: t }) => (t == null ? "–" : tokens(t));
const count = (value) => (value == null ? "?" : tokens(value));
const split = ({ instances }) => (instances?.prefill == null && instances?.decode == null ? "–" : `${count(instances.prefill)} / ${count(instances.decode)}`);

// The newest, up to the moment that is looked at.
export async function showLog(watchUrl, zone, end) {
  const shown = dialog("log");
  const [status, table] = [shown.querySelector("[data-log-status]"), shown.querySelector("[data-log-table]")];
  const address = `${watchUrl}recommendations/`;
  shown.querySelector("[data-log-all]").href = address;
  status.textContent = "Asking.";
  hide(table, true);
  shown.showModal();
  try {
    const { count: inAll, results } = await get(`${address}?page_size=${MOST_LOGGED}${end === null ? "" : `&end=${end}`}`);
    const until = end === null ? "" : ` before ${moment(end, zone)}`;
    status.textContent = results.length ? `The newest ${results.length} of ${inAll}${until}.` : `Nothing is on record${until}.`;
    hide(table, !results.length);
    keyed(table.tBodies[0], results, ({ id }) => id, () => row(LOGGED), (line, { at_ms: at, reason, sentence, current, recommended }) => {
      out(line, "time", moment(at, zone));
      line.querySelector('[data-out="time"]').title = utc(at);
      out(line, "t", `${threshold(current)} → ${threshold(recommended)}`);
      out(line, "split", `${split(current)} → ${split(recommended)}`);
      spelled(line.querySelector('[data-out="why"]'), `${reason}: ${sentence}`);
    });
  } catch (error) {
    status.textContent = error.message;
  }
}

// --- the refit ----------------------------------------------------------------------------------------------------

const COLUMNS = [["profile", "text wrap"], ["requests", "", "requests"], ["range", "text", "tokens"], ["ratio", "", "observed over predicted"], ["before", "", "prefill, s, before"], ["after", "", "after"]];

// Seconds of a curve at a length, between its points as on doubly logarithmic paper.
function at({ tokens: lengths, seconds: times }, length) {
  const next = Math.min(Math.max(1, lengths.findIndex((each) => each >= length)), lengths.length - 1);
  const [x0, x1, y0, y1] = [lengths[next - 1], lengths[next], times[next - 1], times[next]].map(Math.log);
  return Math.exp(y0 + ((Math.log(length) - x0) / (x1 - x0)) * (y1 - y0));
}

function showFitted(table, profiles) {
  keyed(table.tBodies[0], profiles, ({ profile }) => profile, () => row(COLUMNS), (line, { profile, requests, ratio, measured_tokens: [shortest, longest], before, after }) => {
    const middle = Math.sqrt(shortest * longest);
    out(line, "profile", profile);
    out(line, "requests", tokens(requests));
    out(line, "range", `${tokens(shortest)} to ${tokens(longest)}`);
    out(line, "ratio", two(ratio));
    out(line, "before", seconds(at(before, middle)));
    out(line, "after", seconds(at(after, middle)));
  });
}

const ROUTES = { remote: "prefilled by PrfaaS", local: "prefilled locally" };

// Looked at first; stored in the place of the very revision that was looked at.
export async function showRefit(watchUrl, login, isSignedIn) {
  const shown = dialog("refit");
  const [status, table, button, list] = ["status", "table", "store", "problems"].map((name) => shown.querySelector(`[data-refit-${name}]`));
  status.textContent = "Fitting the last hour of telemetry.";
  for (const place of [table, button, list]) hide(place, true);
  shown.showModal();
  try {
    const found = await get(`${watchUrl}refit/`);
    status.textContent = `The scenario ${found.scenario}, revision ${found.revision}, from the last hour of telemetry.`;
    list.replaceChildren(...Object.entries(found.problems).map(([route, said]) => Object.assign(document.createElement("li"), { textContent: `${ROUTES[route] ?? route}: ${said}` })));
    hide(list, !list.children.length);
    hide(table, !found.profiles.length);
    hide(button, !found.profiles.length);
    showFitted(table, found.profiles);
    button.textContent = isSignedIn ? `Store as revision ${found.revision + 1}` : "Sign in to store it";
    button.onclick = () => (isSignedIn ? storeRefit(watchUrl, found.revision, status, button) : location.assign(signIn(login)));
  } catch (error) {
    status.textContent = error.message;
  }
}

async function storeRefit(watchUrl, revision, status, button) {
  button.disabled = true;
  try {
    const { stored } = await post(`${watchUrl}refit/`, { revision });
    status.textContent = `Stored: ${Object.entries(stored).map(([name, at]) => `${name}, revision ${at}`).join("; ")}.`;
    hide(button, true);
  } catch (error) {
    status.textContent = error.message;
  } finally {
    button.disabled = false;
  }
}
