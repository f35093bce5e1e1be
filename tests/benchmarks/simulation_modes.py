"""Requests a second of wall time of what asks more of the simulator: every decode iteration, prefix caches, faults."""

import time
from dataclasses import replace

from planner.engine.controller import bandwidth_aware, reallocation
from planner.engine.deployment import Decode
from planner.engine.lengths import Empirical
from planner.engine.sessions import agents, chat
from planner.engine.simulation import CacheRouting, Caching, Decoding, Experiment
from planner.engine.simulation.faults import Failures, Faults, Place
from planner.engine.simulation.run import replicate
from planner.engine.throughput import evaluate
from tests.engine.case_study import prfaas_pd

AISIMULATE_RPS = {"8192/1024": 1_170, "2048/256": 4_340}
"""AISimulate 0.13 (Rust), which simulates every iteration: requests a second that were measured on two cores of such a
machine, disaggregated and aggregated; not run here."""
LOAD, REQUESTS, A_TB = 0.85, 200_000, 1e12


def constant(prompt, output):
    """The case study's machines with prompts and answers of one length, all prefilled remotely."""
    return replace(prfaas_pd(0.0), lengths=Empirical([float(prompt)]), decode=Decode(20, 0.025, output))


def iterations(deployed):
    """Decode by iteration, a step by batch and contexts."""
    rate = LOAD * evaluate(deployed).lambda_max_rps
    return Experiment(deployed, rate, requests=REQUESTS, decoding=Decoding(True, 0.015, 2e-4, 2e-8))


def cached(sessions, rate_rps):
    """The case study's machines under sessions, each cluster with 10 TB for prefixes."""
    caching = Caching(10 * A_TB, 10 * A_TB, 512, CacheRouting.BY_BANDWIDTH)
    return Experiment(prfaas_pd(3_000.0), rate_rps, requests=REQUESTS, prompts=sessions, caching=caching)


def changing():
    """Everything that changes while it runs: t, roles, instances."""
    deployed = prfaas_pd()
    failing = Faults(failures=tuple(Failures(place, 20_000.0, 300.0) for place in Place))
    rule = bandwidth_aware(deployed.threshold_tokens, 60e3)
    rate = 0.7 * evaluate(deployed).lambda_max_rps
    return Experiment(deployed, rate, requests=REQUESTS, rule=rule, reallocation=reallocation(), faults=failing)


def cases():
    yield "by iteration, 8192/1024", iterations(constant(8192, 1024)), AISIMULATE_RPS["8192/1024"]
    yield "by iteration, 2048/256", iterations(constant(2048, 256)), AISIMULATE_RPS["2048/256"]
    yield "prefix caches, chat", cached(chat(), 3.0), None
    yield "prefix caches, agents", cached(agents(), 2.0), None
    yield "t, roles and instances that change", changing(), None


def lines():
    """One row a case, the best of three."""
    for title, experiment, peer_rps in cases():
        replicate(replace(experiment, requests=1_000), 1)
        times = []
        for _ in range(3):
            began = time.perf_counter()
            replicate(experiment, 1)
            times.append(time.perf_counter() - began)
        rps = REQUESTS / min(times)
        beside = f"{rps / peer_rps:,.0f} times AISimulate 0.13, as published" if peer_rps else ""
        yield f"{f'simulation, {title}':<48} {min(times) * 1e3:10.2f} {rps:,.0f} requests/s  {beside}"
