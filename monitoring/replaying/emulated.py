"""Sources as a deployment has them, each telling what it would see of a day, under the names of its own system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitoring.readings import Histogram, Kind, Point, Reading
from monitoring.replaying.course import Course
from monitoring.replaying.encoding import INSTANCE
from monitoring.replaying.pace import Pace
from planner.engine.curves import Array
from planner.engine.simulation.layout import LOCAL, REMOTE, Records

ROUTES = {"local": LOCAL, "remote": REMOTE}
FINE_TOKENS = tuple(float(round(128 * 2 ** (step / 4))) for step in range(53))
"""Bounds of the router's histogram of lengths: a fifth apart, up to a million."""
TTFT_S = (
    0.1,
    0.25,
    0.5,
    1.0,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    15.0,
    20.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
)
TPOT_S = (0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.2, 0.5)
# As vLLM has them: 1-2-5 decades of tokens, and its own of seconds.
VLLM_TOKENS = tuple(float(digit * 10**power) for power in range(6) for digit in (1, 2, 5))[:-2]
VLLM_S = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0)
NIXL_BYTES = tuple(float(2**power) for power in range(24, 36))

type Read = Callable[[float, float], float | Histogram | None]
"""A metric's value at a time, its second argument, of a process that began at the first; None is not told."""


class Counted:
    """Things that happen at some times, each with a value."""

    def __init__(self, at_s: Array, values: Array | None = None, bounds: Sequence[float] = ()) -> None:
        """`bounds` are those of a histogram of the values, upper ones."""
        happens = np.isfinite(at_s)
        order = np.argsort(at_s[happens], kind="stable")
        self._at_s = at_s[happens][order]
        self._values = np.ones(order.size) if values is None else values[happens][order]
        self._sums = np.concatenate([[0.0], np.cumsum(self._values)])
        self._bounds = tuple(bounds)
        self._buckets = np.searchsorted(np.array(self._bounds), self._values, side="left")

    def total(self, since_s: float, upto_s: float) -> float:
        """The sum of the values of those after one time, up to another."""
        begin, end = self._between(since_s, upto_s)
        return float(self._sums[end] - self._sums[begin])

    def histogram(self, since_s: float, upto_s: float) -> Histogram:
        """Of the same values."""
        begin, end = self._between(since_s, upto_s)
        counts = np.bincount(self._buckets[begin:end], minlength=len(self._bounds) + 1)
        return Histogram(self._bounds, tuple(map(float, counts)), float(self._sums[end] - self._sums[begin]))

    def _between(self, since_s: float, upto_s: float) -> tuple[int, int]:
        begin, end = np.searchsorted(self._at_s, [since_s, upto_s], side="right")
        # what happens at time 0 is counted by whoever began then
        return (0 if since_s <= 0 else int(begin)), int(end)


class Present:
    """How many are between two moments of their own."""

    def __init__(self, enter_s: Array, leave_s: Array) -> None:
        self._enter_s, self._leave_s = np.sort(enter_s), np.sort(leave_s)

    def at(self, _: float, at_s: float) -> float:
        """Those that have entered and not left."""
        entered = np.searchsorted(self._enter_s, at_s, side="right")
        return float(entered - np.searchsorted(self._leave_s, at_s, side="right"))


class Spoken:
    """Tokens of answers, which come evenly while a request decodes."""

    def __init__(self, requests: Records) -> None:
        some = np.sort(requests[np.isfinite(requests["done_s"])], order="decode_s")
        self._begin_s, self._end_s, self._tokens = (some[name].copy() for name in ("decode_s", "done_s", "output"))

    def total(self, since_s: float, upto_s: float) -> float:
        """Between two times."""
        return self._upto(upto_s) - self._upto(since_s)

    def _upto(self, at_s: float) -> float:
        begun = int(np.searchsorted(self._begin_s, at_s, side="right"))
        begin_s, end_s, tokens = self._begin_s[:begun], self._end_s[:begun], self._tokens[:begun]
        is_running = end_s > at_s
        share = (at_s - begin_s[is_running]) / (end_s - begin_s)[is_running]
        return float(tokens[~is_running].sum() + tokens[is_running] @ share)


@dataclass(frozen=True, slots=True)
class Metric:
    """One series of a source."""

    name: str
    kind: Kind
    labels: dict[str, str]
    read: Read


@dataclass(frozen=True, slots=True)
class Emulated:
    """A source: by which name it is known here, what is said of it, by which mappings it is read, and its series."""

    name: str
    labels: dict[str, str]
    systems: tuple[str, ...]
    metrics: tuple[Metric, ...]
    tells_start: bool = True
    """Whether it says since when it counts."""

    def readings(self, times_s: Iterable[float], started_s: float, pace: Pace) -> list[Reading]:
        """All series at these times, of a process that began at `started_s`."""
        times = list(times_s)
        told = [self._reading(metric, times, started_s, pace) for metric in self.metrics]
        return [each for each in told if each.points]

    def _reading(self, metric: Metric, times: list[float], started_s: float, pace: Pace) -> Reading:
        is_gauge = metric.kind == "gauge" or metric.name == START
        start_ms = None if is_gauge or not self.tells_start else pace.ts_ms(started_s)
        points = []
        for at_s in times:
            value = metric.read(started_s, at_s)
            if metric.name == START:
                value = pace.ts_ms(started_s) / 1000
            if value is None:
                continue
            points.append(Point(pace.ts_ms(at_s), value if is_gauge else pace.counted(value), start_ms))
        return Reading(metric.name, metric.labels, metric.kind, tuple(points))


START = "process_start_time_seconds"


def sources(course: Course, link: str | None) -> list[Emulated]:
    """Those that a deployment has: the router and the PD cluster always, PrfaaS and the link where they are."""
    found = [router(course)]
    if course.instances["prfaas"].at(0.0):
        found.append(_sending(course, link))
    if course.instances["prefill"].at(0.0):
        found.append(_prefilling(course, "pd-prefill", "prefill", LOCAL))
    found.append(_decoding(course))
    if link is not None:
        found.append(gateway(course, link))
    return found


# --- the router, by our own names --------------------------------------------------------------------------------


def router(course: Course) -> Emulated:
    """Requests by route, lengths, TTFT, t, instances by role, how busy they are, and what waits for what."""
    metrics = [
        Metric("threshold_tokens", "gauge", {"role": "router"}, lambda _, at_s: course.threshold_tokens.at(at_s)),
        *(each for route, number in ROUTES.items() for each in _routed(course, route, number)),
        *_roles(course),
        *_queues(course),
    ]
    return Emulated("router", {}, ("prfaas",), tuple(metrics))


def _routed(course: Course, route: str, number: int) -> Iterator[Metric]:
    some = course.requests[course.requests["route"] == number]
    if not some.size:
        return
    labels = {"role": "router", "route": route}
    lengths = Counted(some["arrival_s"], some["tokens"], FINE_TOKENS)
    yield Metric("requests", "counter", labels, Counted(some["arrival_s"]).total)
    yield Metric("failed_requests", "counter", labels, _nothing)
    yield Metric("uncached_tokens", "histogram", labels, lengths.histogram)
    yield Metric("ttft_s", "histogram", labels, _spans(some, "arrival_s", "first_s", TTFT_S))


def _spans(some: Records, begin: str, end: str, bounds: Sequence[float]) -> Read:
    """A histogram of the times between two moments, told at the second one."""
    reached = some[np.isfinite(some[end])]
    return Counted(reached[end], reached[end] - reached[begin], bounds).histogram


def _roles(course: Course) -> Iterator[Metric]:
    for role, there in course.instances.items():
        if there.at(0.0):
            yield Metric("instances", "gauge", {"role": role}, lambda _, at_s, there=there: there.at(at_s))  # type: ignore[misc]


def _queues(course: Course) -> Iterator[Metric]:
    requests = course.requests
    away, stay = (requests[requests["route"] == number] for number in (REMOTE, LOCAL))
    waits = [
        (away, "prfaas", "prefill", "compute", "arrival_s", "begin_s"),
        (stay, "prefill", "prefill", "compute", "arrival_s", "begin_s"),
        (away, "prfaas", "transfer", "link", "end_s", "landed_s"),
        (requests, "decode", "decode", "compute", "landed_s", "decode_s"),
    ]
    for some, role, stage, bound, enter, leave in waits:
        if some.size:
            labels = {"role": role, "stage": stage, "bound": bound}
            yield Metric("queued_requests", "gauge", labels, Present(some[enter], some[leave]).at)
    works = [(away, "prfaas", "begin_s", "end_s"), (stay, "prefill", "begin_s", "end_s")]
    for some, role, enter, leave in works:
        if some.size:
            yield Metric("busy_instances", "gauge", {"role": role}, Present(some[enter], some[leave]).at)

    yield from _decodes(course)


def _decodes(course: Course) -> Iterator[Metric]:
    """The share of the places in the batches of what is up that are taken: an instance decodes many at a time."""
    there, running = course.instances["decode"], Present(course.requests["decode_s"], course.requests["done_s"])

    def utilisation(started_s: float, at_s: float) -> float:
        places = there.at(at_s) * course.max_batch
        return min(1.0, running.at(started_s, at_s) / places) if places else 0.0

    if there.at(0.0):
        yield Metric("utilisation", "gauge", {"role": "decode"}, utilisation)


# --- engines, as vLLM tells --------------------------------------------------------------------------------------


def _prefilling(course: Course, name: str, role: str, route: int) -> Emulated:
    """Engines that prefill, one request at a time."""
    requests = course.requests[course.requests["route"] == route]
    metrics = []
    for instance in range(int(course.instances[role].at(0.0))):
        some = requests[requests["prefiller"] == instance]
        metrics += list(_prefiller(some, {"instance": f"{name}-{instance}", "model_name": "demo", "engine": "0"}))
        if route == REMOTE:
            metrics += list(_transfers(some, metrics[-1].labels))
    return Emulated(name, _place(role), ("vllm",), tuple(metrics))


def _place(role: str) -> dict[str, str]:
    cluster = "prfaas" if role == "prfaas" else "pd"
    return {"role": role, "cluster": cluster, "datacenter": f"demo-{cluster}"}


def _prefiller(some: Records, labels: dict[str, str]) -> Iterator[Metric]:
    waiting = labels | {"reason": "capacity"}
    lengths = Counted(some["end_s"], some["tokens"], VLLM_TOKENS)
    yield Metric(START, "gauge", {"instance": labels["instance"]}, _nothing)
    yield Metric("vllm:request_success_total", "counter", labels, Counted(some["end_s"]).total)
    yield Metric("vllm:prompt_tokens_total", "counter", labels, lengths.total)
    yield Metric("vllm:request_prefill_kv_computed_tokens", "histogram", labels, lengths.histogram)
    yield Metric("vllm:request_prefill_time_seconds", "histogram", labels, _spans(some, "begin_s", "end_s", VLLM_S))
    yield Metric("vllm:time_to_first_token_seconds", "histogram", labels, _spans(some, "arrival_s", "end_s", VLLM_S))
    yield Metric("vllm:num_requests_running", "gauge", labels, Present(some["begin_s"], some["end_s"]).at)
    yield Metric(WAITING, "gauge", waiting, Present(some["arrival_s"], some["begin_s"]).at)


WAITING = "vllm:num_requests_waiting_by_reason"


def _nothing(_: float, __: float) -> float:
    """What is told of a process alone; and of what does not happen."""
    return 0.0


def _sending(course: Course, link: str | None) -> Emulated:
    """PrfaaS: its engines, and by our own names what its hosts' TCP connections know of the link."""
    engines = _prefilling(course, "prfaas", "prfaas", REMOTE)
    if link is None or course.link.tcp is None:
        return engines
    labels, crossing = {INSTANCE: "prfaas-hosts", "link": link}, course.link
    hosts = (
        Metric("link_rtt_s", "gauge", labels, lambda _, at_s: crossing.round_trip_s(at_s)),
        Metric("sent_segments", "counter", labels, _between(crossing.sent_packets_at)),
        Metric("retransmitted_segments", "counter", labels, _between(crossing.resent_packets_at)),
    )
    return replace(engines, systems=("vllm", "prfaas"), metrics=(*engines.metrics, *hosts))


def _between(upto: Callable[[float], float]) -> Read:
    """What was counted since a process began, of what is known since time 0."""
    return lambda since_s, at_s: upto(at_s) - upto(since_s)


def _transfers(some: Records, labels: dict[str, str]) -> Iterator[Metric]:
    labels = {name: value for name, value in labels.items() if name != "reason"}
    sent = Counted(some["landed_s"], some["kv_bytes"], NIXL_BYTES)
    yield Metric("vllm:nixl_bytes_transferred", "histogram", labels, sent.histogram)
    yield Metric("vllm:nixl_xfer_time_seconds", "histogram", labels, _spans(some, "begin_s", "landed_s", VLLM_S))


def _decoding(course: Course) -> Emulated:
    metrics: list[Metric] = []
    for instance in range(int(course.instances["decode"].at(0.0))):
        some = course.requests[course.requests["decoder"] == instance]
        labels = {"instance": f"pd-decode-{instance}", "model_name": "demo", "engine": "0"}
        metrics += _decoder(some, labels, course.max_batch)
    return Emulated("pd-decode", _place("decode"), ("vllm",), tuple(metrics))


def _decoder(some: Records, labels: dict[str, str], max_batch: int) -> Iterator[Metric]:
    running, away = Present(some["decode_s"], some["done_s"]), some[some["route"] == REMOTE]
    ended = some[np.isfinite(some["done_s"])]
    tpot_s = (ended["done_s"] - ended["decode_s"]) / ended["output"]
    yield Metric(START, "gauge", {"instance": labels["instance"]}, _nothing)
    yield Metric("vllm:generation_tokens_total", "counter", labels, Spoken(some).total)
    yield Metric(
        "vllm:request_time_per_output_token_seconds",
        "histogram",
        labels,
        Counted(ended["done_s"], tpot_s, TPOT_S).histogram,
    )
    yield Metric("vllm:num_requests_running", "gauge", labels, running.at)
    yield Metric("vllm:kv_cache_usage_perc", "gauge", labels, lambda _, at_s: running.at(_, at_s) / max_batch)
    for reason, waiting in (
        ("capacity", Present(some["landed_s"], some["decode_s"])),
        ("deferred", Present(away["end_s"], away["landed_s"])),
    ):
        yield Metric(WAITING, "gauge", labels | {"reason": reason}, waiting.at)


# --- the link, as a switch tells ---------------------------------------------------------------------------------


def gateway(course: Course, link: str) -> Emulated:
    """The interface of a link: octets sent, packets dropped, and its speed in Mbit/s, which falls with it."""
    labels, crossing = {"ifName": link, "ifIndex": "1", "ifDescr": link}, course.link

    def octets(since_s: float, at_s: float) -> float:
        return (crossing.sent_bits_at(at_s) - crossing.sent_bits_at(since_s)) // 8

    discards = Metric("ifOutDiscards", "untyped", labels, _between(crossing.dropped_packets_at))
    return Emulated(
        "gateway",
        {"cluster": "prfaas", "datacenter": "demo-prfaas"},
        ("if-mib",),
        (
            Metric("ifHCOutOctets", "untyped", labels, octets),
            Metric("ifHighSpeed", "gauge", labels, lambda _, at_s: crossing.capacity_bps.at(at_s) / 1e6),
            *([discards] if crossing.tcp else []),
        ),
        tells_start=False,
    )
