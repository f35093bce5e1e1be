// The list of alerts, kept up to date: the page is asked for again, and its list takes the place of this one.
import { localiseTimes } from "./time.js";

const EVERY_MS = 2000;
const told = document.querySelector("[data-told]");

async function newest() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`answers ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector("[data-refreshed]");
}

// Whoever is about to press a button there is not interrupted.
function show(list) {
  const shown = document.querySelector("[data-refreshed]");
  if (!list || list.dataset.version === shown.dataset.version || shown.contains(document.activeElement)) return;
  const isNews = list.dataset.said !== shown.dataset.said;
  localiseTimes(list);
  shown.replaceWith(list);
  if (isNews) told.textContent = `Now ${list.dataset.said}.`;
}

async function look() {
  try {
    show(await newest());
  } catch {
    // The next look may succeed; what is shown stays.
  }
  setTimeout(look, EVERY_MS);
}

setTimeout(look, EVERY_MS);
