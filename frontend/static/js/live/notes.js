// Annotations of the time that is looked at, and those that come with snapshots.
import { get } from "../api.js";

const MOST = 500;

export class Notes {
  constructor(api) {
    Object.assign(this, { api, known: new Map(), asked: 0, sorted: [] });
  }

  async load({ watch, range, end }, nowMs) {
    const asked = (this.asked += 1);
    const until = Math.round(end ?? nowMs);
    const query = new URLSearchParams({ start: until - range, end: until, watch });
    const answer = await get(`${this.api}annotations/?${query}`).catch(() => null);
    if (answer && asked === this.asked) this.take(answer.results ?? answer.annotations ?? answer);
  }

  take(notes) {
    let changed = false;
    for (const note of notes) {
      const before = this.known.get(note.id);
      if (before && before.text === note.text && before.end_ms === note.end_ms) continue;
      this.known.set(note.id, { ...note, number: note.id });
      changed = true;
    }
    if (!changed) return;
    for (const id of this.known.keys()) {
      if (this.known.size <= MOST) break;
      this.known.delete(id);
    }
    this.sorted = [...this.known.values()].sort((a, b) => a.ts_ms - b.ts_ms);
  }

  all() {
    return this.sorted;
  }
}
