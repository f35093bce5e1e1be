"""How fast one instance serves a model: prefill by length, prefill on a cached prefix, decode steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from planner.documents.fields import Lengths, Name, NotNegative, Points, Positive, Table, Text, Tokens
from planner.engine.curves import Curve, LinearCurve, LogLogCurve, QuadraticFit
from planner.entries.base import Entry

type Through = Callable[[list[float], list[float]], Curve]
CURVES: Mapping[str, Through] = {"log_log": LogLogCurve, "quadratic": QuadraticFit, "linear": LinearCurve}


class Measured(Table, ABC):
    """A quantity at a few lengths in tokens, and how to read it between them."""

    tokens: Lengths
    interpolation: Literal["log_log", "quadratic", "linear"] = "log_log"

    @property
    @abstractmethod
    def values(self) -> list[float]:
        """The quantity at each of `tokens`."""

    @model_validator(mode="after")
    def _is_a_curve(self) -> Self:
        self.curve()
        return self

    def curve(self) -> Curve:
        """The engine's curve through the points. Raises ValueError as the engine does."""
        return CURVES[self.interpolation](self.tokens, self.values)


class PrefillTimes(Measured):
    """T_prefill: seconds that one instance takes for a prompt of so many tokens, none of them cached."""

    seconds: Points

    @property
    def values(self) -> list[float]:
        """T_prefill in seconds."""
        return self.seconds


class CachedPrefill(Table):
    """Seconds for `new_tokens` behind a prefix of `cached_tokens` that is there already."""

    new_tokens: Tokens
    cached_tokens: NotNegative
    seconds: Positive


class DecodeStep(Table):
    """Seconds of one decode step with `batch` requests of `context_tokens` each; null where nobody says how long."""

    batch: Positive
    context_tokens: Tokens | None = None
    seconds: Positive


class Profile(Entry):
    """Model × hardware × engine × GPUs an instance × precision, by the names of the catalogue."""

    model: Name
    hardware: Name
    gpus_per_instance: Annotated[int, Field(ge=1, le=100_000)]
    engine: Text = ""
    """Name and version, as `SGLang 0.5.9`."""
    precision: Text = ""
    """Of weights and KVCache, as `fp8 weights, bf16 KV`."""
    prefill: PrefillTimes
    prefill_cached: Annotated[list[CachedPrefill], Field(max_length=10_000)] = []
    decode: Annotated[list[DecodeStep], Field(max_length=10_000)] = []
    weight_bytes: Positive | None = None
    """Of the whole instance: what is left of its memory holds KVCache."""
    max_batch: Positive | None = None
    """Requests that a decode instance holds at once, where somebody measured or chose it."""
