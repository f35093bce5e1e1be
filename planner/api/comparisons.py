"""Comparisons in request bodies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from planner.comparing.reading import FIELDS, Shown, read
from planner.comparison import Asked
from planner.comparison.schema import FEWEST, MOST
from planner.documents.errors import refuse


class ComparisonRequestSerializer(serializers.Serializer[Any]):
    """A comparison by name or as a document, and what differs from it."""

    comparison = serializers.JSONField(
        help_text=f"Name of a stored comparison, or a document with {FEWEST} to {MOST} `scenarios`, by name or whole."
    )
    set = serializers.DictField(required=False, help_text="Fields to override: {scenario: {dotted PATH: value}}.")
    prices = serializers.ListField(
        child=serializers.DictField(), required=False, help_text="[{name, usd_per_gpu_hour}], of some of the chips."
    )
    power = serializers.DictField(required=False, help_text="{usd_per_kwh, pue}: what electricity costs apart.")
    baseline = serializers.CharField(required=False, help_text="Name of the scenario that the others are held against.")
    form = serializers.ChoiceField(["exact", "paper"], required=False)
    scale = serializers.ChoiceField(["as_given", "cost", "power", "gpus"], required=False)


def shown_of(data: Any, *options: str) -> Shown:
    """The comparison of a request's body; `options` are fields that the endpoint reads itself. Raises DocumentError."""
    for field in data if isinstance(data, dict) else ():
        if field not in (*FIELDS, *options):
            raise refuse(field, data[field], f"is not a field here; allowed: {', '.join((*FIELDS, *options))}")
    return read(data)


def comparison_of(data: Any, *options: str) -> Asked:
    """The same as it is shown: rescaled where that was asked for."""
    return shown_of(data, *options).asked
