"""manage.py simulate NAME|FILE: what queues, bursts and the link do to TTFT, by simulation."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from planner import store
from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.engine.simulation.work import replicated
from planner.management import simulation_report
from planner.management.documents import BAD_INPUT, ScenarioCommand
from planner.simulating import document, result

FIELDS = (
    "requests",
    "load",
    "rate_rps",
    "policy",
    "order",
    "chunks",
    "replications",
    "seed",
    "warm_up",
    "connection_bps",
    "ttft_within_s",
)


class Command(ScenarioCommand):
    """Runs the replications one after another, in this process."""

    help = "Simulate a scenario, request by request."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--requests", type=int, default=100_000, help="of each replication")
        parser.add_argument("--load", type=float, help="share of Λ_max; 0.85 unless --rate is given")
        parser.add_argument("--rate", dest="rate_rps", type=float, metavar="RPS", help="requests a second instead")
        parser.add_argument("--policy", default="as_given", help="as_given, all_local, all_remote or bandwidth_aware")
        parser.add_argument("--order", default="fcfs", help="fcfs or shortest")
        parser.add_argument("--chunks", type=int, default=16, help="in which a KVCache is sent; 1: after prefill")
        parser.add_argument(
            "--connection", dest="connection_bps", type=float, metavar="BPS", help="the most that one transfer gets"
        )
        parser.add_argument(
            "--brown-out",
            dest="brown_out",
            type=float,
            nargs=3,
            metavar=("BEGIN_S", "END_S", "BPS"),
            help="between these seconds the link carries no more than this",
        )
        parser.add_argument("--replications", type=int, default=5)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--warm-up", dest="warm_up", type=float, default=0.05, help="share that is not counted")
        parser.add_argument(
            "--within", dest="ttft_within_s", type=float, metavar="S", help="promise on TTFT: who keeps it is counted"
        )
        parser.add_argument("--json", action="store_true", help="print the result document, SI units")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            asked = document.parse(self._run(options), store.StoredOrShipped())
        except DocumentError as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem
        found = simulated(asked)
        self.stdout.write(files.as_json(found) if options["json"] else simulation_report.lines(found))

    def _run(self, options: dict[str, Any]) -> dict[str, Any]:
        given = {field: options[field] for field in FIELDS if options[field] is not None}
        if "load" not in given and "rate_rps" not in given:
            given["load"] = 0.85
        if options["brown_out"]:
            given["brown_out"] = dict(zip(("begin_s", "end_s", "bps"), options["brown_out"], strict=True))
        return given | {"scenario": self.scenario(options).document()}


def simulated(asked: document.Asked) -> dict[str, Any]:
    """The result document, with the speed at which it was simulated; compiling is not counted."""
    replicated(document.warm_up(asked), _unheard)
    began = time.perf_counter()
    runs = [replicated(document.part(asked, index), _unheard) for index in range(asked.run.replications)]
    seconds = time.perf_counter() - began
    requests = asked.run.requests * asked.run.replications
    return {**result.document(asked, runs), "requests_per_wall_second": requests / seconds}


def _unheard(done: int, total: int, message: str) -> None: ...
