"""manage.py optimize NAME|FILE: the best threshold and split of a fleet, or what to buy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from planner import evaluation, store
from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.engine import fleet
from planner.fleet import document as fleets
from planner.fleet import result as fleet_result
from planner.management import procurement_report, report
from planner.management.documents import BAD_INPUT, ResultCommand
from planner.procurement import document, questions

FLEET = "fleet"
PROBLEMS = (FLEET, "equal_cost", "least_cost", "break_even", "front", "clusters")


class Command(ResultCommand):
    """The fleet problem varies only what the scenario lists as free; the others buy."""

    help = "Find the best threshold and split of a scenario, or the best deployment for a budget or for a rate."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--problem", choices=PROBLEMS, default=FLEET, help="fleet: t and N_p/N_d of what is there")
        parser.add_argument(
            "--question", metavar="FILE", help="YAML or JSON: prices, prfaas, pd, links, reserve, baseline and so on"
        )
        parser.add_argument(
            "--price", action="append", default=[], metavar="HARDWARE=USD|OFFER",
            help="USD a GPU-hour, or the name of a stored offer",
        )  # fmt: skip
        parser.add_argument("--budget", type=float, metavar="USD", help="USD an hour; else what the scenario costs")
        parser.add_argument("--rate", type=float, metavar="RPS", help="requests a second that have to be carried")
        parser.add_argument("--ttft", metavar="P90=SECONDS", help="promise of least_cost on TTFT under load")
        parser.add_argument("--vary", metavar="PARAMETER:LOWEST:HIGHEST", help="of break_even, as price_ratio:1:5")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["problem"] == FLEET:
            result = evaluation.optimize(self.scenario(options), options["form"])
            self.show(result, options["json"], _for_people)
            return
        try:
            result = self._clusters(options) if options["problem"] == "clusters" else self._answer(options)
        except DocumentError as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem
        self.show(result, options["json"], procurement_report.lines)

    def _answer(self, options: dict[str, Any]) -> dict[str, Any]:
        asked = document.parse(self._question(options), store.StoredOrShipped())
        return questions.answer_all(asked)

    def _clusters(self, options: dict[str, Any]) -> dict[str, Any]:
        """The fleet of --question, in which the scenario that the command names may be called `given`."""
        given = dict(_file(options["question"])) if options["question"] else {}
        named = self.scenario(options)
        clusters = given.get("pd")
        for pd in clusters if isinstance(clusters, list) else ():
            if isinstance(pd, dict) and isinstance(pd.get("scenario", ""), str):
                name = pd.get("scenario", "given")
                pd["scenario"] = (named if name == "given" else self.scenario(options | {"scenario": name})).document()
        found = fleets.parse(given | {"problem": "clusters"}, store.StoredOrShipped())
        return fleet_result.document(found, fleet.best(fleets.build(found)))

    def _question(self, options: dict[str, Any]) -> dict[str, Any]:
        """The question of the arguments, over that of a file."""
        given = dict(_file(options["question"])) if options["question"] else {}
        given |= {
            "problem": options["problem"],
            "form": options["form"],
            "scenario": self.scenario(options).document(),
        }
        if options["price"]:
            given["prices"] = [_price(text) for text in options["price"]]
        if options["ttft"]:
            given["promise"] = _promise(options["ttft"])
        if options["vary"]:
            given["vary"] = _vary(options["vary"])
        numbers = {"budget_usd_per_h": options["budget"], "rate_rps": options["rate"]}
        return given | {field: value for field, value in numbers.items() if value is not None}


def _file(name: str) -> dict[str, Any]:
    try:
        return files.read(Path(name))
    except files.Unreadable as problem:
        raise CommandError(f"--question {name}: {problem}", returncode=BAD_INPUT) from problem


def _price(text: str) -> dict[str, Any]:
    hardware, equals, price = text.partition("=")
    if not equals or not hardware or not price:
        raise CommandError(f"--price {text}: must be HARDWARE=USD or HARDWARE=OFFER", returncode=BAD_INPUT)
    try:
        return {"name": hardware, "usd_per_gpu_hour": float(price)}
    except ValueError:
        return {"name": hardware, "offer": price}


def _promise(text: str) -> dict[str, Any]:
    percentile, _, seconds = text.partition("=")
    try:
        return {"percentile": int(percentile.upper().removeprefix("P")), "ttft_s": float(seconds)}
    except ValueError as problem:
        raise CommandError(f"--ttft {text}: must be P50, P90 or P99=SECONDS", returncode=BAD_INPUT) from problem


def _vary(text: str) -> dict[str, Any]:
    try:
        parameter, lowest, highest = text.split(":")
        return {"parameter": parameter, "lowest": float(lowest), "highest": float(highest)}
    except ValueError as problem:
        raise CommandError(f"--vary {text}: must be PARAMETER:LOWEST:HIGHEST", returncode=BAD_INPUT) from problem


def _for_people(result: dict[str, Any]) -> str:
    given = result["given"]["lambda_max_rps"]
    gain = f", {result['lambda_max_rps'] / given - 1:+.2%}" if given > 0 else ""
    found = ", ".join(result["varied"]) or "nothing: `free` is empty"
    return f"{report.lines(result)}\n  varied             {found}\n  as given           Λ_max {given:.3f} req/s{gain}"
