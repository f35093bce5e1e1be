"""Queues without approximation, to measure ours against: event by event, and from their Markov chains."""

from heapq import heapreplace

import numpy as np
from scipy.stats import poisson


def simulated_waits(arrivals, services, servers):
    """The wait of each request in turn, first come first served: the recursion of Kiefer and Wolfowitz (1955)."""
    free = [0.0] * servers
    waits = []
    for arrival, service in zip(arrivals.tolist(), services.tolist(), strict=True):
        begin = max(arrival, free[0])
        heapreplace(free, begin + service)
        waits.append(begin - arrival)
    return np.array(waits)


def steady(waits):
    """Without the first twentieth, which began with an empty queue."""
    return waits[waits.size // 20 :]


def mean_wait_md(servers, utilisation):
    """Mean wait in M/D/c with unit service: those in service now are gone one service time on (Crommelin, 1932)."""
    load = utilisation * servers
    size = int(servers + 12 / (1 - utilisation) + 10 * np.sqrt(load)) + 20
    coming = poisson.pmf(np.arange(size), load)
    step = np.zeros((size, size))
    for now in range(size):
        left = max(now - servers, 0)
        step[now, left:] = coming[: size - left]
    step[:, -1] += 1 - step.sum(axis=1)
    equations = step.T - np.eye(size)
    equations[-1] = 1.0
    share = np.linalg.solve(equations, np.eye(size)[-1])
    return share @ np.maximum(np.arange(size) - servers, 0) / load


def waits_mmpp_m(rates, leaving, servers, size=400):
    """P(W > 0), E[W] and E[W²] of MMPP/M/c with unit service, from its whole generator, cut at `size` requests."""
    generator = np.zeros((size, 2, size, 2))
    for n in range(size):
        for state in (0, 1):
            generator[n, state, n, 1 - state] = leaving[state]
            if n + 1 < size:
                generator[n, state, n + 1, state] = rates[state]
            if n:
                generator[n, state, n - 1, state] = min(n, servers)
    flat = generator.reshape(2 * size, 2 * size)
    flat -= np.diag(flat.sum(axis=1))
    equations = flat.T.copy()
    equations[-1] = 1.0
    seen = np.linalg.solve(equations, np.eye(2 * size)[-1]).reshape(size, 2) @ np.array(rates)
    seen /= seen.sum()
    ahead = np.maximum(np.arange(size) - servers + 1, 0)
    return seen[servers:].sum(), seen @ ahead / servers, seen @ (ahead * (ahead + 1)) / servers**2
