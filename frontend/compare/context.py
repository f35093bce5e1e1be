"""What the pages of one comparison are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import get_script_prefix

from frontend import bill as bills
from frontend import whatif, words
from frontend.compare import prices, published, rows
from frontend.compare.address import UNSAVED, asked, shown
from frontend.compare.simulating import Asks
from planner import store
from planner.comparing import simulated
from planner.comparing.ends import differences
from planner.comparing.reading import Shown, read
from planner.comparing.table import table
from planner.models import Entry
from planner.procurement.bill import Power, bill
from planner.scenario import Scenario

SCALES = {
    "as_given": ("as they are", "Every deployment as large as its scenario says"),
    "cost": ("equal cost", "Every deployment as large as the baseline's cost an hour pays for"),
    "power": ("equal power", "Every deployment as large as the baseline's power allows"),
    "gpus": ("equal GPUs", "Every deployment with as many GPUs as the baseline has, or fewer"),
}
SHOWS = {"values": "values", "changes": "changes to the baseline"}


@dataclass(frozen=True)
class View:
    """One comparison at one address: what it was asked for, what is shown, and its table."""

    name: str
    query: QueryDict
    shown: Shown
    simulation: simulated.Simulation | None
    result: dict[str, Any]
    entry: Entry | None = field(default=None)

    @property
    def title(self) -> str:
        """Of the comparison."""
        return self.shown.given.comparison.title or (self.entry.name if self.entry else "Comparison")

    def fragment(self) -> dict[str, Any]:
        """What changes with every change of the view."""
        return {
            "name": self.name,
            "query": self.query.urlencode(),
            "table": rows.table(self.result),
            "show": self.query.get("show", "values"),
            "simulation": self.simulation,
            "running": simulated.running(self.shown.asked),
            "spec": asked(self.name, self.query),
            "asks": Asks(),
            "published": published.of(self.shown),
            "prices": prices.fields(self.shown.given),
            "bills": [(title, self._bill(each)) for title, each in self._deployments()],
            "names": list(self._names()),
        }  # fmt: skip

    def page(self) -> dict[str, Any]:
        """All of the page."""
        given = self.shown.given
        fragment = self.fragment()
        running = fragment["running"]
        stored = read({**fragment["spec"], "set": {}, "scale": "as_given"}).given
        return fragment | {
            "view": self,
            "socket": f"{get_script_prefix()}ws/jobs/{running.pk}/" if running else "",
            "entry": self.entry,
            "comparison": given.comparison,
            "forms": words.FORMS,
            "scales": SCALES,
            "shows": SHOWS,
            "kinds": words.PROVENANCE,
            "whatif": {"scenarios": [whatif.choices(each) for each in stored.scenarios]},
        }

    def _names(self) -> Iterator[dict[str, Any]]:
        """The deployments, and whether they serve what the baseline does, without which no gain can be attributed."""
        asked = self.shown.asked
        baseline = asked.scenarios[asked.baseline]
        for title, each in zip(self.shown.given.titles, asked.scenarios, strict=True):
            yield {"name": each.name, "title": title, "comparable": not any(differences(baseline, each))}

    def _deployments(self) -> Iterator[tuple[str, Scenario]]:
        """As they are shown, by title."""
        yield from zip(self.shown.given.titles, self.shown.asked.scenarios, strict=True)

    def _bill(self, deployed: Scenario) -> bills.Bill:
        """With the prices of the comparison, which its scenarios have."""
        power, form = self.shown.asked.comparison.power, self.shown.asked.comparison.form
        paid = Power(power.usd_per_kwh, power.pue) if power else None
        return bills.table(bill(deployed, store.STORED, power=paid, form=form))


def view(name: str, query: QueryDict) -> View:
    """The comparison of an address. Raises DocumentError."""
    found = shown(name, query)
    simulation = simulated.newest(found.asked)
    entry = None if name == UNSAVED else store.named(store.COMPARISONS, name)
    return View(name, query, found, simulation, table(found, simulation), entry)


def offered() -> QuerySet[Entry]:
    """The comparisons that are stored, the newest first."""
    return store.entries(store.COMPARISONS).order_by("-updated_at", "name")
