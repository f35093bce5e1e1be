"""Which series make which figure of a watch: the same for what is now and for what was.

No request is counted twice: where a router tells a signal, what engines tell of the same is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from monitoring.live.watched import Watched
from monitoring.models import Series
from monitoring.state import Described

ROUTES = ("local", "remote")
ROLES = ("prfaas", "prefill", "decode")
ROUTER = "router"
UNKNOWN = "unknown"
"""In the place of a label that a queue does not have."""
LINK_SIGNALS = ("link_egress_bits", "link_ingress_bits", "link_capacity_bps", "link_rtt_s")
"""By which a link is known to be there."""
PLANNED = (
    *LINK_SIGNALS, "link_dropped_packets", "retransmitted_segments", "sent_segments", "kv_transfer_bytes", "requests",
    "failed_requests", "uncached_tokens", "input_tokens", "cached_tokens", "output_tokens", "ttft_s", "tpot_s",
    "queued_requests", "instances", "busy_instances", "busy_s", "utilisation", "threshold_tokens",
    "recommended_threshold_tokens", "recommended_instances", "lambda_max_rps",
)  # fmt: skip
"""All signals that a figure is made of."""

type Some = tuple[Described, ...]


def described(series: Series) -> Described:
    """As it is stored."""
    bounds = tuple(series.bounds or ())
    return Described(series.pk, series.source_id, series.signal, series.kind, series.labels, bounds)


@dataclass(frozen=True, slots=True)
class LinkSeries:
    """Of one link."""

    name: str
    egress: Some
    ingress: Some
    capacity: Some
    rtt: Some
    resent: Some
    sent: Some
    dropped: Some
    kv: Some


@dataclass(frozen=True, slots=True)
class RoleSeries:
    """Of the instances of one role."""

    role: str
    instances: Some
    busy: Some
    busy_s: Some
    utilisation: Some
    recommended: Some


@dataclass(frozen=True, slots=True)
class QueueSeries:
    """Of what waits at one stage for one thing."""

    stage: str
    bound: str
    role: str
    requests: Some


@dataclass(frozen=True, slots=True)
class Plan:
    """All figures of a watch, and of which series each is."""

    watch: Watched
    links: list[LinkSeries]
    requests: dict[str, Some]
    failed: Some
    input: Some
    cached: Some
    output: Some
    threshold: Some
    roles: list[RoleSeries]
    queues: list[QueueSeries]
    ttft: Some
    tpot: Some
    lengths: dict[str, Some]
    recommended_threshold: Some
    lambda_max: Some

    def series(self) -> frozenset[int]:
        """All of which a figure is made."""
        return frozenset(each.id for each in _within(self))


def _within(part: object) -> Iterator[Described]:
    if isinstance(part, Described):
        yield part
    elif isinstance(part, Plan | LinkSeries | RoleSeries | QueueSeries):
        for name in part.__slots__:
            yield from _within(getattr(part, name))
    elif isinstance(part, tuple | list):
        for each in part:
            yield from _within(each)
    elif isinstance(part, dict):
        for each in part.values():
            yield from _within(each)


@dataclass(frozen=True, slots=True)
class _Chooser:
    """Series of a watch by signal."""

    by_signal: Mapping[str, list[Described]]
    routers: frozenset[int]
    """Sources that tell what a router sees, and nothing else."""

    def all(self, signal: str, **labels: str) -> Some:
        """Those of a signal that have these labels."""
        found = self.by_signal.get(signal, ())
        return tuple(each for each in found if all(each.labels.get(name) == value for name, value in labels.items()))

    def once(self, signal: str) -> Some:
        """Those of a router if there are any, or engines would tell the same requests again."""
        return self._once(self.all(signal))

    def groups(self, signal: str, key: Callable[[Described], tuple[str, ...]]) -> dict[tuple[str, ...], Some]:
        """Those of a signal by some of their labels, in each group once."""
        found: dict[tuple[str, ...], list[Described]] = {}
        for each in self.all(signal):
            found.setdefault(key(each), []).append(each)
        return {group: self._once(some) for group, some in sorted(found.items())}

    def _once(self, some: Sequence[Described]) -> Some:
        told = [each for each in some if each.labels.get("role") == ROUTER]
        told = told or [each for each in some if each.source_id in self.routers]
        return tuple(told or some)


def plan(watch: Watched, series: Iterable[Described]) -> Plan:
    """From all series that there are."""
    chooser = _chooser(each for each in series if watch.covers(each.labels))
    requests, lengths = chooser.once("requests"), chooser.once("uncached_tokens")
    return Plan(
        watch=watch,
        links=_links(watch, chooser),
        requests={route: _with(requests, "route", route) for route in ROUTES},
        failed=chooser.once("failed_requests"),
        input=chooser.once("input_tokens"),
        cached=chooser.once("cached_tokens"),
        output=chooser.once("output_tokens"),
        threshold=chooser.once("threshold_tokens"),
        roles=_roles(watch, chooser),
        queues=_queues(chooser),
        ttft=chooser.once("ttft_s"),
        tpot=chooser.once("tpot_s"),
        lengths={route: some for route in ROUTES if (some := _with(lengths, "route", route))},
        recommended_threshold=chooser.all("recommended_threshold_tokens"),
        lambda_max=chooser.all("lambda_max_rps"),
    )


def _chooser(series: Iterable[Described]) -> _Chooser:
    by_signal: dict[str, list[Described]] = {}
    routers: set[int] = set()
    others: set[int] = set()
    for each in series:
        by_signal.setdefault(each.signal, []).append(each)
        if each.labels.get("role") == ROUTER:
            routers.add(each.source_id)
        elif each.signal == "requests":
            others.add(each.source_id)
    for some in by_signal.values():
        some.sort(key=lambda each: each.id)
    return _Chooser(by_signal, frozenset(routers - others))


def _with(series: Some, label: str, value: str) -> Some:
    return tuple(each for each in series if each.labels.get(label) == value)


def _links(watch: Watched, chooser: _Chooser) -> list[LinkSeries]:
    measured = {each.labels.get("link") for signal in LINK_SIGNALS for each in chooser.all(signal)}
    names = watch.links or sorted(name for name in measured if name)
    return [_link(name, chooser, is_only=len(names) == 1) for name in names]


def _link(name: str, chooser: _Chooser, *, is_only: bool) -> LinkSeries:
    def of(signal: str) -> Some:
        return chooser.all(signal, link=name)

    # engines do not know by which link they send: where there is one, by that
    unplaced = tuple(each for each in chooser.all("kv_transfer_bytes") if "link" not in each.labels) if is_only else ()
    return LinkSeries(
        name=name,
        egress=of("link_egress_bits"),
        ingress=of("link_ingress_bits"),
        capacity=of("link_capacity_bps"),
        rtt=of("link_rtt_s"),
        resent=of("retransmitted_segments"),
        sent=of("sent_segments"),
        dropped=of("link_dropped_packets"),
        kv=(*of("kv_transfer_bytes"), *unplaced),
    )


def _roles(watch: Watched, chooser: _Chooser) -> list[RoleSeries]:
    def by_role(signal: str) -> dict[tuple[str, ...], Some]:
        return chooser.groups(signal, lambda each: (each.labels.get("role", ""),))

    told = {signal: by_role(signal) for signal in ("instances", "busy_instances", "busy_s", "utilisation")}
    found = []
    for role in ROLES:
        of = {signal: some.get((role,), ()) for signal, some in told.items()}
        if any(of.values()) or f"instances.{role}" in watch.entered:
            found.append(
                RoleSeries(
                    role=role,
                    instances=of["instances"],
                    busy=of["busy_instances"],
                    busy_s=of["busy_s"],
                    utilisation=of["utilisation"],
                    recommended=chooser.all("recommended_instances", role=role),
                )
            )
    return found


def _queues(chooser: _Chooser) -> list[QueueSeries]:
    """By role within what is told once: a router may count the same transfers at the role that sends, engines at the
    one that receives."""
    found = []
    for (stage, bound), some in chooser.groups("queued_requests", _queue).items():
        roles = sorted({each.labels.get("role", "") for each in some})
        for role in roles:
            own = tuple(each for each in some if each.labels.get("role", "") == role)
            found.append(QueueSeries(stage, bound, role, own))
    return found


def _queue(each: Described) -> tuple[str, ...]:
    return each.labels.get("stage", UNKNOWN), each.labels.get("bound", UNKNOWN)


@dataclass(slots=True)
class Plans:
    """Of all watches, made again when series or watches have changed."""

    _key: object = None
    _found: list[Plan] = field(default_factory=list)

    def of(self, watched: Sequence[Watched], series: Mapping[int, Described], version: object) -> list[Plan]:
        """One a watch; `version` changes when the series do."""
        key = (version, [(each, dict(each.entered)) for each in watched])
        if key != self._key:
            self._found = [plan(watch, series.values()) for watch in watched]
            self._key = key
        return self._found
