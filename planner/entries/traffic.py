"""What is asked: lengths of prompts and answers, how requests arrive, and what of them is in the prefix cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from planner.documents.fields import NotNegative, Positive, Share, Table, Tokens
from planner.engine import arrivals, lengths
from planner.engine.curves import Array
from planner.engine.lengths import Empirical, LengthDistribution
from planner.entries.base import Entry

MOST_SAMPLES = 1_000_000
RECORDINGS_KEPT, LONGEST_KEPT = 8, 200_000
"""So many recordings stay sorted in memory, of so many lengths each at most: as many as a comparison has scenarios."""
# Of lists this long only the first mistake is told: `fail_fast`.
Requests = Annotated[int, Field(ge=1, le=10**12)]
Weight = Annotated[float, Field(gt=0, le=1)]


class Lengths(Table, ABC):
    """A distribution of lengths in tokens."""

    @model_validator(mode="after")
    def _is_a_distribution(self) -> Self:
        self.lengths()
        return self

    @abstractmethod
    def lengths(self) -> LengthDistribution:
        """The engine's distribution. Raises ValueError as the engine does."""


class TruncatedLogNormalLengths(Lengths):
    """ln L is normal with mean mu and deviation sigma; lengths outside [min, max] tokens do not occur."""

    distribution: Literal["truncated_log_normal"]
    mu: Annotated[float, Field(ge=-50, le=50)]
    sigma: Annotated[float, Field(ge=1e-6, le=20)]
    """Below this the logarithms of lengths have too few digits left to tell them apart."""
    min: Tokens
    max: Tokens

    def lengths(self) -> lengths.TruncatedLogNormal:
        """The engine's distribution."""
        return lengths.TruncatedLogNormal(self.mu, self.sigma, self.min, self.max)


class GammaLengths(Lengths):
    """L is gamma-distributed, its mean = shape · scale before lengths outside [min, max] tokens are left out."""

    distribution: Literal["gamma"]
    shape: Annotated[float, Field(ge=0.01, le=10_000)]
    mean: Positive | None = None
    scale: Positive | None = None
    min: Tokens
    max: Tokens

    def lengths(self) -> lengths.TruncatedGamma:
        """The engine's distribution. Raises ValueError unless exactly one of mean and scale is given."""
        if self.mean is not None and self.scale is None:
            return lengths.TruncatedGamma(self.shape, self.mean / self.shape, self.min, self.max)
        if self.scale is not None and self.mean is None:
            return lengths.TruncatedGamma(self.shape, self.scale, self.min, self.max)
        raise ValueError("needs either mean or scale (mean = shape · scale), not both")


class ParetoLengths(Lengths):
    """P(L > l) falls as l^-alpha from min on; lengths above max tokens do not occur."""

    distribution: Literal["pareto"]
    alpha: Annotated[float, Field(ge=1e-3, le=1000)]
    min: Tokens
    max: Tokens

    def lengths(self) -> lengths.TruncatedPareto:
        """The engine's distribution."""
        return lengths.TruncatedPareto(self.alpha, self.min, self.max)


class LogNormalComponent(TruncatedLogNormalLengths):
    """A log-normal share of a mixture."""

    weight: Weight


class GammaComponent(GammaLengths):
    """A gamma share of a mixture."""

    weight: Weight


class ParetoComponent(ParetoLengths):
    """A Pareto share of a mixture."""

    weight: Weight


Component = Annotated[LogNormalComponent | GammaComponent | ParetoComponent, Field(discriminator="distribution")]


class MixtureLengths(Lengths):
    """Several kinds of requests; `weight` is the share of each, and they sum to 1."""

    distribution: Literal["mixture"]
    components: Annotated[list[Component], Field(min_length=1, max_length=20)]

    def lengths(self) -> lengths.Mixture:
        """The engine's distribution."""
        parts = tuple(component.lengths() for component in self.components)
        return lengths.Mixture(tuple(component.weight for component in self.components), parts)


class EmpiricalLengths(Lengths):
    """Recorded lengths; `counts` says how many requests had each, without it each stands for one."""

    distribution: Literal["empirical"]
    samples: Annotated[list[Tokens], Field(min_length=1, max_length=MOST_SAMPLES, fail_fast=True)]
    counts: Annotated[list[Requests], Field(min_length=1, max_length=MOST_SAMPLES, fail_fast=True)] | None = None

    def lengths(self) -> Empirical:
        """The engine's distribution."""
        return self.sorted_samples

    @cached_property
    def sorted_samples(self) -> Empirical:
        """The same: a recording is sorted once, also where it is read again as part of another document."""
        if self.counts is not None or len(self.samples) > LONGEST_KEPT:
            return Empirical(self.samples, self.counts)
        return _sorted(np.array(self.samples, dtype=float).tobytes())


@lru_cache(maxsize=RECORDINGS_KEPT)
def _sorted(samples: bytes) -> Empirical:
    return Empirical(np.frombuffer(samples))


class CorrelatedOutput(Table):
    """ln(output) = log_intercept + log_slope · ln(input) + N(0, sigma²); outputs outside [min, max] do not occur."""

    distribution: Literal["correlated"]
    log_intercept: Annotated[float, Field(ge=-50, le=50)]
    log_slope: Annotated[float, Field(ge=-10, le=10)]
    sigma: Annotated[float, Field(ge=1e-3, le=20)]
    min: Tokens
    max: Tokens

    @model_validator(mode="after")
    def _is_a_distribution(self) -> Self:
        self.output()
        return self

    def output(self) -> lengths.CorrelatedOutput:
        """The engine's conditional distribution. Raises ValueError as the engine does."""
        return lengths.CorrelatedOutput(self.log_intercept, self.log_slope, self.sigma, self.min, self.max)


AnyLengths = TruncatedLogNormalLengths | EmpiricalLengths | GammaLengths | ParetoLengths | MixtureLengths
OutputTable = Annotated[AnyLengths | CorrelatedOutput, Field(discriminator="distribution")]


def _number_or_table(value: Any) -> str:
    return "table" if isinstance(value, dict | Table) else "number"


OutputTokens = Annotated[
    Annotated[Tokens, Tag("number")] | Annotated[OutputTable, Tag("table")], Discriminator(_number_or_table)
]


class PoissonArrivals(Table):
    """Independent requests. Steady-state throughput does not depend on how they arrive."""

    process: Literal["poisson"] = "poisson"

    def engine(self) -> arrivals.Poisson:
        """The engine's process."""
        return arrivals.Poisson()


class RenewalArrivals(Table):
    """Independent gamma-distributed times between arrivals, of a coefficient of variation."""

    process: Literal["renewal"]
    cv: Annotated[float, Field(ge=0.01, le=100)]

    def engine(self) -> arrivals.Renewal:
        """The engine's process."""
        return arrivals.Renewal(self.cv)


class MmppArrivals(Table):
    """Poisson arrivals at two rates in turn: their ratio by `multipliers`, their mean durations by `sojourn_s`."""

    process: Literal["mmpp"]
    multipliers: Annotated[list[Annotated[float, Field(ge=0, le=1e6)]], Field(min_length=2, max_length=2)]
    sojourn_s: Annotated[list[Annotated[float, Field(ge=1e-3, le=1e9)]], Field(min_length=2, max_length=2)]

    @model_validator(mode="after")
    def _is_a_process(self) -> Self:
        self.engine()
        return self

    def engine(self) -> arrivals.Mmpp2:
        """The engine's process."""
        (first, second), (stay, other) = self.multipliers, self.sojourn_s
        return arrivals.Mmpp2((first, second), (stay, other))


class DiurnalArrivals(Table):
    """Poisson arrivals whose rate swings once a day by `amplitude` of its mean, highest at `peak_hour` UTC."""

    process: Literal["diurnal"]
    amplitude: Share
    peak_hour: Annotated[float, Field(ge=0, lt=24)] = 12.0

    def engine(self) -> arrivals.Diurnal:
        """The engine's process."""
        return arrivals.Diurnal(self.amplitude, self.peak_hour)


class RecordedArrivals(Table):
    """Mean rates of intervals of equal length, one after the other."""

    process: Literal["recorded"]
    interval_s: Positive
    rate_rps: Annotated[list[NotNegative], Field(min_length=1, max_length=100_000, fail_fast=True)]

    @model_validator(mode="after")
    def _is_a_process(self) -> Self:
        self.engine()
        return self

    def engine(self) -> arrivals.Recorded:
        """The engine's process."""
        return arrivals.Recorded(self.interval_s, self.rate_rps)


def _poisson_by_default(value: Any) -> Any:
    return {"process": "poisson"} if value == {} else value


Arrivals = Annotated[
    PoissonArrivals | RenewalArrivals | MmppArrivals | DiurnalArrivals | RecordedArrivals,
    Field(discriminator="process"),
    BeforeValidator(_poisson_by_default),
]


class NoReuse(Table):
    """Every prompt is prefilled whole, or its length is given as what the cache leaves of it."""

    reuse: Literal["none"] = "none"

    def incremental(self, prompts: LengthDistribution) -> LengthDistribution:
        """The prompts themselves."""
        return prompts


class ReuseByLength(Table):
    """Share of a prompt's tokens that are cached: straight over ln l between the points, level outside."""

    reuse: Literal["by_length"]
    tokens: Annotated[list[Tokens], Field(min_length=1, max_length=1000)]
    hit_ratio: Annotated[list[Share], Field(min_length=1, max_length=1000)]
    remote_share: Share = 1.0
    """Of the cached tokens, what the cache of a PrfaaS cluster holds too."""

    @model_validator(mode="after")
    def _is_a_curve(self) -> Self:
        if len(self.tokens) != len(self.hit_ratio):
            raise ValueError(
                f"needs as many hit ratios as tokens, got {len(self.hit_ratio)} for {len(self.tokens)} lengths"
            )
        for before, after in zip(self.tokens, self.tokens[1:], strict=False):
            if after <= before:
                raise ValueError(f"tokens must rise, but {before:g} is followed by {after:g}")
        return self

    def at(self, prompt_tokens: Array) -> Array:
        """Cached share of prompts of these lengths, in [0, 1]."""
        return np.interp(np.log(prompt_tokens), np.log(self.tokens), self.hit_ratio)

    def incremental(self, prompts: LengthDistribution) -> LengthDistribution:
        """What the cache leaves of the prompts, as the engine's `uncached` has it."""
        return lengths.uncached(prompts, self.at)


class UncachedTokens(Table):
    """Recorded tokens that the cache left of each prompt, 0 where it held all; `counts` as of empirical lengths."""

    samples: Annotated[
        list[Annotated[float, Field(ge=0, le=1e9)]], Field(min_length=1, max_length=MOST_SAMPLES, fail_fast=True)
    ]
    counts: Annotated[list[Requests], Field(min_length=1, max_length=MOST_SAMPLES, fail_fast=True)] | None = None

    @model_validator(mode="after")
    def _is_a_distribution(self) -> Self:
        self.lengths()
        return self

    def lengths(self) -> lengths.Empirical:
        """The engine's distribution: of a prompt that is wholly cached one token is prefilled all the same."""
        return lengths.Empirical(np.maximum(self.samples, lengths.LEAST_TOKENS), self.counts)


class RecordedReuse(Table):
    """Reuse as it was found in a trace, in whole blocks of so many tokens, with a cache that forgets nothing."""

    reuse: Literal["recorded"]
    block_tokens: Tokens
    token_hit_ratio: Share
    uncached: UncachedTokens

    def incremental(self, prompts: LengthDistribution) -> LengthDistribution:
        """The uncached tokens, whatever the prompts."""
        return self.uncached.lengths()


Prefix = Annotated[NoReuse | ReuseByLength | RecordedReuse, Field(discriminator="reuse")]


class TrafficFields(Table):
    """Requests: input and output lengths in tokens, arrivals, prefix reuse, and the rate to be served, if known."""

    input_tokens: Annotated[AnyLengths, Field(discriminator="distribution")]
    """Whole prompts, of which `prefix` says what is cached."""
    output_tokens: OutputTokens
    arrivals: Arrivals = PoissonArrivals()
    prefix: Prefix = NoReuse()
    rate_rps: Positive | None = None
    trace: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Digest of the stored trace that the figures were computed from."""

    @model_validator(mode="after")
    def _caches_no_more_than_there_is(self) -> Self:
        if isinstance(self.prefix, RecordedReuse):
            left, prompt = self.incremental_lengths().longest, self.input_tokens.lengths().longest
            if left > prompt:
                raise ValueError(f"prefix.uncached reaches {left:g} tokens, but input_tokens only {prompt:g}")
        return self

    def incremental_lengths(self) -> LengthDistribution:
        """L of the throughput model: tokens of a prompt that the prefix cache leaves to be prefilled."""
        return self.prefix.incremental(self.input_tokens.lengths())

    def mean_output_tokens(self) -> float:
        """L_out of eq. 5, the mean over requests: exact, since decode's work is in proportion to it."""
        if isinstance(self.output_tokens, CorrelatedOutput):
            return self.output_tokens.output().mean(self.input_tokens.lengths())
        if isinstance(self.output_tokens, Lengths):
            return lengths.mean(self.output_tokens.lengths())
        return self.output_tokens

    def output_scv(self) -> float:
        """Squared coefficient of variation of output lengths, of those that go with prompts at the mean prompt."""
        if isinstance(self.output_tokens, CorrelatedOutput):
            return float(np.expm1(self.output_tokens.output().sigma ** 2))
        if isinstance(self.output_tokens, Lengths):
            given = self.output_tokens.lengths()
            second = float(given.partial_expectations([np.square], np.inf)[0][0])
            return max(second / lengths.mean(given) ** 2 - 1, 0.0)
        return 0.0


def joint_lengths(traffic: TrafficFields) -> lengths.JointLengths | None:
    """Prompts, what is cached of each and answers, of the same requests; None where reuse was recorded without them."""
    if isinstance(traffic.prefix, RecordedReuse):
        return None
    output = traffic.output_tokens
    answers: float | LengthDistribution | lengths.CorrelatedOutput
    if isinstance(output, CorrelatedOutput):
        answers = output.output()
    else:
        answers = output.lengths() if isinstance(output, Lengths) else float(output)
    prompts = traffic.input_tokens.lengths()
    if isinstance(traffic.prefix, ReuseByLength):
        reuse = np.array(traffic.prefix.tokens), np.array(traffic.prefix.hit_ratio)
        return lengths.JointLengths(prompts, answers, *reuse)
    return lengths.JointLengths(prompts, answers)


class Traffic(TrafficFields, Entry):
    """A kind of traffic in the catalogue."""
