// A front on its job's page: as far as it is computed while it runs, then with a point to choose.
import { get } from "./api.js";
import { mount } from "./charts/base.js";
import { front } from "./charts/front.js";
import { PartEnds } from "./part-ends.js";

// The points of the parts that have ended.
export function frontSoFar(place) {
  const chart = mount("front", front);
  return new PartEnds(async () => {
    const shown = await get(place.dataset.soFar).catch(() => null); // the next part's end asks again
    if (shown) chart.show(shown);
  });
}

// A point is chosen in the chart or in the table; its details are the server's, put in the place of those before.
export function showFront(shown) {
  const place = () => document.querySelector("[data-point]");
  const links = [...document.querySelectorAll('[data-table="points"] a')];
  let latest = 0;

  async function choose(at, focus) {
    const address = `?point=${at}`;
    const turn = (latest += 1);
    const response = await fetch(address).catch(() => null);
    if (turn !== latest) return;
    const page = response?.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
    const fresh = page?.querySelector("[data-point]");
    if (!fresh) return location.assign(address);
    place().replaceWith(document.adoptNode(fresh));
    history.replaceState(null, "", address);
    mark(at);
    if (focus) document.getElementById("point-title").focus();
  }

  function mark(at) {
    for (const link of links) {
      const row = link.closest("tr");
      const isChosen = Number(row.dataset.at) === at;
      row.classList.toggle("own", isChosen);
      if (isChosen) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    chart.show({ ...shown, at });
  }

  const chart = mount("front", front, ({ customdata }) => {
    if (customdata != null) choose(Number(customdata), false);
  });
  for (const link of links) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      choose(Number(link.closest("tr").dataset.at), true);
    });
  }
  mark(place().dataset.point === "" ? null : Number(place().dataset.point));
}
