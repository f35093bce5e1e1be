// Single keys, while nothing is typed and no dialog is open; they can be switched off, for who speaks or slips.
const STORED = "live-keys";
const box = document.querySelector("[data-keys-on]");

function stored() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true; // storage may be forbidden
  }
}

const isTyped = (target) => target.closest("input:not([type=radio]):not([type=checkbox]), select, textarea, dialog[open], [contenteditable]");
// These do something with a key of their own.
const isOwn = (target, key) => (key === " " && target.closest("button, a, summary, input")) || (key.startsWith("Arrow") && target.closest("input, [tabindex='0'], summary"));

export function listenToKeys(actions) {
  box.checked = stored();
  box.addEventListener("change", () => {
    try {
      localStorage.setItem(STORED, box.checked ? "on" : "off");
    } catch {
      // then it lasts until the page is left
    }
  });
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || !box.checked || document.querySelector("dialog[open]")) return;
    if (!(target instanceof Element) || isTyped(target) || isOwn(target, key)) return;
    const action = actions[key] ?? actions[key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
