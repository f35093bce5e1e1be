"""Requests a second of wall time on one core, request-level and without a prefix cache; ours beside SimPy."""

import time
import tracemalloc
from dataclasses import replace

from planner.engine.controller import bandwidth_aware
from planner.engine.simulation import Experiment, Transport
from planner.engine.simulation.run import replicate
from planner.engine.throughput import evaluate
from tests.engine.case_study import homogeneous, naive, prfaas_pd
from tests.engine.reference import System

REQUESTS = 2_000_000
SIMPY = 5_000
"""Requests that SimPy really serves; its time for all is scaled up."""
BEST_T = 19_652.0
LOAD = 0.85


def cases():
    """The case study's deployments at 85 % of what each carries, and what makes more events."""
    whole = prfaas_pd(BEST_T)
    for title, deployed, changes in (
        ("PrfaaS-PD, 16 chunks", whole, {}),
        ("PrfaaS-PD, 1 chunk", whole, {"transport": Transport(1)}),
        ("PrfaaS-PD, 61 chunks", whole, {"transport": Transport(61)}),
        ("PrfaaS-PD, moving threshold", whole, {"rule": bandwidth_aware(BEST_T, 40e3)}),
        ("homogeneous", homogeneous(), {}),
        ("naive, 16 chunks", naive(), {}),
    ):
        rate = LOAD * evaluate(deployed).lambda_max_rps
        yield title, Experiment(deployed, rate, **({"requests": REQUESTS} | changes))


def seconds_of(run, *args):
    began = time.perf_counter()
    run(*args)
    return time.perf_counter() - began


def simpy_s(experiment):
    """SimPy's time for as many requests, scaled."""
    few = replace(experiment, requests=SIMPY)
    return seconds_of(System(few, 1).run) * experiment.requests / SIMPY


def lines():
    """One row a case; then how time and memory grow with the requests, and what compiling takes."""
    first = next(cases())[1]
    ready_s = seconds_of(replicate, replace(first, requests=1000), 1)
    for title, experiment in cases():
        ours, loop = min(seconds_of(replicate, experiment, 1) for _ in range(3)), simpy_s(experiment)
        yield (
            f"{f'simulation, {title}, {REQUESTS:,}':<48} {ours * 1e3:10.2f} {loop * 1e3:12,.1f} {loop / ours:8,.3g}×  "
            f"{REQUESTS / ours:,.0f} requests/s; SimPy scaled from {SIMPY:,}"
        )
    for count in (REQUESTS // 10, REQUESTS):
        tracemalloc.start()
        took = seconds_of(replicate, replace(first, requests=count), 1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        note = f"{took / count * 1e9:,.0f} ns a request, at most {peak / 2**20:.1f} MiB"
        yield f"{f'  and of {count:,} requests':<48} {took * 1e3:10.2f} {note}"
    yield f"{'  ready, compiled or from the cache':<48} {ready_s * 1e3:10.2f}"
