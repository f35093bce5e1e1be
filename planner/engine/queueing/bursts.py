"""Waiting where arrivals come in bursts that last: `Mmpp2`, Poisson arrivals at either of two rates.

One number for their variability does not tell how long a wait is. With bursts that outlast the queue, the index of
dispersion gives up to a hundred times the wait below capacity, and a tenth of it where many servers are overrun.
"""

from __future__ import annotations

import numpy as np

from planner.engine.arrivals import Mmpp2
from planner.engine.curves import Array
from planner.engine.queueing.service import Service
from planner.engine.queueing.wait import Wait, waiting

ROUNDS = 64
FULLEST = 0.999


def waiting_in_bursts(arrivals: Mmpp2, rate_rps: float, servers: float, service: Service) -> Wait:
    """The wait of requests that come at a mean `rate_rps` in the bursts of `arrivals`; see `waiting`.

    Exact for exponential service (and whole servers). Other service changes that wait as it changes M/M/c to M/G/c:
    where a burst outlasts the queue, by the ratio of the two at the busier rate, and not what a stream without
    randomness would wait too; where it is over before, by their difference at the mean rate.

    A route that takes requests with some probability sees the same bursts at its own rate, exactly so.
    """
    mean, load = float(service.mean_s), rate_rps * float(service.mean_s)
    if not 0 < load < servers:
        return waiting(rate_rps, servers, service)
    share, first, second = _exponential(arrivals, rate_rps, servers, mean)
    if not first > 0:  # too small to have a number
        return waiting(rate_rps, servers, service)
    high = int(np.argmax(arrivals.rates(rate_rps)))
    busy = arrivals.rates(rate_rps)[high] * mean / servers
    settled = 1 / (1 + mean / max(servers * (1 - busy) ** 2 * arrivals.sojourns_s[high], np.finfo(float).tiny))
    noise = max(1 - _fluid_wait(arrivals, rate_rps, servers / mean) / first, 0.0)
    ratio, scv = _against_exponential(min(busy, FULLEST), servers, service)
    usual = waiting(rate_rps, servers, service)
    difference = float(usual.mean_s) * (1 - 1 / _against_exponential(load / servers, servers, service)[0])
    longer = settled * noise * (ratio - 1) * first + (1 - settled) * difference
    return Wait(
        np.asarray(share),
        np.asarray((first + longer) / share),
        np.asarray(second * share / first**2 - 1 + noise * (scv - 1)),
    )


def _against_exponential(busy: float, servers: float, service: Service) -> tuple[float, float]:
    """Mean wait of M/G/c as a multiple of M/M/c's, and its scv where there is one, at a utilisation below 1."""
    wait = waiting(busy * servers / float(service.mean_s), servers, service)
    return float(wait.delayed_s) * servers * (1 - busy) / float(service.mean_s), float(wait.delayed_scv)


def _exponential(arrivals: Mmpp2, rate_rps: float, servers: float, mean_s: float) -> tuple[float, float, float]:
    """P(W > 0), E[W] and E[W²] in MMPP/M/c: a matrix-geometric queue.

    M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models (1981), chapter 6. Who finds n requests more than the
    servers waits for n + 1 of them to leave, at the servers' full rate.
    """
    full, rates, leaves = (
        servers / mean_s,
        arrivals.rates(rate_rps),
        (1 / arrivals.sojourns_s[0], 1 / arrivals.sojourns_s[1]),
    )
    up, below = _below(rates, leaves, servers, mean_s)
    coming, turning = np.diag(rates), np.array([[-leaves[0], leaves[0]], [leaves[1], -leaves[1]]])
    down = _down(coming, turning, full)
    # while as many are there as servers, the state turns by itself, with fewer in between, or with more in between
    turns = full * up + np.array(leaves) + rates * np.array([down[0, 1], down[1, 0]])
    states = turns[::-1] / turns.sum()
    ratio = coming @ np.linalg.inv(coming + full * np.eye(2) - turning - coming @ down)
    beyond = np.linalg.inv(np.eye(2) - ratio)
    states = states / (states @ (beyond.sum(axis=1) + below))
    moments = [float(states @ np.linalg.matrix_power(beyond, k) @ rates) / rate_rps for k in (1, 2, 3)]
    return moments[0], moments[1] / full, 2 * moments[2] / full**2


def _below(
    rates: tuple[float, float], leaves: tuple[float, float], servers: float, mean_s: float
) -> tuple[Array, Array]:
    """From each state with all servers busy: the probability that it is another when they are so again after one was
    free, and how often fewer requests are there for once that so many are. Shape (2,) both.

    Sums of what is positive alone, so that the least probabilities keep their digits. A part of a server takes both
    as far from those of the whole ones.
    """
    (a, b), count = rates, int(np.ceil(servers))
    found = before = (0.0, 0.0, 0.0, 0.0)
    for n in range(count):
        before, (u, v, fewer, fewest) = found, found
        x, y = leaves[0] + n / mean_s * u, leaves[1] + n / mean_s * v
        scale = a * b + a * y + b * x
        served = min(n + 1, servers) / mean_s / scale
        sums = (b + y) * (1 + fewer) + x * (1 + fewest), y * (1 + fewer) + (a + x) * (1 + fewest)
        found = x * b / scale, y * a / scale, served * sums[0], served * sums[1]
    if np.isinf(max(found)):  # so seldom are all busy that it has no number
        return np.array(found[:2]), np.full(2, np.inf)
    at = np.array(before) + (servers - count + 1) * (np.array(found) - np.array(before))
    return at[:2], at[2:]


def _down(coming: Array, turning: Array, full: float) -> Array:
    """G: from each state with all servers busy, the state in which there first is one request less.

    By logarithmic reduction: G. Latouche and V. Ramaswami, Journal of Applied Probability 30 (1993) 650-674.
    """
    unit = np.eye(2)
    stay = np.linalg.inv(coming + full * unit - turning)
    up, down = stay @ coming, stay * full
    found, path = down, up
    for _ in range(ROUNDS):
        both = np.linalg.inv(unit - up @ down - down @ up)
        up, down = both @ up @ up, both @ down @ down
        found, path = found + path @ down, path @ up
        if path.max() < np.finfo(float).eps:
            break
    return found


def _fluid_wait(arrivals: Mmpp2, rate_rps: float, capacity_rps: float) -> float:
    """Mean wait in seconds if requests were a fluid: what comes beyond capacity in a burst is worked off after it.

    L. Kosten, Stochastic theory of a multi-entry buffer, Delft Progress Report 1 (1974) 10-18, with one source.
    """
    rates = arrivals.rates(rate_rps)
    high = int(rates[1] > rates[0])
    excess, spare = rates[high] - capacity_rps, capacity_rps - rates[1 - high]
    if excess <= 0:
        return 0.0
    decay = 1 / (arrivals.sojourns_s[high] * excess) - 1 / (arrivals.sojourns_s[1 - high] * spare)
    burst = arrivals.sojourns_s[high] / sum(arrivals.sojourns_s)
    seen = burst * (rates[high] + rates[1 - high] * excess / spare) / rate_rps
    return seen / (decay * capacity_rps)
