// One thing that is worked out beside the table: asked for when it comes into view, again when what is shown changes,
// and only for the newest wish.
import { post } from "../api.js";
import { Loop } from "../whatif.js";

const SETTLE_MS = 300;

export class Analysis {
  // `asked(section, names)` gives what is asked beside the comparison, null for nothing; `show(answer, section)` draws.
  constructor(section, { asked, show, prepare }) {
    Object.assign(this, { section, asked, draw: show, prepare });
    this.loop = new Loop((body) => post(section.dataset.url, body), (answer) => this.answered(answer), (error) => this.refused(error));
    section.addEventListener("change", ({ target }) => target.matches("[data-ask]") && this.ask());
    new IntersectionObserver((entries) => {
      this.inView = entries.at(-1).isIntersecting;
      if (this.inView && this.stale) this.ask();
    }, { rootMargin: "200px" }).observe(section);
    addEventListener("beforeprint", () => this.stale && this.ask());
  }

  show(spec, names) {
    Object.assign(this, { spec, names, stale: true });
    this.prepare?.(this.section, names, spec);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.inView && this.stale && this.ask(), SETTLE_MS);
  }

  // Also with what is not a control of the section's own.
  ask() {
    if (!this.spec) return;
    this.stale = false;
    const more = this.asked(this.section, this.names, this.spec);
    if (more === null) return;
    this.section.setAttribute("aria-busy", "true");
    this.loop.want({ ...this.spec, ...more });
  }

  answered(answer) {
    this.section.removeAttribute("aria-busy");
    this.say("");
    const place = this.section.querySelector("[data-answer]");
    if (place) place.hidden = false;
    return this.draw(answer, this.section, this);
  }

  refused(error) {
    this.section.removeAttribute("aria-busy");
    this.say(error.errors?.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join(" ") ?? error.message);
    if (!error.errors) reportError(error);
  }

  say(text) {
    this.section.querySelector("[data-error]").textContent = text;
    const place = this.section.querySelector("[data-answer]");
    if (place && text) place.hidden = true;
  }
}

// The choices of a list, keeping what is chosen while it is there.
export function offer(select, choices, first = null) {
  const before = select.value;
  select.replaceChildren(...choices.map(({ value, label }) => new Option(label, value)));
  const kept = choices.some(({ value }) => value === before) ? before : first;
  if (kept !== null) select.value = kept;
}

export const value = (section, name) => section.querySelector(`[data-ask="${name}"]`).value;

export function row(cells, head = 0) {
  const element = document.createElement("tr");
  cells.forEach((cell, at) => {
    const place = document.createElement(at === head ? "th" : "td");
    if (at === head) place.scope = "row";
    const { text, className, nodes } = typeof cell === "object" && cell !== null ? cell : { text: cell };
    if (className) place.className = className;
    if (nodes) place.append(...nodes);
    else place.textContent = text ?? "–";
    element.append(place);
  });
  return element;
}

export function notes(place, texts) {
  place.replaceChildren(...texts.map((text) => {
    const element = document.createElement("p");
    element.className = "note";
    element.append(symbols(text));
    return element;
  }));
}

// Λ_max with its index set below.
export function symbols(text) {
  const holder = document.createElement("span");
  for (const part of text.split(/(\b[A-Z]_[a-z-]+|[ΘΛΦ]_[a-z-]+)/)) {
    if (/^[A-ZΘΛΦ]_/.test(part)) {
      const index = document.createElement("sub");
      index.textContent = part.slice(2);
      holder.append(part[0], index);
    } else holder.append(part);
  }
  return holder;
}
