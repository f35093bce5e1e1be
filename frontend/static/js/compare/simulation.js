// A running simulation of the deployments is followed; when it is done the table has its figures.
import { hasEnded, JobStream } from "../job-stream.js";
import { Progress } from "../progress.js";

// Who types a rate means a rate, and who types a share a share.
export function chooseByTyping(form) {
  form?.addEventListener("input", ({ target }) => {
    const at = { load: "load", rate_rps: "rate" }[target.name];
    if (at) form.elements.at.value = at;
  });
}

export function follow(done) {
  const place = document.querySelector("[data-running]");
  if (!place) return;
  const progress = new Progress(place);
  const stream = new JobStream(place.dataset, (job) => {
    if (!hasEnded(job.state)) return progress.show(job);
    progress.stop();
    place.querySelector("[data-state-text]").textContent = job.state;
    place.querySelector("[data-message]").textContent = job.state === "succeeded" ? "The table has its figures." : job.error ?? "";
    place.querySelector("progress").value = place.querySelector("progress").max;
    return done();
  }, (text) => { place.querySelector("[data-connection]").textContent = text === "live" ? "" : text; });
  addEventListener("pagehide", () => { stream.over = true; });
}
