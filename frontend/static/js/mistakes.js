// What the page says of a form that came back, a list of mistakes or somebody else's changes, is read first. Its links lead
// to inputs, which the browser scrolls to but does not focus. Gives the notice; null where there is none.
export function leadToMistakes() {
  const notice = document.querySelector("[data-summary], [data-conflict]");
  notice?.focus();
  for (const link of document.querySelectorAll("[data-summary] a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById(decodeURIComponent(link.hash.slice(1)))?.focus();
    });
  }
  return notice;
}
