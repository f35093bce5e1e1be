// The form of an entry: shows of each choice what is chosen, leads to mistakes, and warns before typed text is lost.
import { leadToMistakes } from "../mistakes.js";

const form = document.querySelector("[data-entry-form]");

for (const part of form.querySelectorAll("[data-choice]")) {
  const select = part.querySelector("select");
  const alternatives = part.querySelectorAll(":scope > [data-alternative]");
  // Their names tell them apart where no script hides those that are not chosen.
  for (const each of alternatives) each.querySelector(".alternative-name").hidden = true;
  const show = () => {
    for (const each of alternatives) each.hidden = each.dataset.alternative !== select.value;
  };
  select.addEventListener("change", show);
  show();
}

const notice = leadToMistakes();
const written = () => JSON.stringify([...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken"));
// What came back with mistakes, or with what somebody else changed, is not stored yet.
const stored = notice ? null : written();
let leaving = false;

form.addEventListener("submit", (event) => {
  if (leaving) event.preventDefault();
  leaving = true;
  form.querySelector("button.primary").setAttribute("aria-disabled", "true");
});
addEventListener("pageshow", () => {
  leaving = false;
  form.querySelector("button.primary").removeAttribute("aria-disabled");
});
addEventListener("beforeunload", (event) => {
  if (!leaving && written() !== stored) event.preventDefault();
});
