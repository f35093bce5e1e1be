// A job's page: live progress, cancelling, running again, and the result in place when there is one.
import { post } from "./api.js";
import { mount } from "./charts/base.js";
import { breakEven } from "./charts/break-even.js";
import { costParts } from "./charts/cost-parts.js";
import { mapChart } from "./charts/map.js";
import { frontSoFar, showFront } from "./front.js";
import { hasEnded, JobStream } from "./job-stream.js";
import { Progress } from "./progress.js";
import { showReplay } from "./replay.js";
import { replicationsSoFar, showSimulation } from "./simulation.js";
import { showStudy, variantsSoFar } from "./study.js";
import { clock, localiseTimes } from "./time.js";

const page = () => document.getElementById("job");
const inPage = (selector) => page().querySelector(selector);
const content = (id) => JSON.parse(document.getElementById(id).textContent);

function showConnection(text) {
  const since = text === "no answer" ? `: the server is silent since ${clock(new Date())}, the page keeps trying` : "";
  const place = inPage("[data-connection]");
  // The moment of the first silence stays: it is not news every two seconds.
  if (place.dataset.now !== text) place.textContent = text + since;
  place.dataset.now = text;
}

// The server renders a job that has ended; only that part of the page is replaced.
async function showOutcome() {
  const response = await fetch(location.href);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("job");
  page().replaceWith(document.adoptNode(fresh));
  localiseTimes(page());
  prepare();
}

async function act(button, action) {
  button.disabled = true;
  inPage("[data-error]").textContent = "";
  try {
    await action();
  } catch (error) {
    button.disabled = false;
    inPage("[data-error]").textContent = error.message;
  }
}

async function again() {
  const { scenario, form, map } = content("job-input");
  const job = await post(page().dataset.jobsUrl, { scenario, form, map });
  location.assign(page().dataset.jobPage.replace("00000000-0000-0000-0000-000000000000", job.id));
}

function prepareActions() {
  const dialog = inPage("[data-cancel-dialog]");
  const ask = inPage("[data-ask-cancel]");
  ask?.addEventListener("click", () => dialog.showModal());
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "cancel") act(ask, () => post(page().dataset.cancel));
  });
  const rerun = inPage("[data-again]");
  rerun?.addEventListener("click", () => act(rerun, again));
}

function prepareMap() {
  if (!document.getElementById("job-map")) return;
  const map = content("job-map");
  const chart = mount("map", mapChart);
  const select = document.getElementById("map-split");
  const show = () => chart.show({ map, split: select.value });
  select.addEventListener("input", show);
  show();
}

// Charts of which the page has the numbers under their name.
const CHARTS = { "cost-parts": costParts, "break-even": breakEven };

function prepareCharts() {
  for (const [name, chart] of Object.entries(CHARTS)) {
    if (document.getElementById(`job-${name}`)) mount(name, chart).show(content(`job-${name}`));
  }
  if (document.getElementById("job-front")) showFront(content("job-front"));
  if (document.getElementById("job-simulation")) showSimulation(content("job-simulation"));
  if (document.getElementById("job-replay")) showReplay(content("job-replay"), content("job-replay-ttft"));
  if (document.getElementById("job-study")) showStudy(content("job-study"));
}

function prepare() {
  prepareActions();
  prepareMap();
  prepareCharts();
}

prepare();
if (!hasEnded(page().dataset.state)) {
  const progress = new Progress(page());
  const SO_FAR = { "[data-so-far]": frontSoFar, "[data-replications]": replicationsSoFar, "[data-variants]": variantsSoFar };
  const [soFar] = Object.entries(SO_FAR).flatMap(([selector, follow]) => (inPage(selector) ? [follow(inPage(selector))] : []));
  const stream = new JobStream(page().dataset, (job) => {
    if (hasEnded(job.state)) {
      progress.stop();
      // The outcome may come while the server restarts: it is asked for until it is there.
      const fetched = () => showOutcome().catch(() => setTimeout(fetched, 1000));
      fetched();
    } else {
      progress.show(job);
      soFar?.heard(job);
    }
  }, showConnection);
  addEventListener("pagehide", () => { stream.over = true; });
}
