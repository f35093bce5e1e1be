// The tornado: what every figure of a deployment does to what it carries, costs, and how soon it answers.
import { mount } from "../charts/base.js";
import { tornado } from "../charts/tornado.js";
import { symbols } from "../symbols.js";
import { Analysis, notes, offer, row, value } from "./analysis.js";
import { factor, unitOf, write } from "./units.js";

const OUTCOMES = ["lambda_max_rps", "usd_per_million_tokens", "ttft_p90_s", "ttft_p90_loaded_s"];
const PERCENT = 100;
const [LEAST, MOST] = [0.016, 64];

export function sensitivity(section) {
  const charts = Object.fromEntries(OUTCOMES.map((name) => [name, mount(`tornado-${name}`, tornado)]));
  const ranges = new Map();
  let shown = null;

  const analysis = new Analysis(section, {
    prepare(_, names) {
      offer(section.querySelector('[data-ask="scenario"]'), names.map(({ name, title }) => ({ value: name, label: title })), names.at(-1).name);
    },
    asked() {
      const scenario = value(section, "scenario");
      if (shown !== null && scenario !== shown) forget();
      shown = scenario;
      const own = [...ranges].map(([input, [low, high]]) => ({ input, low, high }));
      return { scenario, share: Number(value(section, "share")) / PERCENT, retuned: value(section, "retuned") === "true", loaded: value(section, "loaded") === "true", ...(own.length ? { ranges: own } : {}) };
    },
    show(answer) {
      section.querySelector("[data-loaded]").hidden = answer.outcomes.length < OUTCOMES.length;
      const fields = section.querySelector("[data-ranges]");
      // Whoever types there goes on typing.
      if (!fields.contains(document.activeElement)) fields.replaceChildren(...answer.inputs.map((input) => rangeRow(input, answer.outcomes[0])));
      section.querySelector("[data-own]").hidden = false;
      notes(section.querySelector("[data-notes]"), [`Each figure is varied by ± ${factor(answer.share * PERCENT)} %${ranges.size ? ", or in its own range" : ""}.`, ...answer.notes]);
      return Promise.all(answer.outcomes.map((outcome) => charts[outcome.outcome].show({ ...answer, outcome })));
    },
  });

  section.querySelector("[data-ranges]").addEventListener("change", ({ target }) => {
    const line = target.closest("tr");
    const fields = [...line.querySelectorAll("input")];
    const [low, high] = fields.map((input) => input.valueAsNumber);
    if (fields.some((input) => input.value === "" && !input.validity.badInput)) ranges.delete(line.dataset.input);
    else if (fields.every((input) => input.checkValidity()) && high > low) ranges.set(line.dataset.input, [low, high]);
    else return analysis.say(`${line.querySelector("th").textContent}: needs two factors from ${LEAST} to ${MOST}, the lowest below the highest.`);
    keep();
    return analysis.ask();
  });

  // All of them in one field of the address: INPUT:LOW:HIGH, one after another.
  function keep() {
    analysis.keep("ranges", [...ranges].map(([input, factors]) => [input, ...factors].join(":")).join(","));
  }

  function forget() {
    ranges.clear();
    keep();
  }

  for (const each of analysis.held("ranges")?.split(",") ?? []) {
    const [input, low, high] = each.split(":");
    ranges.set(input, [Number(low), Number(high)]);
  }
  return analysis;
}

function rangeRow({ name, label, unit, value: given, reason }, { bars }) {
  const bar = bars.find(({ input }) => input === name);
  const fields = bar ? [bar.low_factor, bar.high_factor].map((number, at) => rangeField(label, number, at)) : [{ text: reason, className: "text wrap" }, ""];
  const element = row([{ nodes: [symbols(label)] }, write(unit, given), { text: unitOf(unit), className: "text unit" }, ...fields]);
  element.dataset.input = name;
  return element;
}

function rangeField(label, number, at) {
  const input = document.createElement("input");
  Object.assign(input, { type: "number", step: "any", min: LEAST, max: MOST, className: "input number", value: factor(number) });
  input.setAttribute("aria-label", `${label}, ${at ? "highest" : "lowest"} factor`);
  return { nodes: [input] };
}
