// The scenario editor: offers only profiles of the chosen model, and fills in what a profile says of decode.
import { leadToMistakes } from "./mistakes.js";

const profiles = JSON.parse(document.getElementById("profiles-data").textContent);
const { elements } = document.querySelector("[data-scenario-form]");

function offer() {
  const model = elements.model.value;
  for (const select of [elements.remote_profile, elements.local_profile]) {
    for (const option of select.options) {
      const fits = option.value === "" || !model || profiles[option.value].model === model;
      option.hidden = option.disabled = !fits;
      if (!fits && option.selected) select.value = "";
    }
  }
  remote();
}

// What only a remote cluster needs.
function remote() {
  const none = elements.remote_profile.value === "";
  for (const name of ["remote_instances", "link", "threshold_tokens"]) elements[name].disabled = none;
}

function decode() {
  const known = profiles[elements.local_profile.value];
  for (const name of ["max_batch", "step_ms"]) {
    if (known?.[name] != null && elements[name].value === "") elements[name].value = known[name];
  }
}

elements.model.addEventListener("change", offer);
elements.remote_profile.addEventListener("change", remote);
elements.local_profile.addEventListener("change", decode);
offer();
leadToMistakes();
