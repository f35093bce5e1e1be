"""How fast a comparison's uncertainty is drawn, and its map: thousands of changes at once, beside one by one."""

import time
from dataclasses import replace

import numpy as np

from planner.engine.cost import LinkRate
from planner.engine.outcomes import outcomes
from planner.engine.priced import Prices
from planner.engine.sensitivity import Axis, Pair, ratio_map
from planner.engine.uncertainty import errors, wins
from planner.engine.varying import Outcome, Parameter, Subject, outcome, varied
from tests.engine.case_study import homogeneous, naive, prfaas_pd

OUTCOMES = (Outcome.LAMBDA_MAX, Outcome.COST, Outcome.TTFT_P90)
DRAWS, SAMPLE, POINTS = 2000, 50, 41
PRICES = Prices(16.8, 8.4, LinkRate(5.0, 1e-11))
DECISIONS = (Parameter.THRESHOLD, Parameter.REMOTE_SHARE, Parameter.N_PRFAAS, Parameter.N_P, Parameter.N_D)


def six():
    """Deployments to compare."""
    deployed = [prfaas_pd(), homogeneous(), naive(), prfaas_pd(12_000, 2, 6), prfaas_pd(30_000, 4, 4)]
    blind = replace(prfaas_pd(np.inf), remote_share=0.4)
    return [Subject(each, chips=PRICES) for each in [*deployed, blind]]


def drawn(count):
    uncertain = [each for each in Parameter if each not in DECISIONS]
    return {each: errors(each.value.encode().ljust(32), 0.1, count, 1) for each in uncertain}


def uncertainty_row(median_ms):
    """All draws at once, against each as a deployment of its own; those are a sample, and scaled up."""
    subjects, factors = six(), drawn(DRAWS)

    def ours():
        values = [outcomes(subject, factors, OUTCOMES) for subject in subjects]
        return [wins(np.stack([each[which] for each in values]), which is Outcome.LAMBDA_MAX) for which in OUTCOMES]

    began = time.perf_counter()
    for subject in subjects:
        for place in range(SAMPLE):
            one = varied(subject, {each: float(values[place]) for each, values in factors.items()})
            for which in OUTCOMES:
                outcome(one, which)
    loop_ms = (time.perf_counter() - began) * 1e3 * DRAWS / SAMPLE
    return f"uncertainty of 6 deployments, {DRAWS:,} draws", median_ms(ours, 5), loop_ms, f"loop scaled from {SAMPLE}"


def map_row(median_ms):
    """A map of two deployments over S_kv and PrfaaS's prefill, against each cell as two deployments."""
    pair = Pair(Subject(prfaas_pd(), chips=PRICES), Subject(homogeneous(), chips=PRICES))
    twos = np.geomspace(0.5, 2, POINTS)
    x, y = Axis(twos, (Parameter.S_KV,), (Parameter.S_KV,)), Axis(twos, (Parameter.T_PREFILL_PRFAAS,), ())
    ours = median_ms(lambda: ratio_map(pair, x, y, Outcome.COST), 9)
    began = time.perf_counter()
    for factor in twos:
        for subject in (pair.first, pair.second):
            outcome(varied(subject, {Parameter.S_KV: float(factor)}), Outcome.COST)
    loop_ms = (time.perf_counter() - began) * 1e3 * POINTS
    return f"map of a ratio of costs, {POINTS} × {POINTS}", ours, loop_ms, f"loop scaled from {POINTS} cells"
