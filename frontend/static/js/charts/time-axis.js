// Durations on an axis and in a sentence.
const UNITS = [["days", 86400], ["hours", 3600], ["minutes", 60], ["seconds", 1]];

export function timeUnit(longest) {
  const [name, seconds] = UNITS.find(([, size]) => longest >= 3 * size) ?? UNITS.at(-1);
  return { name, seconds };
}

export function timeAxis(unit, longest, isDay = false) {
  const range = [0, longest / unit.seconds];
  return isDay ? { title: "time of the day, UTC hours", range, dtick: 3 } : { title: `time since the beginning, ${unit.name}`, range };
}

export function spell(seconds) {
  const [name, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? UNITS.at(-1);
  return `${Number((seconds / size).toPrecision(3)).toLocaleString("en-US")} ${name}`;
}
