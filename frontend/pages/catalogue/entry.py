"""One entry: every field with its source, what it names and what names it, and what its kind has to show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import TemplateDoesNotExist
from django.template.loader import get_template
from django.views.decorators.http import require_safe

from frontend import words
from frontend.catalogue import details, kinds, kv_sizes, offers, profile_points, traffic_numbers
from frontend.pages.catalogue.found import document_file, entry_or_404
from planner import store
from planner.catalog import files
from planner.documents.brief import with_short_lists
from planner.entries import KINDS
from planner.entries.measurement import Run
from planner.models import Entry


@require_safe
def entry(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    """The page of an entry."""
    found = entry_or_404(kind, name)
    document = store.written(found)
    shown = with_short_lists(document)
    more = MORE.get(kind)
    context = {
        "kind": kind,
        "words": kinds.WORDS[kind],
        "entry": found,
        "last": found.revisions.select_related("by").first(),
        "notes": document.get("notes", ""),
        "sections": details.sections(kind, document),
        "sources": details.sources(document),
        "users": details.users(store.users(found)),
        "yaml": files.as_yaml(shown),
        "json": files.as_json(shown),
        "is_cut": shown != document,
        "charts_template": _charts(kind),
        "provenance_kinds": words.PROVENANCE,
        "more_template": f"catalogue/of_{kind}.html" if more else "",
        **(more(found) if more else {}),
    }
    return render(request, "catalogue/entry.html", context)


@require_safe
def entry_file(request: HttpRequest, kind: str, name: str, ending: str) -> HttpResponse:
    """An entry's document as a file."""
    found = entry_or_404(kind, name)
    return document_file(store.written(found), found.name, ending)


def _charts(kind: str) -> str:
    """The template of a kind's charts; a kind need not have any."""
    template = f"parts/charts_{kind}.html"
    try:
        get_template(template)
    except TemplateDoesNotExist:
        return ""
    return template


MOST_RUNS = 500
"""Of a measurement, as its page lists them; the comparison has all of them."""
PROFILE_NAMES = KINDS["profiles"].references


def _of_profile(found: Entry) -> dict[str, Any]:
    model, hardware = (store.named(kind, found.document[field]) for field, kind in PROFILE_NAMES.items())
    return {"numbers": profile_points.numbers(found, model, hardware)}


def _runs(found: Entry) -> list[dict[str, Any]]:
    """Runs with every field, None where it says nothing."""
    return [{**dict.fromkeys(Run.model_fields), **run} for run in found.document["rows"][:MOST_RUNS]]


MORE: Mapping[str, Callable[[Entry], dict[str, Any]]] = {
    "models": lambda found: {"sizes": kv_sizes.sizes(found)},
    "profiles": _of_profile,
    "traffic": lambda found: {"rows": traffic_numbers.rows(found)},
    "prices": lambda found: {"offers": offers.offers(found)},
    "measurements": lambda found: {"runs": _runs(found)},
}
"""What a kind's own template shows."""
