// The form of several clusters: routes are offered the names as they are typed, and a new row is ready to be filled in.
import { leadToMistakes } from "./mistakes.js";

const form = document.querySelector("[data-clusters-form]");

function offer(kind) {
  const names = [...form.querySelectorAll(`[data-rows="${kind}"] input[name$="-name"]`)].map(({ value }) => value);
  const options = names.filter(Boolean).map((name) => Object.assign(document.createElement("option"), { value: name }));
  document.getElementById(`names-${kind}`).replaceChildren(...options);
}

for (const kind of ["prfaas", "link"]) {
  form.querySelector(`[data-rows="${kind}"]`).addEventListener("input", () => offer(kind));
}
leadToMistakes();
const fresh = form.querySelector("[data-new] input");
fresh?.focus();
fresh?.select();
