"""manage.py inspect model|trace|profile FILE: what an import would store, without storing it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.importers import models, profiles, traces
from planner.importers.base import Choices
from planner.management.documents import BAD_INPUT
from planner.management.inspection import lines

INSPECTORS: dict[str, Callable[[Path, Choices], dict[str, Any]]] = {
    "model": models.inspect,
    "trace": traces.inspect,
    "profile": profiles.inspect,
}


class Command(BaseCommand):
    """Prints what the file holds, how it was mapped, and what had to be assumed."""

    help = "Print what an import of a file would store."
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own declaration

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=INSPECTORS, help="a Hugging Face config, a request log, or a benchmark")
        parser.add_argument("file", type=Path)
        parser.add_argument("--json", action="store_true", help="print one JSON document, SI units")
        parser.add_argument(
            "--set", dest="choices", action="append", default=[], metavar="FIELD=VALUE", help="answer one assumption"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = INSPECTORS[options["kind"]](options["file"], choices(options["choices"]))
        except DocumentError as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem
        self.stdout.write(files.as_json(found) if options["json"] else "\n".join(lines(found)))


def choices(pairs: list[str]) -> dict[str, str]:
    """FIELD=VALUE arguments as a table. Raises CommandError with exit status 2."""
    found = {}
    for pair in pairs:
        field, equals, value = pair.partition("=")
        if not equals or not field.strip():
            raise CommandError(f"--set {pair}: must be FIELD=VALUE", returncode=BAD_INPUT)
        found[field.strip()] = value.strip()
    return found
