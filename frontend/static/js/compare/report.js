// The report: its charts, and the browser's print.
import { analyses } from "./analyses.js";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const print = document.querySelector("[data-print]");

print.hidden = false;
print.addEventListener("click", () => window.print());
analyses(document.querySelector("[data-analyses]")).show(read("compare-spec"), read("compare-names"));
