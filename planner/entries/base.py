"""What an entry of every kind has."""

from __future__ import annotations

from planner.documents.fields import Name, Origins, Table, Text


class Entry(Table):
    """A catalogue entry: its name is its address; `provenance` says where its figures come from, by dotted path."""

    name: Name
    title: Text = ""
    notes: Text = ""
    provenance: Origins = {}
