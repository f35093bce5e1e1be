// One thing that is worked out beside the table: asked for when it comes into view, again when what is shown changes,
// and only for the newest wish.
import { post } from "../api.js";
import { symbols } from "../symbols.js";
import { Loop } from "../whatif.js";
import { view } from "./view.js";

const SETTLE_MS = 300;

export class Analysis {
  // `asked(section, names)` gives what is asked beside the comparison, null for nothing; `show(answer, section)` draws;
  // `mistake(section)` finds the field with a mistake and says what it is, where the fields themselves cannot; `outdated(fields)` lets go
  // of a choice that what is shown now no longer has, and says whether there was one.
  constructor(section, { asked, show, prepare, mistake, outdated }) {
    Object.assign(this, { section, asked, draw: show, prepare, mistake, outdated, waiting: [] });
    this.loop = new Loop((body) => post(section.dataset.url, body), (answer) => this.answered(answer), (error) => this.refused(error));
    for (const field of this.fields) this.take(field);
    section.addEventListener("change", ({ target }) => target.matches("[data-ask]") && this.chosen(target));
    new IntersectionObserver((entries) => {
      this.inView = entries.at(-1).isIntersecting;
      if (this.inView && this.stale) this.ask();
    }, { rootMargin: "200px" }).observe(section);
    addEventListener("beforeprint", () => this.stale && this.ask());
  }

  get fields() {
    return this.section.querySelectorAll("[data-ask]");
  }

  // What is chosen here stands in the address too: a link, and the report, show just this.
  keep(name, value) {
    view.set(`ask.${this.section.dataset.analysis}.${name}`, value);
  }

  held(name) {
    return view.query.get(`ask.${this.section.dataset.analysis}.${name}`);
  }

  // What the address says; a list that is filled later takes it when it has it.
  take(field) {
    field.dataset.unasked = field.value;
    const held = this.held(nameOf(field));
    if (held === null) return;
    const known = field.options && [...field.options].map((option) => option.value);
    if (known?.length === 0) field.dataset.wanted = held;
    else if (!known || known.includes(held)) field.value = held;
  }

  chosen(field) {
    delete field.dataset.wanted;
    this.keep(nameOf(field), field.value === field.dataset.unasked ? "" : field.value);
    this.ask();
  }

  show(spec, names) {
    Object.assign(this, { spec, names, stale: true });
    this.prepare?.(this.section, names);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.inView && this.stale && this.ask(), SETTLE_MS);
  }

  // Also with what is not a control of the section's own. Resolves when an answer, or why there is none, is shown.
  async ask() {
    if (!this.spec) return;
    this.stale = false;
    this.wrong = outOfRange(this.section) ?? this.mistake?.(this.section) ?? null;
    for (const field of this.fields) field.ariaInvalid = field === this.wrong?.field ? "true" : null;
    if (this.wrong) return this.say(this.wrong.text);
    const more = this.asked(this.section, this.names, this.spec);
    if (more === null) return;
    this.section.setAttribute("aria-busy", "true");
    this.loop.want({ ...this.spec, ...more });
    await new Promise((resolve) => { this.waiting.push(resolve); });
  }

  settle() {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  // An answer to what was asked before something was mistyped is not shown over the mistake.
  async answered(answer) {
    this.section.removeAttribute("aria-busy");
    if (this.wrong) return this.settle();
    this.say("");
    await this.draw(answer, this.section, this);
    this.settle();
  }

  refused(error) {
    if (this.outdated?.(error.errors?.map(({ field }) => field ?? "") ?? [])) return this.ask();
    this.section.removeAttribute("aria-busy");
    this.say(error.errors?.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join(" ") ?? error.message);
    this.settle();
    return error.errors ? undefined : reportError(error);
  }

  // Beside a mistake stands no answer to an earlier question.
  say(text) {
    this.section.querySelector("[data-error]").textContent = text;
    for (const place of this.section.querySelectorAll("[data-answer], [data-sentence], [data-sentences]")) place.hidden = text !== "";
  }
}

// The first number that its field does not allow, and what is wrong with it, in the units of the page.
function outOfRange(section) {
  const field = [...section.querySelectorAll("input[data-ask]")].find((each) => !each.checkValidity());
  if (!field) return null;
  const label = field.getAttribute("aria-label") ?? field.labels[0].firstChild.textContent.trim();
  return { field, text: `${label}: must be a ${field.step === "1" ? "whole " : ""}number from ${field.min} to ${Number(field.max).toLocaleString("en-US")}.` };
}

const nameOf = ({ dataset: { ask, kind } }) => (kind ? `${ask}.${kind}` : ask);

// The choices of a list, keeping what is chosen while it is there.
export function offer(select, choices, first = null) {
  const before = select.dataset.wanted ?? select.value;
  delete select.dataset.wanted;
  select.replaceChildren(...choices.map(({ value, label }) => new Option(label, value)));
  const kept = choices.some(({ value }) => value === before) ? before : first;
  if (kept !== null) select.value = kept;
}

// The name of what the table holds the others against.
export const baseline = () => document.getElementById("comparison").dataset.baseline;

export function value(section, name) {
  const field = section.querySelector(`[data-ask="${name}"]`);
  return field.dataset.wanted ?? field.value;
}

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
