"""What every page of an entry begins with, and how entries leave as files."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpResponse

from frontend.catalogue.kinds import require
from planner.catalog import files
from planner.models import Entry

WRITERS = {"yaml": (files.as_yaml, "application/yaml"), "json": (files.as_json, "application/json")}
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def entry_or_404(kind: str, name: str) -> Entry:
    """The entry of a kind of the catalogue. Raises Http404."""
    require(kind)
    found = Entry.objects.filter(kind=kind, name=name).first()
    if found is None:
        raise Http404(f"There is no {kind}/{name}.")
    return found


def document_file(document: Any, name: str, ending: str) -> HttpResponse:
    """A document as a YAML or JSON file to keep."""
    write, content_type = WRITERS[ending]
    return _attached(HttpResponse(write(document), content_type=f"{content_type}; charset=utf-8"), f"{name}.{ending}")


def csv_file(rows: Iterable[Iterable[Any]], name: str) -> HttpResponse:
    """Rows as a CSV file to keep."""
    response = _attached(HttpResponse(content_type="text/csv; charset=utf-8"), f"{name}.csv")
    csv.writer(response).writerows([_harmless(value) for value in row] for row in rows)
    return response


def _harmless(value: Any) -> Any:
    """A spreadsheet takes text that starts like a formula for one."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def _attached(response: HttpResponse, name: str) -> HttpResponse:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
