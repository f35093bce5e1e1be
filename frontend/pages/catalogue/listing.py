"""The entries of a kind: searched, narrowed, sorted, a page at a time; all of it in the address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend import words as wording
from frontend.catalogue import columns, kinds
from frontend.catalogue.columns import COLUMNS, Column
from frontend.pages.catalogue.found import csv_file
from planner.api.catalogue import AS_OF, VIEW_SETS, narrowed
from planner.documents.errors import DocumentError
from planner.entries import KINDS
from planner.models import Deleted, Entry

PER_PAGE = 25
NAME = "name"
ARCHIVED = (("no", "hidden"), ("yes", "only these"), ("all", "shown too"))


@dataclass(frozen=True, slots=True)
class Header:
    """A column's head: where its link leads, and how the list is sorted by it now."""

    column: Column
    address: str
    sorted: str


@require_safe
def entries(request: HttpRequest, kind: str) -> HttpResponse:
    """One page of the list."""
    words = kinds.require(kind)
    asked = _asked(request)
    found, problem = _found(kind, asked)
    page = Paginator(found, PER_PAGE).get_page(asked.get("page"))
    rows = list(page.object_list)
    others = columns.related(kind, rows)
    context = {
        "kind": kind,
        "words": words,
        "problem": problem,
        "page": page,
        "rows": [(entry, columns.cells(kind, entry, others)) for entry in rows],
        "headers": [_header(column, asked) for column in COLUMNS[kind]],
        "name_header": _header(Column(NAME, words.one.capitalize(), lambda entry, related: None, order=NAME), asked),
        "filters": _filters(kind, asked),
        "deleted": list(Deleted.objects.filter(kind=kind).order_by("name").values_list("name", flat=True)),
        "asked": asked,
        "is_narrowed": any(key not in ("ordering", "page") for key in asked),
        "without_page": _address(asked, page=None),
        "archived": asked.get("archived", "no"),
        "archived_choices": ARCHIVED,
        "origins": list(Entry.Origin.values),
        "provenance_kinds": wording.PROVENANCE,
    }
    return render(request, "catalogue/list.html", context, status=400 if problem else 200)


@require_safe
def entries_csv(request: HttpRequest, kind: str) -> HttpResponse:
    """The whole list as it is narrowed and sorted, in SI units, the kind of evidence beside each figure."""
    kinds.require(kind)
    found, problem = _found(kind, _asked(request))
    if problem:
        return HttpResponse(problem, status=400, content_type="text/plain; charset=utf-8")
    return csv_file(_lines(kind, list(found)), kind)


def _lines(kind: str, rows: list[Entry]) -> Iterator[list[Any]]:
    others = columns.related(kind, rows)
    shown = COLUMNS[kind]
    marked = [column for column in shown if column.rests_on]
    yield ["name", "title", *(column.key for column in shown), *(f"{column.key}.provenance" for column in marked)]
    for entry in rows:
        values = [column.read(entry, others) for column in shown]
        origins = [column.cell(entry, others).origin for column in marked]
        yield [entry.name, entry.title, *values, *(origin.kind if origin else "" for origin in origins)]


def _asked(request: HttpRequest) -> dict[str, str]:
    """The query without fields that a form sends empty."""
    return {key: value for key, value in request.GET.items() if value and isinstance(value, str)}


def _found(kind: str, asked: dict[str, str]) -> tuple[QuerySet[Entry], str]:
    """The entries that are asked for, or none and why the question cannot be answered."""
    every = Entry.objects.filter(kind=kind)
    try:
        return narrowed(every, asked, VIEW_SETS[kind].filters), ""
    except DocumentError as problem:
        return every.none(), str(problem)


def _header(column: Column, asked: dict[str, str]) -> Header:
    now = asked.get("ordering", NAME)
    turned = f"-{column.order}"
    # Figures are most often wanted largest first, words from A.
    first, second = (column.order, turned) if column.is_text or column.order == NAME else (turned, column.order)
    direction = {column.order: "ascending", turned: "descending"}.get(now, "") if column.order else ""
    following = second if now == first else first
    return Header(column, _address(asked, ordering=following, page=None) if column.order else "", direction)


def _address(asked: dict[str, str], **changes: str | None) -> str:
    query = QueryDict(mutable=True)
    for key, value in (asked | changes).items():
        if value:
            query[key] = value
    return f"?{query.urlencode()}" if query else "?"


def _filters(kind: str, asked: dict[str, str]) -> list[dict[str, Any]]:
    """The fields that the list can be narrowed by, each with the values that there are: one query."""
    fields = [field for field in VIEW_SETS[kind].filters if field != AS_OF]
    if not fields:
        return []
    there = list(Entry.objects.filter(kind=kind).values_list(*(f"document__{field}" for field in fields)))
    return [
        {
            "name": field,
            "label": kinds.label(field),
            "values": sorted({str(row[at]) for row in there if row[at] not in (None, "")} | _meant(kind, field)),
            "chosen": asked.get(field, ""),
        }
        for at, field in enumerate(fields)
    ]


def _meant(kind: str, field: str) -> set[str]:
    """What entries mean that say nothing, where that is something."""
    default = KINDS[kind].schema.model_fields[field].default
    return {default} if isinstance(default, str) and default else set()
