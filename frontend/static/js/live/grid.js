// What charts draw: the mean, least and most of each line in equal steps of time up to a last one. A step of which
// nothing is known holds NaN, and the line has a gap there. Arrays are made once and moved along: memory stays flat.
const MOST_LINES = 400;

function column(size) {
  const made = { mean: new Float64Array(size), low: new Float64Array(size), high: new Float64Array(size), count: new Uint32Array(size) };
  for (const values of [made.mean, made.low, made.high]) values.fill(NaN);
  return made;
}

// The mean of what is known of so many steps up to each; what is unknown stays so.
export function trailing(values, steps) {
  let [sum, count] = [0, 0];
  const shown = (at, by) => {
    if (Number.isNaN(values[at])) return;
    sum += by * values[at];
    count += by;
  };
  return values.map((value, at) => {
    shown(at, 1);
    if (at >= steps) shown(at - steps, -1);
    return Number.isNaN(value) ? NaN : sum / count;
  });
}

export class Grid {
  constructor(step, range, endMs) {
    this.step = step;
    this.size = Math.ceil(range / step) + 1;
    this.last = Math.floor(endMs / step);
    this.times = new Float64Array(this.size);
    this.lines = new Map();
    this.isFilled = false;
    this.retime();
  }

  get first() {
    return this.last - this.size + 1;
  }

  retime() {
    for (let at = 0; at < this.size; at += 1) this.times[at] = (this.first + at) * this.step;
  }

  // Up to a time, with gaps for what is not known of it yet.
  advance(ms) {
    const by = Math.floor(ms / this.step) - this.last;
    if (by <= 0) return;
    this.last += by;
    this.retime();
    const kept = Math.max(0, this.size - by);
    for (const [key, line] of this.lines) this.move(key, line, by, kept);
  }

  move(key, line, by, kept) {
    for (const values of [line.mean, line.low, line.high]) {
      values.copyWithin(0, by);
      values.fill(NaN, kept);
    }
    line.count.copyWithin(0, by);
    line.count.fill(0, kept);
    // What has gone from the window is forgotten: names may come and go for ever.
    if (line.mean.every(Number.isNaN)) this.lines.delete(key);
  }

  line(key) {
    let found = this.lines.get(key);
    if (!found && this.lines.size < MOST_LINES) this.lines.set(key, (found = column(this.size)));
    return found;
  }

  place(ms) {
    const at = Math.floor(ms / this.step) - this.first;
    return at >= 0 && at < this.size ? at : -1;
  }

  // One more snapshot's points: steps longer than a second hold the mean of theirs.
  add(ms, points) {
    this.advance(ms);
    const at = this.place(ms);
    if (at < 0) return;
    this.isFilled = true;
    for (const key in points) {
      const value = points[key];
      if (Number.isFinite(value)) this.take(this.line(key), at, value);
    }
  }

  take(line, at, value) {
    if (!line) return;
    const count = (line.count[at] += 1);
    line.mean[at] = count === 1 ? value : line.mean[at] + (value - line.mean[at]) / count;
    line.low[at] = count === 1 ? value : Math.min(line.low[at], value);
    line.high[at] = count === 1 ? value : Math.max(line.high[at], value);
  }

  // What the server has stored: {ts_ms, lines: {key: {mean, low, high}}}.
  fill({ ts_ms: times, lines }) {
    this.isFilled ||= times.length > 0;
    for (const [key, { mean, low, high }] of Object.entries(lines)) {
      for (let row = 0; row < times.length; row += 1) {
        const at = mean[row] == null ? -1 : this.place(times[row]);
        // Of a name alone, of which nothing is known, there is nothing to draw.
        if (at >= 0) this.put(this.line(key), at, mean[row], low?.[row], high?.[row]);
      }
    }
  }

  put(line, at, mean, low, high) {
    if (!line) return;
    line.mean[at] = mean;
    line.low[at] = low ?? mean;
    line.high[at] = high ?? mean;
    line.count[at] = 1;
  }

  // The mean over the time up to each step, for lines of such names.
  trail(names, ms) {
    const steps = Math.floor(ms / this.step);
    for (const [key, { mean }] of this.lines) if (steps > 1 && names.test(key)) mean.set(trailing(mean, steps));
  }

  // A share of a whole that is the sum of its parts, where all of them are known.
  divide(key, part, parts) {
    if (!this.has(key) || !parts.every((each) => this.has(each))) return;
    const [share, own, every] = [this.lines.get(key), this.lines.get(part).mean, parts.map((each) => this.lines.get(each).mean)];
    for (let at = 0; at < this.size; at += 1) {
      const whole = every.reduce((sum, values) => sum + values[at], 0);
      if (whole > 0) share.mean[at] = own[at] / whole;
    }
  }

  has(key) {
    return this.lines.has(key);
  }

  // Keys of one kind: "egress_bps" gives those of all links.
  keys(prefix) {
    return [...this.lines.keys()].filter((key) => key.startsWith(`${prefix}.`)).sort();
  }

  // The latest value at or before a time, not older than so long; null where there is none.
  latest(key, ms = Infinity, withinMs = Infinity) {
    const line = this.lines.get(key);
    const from = Math.min(this.size - 1, Math.floor(ms / this.step) - this.first);
    for (let at = from; line && at >= 0 && (from - at) * this.step <= withinMs; at -= 1) {
      if (!Number.isNaN(line.mean[at])) return { value: line.mean[at], ts_ms: this.times[at] };
    }
    return null;
  }
}
