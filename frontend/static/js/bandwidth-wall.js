// The bandwidth wall: the form is the address. A change asks the server for the same page at the new address, and puts
// its answer in place, so that what is typed and where the reader stands stay.
import { mount } from "./charts/base.js";
import { viewName, wallChart } from "./charts/bandwidth-wall.js";

const SETTLE_MS = 350;
const form = document.querySelector("[data-wall-form]");
const result = document.querySelector("[data-wall-result]");
const views = document.querySelector("[data-wall-views]");
const figure = document.querySelector('[data-chart="bandwidth-wall"]');
const chart = mount("bandwidth-wall", wallChart);
const api = document.querySelector("[data-api]");
const apiUrl = api.getAttribute("href");
let view = Number(new URLSearchParams(location.search).get("view") ?? 0);
let wall = null;
let asking = null;
let waiting;

const answer = (within) => {
  const script = within.querySelector("#wall-data");
  return script ? JSON.parse(script.textContent) : null;
};

// What is asked in the form's words; empty fields and what is unchecked are not in it.
function query() {
  const asked = new URLSearchParams();
  for (const [field, value] of new FormData(form)) if (value.trim()) asked.append(field, value.trim());
  return asked;
}

function writeAddress(asked) {
  api.href = asked.size ? `${apiUrl}?${asked}` : apiUrl;
  const all = new URLSearchParams(asked);
  if (view) all.set("view", view);
  history.replaceState(null, "", all.size ? `?${all}` : location.pathname);
}

function offerViews() {
  const offered = [0, ...wall.asked.gpus];
  if (!offered.includes(view)) view = 0;
  views.replaceChildren(...offered.map((each) => {
    const label = document.createElement("label");
    const radio = label.appendChild(document.createElement("input"));
    Object.assign(radio, { type: "radio", name: "view", value: each, checked: each === view });
    radio.addEventListener("change", () => {
      view = each;
      writeAddress(query());
      draw();
    });
    label.append(viewName(each));
    return label;
  }));
}

function draw() {
  figure.querySelector("[data-plot]").style.height = `${wallChart.height({ wall })}px`;
  return chart.show({ wall, view });
}

function showErrors(page) {
  for (const place of form.querySelectorAll("[data-error]")) {
    const field = place.dataset.error;
    place.textContent = page.querySelector(`[data-wall-form] [data-error="${field}"]`).textContent;
    form.querySelector(`input[type="text"][name="${field}"]`)?.setAttribute("aria-invalid", String(Boolean(place.textContent)));
  }
}

function place(page) {
  showErrors(page);
  const found = answer(page);
  result.toggleAttribute("data-stale", !found);
  if (!found) return undefined; // the last answer stays, greyed, while a field is wrong
  figure.parentElement.hidden = false;
  result.replaceChildren(...page.querySelector("[data-wall-result]").childNodes);
  wall = found;
  offerViews();
  return draw();
}

async function ask() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const asked = query();
  try {
    const response = await fetch(`?${asked}`, { signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (signal.aborted) return;
    if (!page.querySelector("[data-wall-form]")) throw new Error(`The server answered ${response.status}.`);
    await place(page);
    writeAddress(asked);
  } catch (error) {
    if (error.name === "AbortError") return;
    result.toggleAttribute("data-stale", true);
    form.querySelector('[data-error=""]').textContent = `This is not up to date: ${error.message}`;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  ask();
});
form.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, SETTLE_MS);
});

wall = answer(document);
if (wall) {
  offerViews();
  const asked = new URLSearchParams(location.search);
  asked.delete("view");
  api.href = asked.size ? `${apiUrl}?${asked}` : apiUrl;
  draw();
}
