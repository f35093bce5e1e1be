// What a running job's page asks for again whenever one more part has ended, and at most once a second.
const ASK_EVERY_MS = 1000;

export class PartEnds {
  constructor(ask) {
    this.ask = () => {
      this.askedAt = performance.now();
      ask();
    };
    this.ask();
  }

  heard({ message }) {
    if (message === this.message) return;
    this.message = message;
    clearTimeout(this.asking);
    this.asking = setTimeout(this.ask, Math.max(0, this.askedAt + ASK_EVERY_MS - performance.now()));
  }
}

// Charts of what has been found so far are there once something has.
export function showOnce() {
  for (const place of document.querySelectorAll("[data-once]")) place.hidden = false;
}
