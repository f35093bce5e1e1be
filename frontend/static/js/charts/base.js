// One configuration for every chart, and its life: draw, redraw in another theme, save, and the table behind it.
import { mark } from "../mark.js";
import { symbols } from "../symbols.js";
import { moveDots } from "./dots.js";
import { fill, toCsv } from "./table.js";
import { palette } from "./style.js";

export const CONFIG = {
  responsive: true,
  displaylogo: false,
  // Nothing that is shown here leaves the site.
  showSendToCloud: false,
  modeBarButtonsToRemove: ["toImage", "sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
};
const SETTLE_AFTER_MS = 200;
const AT_ONCE = { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } };
const EXPORT = { width: 960, height: 540, scale: 2 };

function axis(colours, more = {}) {
  const { title: given, ...rest } = more;
  const title = typeof given === "string" ? { text: given } : given;
  return {
    gridcolor: colours.grid, linecolor: colours["rule"], tickcolor: colours["rule"], zeroline: false, showline: true,
    ticks: "outside", ticklen: 4, ticklabeloverflow: "allow", automargin: true, title: { standoff: 8, font: { size: 12 }, ...title }, ...rest,
  };
}

// Panels above one another have a y axis each.
const isAxis = (name) => /^yaxis\d+$/.test(name);

function layout(colours, { xaxis, yaxis, ...rest }) {
  const more = Object.entries(rest).map(([name, value]) => [name, isAxis(name) ? axis(colours, value) : value]);
  return {
    uirevision: "fixed",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colours.ink },
    paper_bgcolor: colours.surface,
    plot_bgcolor: colours.surface,
    margin: { l: 48, r: 20, t: 30, b: 44 },
    hovermode: "closest",
    hoverlabel: { bgcolor: colours.surface, bordercolor: colours.rule, font: { color: colours.ink } },
    legend: { orientation: "h", x: 0, y: 1.01, xanchor: "left", yanchor: "bottom", font: { size: 12 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colours["ink-2"], activecolor: colours.ink },
    xaxis: axis(colours, xaxis),
    yaxis: axis(colours, yaxis),
    ...Object.fromEntries(more),
  };
}

function save(text, name) {
  const link = document.createElement("a");
  // With the mark at its beginning spreadsheets read Λ and × as what they are.
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// A chart is {figure(data, colours, width) -> {data, layout, height?}, table(data), caption(data), empty?(data),
// origins?(data) -> [{kind, source}], whose marks follow the caption; isDrawnAnew?, where curves may not just be moved}.
export class Chart {
  constructor(element, chart, onPoint, onRange) {
    Object.assign(this, { element, chart, onPoint, onRange });
    this.name = element.dataset.chart;
    this.plot = element.querySelector("[data-plot]");
    this.details = element.querySelector("[data-table]");
    this.inView = false;
    this.unsettled = new Set();
    this.width = this.plot.clientWidth;
    this.details.addEventListener("toggle", () => this.fillTable());
    document.addEventListener("themechange", () => this.draw());
    element.addEventListener("click", (event) => this.save(event.target.dataset.save));
    // What nobody sees is not drawn: four charts a slider's step would cost more than the step may.
    new IntersectionObserver((entries) => {
      this.inView = entries.at(-1).isIntersecting;
      if (this.inView && this.stale) this.draw();
    }, { rootMargin: "100px" }).observe(element);
    new ResizeObserver(() => this.resized()).observe(this.plot);
  }

  // Plotly itself fits the picture to another width, but leaves a legend of fewer rows where the one of more rows stood.
  resized() {
    if (this.width === this.plot.clientWidth) return;
    this.width = this.plot.clientWidth;
    clearTimeout(this.fitting);
    if (this.plot.data && this.width) this.fitting = setTimeout(() => this.fit(), SETTLE_AFTER_MS);
  }

  async fit() {
    await this.settle();
    if (this.chart.isDrawnAnew) this.draw();
    else Plotly.redraw(this.plot);
  }

  show(data) {
    this.data = data;
    this.stale = true;
    this.fillCaption();
    this.fillTable();
    return this.inView ? this.draw() : undefined;
  }

  fillCaption() {
    const caption = this.element.querySelector("[data-caption]");
    caption.replaceChildren(symbols(this.reason ? "" : this.chart.caption(this.data)));
    const origins = this.reason ? [] : this.chart.origins?.(this.data) ?? [];
    const told = new Map(origins.map(({ kind, source }) => [`${kind}: ${source}`, mark(kind, source)]));
    caption.append(...told.values());
  }

  get reason() {
    return this.chart.empty?.(this.data) ?? null;
  }

  draw() {
    if (!this.data) return undefined;
    this.stale = false;
    const { reason } = this;
    const empty = this.element.querySelector("[data-empty]");
    empty.hidden = !reason;
    empty.textContent = reason ?? "";
    this.plot.hidden = Boolean(reason);
    if (reason) return undefined;
    this.width ||= this.plot.clientWidth; // it had none while there was nothing to draw
    const colours = palette();
    const figure = this.chart.figure(this.data, colours, this.width);
    if (figure.height) this.plot.style.height = `${figure.height}px`;
    return this.put(figure.data, layout(colours, figure.layout));
  }

  // A full redraw costs tens of milliseconds, moving curves within the same frame a few: so charts keep their axes
  // still while a slider moves, and whatever is the same as before is left alone.
  put(traces, frame) {
    const drawn = { frame: JSON.stringify(frame), keys: traces.map((trace) => JSON.stringify(trace)), traces };
    const before = this.drawn;
    this.drawn = drawn;
    // A map cannot be moved: Plotly animates lines and points only.
    const isStill = this.chart.isDrawnAnew || traces.some(({ type }) => type === "heatmap");
    if (isStill || before?.frame !== drawn.frame || before.traces.length !== traces.length) {
      this.unsettled.clear();
      return Plotly.react(this.plot, traces, frame, CONFIG).then(() => this.listen());
    }
    const moved = traces.map((_, at) => at).filter((at) => before.keys[at] !== drawn.keys[at]);
    for (const at of moved) this.unsettled.add(at);
    if (!moved.length) return undefined;
    clearTimeout(this.settling);
    if (!moveDots(this.plot, traces, moved)) return this.settle();
    this.settling = setTimeout(() => this.settle(), SETTLE_AFTER_MS);
    return undefined;
  }

  // The plot has its own events, once it is there.
  listen() {
    if (this.listening) return;
    this.listening = true;
    if (this.onPoint) this.plot.on("plotly_click", ({ points: [point] }) => this.onPoint(point));
    if (this.onRange) this.plot.on("plotly_relayout", (changed) => this.ranged(changed));
  }

  ranged(changed) {
    if ("xaxis.range[0]" in changed) this.onRange([changed["xaxis.range[0]"], changed["xaxis.range[1]"]]);
    else if (changed["xaxis.autorange"]) this.onRange(null);
  }

  // Tells Plotly what has moved since it drew.
  settle() {
    clearTimeout(this.settling);
    const moved = [...this.unsettled];
    this.unsettled.clear();
    if (!moved.length) return undefined;
    return Plotly.animate(this.plot, { data: moved.map((at) => this.drawn.traces[at]), traces: moved }, AT_ONCE);
  }

  fillTable() {
    if (!this.details.open || !this.data) return;
    fill(this.details.querySelector("div"), this.reason ? null : this.chart.table(this.data));
  }

  async save(kind) {
    if (!kind || !this.data || this.reason) return;
    if (kind === "csv") return save(toCsv(this.chart.table(this.data)), `${this.name}.csv`);
    await (this.stale || !this.plot.data ? this.draw() : this.settle());
    const height = Math.max(EXPORT.height, this.plot.clientHeight);
    return Plotly.downloadImage(this.plot, { ...EXPORT, height, format: kind, filename: this.name });
  }
}

// `onPoint` is told of the point that somebody clicks, `onRange` of the part of the x axis that is shown, null for all.
export function mount(name, chart, onPoint = null, onRange = null) {
  return new Chart(document.querySelector(`[data-chart="${name}"]`), chart, onPoint, onRange);
}
