"""manage.py catalogue export|import|seed: the stored catalogue as one document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from planner import exchange, seeding, store
from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.management.documents import BAD_INPUT


class Command(BaseCommand):
    """Writes the catalogue out, reads one in (all or nothing), or puts what is shipped into it."""

    help = "Export, import or seed the stored catalogue."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="export|import|seed")
        export = actions.add_parser("export", help="write every entry as YAML (or JSON)")
        export.add_argument("--kind", choices=store.ALL_KINDS, action="append", help="only these; may be repeated")
        export.add_argument("--json", action="store_true", help="write JSON instead of YAML")
        actions.add_parser("import", help="store every entry of a file, or none").add_argument("file", type=Path)
        seed = actions.add_parser("seed", help="store what the product ships with and what is not there yet")
        seed.add_argument("--deleted", action="store_true", help="bring back what was deleted, too")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._act(options)
        except DatabaseError as problem:
            raise CommandError(f"The database is not ready ({problem}); run manage.py migrate first") from problem

    def _act(self, options: dict[str, Any]) -> None:
        match options["action"]:
            case "export":
                document = exchange.whole(tuple(options["kind"] or store.ALL_KINDS))
                self.stdout.write(files.as_json(document) if options["json"] else files.as_yaml(document).rstrip("\n"))
            case "import":
                taken = self._read(options["file"])
                self.stdout.write(f"{_entries(len(taken.put))} stored or found equal")
                for note in taken.notes:
                    self.stdout.write(note)
            case _:
                self.stdout.write(f"{_entries(seeding.seed(deleted=options['deleted']))} stored or brought up to date")

    def _read(self, path: Path) -> exchange.Taken:
        try:
            return exchange.read_whole(files.read(path))
        except (DocumentError, files.Unreadable) as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"
