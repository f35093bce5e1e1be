// The server's time, told by what it sends: a viewer's clock may be wrong, and ages must not be.
const HEARD = 30;

export class Clock {
  constructor(serverMs) {
    this.offsets = [];
    this.hear(serverMs);
  }

  // A message is at least as old as what it says; the one that was under way for the shortest time says it best.
  hear(serverMs) {
    this.offsets.push(serverMs - performance.now());
    if (this.offsets.length > HEARD) this.offsets.shift();
    this.offset = Math.max(...this.offsets);
  }

  now() {
    return performance.now() + this.offset;
  }
}
