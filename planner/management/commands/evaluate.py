"""manage.py evaluate NAME|FILE: what a scenario carries at the values that it holds."""

from __future__ import annotations

from typing import Any

from planner import evaluation
from planner.management import report
from planner.management.documents import ResultCommand


class Command(ResultCommand):
    """Prints Λ_max, binding stages, egress and unloaded TTFT."""

    help = "Evaluate a scenario at the values that it holds."

    def handle(self, *args: Any, **options: Any) -> None:
        result = evaluation.evaluate(self.scenario(options), options["form"])
        self.show(result, options["json"], report.lines)
