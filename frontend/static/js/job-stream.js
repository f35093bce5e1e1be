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
    Object.assign(this, { url: `${scheme}//${location.host}${socket}`, api, onProgress, onConnection, failures: 0, over: false });
    this.connect();
  }

  connect() {
    const socket = new WebSocket(this.url);
    socket.onopen = () => {
      this.failures = 0;
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
    if (this.over) return;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.failures) * (0.5 + Math.random());
    this.failures += 1;
    this.onConnection("connecting again");
    setTimeout(() => this.over || this.connect(), pause);
    clearTimeout(this.asking);
    this.ask();
  }

  async ask() {
    if (this.over) return;
    try {
      this.take(await get(this.api));
      this.onConnection("asking every 2 s");
    } catch (error) {
      this.onConnection(error.status === 404 ? "unknown job" : "no answer");
    }
    clearTimeout(this.asking);
    if (!this.over) this.asking = setTimeout(() => this.ask(), ASK_EVERY_MS);
  }
}
