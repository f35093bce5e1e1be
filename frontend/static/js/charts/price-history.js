// Every dated offer for a chip, one point each, told apart by provider; undated ones are named apart.
import { written } from "../format.js";
import { ceiling, rings, series } from "./style.js";

const usd = written(3);
const kinds = { on_demand: "on demand", spot: "spot", reserved: "reserved", blended: "blended", purchase: "purchase" };
const priced = (offers) => offers.filter((offer) => offer.usd_per_gpu_hour != null);
const dated = (offers) => priced(offers).filter((offer) => offer.date);
const provider = (offer) => offer.provider || "no provider stated";

export const priceHistory = {
  empty({ prices: { offers, title } }) {
    if (!offers.length) return `No offer for ${title} is stored: add a price, or import a price list.`;
    if (!priced(offers).length) return `No offer for ${title} can be priced: a purchase needs the chip's TDP.`;
    return dated(offers).length ? null : `No offer has a date, so there is no price over time: ${undated(offers)}.`;
  },

  caption({ prices: { offers } }) {
    const [costs, rest] = [dated(offers).map((offer) => offer.usd_per_gpu_hour), undated(offers)];
    const span = `${costs.length} dated offer${costs.length > 1 ? "s" : ""} from ${usd(Math.min(...costs))} to ${usd(Math.max(...costs))} USD a GPU-hour.`;
    return rest ? `${span} Undated, and not drawn: ${rest}.` : span;
  },

  origins: ({ prices: { offers } }) => offers.map(({ provenance }) => provenance).sort((a, b) => a.kind.localeCompare(b.kind)).filter((each, at, all) => at === 0 || each.kind !== all[at - 1].kind),

  figure({ prices: { offers }, this: own }, colours, width) {
    const shown = dated(offers);
    const data = [...new Set(shown.map(provider))].map((name, at) => {
      const of = shown.filter((offer) => provider(offer) === name);
      return rings(name, of.map((offer) => offer.date), of.map((offer) => offer.usd_per_gpu_hour), { ...series(colours, at).marker, size: 10 },
        "%{x|%Y-%m-%d}: %{y:.3f} USD/GPU-hour<br>%{text}", { text: of.map((offer) => [kinds[offer.kind], offer.region].filter(Boolean).join(", ")) });
    });
    const here = shown.filter((offer) => offer.name === own);
    if (here.length) {
      data.push(rings("this offer", here.map((offer) => offer.date), here.map((offer) => offer.usd_per_gpu_hour), { symbol: "circle-open", size: 18, color: colours.ink, line: { width: 1.5 } }, "%{y:.3f} USD/GPU-hour"));
    }
    const days = shown.map((offer) => Date.parse(offer.date));
    const room = Math.max(4 * 864e5, (Math.max(...days) - Math.min(...days)) * 0.06);
    return {
      data,
      layout: {
        showlegend: true,
        xaxis: { title: "day of the offer", type: "date", tickformat: "%-d %b %Y", nticks: Math.max(2, Math.floor(width / 130)), range: [Math.min(...days) - room, Math.max(...days) + room].map((at) => new Date(at).toISOString()) },
        yaxis: { title: "USD per GPU-hour", range: [0, ceiling(1.1 * Math.max(...shown.map((offer) => offer.usd_per_gpu_hour)))] },
      },
    };
  },

  table({ prices: { offers } }) {
    return {
      columns: [
        { label: "day", write: (value) => value ?? "undated" }, { label: "offer", write: String }, { label: "provider", write: String }, { label: "region", write: String },
        { label: "kind", write: String }, { label: "price", unit: "USD/GPU-hour", write: usd },
      ],
      rows: offers.map((offer) => [offer.date, offer.title, offer.provider, offer.region, kinds[offer.kind], offer.usd_per_gpu_hour]),
    };
  },
};

function undated(offers) {
  return priced(offers).filter((offer) => !offer.date).map((offer) => `${provider(offer)} ${usd(offer.usd_per_gpu_hour)}`).join(", ");
}
