"""The time in the queue before one of c equal servers is free: whether, how long on average, how it is distributed.

Exact for M/M/c, and in the mean and variance for M/G/1 (Pollaczek-Khinchine). Else an interpolation, exact in four
limits: constant and exponential service, a queue that is nearly idle and one that is nearly full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, gammainccinv, log_ndtr

from planner.engine.curves import Array
from planner.engine.queueing.erlang import erlang_c
from planner.engine.queueing.service import Service

IDLE = 1e-12
"""Utilisation below which a queue is as good as idle."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A waiting time: 0, or with some probability gamma-distributed. All arrays have one shape, the candidates'."""

    probability: Array
    """P(W > 0)."""
    delayed_s: Array
    """E[W | W > 0] in seconds; infinite where the queue grows without end."""
    delayed_scv: Array
    """Squared coefficient of variation of W where W > 0: 1 is exponential, as in M/M/c."""

    @property
    def mean_s(self) -> Array:
        """E[W] in seconds."""
        mean: Array = self.probability * np.where(self.probability > 0, self.delayed_s, 0.0)
        return mean

    @property
    def variance_s2(self) -> Array:
        """Var W in s²; infinite where the mean is."""
        mean = self.mean_s
        second = np.where(np.isfinite(mean), mean * self.delayed_s * (1 + self.delayed_scv), np.inf)
        variance: Array = second - np.where(np.isfinite(mean), mean, 0.0) ** 2
        return variance

    def exceeding(self, seconds: ArrayLike) -> Array:
        """P(W > x) for each x, which broadcasts with the candidates."""
        x = np.asarray(seconds, dtype=float)
        scale = self.delayed_s * self.delayed_scv
        tail = gammaincc(1 / self.delayed_scv, np.maximum(x, 0.0) / np.where(scale > 0, scale, 1.0))
        above: Array = np.where(x < 0, 1.0, self.probability * np.where(scale > 0, tail, x < 0))
        return above

    def quantile(self, probability: ArrayLike) -> Array:
        """Least x with P(W <= x) >= q for each q in [0, 1), in seconds; broadcasts as above."""
        late = 1 - np.asarray(probability, dtype=float)
        waits = self.probability > late
        share = np.where(waits, late / np.where(waits, self.probability, 1.0), 1.0)
        scale = self.delayed_s * self.delayed_scv
        at: Array = np.where(waits, gammainccinv(1 / self.delayed_scv, share) * np.where(waits, scale, 0.0), 0.0)
        return at


def allen_cunneen(rate_rps: ArrayLike, servers: ArrayLike, service: Service, arrival_scv: ArrayLike = 1.0) -> Array:
    """Mean wait in seconds by the usual rule of thumb: that of M/M/c times (ca² + cs²)/2.

    A. O. Allen, Probability, Statistics, and Queueing Theory (1978). Exact for M/M/c and M/G/1. It is here to compare
    with: `waiting` is better.
    """
    load, c = np.asarray(rate_rps, dtype=float) * service.mean_s, np.asarray(servers, dtype=float)
    variability = (np.asarray(arrival_scv, dtype=float) + service.scv) / 2
    spare = np.where(load < c, c - load, 1.0)
    mean: Array = np.where(load < c, erlang_c(load, c) * variability * service.mean_s / spare, np.inf)
    return np.where(load > 0, mean, 0.0)


def waiting(rate_rps: ArrayLike, servers: ArrayLike, service: Service, arrival_scv: ArrayLike = 1.0) -> Wait:
    """The wait of requests that come at `rate_rps` to so many servers, which need not be whole; everything broadcasts.

    `arrival_scv` is the squared coefficient of variation between arrivals, 1 if Poisson; for bursts that last see
    `waiting_in_bursts`. At or above the servers' capacity the wait is infinite, and without requests it is 0.

    The mean wait of who waits is that of M/M/c, (ca² + cs²)/2 times as long as a full queue makes it, and moved
    towards the least residual service time as the queue empties, along the way that M/D/c goes: O. J. Boxma,
    J. W. Cohen and N. Huffels, Approximations of the mean waiting time in an M/G/s queueing system, Operations
    Research 27 (1979) 1115-1127. Its variance goes straight from one limit to the other as in M/G/1, where that is
    exact; there and in between, more servers see the first correction to a full queue as one server does.
    """
    mean, ca2 = service.mean_s, np.asarray(arrival_scv, dtype=float)
    load, c = np.broadcast_arrays(np.asarray(rate_rps, dtype=float) * mean, np.asarray(servers, dtype=float))
    stable = load < c
    busy = np.where(stable, load / np.where(stable, c, 1.0), 0.5)
    n = np.where(stable, c, 1.0)
    least, least_scv = service.least_residual(n)
    full = mean * (1 + service.scv) / 2
    at_idle = full / np.where(least > 0, n * least, 1.0)
    shape = np.where(least > 0, 1 + (at_idle - 1) * _idleness(busy, n), 1.0)
    delayed = mean / (n * (1 - busy)) * (ca2 + service.scv) / 2 / shape
    one_scv = service.least_residual(np.ones(()))[1]
    scv = 1 + (1 - busy) * ((1 - busy) * (least_scv - 1) + busy * (one_scv - 1))
    share = wait_probability(load, c, service.scv, ca2)
    delayed, scv = np.where(stable, delayed, np.inf), np.where(stable, scv, 1.0)
    return Wait(*np.broadcast_arrays(share, delayed, scv))


def wait_probability(
    load: ArrayLike, servers: ArrayLike, service_scv: ArrayLike = 1.0, arrival_scv: ArrayLike = 1.0
) -> Array:
    """Share of requests that wait; `load` in erlangs, everything broadcasts.

    Erlang's for Poisson arrivals, of which the service times change little (it is exact for M/M/c and M/G/1). Other
    arrivals move it as they do in a large queue: W. Whitt, Approximations for the GI/G/m queue, Production and
    Operations Management 2 (1993) 114-161, his π₁.
    """
    a, c = np.broadcast_arrays(np.asarray(load, dtype=float), np.asarray(servers, dtype=float))
    ca2, cs2 = np.asarray(arrival_scv, dtype=float), np.asarray(service_scv, dtype=float)
    poisson = erlang_c(a, c)
    stable = (a < c) & (poisson > 0)
    n = np.where(stable, c, 1.0)
    busy = np.where(stable, a / n, 0.5)
    spare = (1 - busy) * np.sqrt(n)
    log = np.log(np.where(stable, poisson, 1.0)) - log_ndtr(-spare)
    by_both = np.exp(np.minimum(log + log_ndtr(-spare * (1 + cs2) / np.maximum(ca2 + cs2, IDLE)), 0.0))
    by_arrivals = np.exp(np.minimum(log + log_ndtr(-spare * 2 / (1 + ca2)), 0.0))
    moved = busy**2 * by_both + (1 - busy**2) * by_arrivals
    share: Array = np.where(stable, moved, poisson)
    return share


def _idleness(busy: Array, servers: Array) -> Array:
    """How far an M/D/c queue is from full in what its waits look like: 1 when idle, 0 when full.

    From G. P. Cosmetatos, Some approximate equilibrium results for the multi-server queue (M/G/r), Operational
    Research Quarterly 27 (1976) 615-620, damped as in T. Kimura, Refining Cosmetatos' approximation for the mean
    waiting time in the M/D/s queue, Journal of the Operational Research Society 42 (1991) 595-603, so that the light
    limit is met: the least of c uniform times.
    """
    rho = np.maximum(busy, IDLE)
    excess = (1 - rho) * (np.sqrt(4 + 5 * servers) - 2) / (16 * servers * rho)
    damped = -excess * np.expm1(-1 / ((servers + 1) * excess))
    idleness: Array = 2 * servers * damped / (1 + (servers - 1) * damped)
    return idleness
