// Snapshots, one a second, by websocket; by asking while there is none. What was missed is asked for by its number, a
// socket that says nothing is given up, and a pause before the next try grows and is jittered.
import { get } from "../api.js";

const SILENT_MS = 3500; // more than three ticks
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const ASK_EVERY_MS = 2000;
const LOOK_EVERY_MS = 500;
const RESYNC_EVERY_MS = 2000;
const BEAT_MS = 1000;

// `heard` gets {onTick(snapshot, isNext), onMissed(snapshots), onGap(), onState(state)}. A state is connecting, live, polling,
// reconnecting or stale.
export class Stream {
  constructor({ socket, api }, clock, heard) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    Object.assign(this, { url: `${scheme}//${location.host}${socket}`, api, clock, heard, last: null, state: "connecting" });
    document.addEventListener("visibilitychange", () => this.look());
    addEventListener("pagehide", () => this.stop());
    addEventListener("pageshow", ({ persisted }) => persisted && this.start());
    this.start();
  }

  start() {
    Object.assign(this, { failures: 0, isOver: false, isAsking: false, resynced: -Infinity });
    this.looking = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.connect();
  }

  stop() {
    this.isOver = true;
    for (const timer of [this.looking, this.connecting, this.asking]) clearTimeout(timer);
    this.drop();
  }

  drop() {
    const { socket } = this;
    this.socket = null;
    this.isOpen = false;
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null;
    socket?.close();
  }

  // --- the socket ---

  connect() {
    this.drop();
    this.socket = new WebSocket(this.url);
    this.tried = performance.now();
    this.socket.onopen = () => { this.isOpen = true; this.tried = performance.now(); };
    this.socket.onmessage = ({ data }) => this.hear(data);
    this.socket.onclose = () => this.closed();
  }

  hear(data) {
    this.failures = 0;
    this.isByAsking = false;
    clearTimeout(this.asking);
    this.take(JSON.parse(data));
  }

  closed() {
    this.drop();
    if (this.isOver) return;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.failures) * (0.5 + Math.random());
    this.failures += 1;
    clearTimeout(this.connecting);
    this.connecting = setTimeout(() => this.connect(), pause);
    this.ask();
    this.look();
  }

  // --- asking ---

  async ask() {
    clearTimeout(this.asking);
    if (this.isAsking || this.isOver) return;
    this.isAsking = true;
    const snapshot = await get(`${this.api}snapshot/`).catch(() => null);
    this.isAsking = false;
    if (this.isOver || this.isSocketLive) return; // it came back while we waited
    if (snapshot?.seq !== undefined && this.isNews(snapshot)) {
      this.isByAsking = true;
      this.take(snapshot);
    }
    this.asking = setTimeout(() => this.ask(), ASK_EVERY_MS);
  }

  get isSocketLive() {
    return this.isOpen && !this.isByAsking && this.isFresh;
  }

  // --- what was said ---

  // Numbers rise whoever sends; lower ones with a later time are of a server that began anew.
  isNews({ seq, ts_ms: ts }) {
    return !this.last || seq > this.last.seq || ts > this.last.ts_ms;
  }

  take(snapshot) {
    if (!this.isNews(snapshot)) return;
    const { last } = this;
    const { seq, ts_ms: ts } = snapshot;
    // The first that is heard may be the last that somebody said long ago.
    const late = last ? 0 : Math.max(0, this.clock.now() - ts);
    this.last = { seq, ts_ms: ts, at: performance.now() - late };
    this.heard.onTick(snapshot, last?.seq === seq - 1);
    if (last && seq < last.seq) this.heard.onGap();
    else if (last && seq > last.seq + 1) this.owe(last.seq);
    if (this.owed !== undefined) this.resync();
    this.look();
  }

  owe(seq) {
    this.owed = Math.min(seq, this.owed ?? seq);
  }

  // A viewer that is slow misses many: they are asked for together.
  async resync() {
    if (performance.now() - this.resynced < RESYNC_EVERY_MS) return;
    this.resynced = performance.now();
    const { owed } = this;
    this.owed = undefined;
    await this.recall(owed);
  }

  // What was said from a time on, as long as it is kept; without it there is a gap.
  recallFrom(ms) {
    const { last } = this;
    return last && this.recall(Math.max(0, last.seq - 1 - Math.ceil((last.ts_ms - ms) / BEAT_MS)), () => {});
  }

  async recall(since, onGap = this.heard.onGap) {
    const { last } = this;
    const answer = await get(`${this.api}ticks/?since=${since}`).catch(() => null);
    if (!answer) return this.owe(since);
    if (answer.gap) return onGap();
    // Some of many: the rest with the next that is heard.
    if (answer.more && answer.ticks.length) this.owe(answer.ticks.at(-1).seq);
    return this.heard.onMissed(answer.ticks.filter(({ seq }) => seq <= last.seq && seq > since));
  }

  // --- the state ---

  get isFresh() {
    return Boolean(this.last) && performance.now() - this.last.at <= SILENT_MS;
  }

  look() {
    // An open socket that says nothing may be dead without knowing, one that never opens may never say so.
    if (this.socket && !this.isOver && performance.now() - Math.max(this.tried, this.last?.at ?? 0) > 2 * SILENT_MS) this.closed();
    const state = this.judged();
    if (state === this.state) return;
    this.state = state;
    this.heard.onState(state);
  }

  judged() {
    if (!this.last) return "connecting";
    if (!this.isFresh) return "stale";
    if (this.isByAsking) return "polling";
    return this.isOpen ? "live" : "reconnecting";
  }
}
