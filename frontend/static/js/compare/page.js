// The page of a comparison: every control changes the address, and table and charts follow it.
import { Loop } from "../whatif.js";
import { leadToMistakes } from "../mistakes.js";
import { analyses } from "./analyses.js";
import { chooseByTyping, follow } from "./simulation.js";
import { view } from "./view.js";
import { DeploymentControls } from "./whatif.js";

const form = document.querySelector("[data-view]");
const panel = document.querySelector("[data-whatif-panel]");
const problem = form.querySelector("[data-view-error]");
const { scenarios } = JSON.parse(document.getElementById("whatif-data").textContent);
const charts = analyses(document.querySelector("[data-analyses]"));
const PATIENCE_MS = 20000;
const MAY_BE_NONE = /^(link\.|usd_per_kwh$|pue$)/;

const read = (id) => JSON.parse(document.getElementById(id).textContent);

async function ask(query) {
  const response = await fetch(`${form.dataset.tableUrl}?${query}`, { signal: AbortSignal.timeout(PATIENCE_MS) }).catch(() => {
    throw new Error("The server does not answer.");
  });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById("comparison");
  if (fresh) return page;
  const mistakes = [...page.querySelectorAll(".alert-box li")].map(({ dataset: { field, message }, textContent: text }) => ({ field, message, text }));
  throw Object.assign(new Error(`The server answered ${response.status}.`), mistakes.length ? { mistakes } : {});
}

// The prices that hold, with their sources; what somebody types, or has typed wrongly, is left alone.
function showPrices(page) {
  for (const fresh of page.querySelectorAll("[data-price]")) {
    const field = document.getElementById(fresh.id);
    field.dataset.price = fresh.value;
    field.parentElement.querySelector(".unit").replaceWith(document.adoptNode(fresh.parentElement.querySelector(".unit")));
    if (field !== document.activeElement && field.validity.valid) field.value = fresh.value;
  }
}

// What stands below the analyses; bills that somebody has opened stay open.
function showRest(page) {
  for (const place of document.querySelectorAll("[data-fresh]")) {
    const open = [...place.querySelectorAll("details")].map((details) => details.open);
    const fresh = page.querySelector(`[data-fresh="${place.dataset.fresh}"]`);
    fresh.querySelectorAll("details").forEach((details, at) => { details.open = open[at] ?? false; });
    place.replaceWith(document.adoptNode(fresh));
  }
}

const loop = new Loop(
  ask,
  (page, query, since) => {
    document.getElementById("comparison").replaceWith(document.adoptNode(page.getElementById("comparison")));
    showPrices(page);
    showRest(page);
    say([]);
    requestAnimationFrame(() => { panel.dataset.whatifMs = (performance.now() - since).toFixed(1); });
    charts.show(read("compare-spec"), read("compare-names"));
  },
  (error) => say(error.mistakes ?? [{ text: error.message }]),
);

// What is wrong with a price stands beside it, everything else below all of them.
function say(mistakes) {
  for (const field of form.querySelectorAll("[data-price]")) {
    const told = mistakes.filter((mistake) => mistake.field === field.name).map(({ message }) => message).join(" ");
    document.getElementById(`${field.name}-error`).textContent = told;
    field.ariaInvalid = told ? "true" : null;
  }
  problem.textContent = mistakes.filter(({ field }) => !("price" in (form.elements[field]?.dataset ?? {}))).map(({ text }) => text).join(" ");
  document.getElementById("comparison").toggleAttribute("data-stale", mistakes.length > 0);
}

const refresh = () => loop.want(view.text);

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", ({ target }) => {
  const { name: field, validity } = target;
  if (target.type === "number" && target.value !== "" && !validity.valid) return say([{ field, message: "must be a number, 0 or more" }]);
  if (target.type === "number" && target.value === "" && validity.badInput) return say([{ field, message: "must be a number" }]);
  if (target.value === "" && MAY_BE_NONE.test(target.name)) view.empty(target.name);
  else view.set(target.name, target.value);
  return refresh();
});
// A chip without a price that is typed has its own.
form.addEventListener("focusout", ({ target }) => {
  if (target.value === "" && target.validity.valid && target.dataset.price) target.value = target.dataset.price;
});

const controls = new DeploymentControls(panel.querySelector("[data-controls]"), scenarios, view, () => {
  keepLink();
  refresh();
});

// Where a deployment as it is shown can be looked at and stored.
function keepLink() {
  const link = panel.querySelector("[data-keep]");
  link.href = `${panel.dataset.scenarioUrl.replace("NAME", controls.scenario.name)}?${view.text}`;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-form]");
  if (!link) return;
  event.preventDefault();
  form.elements.form.value = link.dataset.form;
  view.set("form", link.dataset.form);
  location.search = view.text;
});

const copy = document.querySelector("[data-copy-link]");
if (navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(`${location.origin}${location.pathname}${view.text ? `?${view.text}` : ""}`);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy link"; }, 2000);
  });
}

keepLink();
charts.show(read("compare-spec"), read("compare-names"));
follow(refresh);
chooseByTyping(document.querySelector("[data-simulate]"));

// A refused simulation comes back from its own address: the one to keep and to share is the comparison's.
if (leadToMistakes()) history.replaceState(null, "", document.querySelector("[data-simulate]").dataset.of + location.search);
