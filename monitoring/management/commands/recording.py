"""manage.py recording FILE SCENARIO: what a recording makes of a scenario, as documents for `simulate` and REST."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from monitoring import recording
from planner.simulating.replayed import DocumentError, scenario_document

BAD_INPUT = 2
PARTS = {"simulation": "all of it, for POST /api/v1/simulations/", "scenario": "its scenario alone"}


class Command(BaseCommand):
    """Writes JSON to stdout, and what was assumed to stderr."""

    help = "The simulation that a recording makes of a scenario: recorded load, lengths, link, t and instances."
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own declaration

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="a recording, from GET /api/v1/live/recording/")
        parser.add_argument("scenario", metavar="NAME|FILE", help="the deployment that is simulated")
        parser.add_argument(
            "--part", choices=list(PARTS), default="simulation", help="; ".join(f"{k}: {v}" for k, v in PARTS.items())
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = recording.simulation(recording.read(options["file"]), scenario_document(options["scenario"]))
        except (DocumentError, recording.RecordingError) as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem
        for note in found.notes:
            self.stderr.write(note)
        document = found.document if options["part"] == "simulation" else found.document["scenario"]
        self.stdout.write(json.dumps(document))
