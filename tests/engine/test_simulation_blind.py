"""Requests that are sent away by lot: the same requests, as many as the share says, and queues of their own."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence

from planner.engine.controller import all_local, all_remote, static
from planner.engine.deployment import Decode
from planner.engine.lengths import Empirical
from planner.engine.simulation import Caching, Experiment, report
from planner.engine.simulation.faults import Failures, Fault, Faults, Place
from planner.engine.simulation.layout import REMOTE
from planner.engine.simulation.requests import Requests
from planner.engine.simulation.run import replicate
from tests.engine.case_study import prfaas_pd
from tests.engine.prompts import Tree

SEED = 20_260_429


def blind(share, *args, **changes):
    return prfaas_pd(math.inf, *args, remote_share=share, **changes)


def experiment(share=0.5, deployment=None, **changes):
    parts = {"rate_rps": 2.0, "requests": 4_000, "warm_up": 0.0, "output_scv": 1.0}
    return Experiment(deployment or blind(share), **(parts | changes))


def drawn(of, count=20_000):
    return Requests(of, SeedSequence(SEED, spawn_key=(0,))).next(count)


def recorded(of):
    return replicate(of, SEED, record=True).record


def test_the_requests_are_those_of_every_other_policy():
    ours, theirs = drawn(experiment(0.3)), drawn(experiment(rule=static(8e3)))
    for name in ("arrival_s", "tokens", "prompt", "output"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
    assert theirs.lot.size == 0


def test_lots_fall_as_often_as_the_share_says_whatever_the_length():
    batch = drawn(experiment(0.3))
    away = batch.lot == REMOTE
    assert away.mean() == pytest.approx(0.3, abs=3 * math.sqrt(0.3 * 0.7 / away.size))
    assert abs(np.corrcoef(away, np.log(batch.tokens))[0, 1]) < 4 / math.sqrt(away.size)


def test_a_larger_share_sends_the_same_away_and_more():
    less, more = (drawn(experiment(share)).lot == REMOTE for share in (0.3, 0.6))
    assert np.all(more[less])
    assert more.sum() > less.sum()


def test_lots_do_not_depend_on_how_many_are_drawn_at_a_time():
    requests = Requests(experiment(), SeedSequence(SEED, spawn_key=(0,)))
    parts = np.concatenate([requests.next(count).lot for count in (1, 700, 1299)])
    assert np.array_equal(parts, drawn(experiment(), 2000).lot)


TROUBLE = Faults((Fault(Place.PRFAAS, 2, 100.0, 300.0),), (Failures(Place.PD_P, 400.0, 60.0),))


@pytest.mark.parametrize(("share", "rule"), [(0.0, all_local()), (1.0, all_remote())])
@pytest.mark.parametrize("failover", [False, True])
def test_with_all_on_one_side_every_request_meets_what_it_meets_under_that_policy(share, rule, failover):
    """Faults come when they do without lots, too."""
    ours = experiment(share, faults=TROUBLE, failover=failover, rate_rps=1.0)
    theirs = replace(ours, deployment=prfaas_pd(), rule=rule)
    assert np.array_equal(recorded(ours), recorded(theirs))


def test_a_rule_that_is_given_goes_before_the_share():
    ours, theirs = experiment(0.5, rule=static(19_400)), experiment(deployment=prfaas_pd(19_400))
    assert np.array_equal(recorded(ours), recorded(theirs))


def test_a_prefix_cache_does_not_change_where_the_lot_sends_a_request():
    caching = Caching(1e12, 1e12, block_tokens=2000)
    of = experiment(0.4, prompts=Tree(2_000, 3, 7, 2000, 1), caching=caching, requests=2_000)
    assert np.array_equal(recorded(of)["route"], drawn(of, 2_000).lot)


def test_over_a_dead_link_what_the_lot_sends_never_comes_unless_the_other_cluster_takes_it():
    of = experiment(deployment=blind(0.5, bandwidth_bps=0.0), rate_rps=0.4, failover=False)
    lost = recorded(of)["done_s"] == 0
    assert np.array_equal(lost, drawn(of, of.requests).lot == REMOTE)
    assert np.all(recorded(replace(of, failover=True))["done_s"] > 0)


def test_each_side_waits_as_a_queue_of_its_own_share():
    """One instance each, requests of one length: two M/D/1, whose mean wait is ρ·T / 2(1 - ρ)."""
    share, rate_rps = 0.6, 1.2
    one, decode = Empirical([8192.0]), Decode(10_000, 0.025, 64)
    deployed = blind(share, 1, 1, n_prfaas=1, lengths=one, decode=decode)
    of = experiment(deployment=deployed, rate_rps=rate_rps, requests=40_000, warm_up=0.05, output_scv=0.0)
    found = report(of, [replicate(of, SEED, index) for index in range(5)])
    for stage, part, seconds in (("prfaas", share, 0.72), ("pd_p", 1 - share, 1.513)):
        busy = rate_rps * part * seconds
        assert found.waits[stage].mean_s.mean == pytest.approx(busy * seconds / (2 * (1 - busy)), rel=0.05)
    assert found.offload_fraction.mean == pytest.approx(share, abs=0.005)
