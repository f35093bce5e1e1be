"""manage.py simulate NAME|FILE: what queues, bursts and the link do to TTFT, by simulation."""

from __future__ import annotations

import sys
import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from planner import store
from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.management import simulating, simulation_options, simulation_report
from planner.management.documents import BAD_INPUT, ScenarioCommand
from planner.simulating import document, result


class Command(ScenarioCommand):
    """Runs the replications one after another, in this process."""

    help = "Simulate a scenario, request by request."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        simulation_options.add_options(parser)
        parser.add_argument("--json", action="store_true", help="print the result document, SI units")

    def handle(self, *args: Any, **options: Any) -> None:
        given = simulation_options.simulation(options, self.scenario(options).document())
        try:
            asked = document.parse(given, store.StoredOrShipped())
        except DocumentError as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem
        found = simulated(asked)
        self.stdout.write(files.as_json(found) if options["json"] else simulation_report.lines(found, asked))


def simulated(asked: document.Asked) -> dict[str, Any]:
    """The result document, with the speed at which it was simulated; compiling is not counted."""
    requests = asked.run.requests * asked.run.replications
    progress = simulating.Progress(sys.stderr, requests)
    simulating.make_ready(asked, progress)
    began = time.perf_counter()
    runs = simulating.replications(asked, progress)
    seconds = time.perf_counter() - began
    progress.over()
    return {**result.document(asked, runs), "requests_per_wall_second": requests / seconds}
