// The form of a replay: what is wrong with it is read first; what was recorded in its window is drawn.
import { mount } from "./charts/base.js";
import { replayCourse } from "./charts/replay-course.js";
import { leadToMistakes } from "./mistakes.js";

leadToMistakes();
const recorded = document.getElementById("replay-recorded");
if (recorded) mount("replay-course", replayCourse).show(JSON.parse(recorded.textContent));

// Another watch has other telemetry: its window is shown before anything is asked of it.
const form = document.querySelector("[data-replay-form]");
form.elements.watch.addEventListener("change", () => form.requestSubmit(form.querySelector('[formmethod="get"]')));
