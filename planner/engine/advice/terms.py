"""What is seen of a running system, how it is to be advised, and the advice. None means: not known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from planner.engine.deployment import require_not_negative
from planner.engine.latency import Circumstances
from planner.engine.throughput import Stage


@dataclass(frozen=True, slots=True)
class Histogram:
    """Observations by bucket: `counts[i]` of those above `bounds[i - 1]` and up to `bounds[i]`, not cumulated.

    There is one count more than bounds, of what lies beyond the last. Counts may have decayed and need not be whole.
    """

    bounds: tuple[float, ...]
    """Rising, in tokens or seconds."""
    counts: tuple[float, ...]
    sum: float | None = None
    """Of all observations, where it is told: it makes drift tell more."""
    effective: float | None = None
    """Independent observations that they are worth, for the noise; None: as many as the counts' sum, which of decayed
    counts is too few and makes intervals too wide, at most by a factor of the square root of 2."""

    def __post_init__(self) -> None:
        """Raises ValueError on bounds that are not positive, finite and rising, and counts that do not go with them."""
        bounds = self.bounds
        if len(bounds) < 2:
            raise ValueError(f"bounds must be two at least, got {len(bounds)}")
        if not all(0 < bound < math.inf for bound in bounds):
            raise ValueError(f"bounds must be positive and finite, got {min(bounds):g} to {max(bounds):g}")
        if any(a >= b for a, b in pairwise(bounds)):
            raise ValueError("bounds must rise")
        if len(self.counts) != len(bounds) + 1:
            raise ValueError(f"counts must be one more than the bounds, got {len(self.counts)} for {len(bounds)}")
        if not all(0 <= count < math.inf for count in self.counts):
            raise ValueError("counts must not be negative, and finite")
        if self.effective is not None:
            require_not_negative("the effective number of observations", self.effective)

    @property
    def total(self) -> float:
        """All counts together."""
        return math.fsum(self.counts)

    @property
    def worth(self) -> float:
        """Independent observations that the counts are worth."""
        return self.total if self.effective is None else self.effective


@dataclass(frozen=True, slots=True)
class Queues:
    """Requests that wait, by what for."""

    prfaas: float | None = None
    """For a PrfaaS instance."""
    link: float | None = None
    """Prefilled by PrfaaS, and not yet across."""
    pd_p: float | None = None
    pd_d: float | None = None


NO_QUEUES = Queues()


@dataclass(frozen=True, slots=True)
class Observed:
    """What is seen of the system now. Rates and shares are means over the last few seconds."""

    now_s: float
    """By any clock that goes on evenly: the state that is carried holds times by it."""
    lengths: Histogram | None = None
    """Uncached prompt lengths in tokens, of both routes together."""
    age_s: float | None = None
    """Of the oldest of the readings here."""
    rate_rps: float | None = None
    """Arriving requests a second, both routes together."""
    capacity_bps: float | None = None
    """What the link is said to carry."""
    achieved_bps: float | None = None
    """What it carried while more wanted to cross; None: not seen, and taken from `egress_bps` where that is so now."""
    egress_bps: float | None = None
    resent_share: float | None = None
    """Of what is sent, what is sent again, in [0, 1]."""
    queues: Queues = NO_QUEUES
    threshold_tokens: float | None = None
    """t in force."""
    prfaas_instances: float | None = None
    prefill_instances: float | None = None
    decode_instances: float | None = None
    prefill_busy: float | None = None
    """Busy share of PD-P, and of the places of PD-D, in [0, 1]; None: what the rate predicts."""
    decode_busy: float | None = None

    def __post_init__(self) -> None:
        """Raises ValueError on a quantity that is negative or not a number."""
        amounts = {name: getattr(self, name) for name in AMOUNTS}
        amounts |= {f"queues.{name}": getattr(self.queues, name) for name in ("prfaas", "link", "pd_p", "pd_d")}
        for name, value in amounts.items():
            if value is not None:
                require_not_negative(name, value)


AMOUNTS = (
    "age_s",
    "rate_rps",
    "capacity_bps",
    "achieved_bps",
    "egress_bps",
    "resent_share",
    "threshold_tokens",
    "prfaas_instances",
    "prefill_instances",
    "decode_instances",
    "prefill_busy",
    "decode_busy",
)


class Objective(StrEnum):
    """What t is chosen for."""

    THROUGHPUT = "throughput"
    """The greatest exact Λ_max."""
    TTFT = "ttft"
    """The least TTFT at the present rate."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to advise."""

    objective: Objective = Objective.THROUGHPUT
    ttft_percentile: float | None = None
    """Of TTFT, what is to be least: 0.5, 0.9 or 0.99; None: its mean."""
    headroom: float = 0.10
    """Share of the link's bandwidth that is not counted on."""
    least_requests: float = 200.0
    """Observations of lengths without which nothing is recommended."""
    most_age_s: float = 30.0
    """Of readings: older ones are stale."""
    most_extrapolated: float = 0.05
    """Share of the prefill work that may come from lengths for which the profile was not measured."""
    hysteresis: float = 0.05
    """t is not moved by a smaller ratio than 1 + this, ..."""
    least_gain: float = 0.01
    """... nor for a smaller gain in Λ_max (or loss of TTFT) than this share."""
    least_confidence: float = 0.9
    """Nor, for Λ_max, unless the best t is so probably on that side, as far as chance goes."""
    step: float = 1.1
    """Ratio by which t moves in a window while something is short, and by which it falls."""
    leap: float = 1.5
    """Ratio by which t rises at most in a window towards the best one."""
    window_s: float = 10.0
    """Between two steps of t, of which the first is seen in force."""
    settle_s: float = 60.0
    """For so long, what was recommended may take to be seen in force; then it is taken as not followed."""
    most_tokens: float | None = None
    """t is never raised beyond; None: the longest length seen."""
    hold_s: float = 300.0
    """For so long, what a congested link was seen to carry is taken for what it carries."""
    changes_roles: bool = True
    """Whether the PD cluster's instances may change their role."""
    conversion_s: float = 60.0
    """From when an instance takes no more requests until it serves in its new role."""
    horizon_s: float = 3600.0
    """Within it, the gain of another split must outweigh the requests that the conversion costs."""
    confidence: float = 0.95
    """Of intervals, as far as they speak of chance."""
    circumstances: Circumstances = field(default_factory=Circumstances)
    """How requests arrive, how far it is, how outputs vary: for TTFT."""

    def __post_init__(self) -> None:
        """Raises ValueError on a value out of range."""
        for name in ("headroom", "most_extrapolated", "least_confidence"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be a share from 0 to below 1, got {getattr(self, name):g}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {self.confidence:g}")
        if self.ttft_percentile not in (None, 0.5, 0.9, 0.99):
            raise ValueError(f"ttft_percentile must be 0.5, 0.9 or 0.99, got {self.ttft_percentile:g}")
        for name in ("step", "leap"):
            if not 1 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be above 1, got {getattr(self, name):g}: t would not move")
        for name in ("window_s", "horizon_s", "most_age_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {getattr(self, name):g}")
        for name in ("least_requests", "hysteresis", "least_gain", "hold_s", "conversion_s", "settle_s"):
            require_not_negative(name, getattr(self, name))


class Obstacle(StrEnum):
    """Why nothing is recommended."""

    STALE = "stale"
    NO_LENGTHS = "no_lengths"
    FEW_SAMPLES = "few_samples"
    NO_THRESHOLD = "no_threshold"
    NO_INSTANCES = "no_instances"
    NO_CAPACITY = "no_capacity"
    NO_PRFAAS = "no_prfaas"
    """There is no such cluster, and so no t."""
    NO_RATE = "no_rate"
    """TTFT alone needs it."""
    EXTRAPOLATED = "extrapolated"
    OVERLOADED = "overloaded"
    """No t carries the present rate, so that none has a TTFT."""


@dataclass(frozen=True, slots=True)
class Hindrance:
    """An obstacle, and in words what would be needed."""

    code: Obstacle
    text: str


class Reason(StrEnum):
    """What the recommendation rests on."""

    NOTHING = "nothing"
    """There is none: see `Advice.hindrances`."""
    HOLD = "hold"
    """t is as good as any."""
    BOTH_SHORT = "both_short"
    """The link is short, and PD-P as well: t stays, for either way would make one of them worse."""
    LINK_BUSY = "link_busy"
    """The link is short: it is near its limit, ..."""
    LINK_QUEUE = "link_queue"
    """... KVCaches wait for it, ..."""
    RETRANSMITS = "retransmits"
    """... or much is sent again: t goes up."""
    PRFAAS_BACKLOG = "prfaas_backlog"
    """PrfaaS lacks instances: t goes up."""
    LOCAL_QUEUE = "local_queue"
    """PD-P has the longer queue: t goes down."""
    TOO_LOW = "too_low"
    """t is below the best one for the lengths, the instances and the link that are seen, ..."""
    TOO_HIGH = "too_high"
    """... or above."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Between two values, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Ttft:
    """TTFT in seconds at the present rate; infinite where a queue grows without end."""

    mean: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold and a split bring on the lengths that are seen, by the formulas."""

    threshold_tokens: float
    prefill_instances: float
    decode_instances: float
    lambda_max_rps: float
    """In exact form, on the link less its headroom."""
    binding: tuple[Stage, ...]
    """What limits it, within 0.1 %."""
    offload_fraction: float
    utilisation: dict[Stage, float] | None
    """Busy share of each stage at the present rate, above 1 where it does not carry it; the link's is of all that it
    carries. None without a rate."""
    egress_bps: float | None
    """At the present rate, or at Λ_max where that is less."""
    ttft: Ttft | None
    """None without a rate."""


@dataclass(frozen=True, slots=True)
class Split:
    """Another N_p/N_d of the PD cluster, at its own best t."""

    best: Point
    gain_rps: float
    """Of Λ_max over that of the present split at its best t."""
    instances: int
    """That would have to change to prefill; negative: to decode."""
    lost_requests: float
    """Not served at the present rate while they change over, one after another."""
    pays_after_s: float
    """Until the gain has made up for them; infinite where there is none."""
    outlasts: bool
    """Whether that is within the horizon."""
    change: int
    """What to do now: 1 is one decode instance to prefill, -1 the reverse, 0 nothing."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What is recommended, what it rests on, and what it would bring."""

    objective: Objective
    hindrances: tuple[Hindrance, ...]
    """Where there is one, nothing is recommended."""
    reason: Reason
    sentence: str
    threshold_tokens: float | None = None
    """t to set now: at most a step, or upwards a leap, from the one in force."""
    current: Point | None = None
    """t and the split in force, ..."""
    recommended: Point | None = None
    """... `threshold_tokens` at this split, ..."""
    best: Point | None = None
    """... the t with the greatest Λ_max at this split, where `threshold_tokens` goes when nothing is short, ..."""
    quickest: Point | None = None
    """... and the t with the least TTFT at the present rate; None without a rate, or if none carries it."""
    interval: Interval | None = None
    """Of `best`: where the best t of the true lengths lies, see `planner.engine.advice.optimum`."""
    interval_by_chance: Interval | None = None
    """The same if within the buckets the lengths lie as they most likely do: what a larger sample would narrow."""
    confidence: float | None = None
    """Probability, from one half to 1, that `best` is on the right side of the t in force, as far as chance goes."""
    gain_rps: float | None = None
    """Λ_max of `recommended` less that of `current`."""
    split: Split | None = None
    """The best split; None where it is the present one, or roles do not change."""
    link_carries_bps: float | None = None
    """The lesser of what the link is said to carry and what it was seen to; less the headroom it is counted on."""
    link_utilisation: float | None = None
    """Egress over that; above 1 where that is out of date."""
    is_rising: bool = False
    """Whether the egress was lower a window ago."""
    unknown: tuple[str, ...] = ()
    """Names of what the short-term rule would have liked to know."""

    @property
    def is_valid(self) -> bool:
        """Whether something is recommended."""
        return not self.hindrances


class Remembered(NamedTuple):
    """What is carried from call to call. All are plain numbers, so that it can be stored."""

    window_ends_s: float = -math.inf
    """When t may move again."""
    said_at_s: float = -math.inf
    """When t was last decided on."""
    calm: float = 0.0
    """Windows in a row in which nothing was short."""
    threshold_tokens: float | None = None
    """What was recommended last, ..."""
    from_tokens: float | None = None
    """... while this t was in force."""
    reason: str = Reason.NOTHING.value
    egress_bps: float | None = None
    """As it was a window ago, to tell whether it rises, ..."""
    egress_at_s: float = -math.inf
    """... and when that was."""
    is_rising: bool = False
    quickest_tokens: float | None = None
    """The t with the least TTFT, as of then, ..."""
    quickest_of: tuple[float, float, float] | None = None
    """... for these N_prfaas, N_p and N_d."""
    achieved_bps: float | None = None
    """What the link was last seen to carry while it was congested, ..."""
    achieved_at_s: float = -math.inf
    """... and when; ..."""
    congested_bps: float | None = None
    """... without what was seen to cross since."""
    congested_since_s: float = math.inf
    """Since when more wants to cross than does, ..."""
    told_bps: float | None = None
    """... and what the link was last said to carry."""
    holds_s: float = 0.0
    """For how long, if longer than the options say, it is believed what the link was seen to carry; ..."""
    forgot_at_s: float = -math.inf
    """... and when that was last too long ago."""
    look_s: float = -math.inf
    """When roles are looked at again; the rest is `controller.Pressure`."""
    short_prefill: float = 0.0
    short_decode: float = 0.0
    calm_roles: float = 0.0
    change: int = 0
    """What was said of roles, ..."""
    change_at: float | None = None
    """... while so many instances prefilled."""
