// A job's progress: by websocket, and by asking while there is none. Reconnects with a growing, jittered pause.
import { get } from "./api.js";

const ENDED = ["succeeded", "failed", "cancelled", "lost"];
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15000;
const ASK_EVERY_MS = 2000;

export const hasEnded = (state) => ENDED.includes(state);

export class JobStream {
  constructor({ socket, api }, onProgress, onConnection) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    Object.assign(this, { url: `${scheme}//${location.host}${socket}`, api, onProgress, onConnection });
    Object.assign(this, { failures: 0, live: false, silent: false, over: false });
    this.connect();
  }

  connect() {
    const socket = new WebSocket(this.url);
    socket.onopen = () => {
      Object.assign(this, { failures: 0, live: true, silent: false });
      clearTimeout(this.asking);
      this.onConnection("live");
    };
    socket.onmessage = ({ data }) => this.take(JSON.parse(data));
    socket.onclose = () => this.closed();
  }

  take(job) {
    if (this.over) return;
    this.over = hasEnded(job.state);
    this.onProgress(job);
  }

  closed() {
    this.live = false;
    if (this.over) return;
    if (this.failures === 0) this.onConnection("connecting again");
    this.connectAfter(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.failures));
    this.failures += 1;
    clearTimeout(this.asking);
    this.ask();
  }

  connectAfter(pause) {
    clearTimeout(this.connecting);
    this.connecting = setTimeout(() => this.over || this.connect(), pause * (0.5 + Math.random()));
  }

  async ask() {
    const wasSilent = this.silent;
    const job = await get(this.api).catch((error) => this.unanswered(error));
    if (this.over || this.live) return; // the socket came while we waited
    if (job) {
      this.silent = false;
      this.onConnection("asking every 2 s");
      // It is back: the long pause that its absence led to need not be sat out.
      if (wasSilent) this.connectAfter(FIRST_PAUSE_MS);
      this.take(job);
    }
    clearTimeout(this.asking);
    if (!this.over) this.asking = setTimeout(() => this.ask(), ASK_EVERY_MS);
  }

  unanswered(error) {
    this.silent = true;
    if (!this.over && !this.live) this.onConnection(error.status === 404 ? "unknown job" : "no answer");
  }
}
