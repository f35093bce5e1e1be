"""What a viewer gets over the wire, each declared once. Figures are in SI units; None is what is not known.

A value that grows old keeps its figure and says `stale`; one that is older still has none and says `absent`. Neither
is ever zero.
"""

from __future__ import annotations

from typing import Literal

import msgspec

VERSION = 1

type Age = Literal["live", "stale", "absent"]
type Origin = Literal["telemetry", "entered", "unknown"]
type AlertState = Literal["pending", "firing"]


class Value(msgspec.Struct):
    """A measured figure; `ts_ms` is of its newest sample."""

    value: float | None = None
    ts_ms: int | None = None
    age: Age = "absent"


class Current(msgspec.Struct):
    """A setting in force: told by telemetry, entered by hand, or not known."""

    value: float | None = None
    ts_ms: int | None = None
    age: Age = "absent"
    origin: Origin = "unknown"
    by: str = ""


class LinkNow(msgspec.Struct):
    """A link between datacenters."""

    name: str
    egress_bps: Value
    ingress_bps: Value
    capacity_bps: Value
    utilisation: Value
    """Egress over capacity."""
    rtt_s: Value
    resent: Value
    """Segments sent again over segments sent."""
    dropped_pps: Value
    kv_bps: Value
    """KVCache that the engines say they sent: a lower bound of the egress."""
    is_clamped: bool = False
    """Whether the rate that was measured is more than the link carries, and is shown as what it carries."""


class QueueNow(msgspec.Struct):
    """Requests that wait: stage prefill, transfer or decode; bound by compute or link."""

    stage: str
    bound: str
    requests: Value
    role: str = ""


class RoleNow(msgspec.Struct):
    """The instances of a role: prfaas, prefill or decode."""

    role: str
    instances: Current
    busy: Value
    """How many of them work."""
    utilisation: Value


class Quantiles(msgspec.Struct):
    """Of a histogram over the last `window_s`."""

    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    count: float = 0.0
    window_s: float = 0.0
    ts_ms: int | None = None
    age: Age = "absent"


class Lengths(msgspec.Struct):
    """Uncached prompt lengths by bucket over the last `window_s`; counts by route, one more than bounds."""

    bounds: list[float]
    counts: dict[str, list[float]]
    window_s: float
    ts_ms: int | None = None
    age: Age = "absent"


class Pair(msgspec.Struct):
    """A predicted figure with what is in force, and with what is recommended."""

    current: float | None = None
    recommended: float | None = None


class Drift(msgspec.Struct):
    """How far a prediction of the profile is from what is observed: observed over predicted, with its interval."""

    what: str
    ratio: float
    low: float
    high: float
    is_off: bool


class Target(msgspec.Struct):
    """The best t by one objective, and what it brings at the present load; t goes there in steps."""

    threshold_tokens: float | None = None
    lambda_max_rps: float | None = None
    egress_bps: float | None = None
    ttft_mean_s: float | None = None
    ttft_p90_s: float | None = None
    utilisation: dict[str, float | None] = {}
    """By stage, as of an advice."""


class AdviceNow(msgspec.Struct):
    """What is recommended, and why. Without validity nothing is: `problems` says what is missing."""

    at_ms: int
    objective: str
    reason: str
    """A code, for programs."""
    sentence: str
    problems: list[str] = []
    threshold_tokens: float | None = None
    threshold_low: float | None = None
    threshold_high: float | None = None
    confidence: float | None = None
    """From one half to 1: that the best t is on the right side of the one in force, as far as chance goes."""
    other_threshold_tokens: float | None = None
    """By the other objective."""
    objectives: dict[str, Target] = {}
    """By objective: throughput, and ttft where the load is known and some t carries it."""
    instances: dict[str, int] = {}
    lambda_max_rps: Pair = msgspec.field(default_factory=Pair)
    converted_instances: dict[str, int] = {}
    """The split that would carry the most, by role; {} where that is the present one."""
    lambda_max_converted_rps: float | None = None
    """Of that split, at its own best t."""
    conversion_s: float | None = None
    """What converting costs, as seconds after which its gain has made up for it; None: never at the present load."""
    conversion_lost_requests: float | None = None
    """The same as requests that are not served while instances change over."""
    egress_bps: Pair = msgspec.field(default_factory=Pair)
    ttft_mean_s: Pair = msgspec.field(default_factory=Pair)
    ttft_p90_s: Pair = msgspec.field(default_factory=Pair)
    utilisation: dict[str, Pair] = {}
    """By stage: prfaas, link, pd_p, pd_d."""
    binding: str = ""
    """The stage that limits Λ_max as it is."""
    link_carries_bps: float | None = None
    """What the link is counted with, before its headroom: the lesser of what is said and what was seen."""
    samples: float = 0.0
    """Requests that the lengths rest on."""
    unknown: list[str] = []
    """What nobody tells and the advice would have liked to know."""
    drift: list[Drift] = []

    @property
    def is_valid(self) -> bool:
        """Whether anything is recommended."""
        return not self.problems


class WatchNow(msgspec.Struct):
    """A deployment that is watched."""

    name: str
    title: str
    scenario: str
    links: list[LinkNow]
    requests_rps: dict[str, Value]
    """By route: local, remote."""
    offload: Value
    """Share of requests that are prefilled remotely."""
    failed_rps: Value
    input_tps: Value
    cached_tps: Value
    output_tps: Value
    threshold_tokens: Current
    roles: list[RoleNow]
    queues: list[QueueNow]
    ttft_s: Quantiles
    tpot_s: Quantiles
    lengths: Lengths | None = None
    advice: AdviceNow | None = None
    points: dict[str, float | None] = {}
    """What charts append, under the names that the history has: see monitoring.live.lines."""


class SourceNow(msgspec.Struct):
    """Something that sends; `state` as monitoring.registry has it."""

    name: str
    state: str
    age_ms: int | None
    labels: dict[str, str]
    skew_ms: int | None = None
    problem: str = ""


class AlertNow(msgspec.Struct):
    """An alert that is pending or firing."""

    id: int
    rule: str
    state: AlertState
    severity: str
    since_ms: int
    text: str
    watch: str = ""
    value: float | None = None
    acknowledged_by: str = ""
    silenced_until_ms: int | None = None


class NoteNow(msgspec.Struct):
    """An annotation: at a time, or from one to another; one that is open goes on."""

    id: int
    ts_ms: int
    end_ms: int | None
    kind: str
    text: str
    watch: str = ""
    is_open: bool = False


class Snapshot(msgspec.Struct):
    """All that a viewer sees of now."""

    seq: int
    ts_ms: int
    watches: list[WatchNow]
    sources: list[SourceNow]
    alerts: list[AlertNow] = []
    notes: list[NoteNow] = []
    """The latest few."""
    v: int = VERSION
