"""manage.py export NAME|FILE: the complete document, references resolved."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from planner.catalog import files
from planner.management.documents import ScenarioCommand


class Command(ScenarioCommand):
    """Writes what `evaluate`, `optimize` and the API read back as the same scenario."""

    help = "Write a scenario as one complete YAML (or JSON) document."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="write JSON instead of YAML")

    def handle(self, *args: Any, **options: Any) -> None:
        document = self.scenario(options).document()
        self.stdout.write(files.as_json(document) if options["json"] else files.as_yaml(document).rstrip("\n"))
