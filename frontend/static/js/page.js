// What every page does: the theme's switch, and times in the viewer's zone.
import { localiseTimes } from "./time.js";

const root = document.documentElement;
const toggle = document.querySelector("[data-theme-toggle]");

function showTheme() {
  toggle.setAttribute("aria-pressed", String(root.dataset.bsTheme === "dark"));
}

toggle.addEventListener("click", () => {
  root.dataset.bsTheme = root.dataset.bsTheme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.bsTheme);
  } catch {
    // see theme.js
  }
  showTheme();
  document.dispatchEvent(new CustomEvent("themechange"));
});

showTheme();
localiseTimes(document);

// Paper is light whatever the screen is, and shows every chart, also those that nobody has scrolled to.
let onScreen = null;
const redraw = (theme) => {
  root.dataset.bsTheme = theme;
  document.dispatchEvent(new CustomEvent("themechange"));
};
addEventListener("beforeprint", () => {
  onScreen ??= root.dataset.bsTheme;
  redraw("light");
});
addEventListener("afterprint", () => {
  redraw(onScreen);
  onScreen = null;
});
