"""make bench: our time beside the plain Python loop's, as ratios. Medians of several runs after a warm-up."""

import argparse
import platform
import statistics
import time

import numpy as np

from planner.engine.queueing import Sampled, Way, passage_quantiles, waiting
from planner.engine.search import Problem, best, surface
from planner.engine.throughput import Form, evaluate, work
from planner.evaluation import whatif
from planner.scenario import load
from tests.benchmarks import (
    brown_out,
    live,
    prefix_cache,
    purchases,
    sensitivity,
    simulation,
    simulation_modes,
    telemetry,
    traces,
)
from tests.engine import plain
from tests.engine.case_study import prfaas_pd
from tests.engine.queues import simulated_waits

THRESHOLDS, SPLITS = 10_000, 64
SAMPLE = 100
"""Thresholds that the plain loop computes for real; its time for all of them is scaled up, and said so."""


def median_ms(run, repeats):
    run()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def surface_row():
    fleet = prfaas_pd(n_p=30, n_d=SPLITS - 30)
    thresholds, splits = np.geomspace(128, 131072, THRESHOLDS), np.arange(SPLITS)
    ours = median_ms(lambda: surface(fleet, work(fleet, thresholds, Form.EXACT), splits), 9)
    some = thresholds[:: THRESHOLDS // SAMPLE]
    loop = median_ms(lambda: plain.surface(plain.CASE_STUDY, some, SPLITS, range(SPLITS)), 1) * THRESHOLDS / some.size
    return (
        f"surface, {THRESHOLDS:,} thresholds × {SPLITS} splits",
        ours,
        loop,
        f"loop scaled from {some.size} thresholds",
    )


def evaluation_row():
    fleet = prfaas_pd()
    ours = median_ms(lambda: evaluate(fleet), 99)
    loop = median_ms(lambda: plain.surface(plain.CASE_STUDY, [19400], 8, [3]), 9)
    return "one evaluation (with TTFT percentiles)", ours, loop, "the loop gives Λ_max alone"


def optimum_row():
    problem = Problem(prfaas_pd(), Form.EXACT, free_threshold=True, free_split=True)
    ours = median_ms(lambda: best(problem), 5)
    grid = np.geomspace(128, 131072, SAMPLE)
    loop = median_ms(lambda: plain.surface(plain.CASE_STUDY, grid, 8, range(9)), 1) * THRESHOLDS / SAMPLE
    return "optimum to the exact crossing, 9 splits", ours, loop, "the loop stops at the grid; scaled"


def whatif_row():
    scenario = load("case-study-prfaas-pd")
    return "what-if answer, document to document", median_ms(lambda: whatif(scenario), 15), None, "nothing like it"


def queue_row():
    rng, count, rate, servers = np.random.default_rng(1), 300_000, 2.4, 4
    values, even = np.exp(0.7 * rng.standard_normal(512)), np.full(512, 1 / 512)

    def ours():
        way = Way(values, even, (waiting(rate, servers, Sampled(values, even)),))
        return passage_quantiles([way], [0.5, 0.9, 0.99])

    def simulated():
        arrivals, services = np.cumsum(rng.standard_exponential(count)) / rate, rng.choice(values, count)
        return np.quantile(simulated_waits(arrivals, services, servers) + services, [0.5, 0.9, 0.99])

    return "percentiles under load, 512 lengths", median_ms(ours, 51), median_ms(simulated, 3), f"{count:,} simulated"


def main():
    argparse.ArgumentParser(prog="make bench", description=__doc__).parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    print(f"{'':<48} {'ours, ms':>10} {'loop, ms':>12} {'ratio':>9}")
    rows = (surface_row, evaluation_row, optimum_row, whatif_row, queue_row, purchases.front_row)
    timed = (purchases.equal_cost_row, sensitivity.uncertainty_row, sensitivity.map_row)
    for title, ours, loop, note in (*(row() for row in rows), *(row(median_ms) for row in timed)):
        beside = f"{loop:12,.1f} {loop / ours:8,.3g}×" if loop else f"{'–':>12} {'–':>9}"
        print(f"{title:<48} {ours:10.2f} {beside}  {note}")
    print(*traces.lines(), sep="\n")
    print(*simulation.lines(), sep="\n")
    print(*simulation_modes.lines(), sep="\n")
    print(*prefix_cache.lines(), sep="\n")
    # before telemetry, which has this process and all that it starts on one core from then on
    print(*brown_out.lines(), sep="\n")
    print(*telemetry.lines(), sep="\n")
    print(*live.lines(), sep="\n")


if __name__ == "__main__":
    main()
