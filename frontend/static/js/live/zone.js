// Times in the zone that the view asks for, with UTC for who hovers. Charts know UTC alone: their times are shifted.
const FORMATS = {
  clock: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  moment: { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
};
// sv: ISO's order, 2026-11-30 12:00:00.
const made = (zone) => Object.fromEntries(Object.entries(FORMATS).map(([name, options]) =>
  [name, new Intl.DateTimeFormat("sv", { ...options, ...(zone === "utc" ? { timeZone: "UTC" } : {}) })]));
const WRITERS = { local: made("local"), utc: made("utc") };

export const clock = (ms, zone) => WRITERS[zone].clock.format(ms);
export const moment = (ms, zone) => WRITERS[zone].moment.format(ms);
export const utc = (ms) => `${moment(ms, "utc")} UTC`;

const minutes = (ms) => new Date(ms).getTimezoneOffset();
export const shifted = (ms, zone) => (zone === "utc" ? ms : ms - minutes(ms) * 60_000);
// The time of what a chart calls so.
export const unshifted = (ms, zone) => (zone === "utc" ? ms : ms + minutes(ms + minutes(ms) * 60_000) * 60_000);

export function zoneName(zone, ms) {
  if (zone === "utc") return "UTC";
  const ahead = -minutes(ms);
  const sign = ahead < 0 ? "−" : "+";
  const [hours, rest] = [Math.floor(Math.abs(ahead) / 60), Math.abs(ahead) % 60];
  return `UTC${ahead ? `${sign}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}` : "+0"}, local`;
}

// A time as a field of a form has it, and back.
export const toField = (ms, zone) => new Date(shifted(ms, zone)).toISOString().slice(0, 19);
export const fromField = (text, zone) => {
  const ms = Date.parse(`${text}Z`);
  return Number.isFinite(ms) ? unshifted(ms, zone) : null;
};

// "4 s", "3 min", "2 h", "5 d".
export function age(ms) {
  for (const [size, unit] of [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"]]) {
    if (ms >= 2 * size) return `${Math.floor(ms / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(ms / 1000))} s`;
}
