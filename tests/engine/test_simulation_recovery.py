"""Queues that grow, queues that have grown and come down, and those that do neither."""

import numpy as np
import pytest

from planner.engine.simulation import Experiment, report
from planner.engine.simulation.faults import Fault, Faults, Place
from planner.engine.simulation.report import is_recovering
from planner.engine.simulation.run import replicate
from planner.engine.throughput import evaluate
from tests.engine.case_study import prfaas_pd

TIMES = np.linspace(0, 1, 200)


@pytest.mark.parametrize(
    ("present", "recovers"),
    [
        (100 * TIMES, False),
        (np.full(200, 50.0), False),
        (np.minimum(300 * TIMES, 150.0), False),
        (np.where(TIMES < 0.5, 200 * TIMES, 200 * (1 - TIMES)), True),
        (np.where(TIMES < 0.9, 200 * TIMES, 180.0 - 50 * (TIMES - 0.9)), False),
        (np.array([5.0, 3.0]), False),
    ],
)
def test_what_has_been_more_and_comes_down_is_recovering(present, recovers):
    assert is_recovering(present) is recovers


def test_a_fault_that_is_over_does_not_make_a_load_unstable():
    deployed = prfaas_pd(19_652.0)
    rate = 0.8 * evaluate(deployed).lambda_max_rps
    down = Faults(planned=(Fault(Place.PRFAAS, 3, 2_000.0, 4_000.0),))
    experiment = Experiment(deployed, rate, requests=20_000, faults=down, failover=False)
    found = report(experiment, [replicate(experiment, 1, index) for index in range(3)])
    assert found.recovering
    assert found.stable
    assert found.ttft_s is not None
    assert found.growth_rps.mean > 0.01


def test_a_load_that_is_too_much_is_never_recovering():
    deployed = prfaas_pd(19_652.0)
    experiment = Experiment(deployed, 1.3 * evaluate(deployed).lambda_max_rps, requests=20_000)
    found = report(experiment, [replicate(experiment, 1, index) for index in range(3)])
    assert not found.recovering
    assert not found.stable
