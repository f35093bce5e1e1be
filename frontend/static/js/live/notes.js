// Annotations of the time that is looked at, and those that come with snapshots.
import { get } from "../api.js";

const MOST = 500;
const isSame = (one, other) => one.text === other.text && one.kind === other.kind && one.ts_ms === other.ts_ms && one.end_ms === other.end_ms && (other.is_open === undefined || one.is_open === other.is_open);

export class Notes {
  constructor(api) {
    Object.assign(this, { api, known: new Map(), dropped: new Set(), asked: 0, sorted: [] });
  }

  async load({ watch, range, end }, nowMs) {
    const asked = (this.asked += 1);
    const until = Math.round(end ?? nowMs);
    const query = new URLSearchParams({ start: until - range, end: until, limit: MOST, ...(watch ? { watch } : {}) });
    const answer = await get(`${this.api}annotations/?${query}`).catch(() => null);
    if (!answer || asked !== this.asked) return;
    this.forget(answer.annotations, until - range, until);
    this.take(answer.annotations);
  }

  // What somebody has deleted is no longer among those of its time.
  forget(notes, start, end) {
    const there = new Set(notes.map(({ id }) => id));
    for (const { id, ts_ms: from } of this.sorted) if (from >= start && from < end && !there.has(id)) this.known.delete(id);
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
    // One of our alerts goes on until it is told to have ended; snapshots do not say so, annotations that are asked for do.
    for (const note of news) this.known.set(note.id, { ...note, is_open: note.is_open ?? (note.kind === "alert" && note.end_ms === null) });
    for (const id of this.known.keys()) {
      if (this.known.size <= MOST) break;
      this.known.delete(id);
    }
    if (news.length) this.sort();
  }

  sort() {
    this.sorted = [...this.known.values()].sort((a, b) => a.ts_ms - b.ts_ms);
  }

  // Of a watch, and those that are of all; one that is open lasts until the end of what is shown.
  of(watch, end) {
    const own = this.sorted.filter((note) => !note.watch || note.watch === watch);
    return own.map((note) => ({ ...note, number: note.id, until: note.end_ms ?? (note.is_open ? Math.max(end, note.ts_ms) : null) }));
  }
}
