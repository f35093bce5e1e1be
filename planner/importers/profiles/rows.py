"""What a benchmark's file holds, whichever tool wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.documents.errors import DocumentError, refuse
from planner.importers.base import Assumption, Mapped
from planner.importers.profiles.nodes import Node

FEW = 30
"""Fewer requests than this give a mean that says little."""
MOST_ROWS = 200_000
LONGEST = 1e9
UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}


@dataclass(frozen=True, slots=True)
class Row:
    """One request, or the mean over several, in SI units; None is what the file does not say."""

    place: str
    """Where in the file, as an error names it."""
    input_tokens: float
    ttft_s: float
    tpot_s: float | None = None
    """Seconds of one output token after the first."""
    output_tokens: float | None = None
    concurrency: float | None = None
    """Requests in flight: the most that the benchmark allowed, else the mean that it saw."""
    requests: int | None = None
    cached_tokens: float | None = None
    """Of `input_tokens`, those whose KVCache was there already."""
    requested_rate_rps: float | None = None
    asked_input_tokens: float | None = None
    """What the benchmark was told to send, where that is not what was counted."""
    asked_output_tokens: float | None = None
    output_tokens_per_s: float | None = None
    alone: bool = False
    """Whether no other request was in flight, so that TTFT is prefill without queueing."""
    per_request: bool = False
    """Whether it is a single request, whose time scatters, rather than a mean."""
    group: Mapping[str, str] = field(default_factory=dict)
    """What was measured, where one file has several things."""
    more: Mapping[str, float] = field(default_factory=dict)
    """Percentiles and rates of the run, by the fields of `planner.entries.measurement.Run`; no profile uses them."""

    def __post_init__(self) -> None:
        """Raises DocumentError on what no prompt and no prefill can be."""
        if not 1 <= self.input_tokens <= LONGEST:
            raise refuse(self.place, self.input_tokens, f"input tokens must lie from 1 to {LONGEST:g}")
        for name, seconds in (("ttft", self.ttft_s), ("tpot", self.tpot_s)):
            if seconds is not None and not 1e-9 <= seconds <= 1e6:
                raise refuse(self.place, seconds, f"{name} must lie from 1e-9 to 1e6 seconds; is its unit right?")

    def as_json(self) -> dict[str, Any]:
        """As `inspect` prints it."""
        shown: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "input_tokens",
                "ttft_s",
                "tpot_s",
                "output_tokens",
                "concurrency",
                "requests",
                "cached_tokens",
                "requested_rate_rps",
                "asked_input_tokens",
                "asked_output_tokens",
                "output_tokens_per_s",
                "alone",
            )
        }
        return shown | ({"group": dict(self.group)} if self.group else {})


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a file says, by one of the readers."""

    format: str
    rows: Sequence[Row]
    mapping: tuple[Mapped, ...] = ()
    notes: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    model: str | None = None
    """As the benchmark called it."""
    system: str | None = None
    """The hardware as the benchmark called it."""
    engine: str = ""
    gpus: int | None = None
    precision: str = ""
    provenance: str = "measured"
    facts: dict[str, Any] = field(default_factory=dict)
    decode: tuple[dict[str, float], ...] = ()
    """Decode steps, where they are given by themselves and not with the rows."""


def completed(node: Node, failed: float | None = None) -> int:
    """How many requests came through. Raises DocumentError where none did."""
    count = node.number()
    if count == 0:
        tail = f" ({failed:g} of them)" if failed else ""
        raise node.wrong(f"all requests failed{tail}: there is nothing measured here; run the benchmark again", 0)
    if count != int(count):
        raise node.wrong("must be a whole number of requests", node.value)
    return int(count)


def per_token(latency_s: float | None, ttft_s: float, output_tokens: float | None) -> float | None:
    """Seconds an output token after the first, from means; None where there is no second token.

    Tools that call latency over tokens the time per token count the prefill into it.
    """
    if latency_s is None or output_tokens is None or output_tokens <= 1 or latency_s <= ttft_s:
        return None
    return (latency_s - ttft_s) / (output_tokens - 1)


def given(**quantities: float | None) -> dict[str, float]:
    """The quantities that a file has; 0 is how tools write what they did not measure."""
    return {name: value for name, value in quantities.items() if value}


def ttft_percentiles(found: Callable[[str], float | None], names: Sequence[str], unit_s: float) -> dict[str, float]:
    """P50, P90 and P99 of TTFT under the names that a tool gives them, as far as it does."""
    values = {f"ttft_p{rank}_s": found(name) for rank, name in zip((50, 90, 99), names, strict=True)}
    return given(**{field: value * unit_s if value else None for field, value in values.items()})


def with_unit(node: Node, value: Node) -> float:
    """Seconds of a value whose unit stands beside it. Raises DocumentError."""
    unit = node.at("unit").text() or ""
    if unit not in UNITS_S:
        raise node.at("unit").wrong(f"must be one of {', '.join(UNITS_S)}", node.at("unit").value)
    return value.positive() * UNITS_S[unit]


def none_left(place: str, failed: int) -> DocumentError:
    """The error of a file without one request that came through."""
    told = f"all requests failed ({failed} of them)" if failed else "there is no request in it"
    return refuse(place, None, f"{told}: there is nothing measured here; run the benchmark again")


def bounded(rows: Iterable[Row]) -> list[Row]:
    """The rows, as long as there are not too many to hold. Raises DocumentError."""
    kept: list[Row] = []
    for row in rows:
        if len(kept) >= MOST_ROWS:
            raise refuse(
                row.place, None, f"more than {MOST_ROWS} rows; take the summary that the benchmark wrote beside"
            )
        kept.append(row)
    return kept


def few(rows: Iterable[Row]) -> list[str]:
    """Notes on means over too few requests."""
    counts = [row.requests for row in rows if row.requests is not None and not row.per_request]
    least = min(counts, default=FEW)
    if least >= FEW:
        return []
    return [f"only {least} requests stand behind a mean: too few to plan on; measure at least {FEW} a length"]
