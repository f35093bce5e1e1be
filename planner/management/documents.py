"""What the commands on scenarios share: their arguments, and one clear line on bad input."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from planner import store
from planner.catalog import files
from planner.engine.throughput import Form
from planner.scenario import SHIPPED, DocumentError, Scenario, load, parse

BAD_INPUT = 2


class ScenarioCommand(BaseCommand):
    """A command on one scenario, by name or file, with fields overridden by --set."""

    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own declaration

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("scenario", metavar="NAME|FILE", help="a scenario that is shipped or stored, or its file")
        parser.add_argument(
            "--set", dest="overrides", action="append", default=[], metavar="PATH=VALUE", help="override one field"
        )

    def scenario(self, options: dict[str, Any]) -> Scenario:
        """The scenario that the arguments name. Raises CommandError with exit status 2."""
        try:
            return _named(options["scenario"], overrides(options["overrides"]))
        except DocumentError as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem


def _named(name_or_path: str, changes: dict[str, Any]) -> Scenario:
    """A shipped scenario, which nobody can change, a file, or else a stored one. Raises DocumentError."""
    is_elsewhere = name_or_path in SHIPPED or os.path.isfile(name_or_path)
    stored = None if is_elsewhere else store.kept(store.SCENARIOS, name_or_path)
    if stored is None:
        return load(name_or_path, changes, store.StoredOrShipped())
    return parse(stored.document, changes, store.STORED)


class ResultCommand(ScenarioCommand):
    """A command that prints a result document, for people or as JSON."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--form", choices=[form.value for form in Form], default=Form.EXACT.value)
        parser.add_argument("--json", action="store_true", help="print the result document, SI units")

    def show(self, result: dict[str, Any], as_json: bool, for_people: Callable[[dict[str, Any]], str]) -> None:
        """Prints the result."""
        self.stdout.write(files.as_json(result) if as_json else for_people(result))


def overrides(pairs: list[str]) -> dict[str, Any]:
    """PATH=VALUE arguments as a table; VALUE is YAML. Raises CommandError with exit status 2."""
    values = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals or not path:
            raise CommandError(f"--set {pair}: must be PATH=VALUE", returncode=BAD_INPUT)
        try:
            values[path.strip()] = files.parse(text)
        except files.Unreadable as problem:
            raise CommandError(f"--set {pair}: {problem}", returncode=BAD_INPUT) from problem
    return values
