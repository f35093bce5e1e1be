// The report: its charts, and the browser's print.
import { analyses } from "./analyses.js";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const print = document.querySelector("[data-print]");

const charts = analyses(document.querySelector("[data-analyses]"));

print.addEventListener("click", () => window.print());
charts.show(read("compare-spec"), read("compare-names"));
// Paper shows all of it: it can be printed when all of it is there.
await charts.askAll();
// As in another theme every chart is drawn anew, also those that nobody has scrolled to.
document.dispatchEvent(new Event("themechange"));
print.hidden = false;
