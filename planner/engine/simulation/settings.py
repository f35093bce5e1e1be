"""What is simulated: a deployment, its traffic, how it routes and sends, and how much of it is counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from planner.engine.arrivals import Arrivals, Mmpp2
from planner.engine.controller import Rule, static
from planner.engine.curves import Array
from planner.engine.deployment import Deployment, require_not_negative
from planner.engine.latency import POISSON

LEAST_A_WINDOW = LEAST_A_STAY = 1e-3
"""Requests, on average: with fewer, time would be spent on counting windows, or stays in a state, alone."""


class Order(StrEnum):
    """Who of those that wait for a prefill instance is next."""

    FCFS = "fcfs"
    SHORTEST = "shortest"
    """Whose prefill is the shortest: better on average, and the long ones wait for it."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Capacity:
    """What a link carries over time, in bit/s, constant between changes; the last value lasts."""

    times_s: Array
    """Rising from 0, shape (n,)."""
    bps: Array

    def __init__(self, times_s: Sequence[float] | Array, bps: Sequence[float] | Array) -> None:
        """Raises ValueError on unequal counts, times that do not rise from 0, and rates that are negative or NaN."""
        times, rates = np.array(times_s, dtype=float), np.array(bps, dtype=float)
        if times.ndim != 1 or times.shape != rates.shape or not times.size:
            raise ValueError(f"needs as many rates as times, got {rates.size} rates for {times.size} times")
        if times[0] != 0 or not np.all(np.diff(times) > 0) or not np.isfinite(times[-1]):
            raise ValueError("times of a link's capacity must rise from 0")
        if not np.all(rates >= 0):
            raise ValueError(f"a link's capacity must not be negative, got {rates.min():g} bit/s")
        object.__setattr__(self, "times_s", times)
        object.__setattr__(self, "bps", rates)


def constant(bps: float) -> Capacity:
    """The same at any time."""
    return Capacity([0.0], [bps])


def brown_out(bps: float, begin_s: float, end_s: float, meanwhile_bps: float = 0.0) -> Capacity:
    """A link that carries less, or nothing, for a while. Raises ValueError unless 0 < begin < end."""
    return Capacity([0.0, begin_s, end_s], [bps, meanwhile_bps, bps])


def recorded(interval_s: float, bps: Sequence[float] | Array) -> Capacity:
    """Mean rates of intervals of equal length. Raises ValueError as `Capacity`."""
    return Capacity(interval_s * np.arange(len(bps), dtype=float), bps)


@dataclass(frozen=True, slots=True)
class Transport:
    """How a KVCache crosses the link.

    A prefill makes its KVCache evenly, in `chunks` parts that are sent as they are there; the state that exists only
    after the last token goes with the last one. With 1, all of it is sent after the prefill. Transfers share the
    link evenly; each gets at most `connection_bps` and what an instance of the cluster can send, and all together
    at most what all its instances can.
    """

    chunks: int = 16
    connection_bps: float = math.inf
    rtt_s: float = 0.0
    """Half of it passes between the last bit and decode."""
    capacity: Capacity | None = None
    """Without it, what the deployment's link carries."""

    def __post_init__(self) -> None:
        """Raises ValueError on fewer than one chunk, no bandwidth, or a negative RTT."""
        if not 1 <= self.chunks <= 10_000:
            raise ValueError(f"chunks must be from 1 to 10,000, got {self.chunks}")
        if not self.connection_bps > 0:
            raise ValueError(f"a connection's bandwidth must be positive, got {self.connection_bps:g} bit/s")
        require_not_negative("the round trip in seconds", self.rtt_s)
        if math.isinf(self.rtt_s):
            raise ValueError("the round trip in seconds must be finite")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One simulation, but for its seed and the number of its replications.

    `rule` says which requests are sent away: without one, those longer than the deployment's threshold.
    """

    deployment: Deployment
    rate_rps: float
    arrivals: Arrivals = POISSON
    requests: int = 100_000
    warm_up: float = 0.05
    """Share of the requests, the first ones, that are not counted: they met an emptier system."""
    output_scv: float = 0.0
    """Squared coefficient of variation of output lengths, which are gamma-distributed, of one token at least."""
    rule: Rule | None = None
    order: Order = Order.FCFS
    transport: Transport = field(default_factory=Transport)
    window_s: float = 10.0
    """Egress is averaged, and the threshold adjusted, over windows of so many seconds."""

    def __post_init__(self) -> None:
        """Raises ValueError on numbers out of range, instances that are not whole, and a route to nowhere."""
        self._check_amounts()
        self._check_times()
        if self.deployment.prfaas is None and self.routing.least_tokens < self.deployment.lengths.longest:
            raise ValueError("without a PrfaaS cluster every request stays local: the threshold must be infinite")
        for name, count in zip(("N_prfaas", "N_p", "N_d"), self.instances, strict=True):
            if count != int(count):
                raise ValueError(f"{name} must be whole to be simulated, got {count:g}")
        if self.decode_slots < 1:
            raise ValueError("decode needs an instance, and a batch of at least one request")

    def _check_times(self) -> None:
        for name, value in (("rate", self.rate_rps), ("window in seconds", self.window_s)):
            if not 0 < value < math.inf:
                raise ValueError(f"the {name} must be positive and finite, got {value:g}")
        if self.rate_rps * self.window_s < LEAST_A_WINDOW:
            raise ValueError(
                f"windows of {self.window_s:g} s are too many at {self.rate_rps:g} req/s: "
                f"take {LEAST_A_WINDOW / self.rate_rps:.3g} s at least"
            )
        if isinstance(self.arrivals, Mmpp2) and self.rate_rps * max(self.arrivals.sojourns_s) < LEAST_A_STAY:
            raise ValueError(f"sojourns so short make no bursts at {self.rate_rps:g} req/s: take Poisson arrivals")

    def _check_amounts(self) -> None:
        if not 1 <= self.requests <= 2**40:
            raise ValueError(f"requests must be from 1 to 2^40, got {self.requests}")
        if not 0 <= self.warm_up < 1:
            raise ValueError(f"warm_up must be a share from 0 to below 1, got {self.warm_up:g}")
        if not 0 <= self.output_scv < math.inf:
            raise ValueError(f"scv of outputs must not be negative or infinite, got {self.output_scv:g}")

    @property
    def routing(self) -> Rule:
        """The rule that applies."""
        return self.rule or static(self.deployment.threshold_tokens)

    @property
    def instances(self) -> tuple[float, float, float]:
        """N_prfaas, N_p, N_d."""
        prfaas, pd = self.deployment.prfaas, self.deployment.pd
        return prfaas.instances if prfaas else 0.0, pd.prefill_instances, pd.decode_instances

    @property
    def decode_slots(self) -> int:
        """Requests that decode at a time, in whole places of each instance's batch."""
        return int(self.deployment.pd.decode_instances) * int(self.deployment.decode.max_batch)

    @property
    def uncounted(self) -> int:
        """Requests of the warm-up."""
        return int(self.warm_up * self.requests)
