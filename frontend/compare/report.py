"""What a comparison says on paper beside its table: the inputs of every deployment, with their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from frontend.catalogue.units import Unit, unit_of
from frontend.compare.context import View
from planner.documents import paths
from planner.scenario import Scenario

INSTANCES = Unit("instances")


@dataclass(frozen=True, slots=True)
class Input:
    """A figure of a scenario, what it is, and where it comes from."""

    path: str
    value: str
    unit: str
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
    unit = INSTANCES if path.endswith("instances") else unit_of(path)
    value = paths.get(given.raw, path)
    is_number = isinstance(value, int | float) or _is_list_of_numbers(value)
    return Input(path, _text(value, float(unit.scale)), unit.text if is_number else "", **given.provenance(path))


def _text(value: Any, scale: float) -> str:
    """A number in units of people's; of a list how many there are and between what."""
    if _is_list_of_numbers(value):
        return f"{len(value):,} values, {min(value) / scale:,.6g} to {max(value) / scale:,.6g}"
    if isinstance(value, Mapping):
        return f"{len(value)} fields"
    return f"{value / scale:,.10g}" if isinstance(value, int | float) else str(value)


def _is_list_of_numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], int | float)
