"""A study, field by field: a simulation, and what is changed in it from one variant to the next."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.documents.fields import Name, Table

LEAST_VARIANTS, MOST_VARIANTS = 2, 40
MOST_REPLICATIONS = 1000
"""Of all variants together."""

type Value = int | float | str


class Range(Table):
    """Values from one end to the other, in equal steps or, of quantities that span decades, in equal ratios."""

    lowest: Annotated[float, Field(ge=1e-18, le=1e18)]
    highest: Annotated[float, Field(ge=1e-18, le=1e18)]
    points: Annotated[int, Field(ge=LEAST_VARIANTS, le=MOST_VARIANTS)]


class Study(Table):
    """What is studied; `simulation`, and `values` or `features`, are complete once it has been read."""

    schema_version: Literal[1] = 1
    kind: Literal["sweep", "ablation"]
    simulation: dict[str, Any]
    vary: Annotated[str, Field(min_length=1, max_length=400)] | None = None
    """Of a sweep: a quantity by name, or the dotted path of a field of the simulation or, after `scenario.`, in it."""
    values: Annotated[list[Value], Field(min_length=LEAST_VARIANTS, max_length=MOST_VARIANTS)] | None = None
    range: Range | None = None
    """In the place of values; with neither, values that suit the quantity."""
    features: Annotated[list[Name], Field(min_length=1, max_length=MOST_VARIANTS - 1)] | None = None
    """Of an ablation: what is turned off, each by itself; without them, all that the simulation has on."""
