// The list of sources, kept up to date: the state and the age as the server knows them, the rate from two looks.
import { get } from "./api.js";
import { tokens as whole, written } from "./format.js";

const EVERY_MS = 2000;
const OVER_MS = 10000;
const table = document.querySelector("[data-sources]");
const looks = new Map();
const skew = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" });
const tenths = written(1);

function age(ms) {
  for (const [size, unit] of [[86400000, "d"], [3600000, "h"], [60000, "min"]]) {
    if (ms >= 2 * size) return `${Math.floor(ms / size)} ${unit}`;
  }
  return `${Math.floor(ms / 1000)} s`;
}

// Points a second over the last ten seconds of looks; none before the second look.
function rate(name, accepted) {
  const now = performance.now();
  const seen = (looks.get(name) ?? []).filter(([at]) => now - at <= OVER_MS);
  const [since, before] = seen[0] ?? [now, accepted];
  looks.set(name, [...seen, [now, accepted]]);
  return now > since ? ((accepted - before) * 1000) / (now - since) : null;
}

function show(row, source) {
  const out = (name, text) => {
    const place = row.querySelector(`[data-out="${name}"]`);
    if (place.textContent !== text) place.textContent = text;
  };
  row.dataset.state = source.state;
  row.querySelector('[data-out="state"]').className = `state state-${source.state}`;
  out("state", source.state);
  out("age", source.age_ms == null ? "–" : age(source.age_ms));
  out("rate", tenths(rate(source.name, source.accepted)));
  out("accepted", whole(source.accepted));
  out("rejected", whole(source.rejected));
  out("skew", source.skew_ms == null ? "–" : skew.format(source.skew_ms / 1000));
}

async function look() {
  try {
    for (const source of await get(table.dataset.sources)) {
      const row = table.querySelector(`[data-source="${source.name}"]`);
      if (row) show(row, source);
    }
  } catch {
    // The next look may succeed; what is shown stays.
  }
  setTimeout(look, EVERY_MS);
}

if (table) look();
