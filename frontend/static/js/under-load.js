// The case study under load: starts its simulation, follows it, and puts the table in its place.
import { hasEnded, JobStream } from "./job-stream.js";
import { Progress } from "./progress.js";
import { localiseTimes } from "./time.js";

const AGAIN_MS = 1000;
const section = () => document.getElementById("under-load");

// The server writes the section; only that part of the page is replaced.
async function show(response) {
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("under-load");
  if (!fresh) return location.assign(response.url); // where to sign in again
  section().replaceWith(document.adoptNode(fresh));
  localiseTimes(section());
  return prepare();
}

async function simulate(event) {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    await show(await fetch(form.action, { method: "POST", body: new FormData(form) }));
  } catch (error) {
    button.disabled = false;
    section().querySelector("[data-error]").textContent = error instanceof TypeError ? "The server does not answer." : error.message;
  }
}

function follow(place) {
  const progress = new Progress(place);
  const stream = new JobStream(place.dataset, (job) => {
    if (!hasEnded(job.state)) return progress.show(job);
    progress.stop();
    // The outcome may come while the server restarts: it is asked for until it is there.
    const ask = () => fetch(location.href).then(show).catch(() => setTimeout(ask, AGAIN_MS));
    return ask();
  }, (text) => { place.querySelector("[data-connection]").textContent = text === "live" ? "" : text; });
  addEventListener("pagehide", () => { stream.over = true; });
}

function prepare() {
  section().querySelector("[data-simulate]")?.addEventListener("submit", simulate);
  if (section().dataset.job) follow(section());
}

prepare();
