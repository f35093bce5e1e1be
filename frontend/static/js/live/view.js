// What is looked at, and its address: which watch, how long a time, until when, in which zone. A view without an end
// follows the present.
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const RANGES = [5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY];
const STANDARD = { watch: "", range: 15 * MINUTE, end: null, zone: "local", past: false, link: "", kiosk: false };
const UNITS = { s: 1000, m: MINUTE, h: HOUR, d: DAY };
const [SHORTEST, LONGEST] = [30_000, 31 * DAY];

// "15m", "2h", "90s": in the largest unit that has a whole number of it.
export function spelled(ms) {
  const [unit, size] = Object.entries(UNITS).reverse().find(([, each]) => ms % each === 0 && ms >= each) ?? ["s", 1000];
  return `${Math.round(ms / size)}${unit}`;
}

function span(text) {
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(number) * UNITS[unit];
  return ms >= SHORTEST && ms <= LONGEST ? ms : undefined;
}

function moment(text) {
  const ms = /^\d{12,14}$/.test(text) ? Number(text) : Date.parse(text);
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}

const one = (...allowed) => (text) => (allowed.includes(text) ? text : undefined);
const yes = (text) => ({ 1: true, 0: false })[text];
const name = (text) => (text.length <= 200 ? text : undefined);

// In the address: the key, how it is read (undefined where it cannot be), and how it is written.
const FIELDS = {
  watch: ["watch", name, String],
  range: ["range", span, spelled],
  end: ["at", moment, (ms) => new Date(ms).toISOString()],
  zone: ["zone", one("local", "utc"), String],
  past: ["compare", (text) => (text === "yesterday" ? true : undefined), () => "yesterday"],
  link: ["link", name, String],
  kiosk: ["kiosk", yes, () => "1"],
};

// The view that an address asks for, and the keys of it that nobody can use.
export function read(search) {
  const query = new URLSearchParams(search);
  const view = { ...STANDARD };
  const unusable = [];
  for (const [field, [key, parse]] of Object.entries(FIELDS)) {
    const text = query.get(key);
    if (text === null || text === "") continue;
    const value = parse(text);
    if (value === undefined) unusable.push(key);
    else view[field] = value;
  }
  return { view, unusable };
}

export function written(view) {
  const query = new URLSearchParams();
  for (const [field, [key, , write]] of Object.entries(FIELDS)) {
    if (view[field] !== STANDARD[field] && view[field] != null) query.set(key, write(view[field]));
  }
  return query.size ? `?${query}` : "";
}

// A span that somebody has chosen by hand, within what can be shown.
export const within = (ms) => Math.min(LONGEST, Math.max(SHORTEST, 1000 * Math.round(ms / 1000)));
