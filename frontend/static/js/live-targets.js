// The list of what is scraped, kept up to date as the server knows it.
import { get } from "./api.js";

const EVERY_MS = 2000;
const CLASSES = { up: "state state-live", down: "state state-absent" };
const tables = document.querySelectorAll("[data-targets]");

function stateOf(target) {
  if (!target.enabled) return "disabled";
  if (target.up == null) return "never";
  return target.up ? "up" : "down";
}

function age(ms) {
  for (const [size, unit] of [[86400000, "d"], [3600000, "h"], [60000, "min"]]) {
    if (ms >= 2 * size) return `${Math.floor(ms / size)} ${unit}`;
  }
  return `${Math.max(Math.floor(ms / 1000), 0)} s`;
}

function show(row, target) {
  const out = (name, text) => {
    const place = row.querySelector(`[data-out="${name}"]`);
    if (place.textContent !== text) place.textContent = text;
    return place;
  };
  const state = stateOf(target);
  out("state", state).className = CLASSES[state] ?? "state";
  out("age", target.last_fetched_ms == null ? "–" : age(target.age_ms));
  out("took", target.last_duration_ms == null ? "–" : String(target.last_duration_ms));
  out("series", target.last_series == null ? "–" : String(target.last_series));
  out("error", target.last_error);
}

async function look(table) {
  try {
    for (const target of await get(table.dataset.targets)) {
      const row = table.querySelector(`[data-target="${target.name}"]`);
      if (row) show(row, target);
    }
  } catch {
    // The next look may succeed; what is shown stays.
  }
  setTimeout(look, EVERY_MS, table);
}

tables.forEach(look);
