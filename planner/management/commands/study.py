"""manage.py study NAME|FILE --vary ... | --ablate: a simulation over and over with something changed, by the same
requests."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from planner import store
from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.management import simulating, simulation_options, study_report
from planner.management.documents import BAD_INPUT, ScenarioCommand
from planner.simulating.studies import document, result
from planner.simulating.studies.features import FEATURES
from planner.simulating.studies.quantities import QUANTITIES


class Command(ScenarioCommand):
    """Runs the variants one after another, in this process."""

    help = "Sweep or ablate a simulation: several variants of it that meet the same requests."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--vary",
            metavar="QUANTITY",
            help=f"{', '.join(QUANTITIES)}, or the path of a field: scenario.decode.step_s",
        )
        what.add_argument(
            "--ablate",
            nargs="*",
            metavar="FEATURE",
            help=f"each off by itself: {', '.join(FEATURES)}; none: all that are on",
        )
        parser.add_argument("--values", nargs="+", metavar="VALUE", help="of --vary, in SI units")
        parser.add_argument(
            "--range", nargs=3, metavar=("LOWEST", "HIGHEST", "POINTS"), help="of --vary, in the place of --values"
        )
        simulation_options.add_options(parser)
        parser.add_argument("--json", action="store_true", help="print the result document, SI units")

    def handle(self, *args: Any, **options: Any) -> None:
        given = _study(options) | {
            "simulation": simulation_options.simulation(options, self.scenario(options).document())
        }
        try:
            asked = document.parse(given, store.StoredOrShipped())
        except DocumentError as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem
        run = asked.base.run
        progress = simulating.Progress(sys.stderr, len(asked.variants) * run.replications * run.requests)
        simulating.make_ready(asked.base, progress)
        runs = [simulating.replications(document.simulation(asked, variant), progress) for variant in asked.variants]
        progress.over()
        found = result.document(asked, runs)
        self.stdout.write(files.as_json(found) if options["json"] else study_report.lines(found, asked))


def _study(options: dict[str, Any]) -> dict[str, Any]:
    """The study of the arguments, without its simulation. Raises CommandError with exit status 2."""
    given = {"values": options["values"] and [_value(text) for text in options["values"]], "range": _range(options)}
    if options["vary"] is None:
        given |= {"kind": "ablation", "features": options["ablate"] or None}
    else:
        given |= {"kind": "sweep", "vary": options["vary"]}
    return {field: value for field, value in given.items() if value is not None}


def _range(options: dict[str, Any]) -> dict[str, Any] | None:
    if options["range"] is None:
        return None
    lowest, highest, points = (_value(text) for text in options["range"])
    return {"lowest": lowest, "highest": highest, "points": points}


def _value(text: str) -> Any:
    """A number or a word. Raises CommandError."""
    try:
        return files.parse(text)
    except files.Unreadable as problem:
        raise CommandError(f"{text}: {problem}", returncode=BAD_INPUT) from problem
