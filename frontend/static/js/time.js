// Times in the viewer's zone; UTC stays in the title that the server wrote.
const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const moment = (text) => shown.format(new Date(text));

export function localiseTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]")) time.textContent = moment(time.dateTime);
}

export function clock(date) {
  return date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}
