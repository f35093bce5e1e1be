// The same fleets under more traffic and with faster chips: when does the link bind?
import { mount } from "../charts/base.js";
import { growthChart } from "../charts/growth.js";
import { boundBy, gbps, percent, rate, tokens } from "../format.js";
import { mark } from "../mark.js";
import { symbols } from "../symbols.js";
import { Analysis, notes, row, value } from "./analysis.js";
import { factor } from "./units.js";

const numbers = (text) => text.split(/[,;\s]+/).filter(Boolean).map(Number);
const [LEAST, MOST, LONGEST] = [1 / 64, 64, 8];
const isList = (multiples) => multiples.length > 0 && multiples.length <= LONGEST && multiples.every((each) => each >= LEAST && each <= MOST);

export function growth(section) {
  const chart = mount("growth", growthChart);
  return new Analysis(section, {
    mistake() {
      const field = ["traffic", "chips"].map((name) => section.querySelector(`[data-ask="${name}"]`)).find((each) => !isList(numbers(each.value)));
      return field && { field, text: `${field.getAttribute("aria-label")}: must be 1 to ${LONGEST} numbers from 1/64 to ${MOST}, such as 1, 2, 4.` };
    },
    asked: () => ({ traffic: numbers(value(section, "traffic")), chips: numbers(value(section, "chips")), remote_only: value(section, "remote_only") === "true", retuned: value(section, "retuned") === "true" }),
    show(answer) {
      section.querySelector("[data-sentences]").replaceChildren(...answer.scenarios.map(({ title, sentence, base_rps: base, base: from }) => {
        const item = document.createElement("li");
        item.append(symbols(`${title}: ${sentence} Traffic × 1 is ${rate(base)} req/s, ${from.replace("traffic.rate_rps", "the rate of its traffic")}.`));
        return item;
      }));
      section.querySelector("[data-cells]").replaceChildren(...answer.scenarios.flatMap(lines));
      notes(section.querySelector("[data-notes]"), answer.notes);
      return chart.show(answer);
    },
  });
}

function lines({ title, speeds, kind }) {
  return speeds.flatMap(({ chips, lambda_max_rps: most, binding, threshold_tokens: threshold, cells }) => cells.map(({ traffic, offered_rps: offered, carried_rps: carried, is_carried: all, egress_bps: egress, link_share: share }) => row([
    title, factor(chips), { nodes: [rate(most), mark(kind, "the weakest figure under it")] }, { text: boundBy(binding), className: "text" }, tokens(threshold), factor(traffic), rate(offered),
    { text: all ? rate(carried) : `${rate(carried)}, not all`, className: all ? "" : "error" }, share === null && !egress ? "–" : gbps(egress), percent(share),
  ])));
}
