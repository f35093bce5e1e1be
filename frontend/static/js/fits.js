// The fitted distributions side by side; one of them is chosen to be drawn.
import { familyName } from "./charts/length-histogram.js";
import { percent, written } from "./format.js";

const rounded = (value) => Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 });

function parameters({ parameters: { distribution, min, max, components, ...own } }) {
  if (components) return components.map((part) => `${written(1, 100)(part.weight)} % ${parameters({ parameters: { ...part, weight: undefined } })}`).join("; ");
  return Object.entries(own).filter(([, value]) => typeof value === "number").map(([name, value]) => `${name} ${rounded(value)}`).join(", ");
}

function row(fit, at, choose) {
  const element = document.createElement("tr");
  const head = element.appendChild(document.createElement("th"));
  head.scope = "row";
  const label = head.appendChild(document.createElement("label"));
  const radio = label.appendChild(document.createElement("input"));
  Object.assign(radio, { type: "radio", name: "fit", checked: at === 0 });
  radio.addEventListener("change", () => choose(fit));
  label.append(` ${familyName(fit)}`);
  const verdict = fit.warning ? "keep empirical" : "may stand for the record";
  for (const [text, name] of [[parameters(fit), "text wrap"], [percent(fit.ks_distance), ""], [written(0)(fit.bic), ""], [verdict, "text"]]) {
    const cell = element.insertCell();
    cell.className = name;
    cell.textContent = text;
  }
  return element;
}

export function showFits(panel, fits, choose) {
  panel.hidden = !fits.length;
  panel.querySelector("tbody").replaceChildren(...fits.map((fit, at) => row(fit, at, choose)));
  const good = fits.filter((fit) => !fit.warning);
  panel.querySelector("[data-verdict]").textContent = good.length
    ? `${familyName(good[0])} is the best that stays within the limit. The recorded lengths stay what scenarios use unless you put its parameters in their place.`
    : "No family comes close enough: keep empirical.";
}
