// The what-if form: reads and writes its fields, keeps what was typed, puts errors beside their field.
import { rounded } from "./format.js";

const STEPS = 1000;
const GIGA = 1e9;
const BANDWIDTH_RANGE = [1, 1000];
// What the server takes, in the units of the fields.
const ALLOWED = { threshold: [1e9, "0 to 1,000,000,000 tokens"], bandwidth: [1e9, "0 to 1,000,000,000 Gbps"] };

const toSlider = (value, [low, high]) => Math.round((STEPS * Math.log(value / low)) / Math.log(high / low));
const fromSlider = (step, [low, high]) => rounded(low * (high / low) ** (step / STEPS));

export class Controls {
  constructor(form, scenarios, changed) {
    this.form = form;
    // A link that never binds has no bandwidth to move.
    this.scenarios = scenarios.map((each) => (each.bandwidth?.value === "unlimited" ? { ...each, bandwidth: null } : each));
    const { elements } = form;
    this.pairs = [
      ["threshold", elements["threshold-slider"], () => this.scenario.threshold?.range],
      ["bandwidth", elements["bandwidth-slider"], () => BANDWIDTH_RANGE],
    ];
    for (const [name, slider, range] of this.pairs) {
      slider.addEventListener("input", () => this.slide(elements[name], slider, range()));
      elements[name].addEventListener("input", () => this.follow(elements[name], slider, range()));
    }
    elements.scenario.addEventListener("input", () => this.load(this.defaults()));
    form.addEventListener("input", changed);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      this.load({ ...this.defaults(), form: "exact" });
      changed();
    });
  }

  get scenario() {
    return this.scenarios.find(({ name }) => name === this.form.elements.scenario.value);
  }

  defaults() {
    const { threshold, split, bandwidth } = this.scenario;
    return { threshold: threshold?.value ?? "", split: split.value, bandwidth: bandwidth?.value ?? "", form: this.form.elements.form.value };
  }

  load(state) {
    const { elements } = this.form;
    const { threshold, split, bandwidth } = this.scenario;
    this.enable("threshold", threshold);
    this.enable("bandwidth", bandwidth);
    elements.threshold.value = state.threshold;
    elements.bandwidth.value = bandwidth ? Number((state.bandwidth / GIGA).toPrecision(12)) : "";
    elements.split.max = split.instances;
    elements.split.value = state.split;
    elements.form.value = state.form;
    for (const [name, slider, range] of this.pairs) this.follow(elements[name], slider, range());
  }

  enable(name, present) {
    for (const input of this.form.querySelectorAll(`[data-control="${name}"] input`)) input.disabled = !present;
  }

  slide(number, slider, range) {
    number.value = fromSlider(Number(slider.value), range);
    this.describe(slider, number);
  }

  follow(number, slider, range) {
    const value = Number(number.value);
    if (range && value > 0) slider.value = toSlider(value, range);
    this.describe(slider, number);
  }

  describe(slider, number) {
    const unit = number.parentElement.querySelector(".unit").textContent;
    slider.setAttribute("aria-valuetext", `${number.value} ${unit}`);
  }

  // The state, or null with an error beside each field that holds none.
  read() {
    const { elements } = this.form;
    const { split } = this.scenario;
    const state = {
      threshold: this.scenario.threshold ? elements.threshold.valueAsNumber : null,
      split: Number(elements.split.value),
      bandwidth: this.scenario.bandwidth ? elements.bandwidth.valueAsNumber * GIGA : null,
      form: elements.form.value,
    };
    const text = `${state.split} / ${split.instances - state.split}`;
    this.form.querySelector("[data-split]").textContent = text;
    elements.split.setAttribute("aria-valuetext", text);
    this.errors({});
    const wrong = Object.keys(ALLOWED).filter((name) => this.scenario[name] && !this.allows(name));
    if (wrong.length) this.errors(Object.fromEntries(wrong.map((name) => [name, `Type a number: ${ALLOWED[name][1]}.`])));
    return wrong.length ? null : state;
  }

  // Names of those values of an address that no control can hold.
  unusable(state) {
    const { split } = this.scenario;
    const holds = {
      threshold: (value) => value >= 0 && value <= ALLOWED.threshold[0],
      bandwidth: (value) => value >= 0 && value <= ALLOWED.bandwidth[0] * GIGA,
      split: (value) => Number.isInteger(value) && value >= 0 && value <= split.instances,
      form: (value) => ["exact", "paper"].includes(value),
    };
    return Object.keys(state).filter((name) => !holds[name](state[name]));
  }

  allows(name) {
    const value = this.form.elements[name].valueAsNumber;
    return value >= 0 && value <= ALLOWED[name][0];
  }

  errors(messages) {
    for (const place of this.form.querySelectorAll("[data-error]")) {
      const { error: name } = place.dataset;
      place.textContent = messages[name] ?? "";
      if (name) this.form.elements[name].setAttribute("aria-invalid", String(name in messages));
    }
  }
}
