// Annotations of the time that is looked at, and those that come with snapshots.
import { get } from "../api.js";

const MOST = 500;
// So many are shown, in the list and in each chart: however many there are, the page does not grow.
export const MOST_SHOWN = 50;
const SAID = ["text", "kind", "ts_ms", "end_ms", "is_open", "watch"];
const isSame = (one, other) => SAID.every((field) => one[field] === other[field]);

const ASKED_EVERY_MS = 60_000;
const lasts = ({ ts_ms: from, end_ms: until, is_open: isOpen }) => until ?? (isOpen ? Infinity : from);

// The newest of those that reach into a time, and how many there are.
export function seenOf(notes, start, end) {
  const all = notes.filter(({ ts_ms: from, until }) => from <= end && (until ?? from) >= start).sort((a, b) => b.ts_ms - a.ts_ms || b.id - a.id);
  return { seen: all.slice(0, MOST_SHOWN), all: all.length };
}

export class Notes {
  constructor(api) {
    Object.assign(this, { api, known: new Map(), dropped: new Set(), asked: 0, askedAtMs: 0, more: 0, sorted: [] });
  }

  async load({ watch, range, end }, nowMs) {
    const asked = (this.asked += 1);
    this.askedAtMs = nowMs;
    const until = Math.round(end ?? nowMs);
    const query = new URLSearchParams({ start: until - range, end: until, limit: MOST, ...(watch ? { watch } : {}) });
    const answer = await get(`${this.api}annotations/?${query}`).catch(() => null);
    if (!answer || asked !== this.asked) return;
    this.more = answer.more ?? 0;
    this.forget(answer.annotations, until - range, until);
    this.take(answer.annotations);
  }

  // Snapshots tell of the newest alone: what became of older ones is asked for now and then.
  isDue(nowMs) {
    return nowMs - this.askedAtMs >= ASKED_EVERY_MS;
  }

  // What somebody has deleted is no longer among those that reach into its time.
  forget(notes, start, end) {
    const there = new Set(notes.map(({ id }) => id));
    for (const note of this.sorted) if (note.ts_ms < end && lasts(note) >= start && !there.has(note.id)) this.known.delete(note.id);
    this.sort();
  }

  // One that was deleted here; a snapshot that is under way still has it.
  drop(id) {
    this.dropped.add(id);
    this.known.delete(id);
    this.sort();
  }

  take(notes) {
    const news = notes.filter((note) => !this.dropped.has(note.id)).filter((note) => !this.known.has(note.id) || !isSame(this.known.get(note.id), note));
    for (const note of news) this.known.set(note.id, note);
    if (news.length) this.sort();
  }

  sort() {
    this.sorted = [...this.known.values()].sort((a, b) => a.ts_ms - b.ts_ms);
    for (const { id } of this.sorted.splice(0, Math.max(0, this.sorted.length - MOST))) this.known.delete(id);
  }

  // Of a watch, and those that are of all; one that is open lasts until the end of what is shown.
  of(watch, end) {
    const own = this.sorted.filter((note) => !note.watch || note.watch === watch);
    return own.map((note) => ({ ...note, number: note.id, until: note.end_ms ?? (note.is_open ? Math.max(end, note.ts_ms) : null) }));
  }
}
