// A page with a what-if panel: joins controls, server, numbers and charts.
import { post, Refused, signIn } from "./api.js";
import { readAddress, writeAddress } from "./address.js";
import { mount } from "./charts/base.js";
import { egressChart } from "./charts/egress.js";
import { lambdaSplit } from "./charts/lambda-split.js";
import { lambdaThreshold } from "./charts/lambda-threshold.js";
import { lengthsChart } from "./charts/lengths.js";
import { Controls } from "./controls.js";
import { showNumbers } from "./numbers.js";
import { changes, controlOf, Loop, request } from "./whatif.js";

const { baseline, scenarios } = JSON.parse(document.getElementById("whatif-data").textContent);
const panel = document.querySelector("[data-whatif]");
const { whatifUrl, jobsUrl, jobPage, loginUrl } = panel.dataset;
const signedIn = "signedIn" in panel.dataset;
// Where there is one deployment, the address names others: those of the comparison that it stands in.
const isChosen = scenarios.length > 1;
const optimise = panel.querySelector("[data-optimise]");
const signInLink = panel.querySelector("[data-optimise-sign-in]");
// What is stored from here is stored as it was moved.
const moved = document.querySelector("[data-moved]");
const charts = [
  mount("lambda-threshold", lambdaThreshold),
  mount("lambda-split", lambdaSplit),
  mount("lengths", lengthsChart),
  mount("egress", egressChart),
];

const controls = new Controls(panel.querySelector("[data-controls]"), scenarios, changed);
let valid = true;
const loop = new Loop(
  ({ scenario, state }) => post(whatifUrl, request(scenario, state)),
  show,
  (error, { scenario }) => {
    stale(true);
    if (!(error instanceof Refused)) return reportError(error);
    return controls.errors(Object.fromEntries(error.errors.map(({ field, message }) => [controlOf(scenario, field), message])));
  },
);

// Numbers and charts that do not belong to what the fields say are greyed, and a line says so.
function stale(is) {
  panel.toggleAttribute("data-stale", is);
  panel.querySelector("[data-stale-note]").hidden = !is;
}

async function show(answer, { scenario, state }, since) {
  if (valid) stale(false);
  showNumbers(panel, answer.result, baseline[state.form]);
  await Promise.all(charts.map((chart) => chart.show({ answer, scenario })));
  // From the hand's move until everything is drawn, in the frame that is shown next.
  panel.dataset.whatifMs = (performance.now() - since).toFixed(1);
}

function changed() {
  const state = controls.read();
  valid = state !== null;
  showForm(controls.form.elements.form.value);
  if (!valid) return stale(true);
  const { scenario } = controls;
  writeAddress({ ...state, ...(isChosen ? { scenario: scenario.name } : {}) }, standard(scenario), keepState);
  loop.want({ scenario, state });
  if (moved) moved.value = JSON.stringify(changes(scenario, state));
}

const standard = (scenario) => ({
  scenario: scenarios[0].name, threshold: scenario.threshold?.value, split: scenario.split.value,
  bandwidth: scenario.bandwidth?.value, form: "exact",
});

function keepState() {
  for (const link of document.querySelectorAll("[data-sign-in], [data-optimise-sign-in]")) link.href = signIn(loginUrl);
}

// One form for the table above and the panel below.
function showForm(form) {
  for (const view of document.querySelectorAll("[data-form-view]")) view.hidden = view.dataset.formView !== form;
  for (const link of document.querySelectorAll("[data-form-link]")) {
    if (link.dataset.formLink === form) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

for (const link of document.querySelectorAll("[data-form-link]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    controls.form.elements.form.value = link.dataset.formLink;
    changed();
  });
}

optimise.addEventListener("click", async () => {
  const state = controls.read();
  if (!state) return;
  optimise.disabled = true;
  try {
    const job = await post(jobsUrl, { ...request(controls.scenario, state), map: true });
    location.assign(jobPage.replace("00000000-0000-0000-0000-000000000000", job.id));
  } catch (error) {
    optimise.disabled = false;
    if ([401, 403].includes(error.status)) location.assign(signIn(loginUrl));
    else controls.errors({ "": error.message });
  }
});

function start() {
  const { scenario, ...given } = readAddress();
  const known = scenarios.some(({ name }) => name === scenario);
  if (known) controls.form.elements.scenario.value = scenario;
  const ignored = [...(scenario === undefined || known || !isChosen ? [] : ["scenario"]), ...controls.unusable(given)];
  controls.load({ ...controls.defaults(), ...Object.fromEntries(Object.entries(given).filter(([name]) => !ignored.includes(name))) });
  optimise.hidden = !signedIn;
  signInLink.hidden = signedIn;
  keepState();
  changed();
  if (ignored.length) controls.errors({ "": `The address held no usable value for: ${ignored.join(", ")}. Shown as shipped.` });
}

start();
