// Which scenarios are put side by side: from two to six of them.
const form = document.querySelector("[data-choose]");
const { fewest, most } = form.dataset;

form.addEventListener("submit", (event) => {
  const count = form.querySelectorAll("[name=scenario]:checked").length;
  const error = form.querySelector("[data-error]");
  error.textContent = count < fewest || count > most ? `Choose ${fewest} to ${most} scenarios; ${count || "none"} chosen.` : "";
  if (error.textContent) event.preventDefault();
});
