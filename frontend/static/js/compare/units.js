// Figures of a comparison in the units that people expect; the server's are SI.
import { gbps, rate, seconds, tokens, written } from "../format.js";

const MIB = 2 ** 20;
const plain = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const UNITS = {
  "req/s": ["req/s", rate],
  s: ["s", (value) => (value < 0.1 ? plain.format(value) : seconds(value))],
  "bit/s": ["Gbps", gbps],
  byte: ["MiB", written(1, 1 / MIB)],
  token: ["tokens", tokens],
  instance: ["instances", written(1)],
  request: ["requests", written(1)],
  1: ["", (value) => plain.format(value)],
  USD: ["USD", written(4)],
  "USD/GPU-hour": ["USD/GPU-hour", written(2)],
  "USD/GB": ["USD/GB", written(4)],
  "USD/month": ["USD/month", written(2)],
  "USD/kWh": ["USD/kWh", written(3)],
};

export const unitOf = (unit) => UNITS[unit]?.[0] ?? unit;

export function write(unit, value) {
  if (value == null) return "–";
  return UNITS[unit] ? UNITS[unit][1](value) : plain.format(value);
}

export const factor = (value) => (value == null ? "–" : plain.format(value));
