// Where the ranking of two deployments flips: the ratio over two figures, and the tie nearest to each figure.
import { mount } from "../charts/base.js";
import { ratioMap } from "../charts/ratio-map.js";
import { mark } from "../mark.js";
import { symbols } from "../symbols.js";
import { Analysis, baseline, notes, offer, row, value } from "./analysis.js";
import { factor, unitOf, write } from "./units.js";

const key = ({ input, moves_in: [only, other] }) => (other ? input : `${input}@${only}`);

function axis(section, name) {
  const [input, scenario] = value(section, name).split("@");
  return input ? { [name]: scenario ? { input, scenario } : { input } } : {};
}

const both = (section) => `${value(section, "first")} ${value(section, "second")}`;

export function breakEven(section) {
  const chart = mount("ratio-map", ratioMap);
  const select = (name) => section.querySelector(`[data-ask="${name}"]`);
  const labelOf = (name) => select(name).selectedOptions[0]?.label ?? value(section, name);
  let pair = "";

  const isSame = (one, other) => value(section, one) !== "" && value(section, one) === value(section, other);

  return new Analysis(section, {
    prepare(_, names) {
      const choices = names.map(({ name, title }) => ({ value: name, label: title }));
      offer(section.querySelector('[data-ask="first"]'), choices, names.filter(({ name }) => name !== baseline()).at(-1).name);
      offer(section.querySelector('[data-ask="second"]'), choices, baseline());
    },
    // One figure on both axes would be moved by both; the figures of another pair may be others.
    mistake() {
      if (isSame("first", "second")) return { field: select("second"), text: `Choose two different deployments: ${labelOf("second")} is held against itself.` };
      if (![both(section), ""].includes(pair) || !isSame("x", "y")) return null;
      return { field: select("y"), text: `Over … and …: choose two different figures; ${labelOf("y")} is on both axes.` };
    },
    asked() {
      const [first, second] = ["first", "second"].map((name) => value(section, name));
      // The figures of another pair may be others; at first they are those of the address.
      const axes = [both(section), ""].includes(pair) ? { ...axis(section, "x"), ...axis(section, "y") } : {};
      pair = both(section);
      return { first, second, outcome: value(section, "outcome"), ...axes };
    },
    outdated(fields) {
      const axes = fields.some((field) => /^[xy]\b/.test(field)) ? ["x", "y"].map(select).filter(({ value: chosen, dataset }) => chosen || dataset.wanted) : [];
      for (const list of axes) {
        delete list.dataset.wanted;
        list.replaceChildren();
      }
      return axes.length > 0;
    },
    show(answer) {
      for (const side of ["x", "y"]) {
        const choices = answer.break_even.map((each) => ({ value: key(each), label: each.moves_in.length > 1 || answer.break_even.filter(({ input }) => input === each.input).length < 2 ? each.label : `${each.label} of ${titleOf(answer, each.moves_in[0])}` }));
        const list = select(side);
        offer(list, choices);
        list.value = choices.some(({ value: known }) => known === key(answer[side])) ? key(answer[side]) : list.value;
      }
      section.querySelector("[data-sentence]").textContent = sentence(answer);
      section.querySelector("[data-ties]").replaceChildren(...answer.break_even.map((each) => tie(each, answer)));
      notes(section.querySelector("[data-notes]"), answer.notes);
      return chart.show(answer);
    },
  });
}

const titleOf = ({ first, titles }, name) => titles[name === first ? 0 : 1];

function sentence(answer) {
  const { titles, values, unit, leader, as_given: ratio } = answer;
  if (values.includes(null)) return `Nothing to hold against one another: ${titles[values.indexOf(null)]} carries nothing, or a price is not known.`;
  const now = `${titles[0]} ${write(unit, values[0])}, ${titles[1]} ${write(unit, values[1])} ${unitOf(unit)}: a ratio of ${factor(ratio)}.`;
  return `${leader ? `${titleOf(answer, leader)} is better as it stands.` : "They tie as they stand."} ${now}`;
}

function tie({ label, unit, value: now, at, factor: times, kind, source, price_ratios: ratios, moves_in: held }, answer) {
  const where = held.length > 1 ? "both" : titleOf(answer, held[0]);
  const told = ratios.map(({ ratio, label: other }) => `${factor(ratio)} × the ${other.toLowerCase()}`);
  return row([
    { nodes: [symbols(label)] }, { text: where, className: "text" }, { text: unitOf(unit), className: "text unit" }, { nodes: [write(unit, now), mark(kind, source)] },
    at === null && times === null ? "nowhere" : write(unit, at), factor(times), { text: told.join(", "), className: "text wrap" },
  ]);
}
