// Where a gain comes from: its causes averaged over every order, and one order step by step.
import { mount } from "../charts/base.js";
import { shapley, signed as withSign, steps as stepChart } from "../charts/waterfall.js";
import { boundBy, percent, written } from "../format.js";
import { mark } from "../mark.js";
import { symbols } from "../symbols.js";
import { Analysis, baseline, notes, offer, row, value } from "./analysis.js";

export const write = { lambda_max_rps: written(3), usd_per_million_tokens: written(4), ttft_p90_s: written(2) };
const ofTheGain = (share) => (Math.abs(share) < 0.0005 ? "0.0" : percent(share).replace("-", "−"));
const signed = (metric) => (number) => (number == null ? "–" : withSign(number, write[metric]));

export function attribution(section) {
  const charts = { shapley: mount("attribution-shapley", shapley), steps: mount("attribution-steps", stepChart) };
  let moved = null;
  section.addEventListener("change", ({ target }) => {
    if (target.matches("[data-ask]")) arrange(null);
  }, { capture: true });

  function arrange(next) {
    order = next;
    analysis.keep("order", next?.join(","));
  }

  const analysis = new Analysis(section, {
    prepare(_, names) {
      const others = names.filter(({ name, comparable }) => name !== baseline() && comparable);
      if (!others.length) {
        analysis.say("");
        section.querySelector("[data-answer]").hidden = true;
        section.querySelector("[data-sentence]").textContent = "No other deployment serves what the baseline does: a gain is attributed between deployments of one model and one traffic.";
      }
      offer(section.querySelector('[data-ask="candidate"]'), others.map(({ name, title }) => ({ value: name, label: title })), others.at(-1)?.name ?? null);
    },
    asked() {
      if (!value(section, "candidate")) return null;
      const asked = { candidate: value(section, "candidate"), metric: value(section, "metric"), tuned: value(section, "tuned") === "true" };
      return order ? { ...asked, order } : asked;
    },
    // Another size or baseline may differ in other causes.
    outdated(fields) {
      const was = order !== null && fields.includes("order");
      if (was) arrange(null);
      return was;
    },
    show(answer) {
      section.querySelector("[data-sentence]").replaceChildren(symbols(answer.sentence));
      const isEmpty = Boolean(answer.undefined) || !answer.factors.length;
      section.querySelector("[data-answer]").hidden = isEmpty;
      if (isEmpty) return undefined;
      section.querySelector("[data-factors]").replaceChildren(...factors(answer), total(answer));
      section.querySelector("[data-steps]").replaceChildren(...stepRows(answer, section.dataset.stepUrl, (next, name) => {
        arrange(next);
        moved = name;
        analysis.ask();
      }));
      followMoved(section, moved);
      moved = null;
      notes(section.querySelector("[data-notes]"), [...answer.notes, "A step is a deployment with the candidate's part in some causes and the baseline's in the others. Scheduling is who does what with the same machines: the split and the routing."]);
      return Promise.all([charts.shapley.show(answer), charts.steps.show(answer)]);
    },
  });
  let order = analysis.held("order")?.split(",") ?? null;
  return analysis;
}

function factors({ factors: found, groups, metric, unit, provenance }) {
  const one = (title, each, from) => row([
    { nodes: [symbols(title)] }, { text: unit, className: "text unit" },
    { nodes: [signed(metric)(each.share), mark(provenance, "the weakest figure under any of the steps")] },
    each.share_of_total == null ? "–" : ofTheGain(each.share_of_total), signed(metric)(each.least), signed(metric)(each.greatest), { text: from, className: "text wrap" },
  ]);
  const grouped = groups.filter((group) => group.factors.length > 1).map((group) => one("Scheduling: split and routing", group, "the two above together"));
  return [...found.map((each) => one(each.title, each, each.words)), ...grouped];
}

function total({ total: sum, metric, unit, from, to }) {
  const element = row(["All of it", { text: unit, className: "text unit" }, signed(metric)(sum), percent(1), "", "", { text: `${write[metric](from)} → ${write[metric](to)}`, className: "text" }]);
  element.className = "strong";
  return element;
}

function stepRows({ start, steps, end, factors: found, metric, unit, candidate, tuned, order }, address, move) {
  const titles = Object.fromEntries(found.map(({ factor, title }) => [factor, title]));
  const link = (taken) => {
    const element = document.createElement("a");
    const query = new URLSearchParams(location.search);
    query.set("candidate", candidate);
    query.set("tuned", tuned);
    query.set("factors", taken.join(","));
    element.href = `${address}?${query}`;
    element.textContent = "Open";
    return element;
  };
  const rows = [row([
    { nodes: [`Baseline: ${start.words}`] }, { text: unit, className: "text unit" }, write[metric](start.value), "–",
    { text: boundBy(start.bound_by), className: "text wrap" }, { text: "", className: "no-print" }, { nodes: [link([])], className: "text no-print" },
  ])];
  steps.forEach(({ factor, change, value: reached, bound_by: binding }, at) => {
    const last = at === steps.length - 1 ? ` (the candidate, ${end.words})` : "";
    rows.push(row([
      { nodes: [symbols(`+ ${titles[factor]}${last}`)] }, { text: unit, className: "text unit" }, write[metric](reached), signed(metric)(change),
      { text: boundBy(binding), className: "text wrap" }, { nodes: movers(order, at, titles[factor], move), className: "text no-print" },
      { nodes: [link(order.slice(0, at + 1))], className: "text no-print" },
    ]));
  });
  return rows;
}

function movers(order, at, title, move) {
  const swapped = (one, other) => order.map((factor, place) => (place === one ? order[other] : place === other ? order[one] : factor));
  return [[-1, "earlier", "↑"], [1, "later", "↓"]].map(([by, word, arrow]) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "button quiet", textContent: arrow, disabled: !(at + by in order) });
    button.setAttribute("aria-label", `${title} ${word}`);
    button.addEventListener("click", () => move(swapped(at, at + by), button.getAttribute("aria-label")));
    return button;
  });
}

// Who moves a step by keys finds the same button again, or at an end its neighbour.
function followMoved(section, name) {
  const button = [...section.querySelectorAll("[data-steps] button")].find((each) => each.getAttribute("aria-label") === name);
  (button?.disabled ? button.parentElement.querySelector("button:enabled") : button)?.focus();
}
