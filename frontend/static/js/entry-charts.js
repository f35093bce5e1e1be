// The charts of a catalogue entry: asks for its curves, and shows each in the frame that the template has laid out.
import { get, Refused } from "./api.js";
import { arrivals } from "./charts/arrivals.js";
import { background } from "./charts/background.js";
import { mount } from "./charts/base.js";
import { cachedPrefill } from "./charts/cached-prefill.js";
import { decodeSteps } from "./charts/decode-steps.js";
import { fitQq } from "./charts/fit-qq.js";
import { kvRate } from "./charts/kv-rate.js";
import { lengthCdf } from "./charts/length-cdf.js";
import { lengthHistogram } from "./charts/length-histogram.js";
import { prefill } from "./charts/prefill.js";
import { prefixHits } from "./charts/prefix-hits.js";
import { priceHistory } from "./charts/price-history.js";
import { residuals } from "./charts/residuals.js";
import { sKv } from "./charts/s-kv.js";
import { tcpChart } from "./charts/tcp.js";
import { showFits } from "./fits.js";

const CHARTS = {
  "s-kv": sKv, "kv-rate": kvRate, prefill, residuals, "cached-prefill": cachedPrefill, "decode-steps": decodeSteps,
  "length-histogram": lengthHistogram, "length-cdf": lengthCdf, "fit-qq": fitQq, arrivals, "prefix-hits": prefixHits,
  "price-history": priceHistory, background, tcp: tcpChart,
};
const section = document.querySelector("[data-entry-charts]");
const { chartsUrl, fitsUrl } = section.dataset;
const mounted = [...section.querySelectorAll("[data-chart]")].map(({ dataset: { chart } }) => mount(chart, CHARTS[chart]));

const show = (charts) => Promise.all(mounted.map((chart) => chart.show(charts)));

function fail(error) {
  const place = section.querySelector("[data-charts-error]");
  place.textContent = `The charts could not be had: ${error.message} Reload to try again.`;
  place.hidden = false;
  if (!(error instanceof Refused)) reportError(error);
}

try {
  const charts = await get(chartsUrl);
  await show(charts);
  if (fitsUrl && charts.is_recorded) {
    const { fits } = await get(fitsUrl);
    const choose = (fit) => show({ ...charts, fits, fit });
    showFits(section.querySelector("[data-fits]"), fits, choose);
    await choose(fits[0]);
  }
  section.dataset.shown = "";
} catch (error) {
  fail(error);
}
