"""A comparison, field by field. Units are in the names."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.documents.fields import Name, NotNegative, Origins, Positive, Table, Text
from planner.scenario.schema import Price

SCHEMA_VERSION = 1
FEWEST, MOST = 2, 6


class Power(Table):
    """What electricity costs where GPUs are owned; `pue` is what the building draws, a watt of the chips'."""

    usd_per_kwh: NotNegative
    pue: Annotated[float, Field(ge=1, le=5)] = 1.0


class Draw(Table):
    """What a chip draws at most."""

    name: Name
    tdp_w: Positive


class Comparison(Table):
    """A comparison; `scenarios` are complete documents once it has been read."""

    schema_version: Literal[1] = 1
    name: Name
    title: Text = ""
    description: Text = ""
    scenarios: Annotated[list[dict[str, Any]], Field(min_length=FEWEST, max_length=MOST)]
    baseline: Name
    form: Literal["exact", "paper"] = "exact"
    scale: Literal["as_given", "cost", "power", "gpus"] = "as_given"
    """Whether deployments are shown as they are, or as large as what the baseline costs, draws, or has of GPUs."""
    prices: Annotated[list[Price], Field(max_length=1000)] = []
    """Of a GPU-hour, before those that the scenarios have themselves."""
    listed: Annotated[list[Price], Field(max_length=1000)] = []
    """What the catalogue offers chips for that are priced nowhere else, put there at reading."""
    power: Power | None = None
    """Without it electricity is taken to be in the price of a GPU-hour."""
    draws: Annotated[list[Draw], Field(max_length=1000)] = []
    """Of the scenarios' chips as the catalogue has them, put there at reading."""
    provenance: Origins = {}
