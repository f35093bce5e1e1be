"""What a comparison says on paper beside its table: the inputs of every deployment, with their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from frontend.compare.context import View
from planner.documents import paths
from planner.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Input:
    """A figure of a scenario, what it is, and where it comes from."""

    path: str
    value: str
    kind: str
    source: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """Of one deployment."""

    title: str
    name: str
    description: str
    figures: tuple[Input, ...]


def report(view: View) -> dict[str, Any]:
    """The inputs of every deployment as it is shown, and when that was."""
    asked = view.shown.asked
    inputs = [_inputs(title, each) for title, each in zip(asked.titles, asked.scenarios, strict=True)]
    return {"inputs": inputs, "now": timezone.now()}


def _inputs(title: str, given: Scenario) -> Inputs:
    found = tuple(_input(given, path) for path in [*given.figures(), *_prices(given)])
    return Inputs(title, given.name, given.parsed.description, found)


def _prices(given: Scenario) -> list[str]:
    return [f"prices.{price.name}.usd_per_gpu_hour" for price in given.parsed.prices]


def _input(given: Scenario, path: str) -> Input:
    return Input(path, _text(paths.get(given.raw, path)), **given.provenance(path))


def _text(value: Any) -> str:
    """A number as it stands in the document; of a list how many there are and between what."""
    if isinstance(value, list) and value and isinstance(value[0], int | float):
        return f"{len(value)} values, {min(value):g} to {max(value):g}"
    if isinstance(value, Mapping):
        return f"{len(value)} fields"
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)
