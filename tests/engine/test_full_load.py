"""The best purchase whose whole Λ_max is paid for: against trying every one of a small space."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from planner.engine import equal_cost, full_load
from planner.engine.cost import LinkRate
from planner.engine.least_cost import Bought
from planner.engine.lengths import Empirical
from planner.engine.options import LinkOption, PdOption, PrfaasOption, Space, loads
from planner.engine.throughput import Form, evaluate
from tests.engine.case_study import DECODE, H20, H200, LENGTHS, S_KV

FEW = Empirical(np.array([2000.0, 9000.0, 30_000.0, 90_000.0]))
EVERY_COUNT = range(9)


def space(usd_per_gb, lengths=LENGTHS, form=Form.EXACT):
    return Space(
        lengths,
        S_KV,
        (PrfaasOption("h200", H200, 16.0, 8),),
        (LinkOption("wan", 100e9, LinkRate(usd_per_byte=usd_per_gb * 1e-9)),),
        (PdOption("h20", H20, DECODE, 8.0, 16),),
        form=form,
    )


def at_its_limit(given, bought):
    """Λ_max with the whole link, and what the purchase costs there."""
    limit = evaluate(equal_cost.deployment(given, bought), given.form)
    return limit.lambda_max_rps, equal_cost.cost(given, bought, limit.egress_bps).usd_per_h


def tried(given, budget, thresholds):
    """The greatest Λ_max of all counts at some thresholds that are paid for; 0 if none is."""
    most = 0.0
    affordable = (
        each
        for each in itertools.product(EVERY_COUNT[1:], EVERY_COUNT, EVERY_COUNT[1:])
        if 16.0 * each[0] + 8.0 * (each[1] + each[2]) <= budget
    )  # before anything is sent
    for (n, n_p, n_d), t in itertools.product(affordable, thresholds):
        rate, usd = at_its_limit(given, Bought(0, 0, 0, n, n_p, n_d, t))
        most = max(most, rate) if usd <= budget * (1 + 1e-12) else most
    return most


@pytest.mark.parametrize("budget", [60.0, 80.0])
@pytest.mark.parametrize("usd_per_gb", [0.01, 0.03, 0.09])
def test_where_all_requests_leave_no_counts_that_are_paid_for_carry_more(usd_per_gb, budget):
    given = space(usd_per_gb, FEW)
    bought = full_load.best(given, budget, loads(given, np.array([0.0])))
    rate, usd = at_its_limit(given, bought) if bought else (0.0, 0.0)
    assert usd <= budget * (1 + 1e-12)
    assert rate == pytest.approx(tried(given, budget, [0.0]), rel=1e-9)


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("usd_per_gb", [0.004, 0.02, 0.2])
def test_with_a_threshold_to_move_all_that_a_budget_pays_for_is_carried(usd_per_gb, form):
    """`equal_cost` stops the traffic where the money ends: nothing carries more than that."""
    given = space(usd_per_gb, form=form)
    bounded = equal_cost.best(given, 100.8).limit.lambda_max_rps
    rate, usd = at_its_limit(given, full_load.best(given, 100.8))
    assert usd <= 100.8 * (1 + 1e-12)
    assert bounded * (1 - 1e-6) <= rate <= bounded * (1 + 1e-9)


@pytest.mark.parametrize("usd_per_gb", [0.004, 0.03])
def test_of_few_recorded_lengths_it_is_paid_for_too_and_nearly_the_best(usd_per_gb):
    given = space(usd_per_gb, FEW)
    rate, usd = at_its_limit(given, full_load.best(given, 60.0))
    most = tried(given, 60.0, [0.0, 2000.0, 9000.0, 30_000.0])
    assert usd <= 60.0 * (1 + 1e-12)
    assert 0.9 * most <= rate


def test_what_nobody_can_pay_for_is_none():
    given = space(5.0, FEW)
    assert full_load.best(given, 30.0, loads(given, np.array([0.0]))) is None
    assert full_load.best(replace(given, links=(LinkOption("wan", 100e9),)), 1.0) is None
