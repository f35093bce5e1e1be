// The house's chart, drawn anew once a second: not while somebody drags in it, nor before the last drawing is done.
import { CONFIG, Chart } from "../charts/base.js";
import { spelled } from "./dom.js";

const TABLE_EVERY_MS = 10_000;

export class LiveChart extends Chart {
  // `onZoom` gets the times between which somebody has dragged, as the axis has them; null for all.
  constructor(element, chart, onZoom) {
    super(element, chart, null, onZoom);
    this.revision = 0;
    this.plot.addEventListener("pointerdown", () => { this.isHeld = true; });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => this.release());
    this.plot.addEventListener("pointermove", (event) => { this.pointer = event; });
    this.plot.addEventListener("pointerleave", () => { this.pointer = null; });
  }

  release() {
    if (!this.isHeld) return;
    this.isHeld = false;
    if (this.stale && this.inView) this.draw();
  }

  put(traces, frame) {
    if (this.isHeld || this.isDrawing) {
      this.stale = true;
      return undefined;
    }
    this.isDrawing = true;
    // Arrays are used again: only another revision says that they have changed.
    this.revision += 1;
    return Plotly.react(this.plot, traces, { ...frame, datarevision: this.revision }, CONFIG)
      .then(() => this.listen())
      .finally(() => { this.isDrawing = false; });
  }

  fillCaption() {
    spelled(this.element.querySelector("[data-caption]"), this.reason ? "" : this.chart.caption(this.data));
  }

  // Read by somebody, and long: it is not written anew each second.
  fillTable() {
    const now = performance.now();
    const isOpening = this.details.open && !this.wasOpen;
    this.wasOpen = this.details.open;
    if (!isOpening && now - (this.filled ?? -Infinity) < TABLE_EVERY_MS) return;
    this.filled = now;
    super.fillTable();
  }
}

export const live = (name, chart, onZoom = null) => new LiveChart(document.querySelector(`[data-chart="${name}"]`), chart, onZoom);
