"""A mapping, field by field: which of a system's metrics are which of our signals, and how their values are read."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from monitoring.signals import PLACE, TOLD, VALUES

MOST_RULES = 1000
MOST_PREFIXES = 20

MetricName = Annotated[str, Field(pattern=r"^[^\s{}\"]+$", max_length=300)]
LabelName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=100)]
LabelValue = Annotated[str, Field(max_length=300)]
Conditions = Annotated[dict[LabelName, list[LabelValue]], Field(max_length=20)]
Text = Annotated[str, Field(max_length=2000)]


class Table(BaseModel):
    """A part of a mapping: unknown fields, text for numbers, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Rule(Table):
    """One metric of theirs that is one signal of ours. Of several rules for both, the first that fits counts."""

    metric: MetricName
    """Their name, after one of `prefixes`; of a histogram without `_bucket`."""
    signal: str
    prefixes: (
        Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=MOST_PREFIXES)] | None
    ) = None
    """In place of the mapping's."""
    where: Conditions = Field(default_factory=dict)
    """Labels, theirs or ours, that must have one of these values."""
    unless: Conditions = Field(default_factory=dict)
    """Labels, theirs or ours, that must have none of these values."""
    labels: dict[LabelName, LabelValue] = Field(default_factory=dict)
    """Our labels that the metric has by its nature."""
    rename: dict[LabelName, LabelName] = Field(default_factory=dict)
    """Their label to ours."""
    values: dict[LabelName, dict[LabelValue, LabelValue]] = Field(default_factory=dict)
    """Of a renamed label, by our name: their value to ours; "" leaves the label away."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """Their value times this is ours: 8 for octets, 1e-3 for milliseconds."""
    kind: Literal["counter", "gauge"] | None = None
    """What the value is, where the system says untyped, or says it wrong."""
    take: Literal["sum", "count"] | None = None
    """Of a histogram that counts what we count: its total, or its number of observations."""
    wrap_bits: Annotated[int, Field(ge=8, le=64)] | None = None
    """Of a counter that begins again at two to this power, in their unit."""
    unknown: Annotated[list[float], Field(max_length=20)] = Field(default_factory=list)
    """Values that say that the value is not known."""
    aggregate: Literal["sum", "max", "min", "mean"] | None = None
    """How series are added up that differ in labels which we do not keep; counts are summed, gauges need it said."""
    repeated_over: Annotated[list[LabelName], Field(max_length=20)] = Field(default_factory=list)
    """Their labels whose series repeat the same quantity (ranks that share a queue): of these the largest counts."""
    one_of: Annotated[str, Field(max_length=100)] | None = None
    """Rules of the same name tell the same quantity: of those that a source has, the first `choice` counts."""
    choice: Annotated[int, Field(ge=1, le=100)] | None = None
    note: Text = ""

    @model_validator(mode="after")
    def _fits_its_signal(self) -> Self:
        signal = TOLD.get(self.signal)
        if signal is None:
            raise ValueError(f"signal: {self.signal} is no signal of ours; allowed: {', '.join(TOLD)}")
        _require_labels(self, (*PLACE, *signal.labels))
        if self.kind is not None and self.kind != signal.kind:
            raise ValueError(f"kind: {self.kind} is not what {self.signal} is; allowed: {signal.kind}")
        if self.take is not None and signal.kind != "counter":
            raise ValueError(f"take: {self.take} of a histogram is a counter, {self.signal} is a {signal.kind}")
        if self.aggregate not in (None, "sum") and signal.kind != "gauge":
            raise ValueError(f"aggregate: {self.aggregate} is for gauges; a {signal.kind} is added up (sum)")
        return self

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if (self.one_of is None) != (self.choice is None):
            raise ValueError("one_of and choice belong together: give both, or none")
        if self.wrap_bits is not None and not math.log2(self.scale).is_integer():
            raise ValueError(
                f"scale: {self.scale:g} must be a power of two where wrap_bits is given, so that a wrap stays one"
            )
        return self


def _require_labels(rule: Rule, ours: tuple[str, ...]) -> None:
    for name, value in rule.labels.items():
        _require_label("labels", name, ours)
        _require_value(f"labels.{name}", name, value)
    for theirs, name in rule.rename.items():
        _require_label(f"rename.{theirs}", name, ours)
    for name, values in rule.values.items():
        if name not in rule.rename.values():
            given = ", ".join(rule.rename.values()) or "none, for nothing is renamed"
            raise ValueError(f"values: {name} is not a label that `rename` gives; allowed: {given}")
        for theirs, value in values.items():
            if value:
                _require_value(f"values.{name}.{theirs}", name, value)


def _require_label(field: str, name: str, ours: tuple[str, ...]) -> None:
    if name not in ours:
        raise ValueError(f"{field}: {name} is not a label of this signal; allowed: {', '.join(ours)}")


def _require_value(field: str, name: str, value: str) -> None:
    allowed = VALUES.get(name)
    if allowed is not None and value not in allowed:
        raise ValueError(f"{field}: {value} is not allowed; allowed: {', '.join(allowed)}")


class Hint(Table):
    """What a value on a page lets one expect of the rest of it."""

    metric: MetricName
    where: Conditions = Field(default_factory=dict)
    value: float
    says: Text


class SystemMapping(Table):
    """All that is known of one system's metrics."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=100)]
    version: Annotated[int, Field(ge=1, le=1_000_000)]
    title: Annotated[str, Field(min_length=1, max_length=200)]
    source: Annotated[str, Field(min_length=1, max_length=2000)]
    """Which release the names were read from, and where."""
    prefixes: Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=MOST_PREFIXES)] = [
        ""
    ]
    """What may stand before each rule's metric, as the sender is set up."""
    start_metric: MetricName | None = None
    """A gauge that says when the process began to count, in seconds since 1970."""
    uptime_metric: MetricName | None = None
    """A gauge that says for how many seconds the process has been counting."""
    rules: Annotated[list[Rule], Field(min_length=1, max_length=MOST_RULES)]
    ignored: dict[MetricName, Annotated[str, Field(max_length=300)]] = Field(default_factory=dict)
    """Metrics that look like signals of ours and are not taken, and why."""
    hints: Annotated[list[Hint], Field(max_length=100)] = Field(default_factory=list)
