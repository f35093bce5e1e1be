"""What somebody measured of a model on some hardware: times, rates and egress, to hold predictions against."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from planner.documents.fields import Name, NotNegative, Positive, Table, Text, Tokens
from planner.entries.base import Entry
from planner.entries.price import Day

MEASURED = (
    "ttft_mean_s",
    "ttft_p50_s",
    "ttft_p90_s",
    "ttft_p99_s",
    "tpot_s",
    "throughput_rps",
    "egress_bps",
)
"""Fields of a run that hold what came out; the others say what was sent."""
InFlight = Annotated[float, Field(ge=1, le=1e9)]


class Run(Table):
    """One benchmark run, or the mean over several: what was sent, and what was seen. SI units."""

    input_tokens: Tokens
    """Of a prompt, the mean over the run."""
    cached_tokens: NotNegative | None = None
    """Of `input_tokens`, those whose KVCache was there already."""
    output_tokens: Tokens | None = None
    concurrency: InFlight | None = None
    """Requests in flight, or the size of the batch; 1 is a request alone, null where nobody says."""
    rate_rps: Positive | None = None
    """At which requests were sent, where they came at a rate."""
    requests: InFlight | None = None
    """How many stand behind the figures."""
    ttft_mean_s: Positive | None = None
    ttft_p50_s: Positive | None = None
    ttft_p90_s: Positive | None = None
    ttft_p99_s: Positive | None = None
    tpot_s: Positive | None = None
    """Seconds of one output token after the first."""
    throughput_rps: Positive | None = None
    """Requests that came through a second."""
    egress_bps: NotNegative | None = None
    """KVCache that crossed the link, bit/s."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if all(getattr(self, field) is None for field in MEASURED):
            raise ValueError(f"needs at least one of {', '.join(MEASURED)}")
        return self


class Measurement(Entry):
    """Runs of one model on one kind of instance, with one engine.

    `model` is the catalogue's name where it has the model; runs of another one are kept all the same.
    """

    model: Name
    hardware: Name
    gpus_per_instance: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Null where nobody says: such runs are held against no profile."""
    engine: Text = ""
    """Name and version, as `vllm 0.18.0`."""
    precision: Text = ""
    date: Day | None = None
    """The last day on which it was measured."""
    rows: Annotated[list[Run], Field(min_length=1, max_length=2_000)]
