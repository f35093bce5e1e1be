"""manage.py optimize NAME|FILE: the threshold and the split that carry the most."""

from __future__ import annotations

from typing import Any

from planner import evaluation
from planner.management import report
from planner.management.documents import ResultCommand


class Command(ResultCommand):
    """Varies only what the scenario lists as free."""

    help = "Find the best threshold and split of a scenario, within what its `free` lists."

    def handle(self, *args: Any, **options: Any) -> None:
        result = evaluation.optimize(self.scenario(options), options["form"])
        self.show(result, options["json"], _for_people)


def _for_people(result: dict[str, Any]) -> str:
    given = result["given"]["lambda_max_rps"]
    gain = f", {result['lambda_max_rps'] / given - 1:+.2%}" if given > 0 else ""
    found = ", ".join(result["varied"]) or "nothing: `free` is empty"
    return f"{report.lines(result)}\n  varied             {found}\n  as given           Λ_max {given:.3f} req/s{gain}"
