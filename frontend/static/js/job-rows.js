// Rows of jobs that have not ended are kept up to date by asking for the list.
import { get } from "./api.js";
import { tokens as whole } from "./format.js";

const EVERY_MS = 2000;
const table = document.querySelector("[data-jobs]");
const active = () => [...(table?.querySelectorAll('tr[data-state="queued"], tr[data-state="running"]') ?? [])];

function show(row, job) {
  row.dataset.state = job.state;
  const state = row.querySelector("[data-state-text]");
  state.className = `state state-${job.state}`;
  state.textContent = job.state;
  const bar = row.querySelector("progress");
  bar.max = job.total || 1;
  bar.value = job.done;
  row.querySelector("[data-count]").textContent = job.total ? `${whole(job.done)} / ${whole(job.total)}` : "–";
}

async function look() {
  try {
    const { results } = await get(table.dataset.jobs);
    for (const job of results) {
      const row = table.querySelector(`[data-job="${job.id}"]`);
      if (row) show(row, job);
    }
  } catch {
    // The next look may succeed; what is shown stays.
  }
  if (active().length) setTimeout(look, EVERY_MS);
}

if (active().length) setTimeout(look, EVERY_MS);
