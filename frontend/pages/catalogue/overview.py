"""What the catalogue holds, kind by kind."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.catalogue.kinds import WORDS
from frontend.pages.catalogue.found import document_file
from planner import exchange
from planner.models import Entry


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """The kinds with their counts."""
    counted = Entry.objects.filter(kind__in=WORDS).values("kind", "archived").annotate(entries=Count("pk")).order_by()
    counts = {(row["kind"], row["archived"]): row["entries"] for row in counted}
    kinds: list[dict[str, Any]] = [
        {
            "kind": kind,
            "words": words,
            "count": counts.get((kind, False), 0),
            "archived": counts.get((kind, True), 0),
        }
        for kind, words in WORDS.items()
    ]
    return render(request, "catalogue/overview.html", {"kinds": kinds, "is_empty": not counts})


@require_safe
def whole(request: HttpRequest, ending: str) -> HttpResponse:
    """Everything that is offered, scenarios included, as one file."""
    return document_file(exchange.whole(), "catalogue", ending)
