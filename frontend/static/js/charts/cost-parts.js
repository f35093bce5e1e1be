// What each deployment costs an hour, by part: bars told apart by pattern before colour.
import { percent, written } from "../format.js";

const usd = written(2);
const LOOKS = {
  prfaas: { colour: "stage-prfaas", shape: "" },
  prefill: { colour: "stage-pd-p", shape: "/" },
  decode: { colour: "stage-pd-d", shape: "x" },
  link_time: { colour: "stage-link", shape: "." },
  link_volume: { colour: "stage-link", shape: "-" },
};

const paid = ({ deployments, parts }) => Object.keys(parts).filter((part) => deployments.some((each) => each.parts_usd_per_h[part] > 0));

export const costParts = {
  caption({ deployments: [first], parts }) {
    const shares = paid({ deployments: [first], parts }).map((part) => `${parts[part]} ${percent(first.shares[part])} %`);
    return `${first.title}: ${usd(first.usd_per_h)} USD/h; ${shares.join(", ")}.`;
  },

  figure(shown, colours) {
    const names = shown.deployments.map(({ title }) => title.replace("best without", "best without<br>"));
    const top = 1.08 * Math.max(...shown.deployments.map((each) => each.usd_per_h), 0.01);
    return {
      data: paid(shown).map((part) => ({
        type: "bar", name: shown.parts[part], x: names, y: shown.deployments.map((each) => each.parts_usd_per_h[part]),
        customdata: shown.deployments.map((each) => percent(each.shares[part])),
        marker: { color: colours[LOOKS[part].colour], line: { color: colours.surface, width: 1 }, pattern: { shape: LOOKS[part].shape, fillmode: "overlay", fgcolor: colours.surface, size: 7, solidity: 0.25 } },
        hovertemplate: `${shown.parts[part]}<br>%{y:,.2f} USD/h, %{customdata} %<extra></extra>`,
      })),
      layout: { barmode: "stack", bargap: 0.45, showlegend: true, xaxis: { title: "", type: "category", showgrid: false }, yaxis: { title: "cost, USD/h", range: [0, top] } },
    };
  },

  table(shown) {
    return {
      columns: [{ label: "deployment", write: String }, { label: "part", write: String }, { label: "cost", unit: "USD/h", write: usd }, { label: "share", unit: "%", write: percent, scale: 100 }],
      rows: shown.deployments.flatMap((each) => Object.entries(shown.parts).map(([part, title]) => [each.title, title, each.parts_usd_per_h[part], each.shares[part]])),
    };
  },
};
