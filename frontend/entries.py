"""Where stored entries are shown."""

from __future__ import annotations

from django.urls import reverse

from planner import store
from planner.models import Entry

OWN_PAGES = {store.SCENARIOS: "scenario-page", store.COMPARISONS: "comparison"}
"""Kinds that have pages of their own; the others stand in the catalogue."""


def page_of(entry: Entry) -> str:
    """The address of an entry's page."""
    own = OWN_PAGES.get(entry.kind)
    return reverse(own, args=[entry.name]) if own else reverse("catalogue-entry", args=[entry.kind, entry.name])
