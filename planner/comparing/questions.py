"""What may be asked about a comparison's figures beside the comparison itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from planner.comparing.metrics import METRICS
from planner.comparison import Asked
from planner.documents.errors import from_validation, refuse
from planner.documents.fields import Name, Positive, Table, fields_by_place
from planner.documents.plain import require_plain
from planner.engine.varying import Outcome

MOST_POINTS, MOST_DRAWS, MOST_STEPS = 41, 20_000, 8
Factor = Annotated[float, Field(ge=1 / 64, le=64)]
Ratio = Literal["lambda_max_rps", "usd_per_million_tokens", "ttft_p90_s"]
InputName = Annotated[str, Field(min_length=1, max_length=200)]


class Range(Table):
    """Factors between which one input is varied."""

    input: InputName
    low: Factor
    high: Factor

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low must be less than high, got {self.low:g} and {self.high:g}")
        return self


class SensitivityAsked(Table):
    """A tornado: every input of one scenario varied alone, by `share` either way or within its own range."""

    scenario: Name | None = None
    """The baseline where it is not said."""
    share: Annotated[float, Field(ge=0.001, le=0.9)] = 0.2
    ranges: list[Range] = Field(default_factory=list, max_length=100)
    loaded: bool = False
    """Whether TTFT under load is asked for as well."""
    load: Annotated[float, Field(ge=0.01, le=0.99)] = 0.85
    """Share of what the deployment carries, at each value its own."""
    rate_rps: Positive | None = None
    """A rate instead, the same at every value."""
    retuned: bool = False
    """Whether the best threshold at each value is shown beside the given one."""


class Axis(Table):
    """One input, in all of the two scenarios that have it, or in one of them."""

    input: InputName
    scenario: Name | None = None
    low: Factor = 0.5
    high: Factor = 2.0

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low must be less than high, got {self.low:g} and {self.high:g}")
        return self


class HeatMapAsked(Table):
    """The ratio of an outcome of two scenarios over two inputs."""

    first: Name | None = None
    """The first that is not `second` where it is not said."""
    second: Name | None = None
    """The baseline where it is not said."""
    outcome: Ratio = "usd_per_million_tokens"
    x: Axis | None = None
    y: Axis | None = None
    points: Annotated[int, Field(ge=3, le=MOST_POINTS)] = 21
    """Of either axis, in equal ratios."""


class Sigmas(Table):
    """Assumed 1-sigma of a figure's relative error, in ln, by the kind of its provenance."""

    measured: Annotated[float, Field(ge=0, le=1)] = 0.02
    published: Annotated[float, Field(ge=0, le=1)] = 0.05
    inferred: Annotated[float, Field(ge=0, le=1)] = 0.15
    estimated: Annotated[float, Field(ge=0, le=1)] = 0.25
    user: Annotated[float, Field(ge=0, le=1)] = 0.10


class UncertaintyAsked(Table):
    """Draws of the figures' errors."""

    draws: Annotated[int, Field(ge=100, le=MOST_DRAWS)] = 2000
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    sigmas: Sigmas = Sigmas()
    uncertain_prices: bool = True
    """Whether prices are uncertain too; decisions (t, counts) never are."""


class GrowthAsked(Table):
    """Multiples of the traffic, and of how fast prefill chips are."""

    traffic: list[Factor] = Field(default_factory=lambda: [1.0, 2.0, 4.0], min_length=1, max_length=MOST_STEPS)
    chips: list[Factor] = Field(default_factory=lambda: [1.0, 2.0, 4.0], min_length=1, max_length=MOST_STEPS)
    remote_only: bool = False
    """Whether PrfaaS alone has the faster chips."""
    retuned: bool = False
    """Whether the threshold follows as the one that carries the most."""


def read[Question: Table](kind: type[Question], data: Any) -> Question:
    """The question in a request's body. Raises DocumentError."""
    if not isinstance(data, Mapping):
        raise refuse(None, None, "must be an object of fields")
    given = {field: value for field, value in data.items() if field in kind.model_fields}
    require_plain(given)
    try:
        return kind.model_validate(given)
    except ValidationError as problem:
        raise from_validation(problem, given, fields_by_place(kind)) from problem


def place_of(asked: Asked, name: str, field: str) -> int:
    """The place of a scenario among those compared. Raises DocumentError."""
    if name not in asked.names:
        raise refuse(field, name, f"must be one of the scenarios: {', '.join(asked.names)}")
    return asked.names.index(name)


_LOADED = {
    "label": "TTFT, P90, under load",
    "unit": "s",
    "formula": "wait for prefill + prefill + what of the transfer it does not overlap + wait for decode + first step, "
    "by approximation",
    "better": "less",
}


def words(which: Outcome) -> dict[str, str]:
    """Label, unit, formula and whether more is better of an outcome, as the comparison's table has them."""
    for metric in METRICS:
        if metric.key == which:
            return {"label": metric.label, "unit": metric.unit, "formula": metric.formula, "better": metric.better}
    return dict(_LOADED)
