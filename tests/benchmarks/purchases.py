"""How fast purchases are searched: candidates a second, ours beside every count tried, and two processes beside one."""

import multiprocessing
import time
from dataclasses import replace

import numpy as np

from planner.engine import equal_cost, front
from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode
from planner.engine.latency import Circumstances
from planner.engine.options import LinkOption, PdOption, PrfaasOption, loads
from tests.engine.case_study import DECODE, H20, H200
from tests.engine.test_equal_cost import space, tried

B200 = LogLogCurve([1024, 8192, 32768, 131072], [0.30, 0.48, 1.20, 4.80])
"""Made up: a third chip, half as fast again."""
BUDGET_USD_PER_H = 400.0


def three_chips(most):
    """Three kinds of chips for either side, up to `most` instances of each, and two links."""
    chips = (("h200", H200, 16.0), ("b200", B200, 30.0), ("h20", H20, 8.0))
    decodes = (Decode(40, 0.02, 1024), Decode(60, 0.015, 1024), DECODE)
    return space(
        prfaas=tuple(PrfaasOption(name, curve, usd, most) for name, curve, usd in chips),
        links=(LinkOption("100g", 100e9), LinkOption("400g", 400e9)),
        pd=tuple(PdOption(n, curve, decode, usd, most) for (n, curve, usd), decode in zip(chips, decodes, strict=True)),
    )


def equal_cost_row(median_ms):
    whole = three_chips(64)
    found = equal_cost.best(whole, BUDGET_USD_PER_H)
    ours = median_ms(lambda: equal_cost.best(whole, BUDGET_USD_PER_H), 5)
    small, thresholds = three_chips(3), 10
    began = time.perf_counter()
    brute = tried(small, 100.0, loads(small, count=thresholds).thresholds)
    loop_s = time.perf_counter() - began
    assert equal_cost.best(small, 100.0).limit.lambda_max_rps >= brute * (1 - 1e-9)
    each_s = loop_s / small.combinations(thresholds + 1)
    rate = found.combinations / (ours / 1e3)
    note = f"{found.combinations:.2g} deployments, {rate:.1e}/s; loops {1 / each_s:.1e}/s on a small space, scaled"
    return "equal cost, 3 chips a side, 0-64 each", ours, each_s * found.combinations * 1e3, note


def front_row():
    """Four rates of a front, one after another and two at a time."""
    small = replace(three_chips(8), links=(LinkOption("100g", 100e9),))
    asked = [front.Shard(small, float(rate), 0.9, Circumstances()) for rate in front.rates(4.0, 4)]
    times = {}
    for workers in (1, 2):
        with multiprocessing.get_context("forkserver").Pool(workers) as pool:
            pool.map(_warm, range(workers))
            began = time.perf_counter()
            answers = pool.map(_at_rate, asked, chunksize=1)
            times[workers] = (time.perf_counter() - began) * 1e3
    points = sum(len(answer.points) for answer in answers)
    return "front of 4 rates, two processes against one", times[2], times[1], f"{points} points"


def _at_rate(asked):
    return front.at_rate(asked, lambda *news: None)


def _warm(_):
    return float(np.sum(np.ones(3)))
