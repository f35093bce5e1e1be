// A question's form: another scenario brings its own options, and what is wrong is read first.
import { leadToMistakes } from "./mistakes.js";

const form = document.querySelector("[data-question-form]");
form?.elements.scenario.addEventListener("change", () => form.requestSubmit(form.querySelector("[data-show-scenario]")));
// Who types into a row means that row.
for (const row of form?.querySelectorAll(".row") ?? []) {
  const button = row.querySelector(".what input");
  if (button) row.addEventListener("input", ({ target }) => { if (target !== button) button.checked = true; });
}
leadToMistakes();
