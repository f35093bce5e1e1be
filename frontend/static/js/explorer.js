// A simulation's time: which series are drawn, and which part of the time; by boxes and buttons, or by Plotly's own tools.
import { mount } from "./charts/base.js";
import { ends, overTime, PANELS } from "./charts/over-time.js";
import { timeUnit } from "./charts/time-axis.js";

// Stays while a running job's page is replaced by that of its result.
const kept = { chosen: null, range: null, revision: 0 };
const ZOOM = 2;

// A part of the time, [from, to] in seconds, moved or widened; null where that is all of it.
function moved([from, to], all, how) {
  const half = ((to - from) / 2) * ({ in: 1 / ZOOM, out: ZOOM }[how] ?? 1);
  if (2 * half >= all) return null;
  const middle = (from + to) / 2 + ({ earlier: -half, later: half }[how] ?? 0);
  const start = Math.min(Math.max(0, middle - half), all - 2 * half);
  return [start, start + 2 * half];
}

export class Explorer {
  constructor() {
    this.chart = mount("over-time", overTime, null, (range) => this.zoomed(range));
    const { element } = this.chart;
    this.boxes = [...element.querySelectorAll("[data-panel]")];
    for (const box of this.boxes) box.addEventListener("change", () => this.choose());
    for (const button of element.querySelectorAll("[data-move]")) button.addEventListener("click", () => this.move(button.dataset.move));
  }

  show(found) {
    this.found = found;
    kept.chosen ??= Object.keys(PANELS).filter((name) => !PANELS[name].missing(found) && PANELS[name].isWorth(found));
    for (const box of this.boxes) {
      const reason = PANELS[box.dataset.panel].missing(found);
      box.checked = !reason && kept.chosen.includes(box.dataset.panel);
      box.disabled = Boolean(reason);
      box.parentElement.title = reason ?? "";
    }
    return this.draw();
  }

  draw() {
    return this.chart.show({ ...this.found, ...kept });
  }

  choose() {
    kept.chosen = this.boxes.filter(({ checked }) => checked).map(({ dataset }) => dataset.panel);
    this.draw();
  }

  move(how) {
    if (!this.found) return;
    const all = ends(this.found.series);
    kept.range = how === "all" ? null : moved(kept.range ?? [0, all], all, how);
    kept.revision += 1;
    this.draw();
  }

  // Plotly's tools have moved the axis, which is in people's unit; null: to all of it.
  zoomed(range) {
    if (!this.found) return;
    const all = ends(this.found.series);
    kept.range = range && moved(range.map((at) => at * timeUnit(all).seconds), all);
    this.chart.data = { ...this.found, ...kept };
    this.chart.fillCaption();
  }
}
