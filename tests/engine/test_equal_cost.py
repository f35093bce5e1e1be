"""The best purchase for a budget: against trying every one of a small space, and against the case study's figures."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine import equal_cost, search
from planner.engine.cost import LinkRate
from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode
from planner.engine.least_cost import Bought, cheapest
from planner.engine.lengths import Empirical, TruncatedLogNormal
from planner.engine.options import LinkOption, Loads, PdOption, PrfaasOption, Reserve, Space, loads
from planner.engine.throughput import Form, Stage, evaluate
from tests.engine.case_study import DECODE, H20, H200, LENGTHS, S_KV, prfaas_pd
from tests.examples import examples

ENDLESS = float("inf")


WAN = LinkOption("wan", 100e9)


def space(ratio=2.0, most_prfaas=64, most_pd=64, links=(WAN,), **changes):
    """The case study's chips at 8 GPUs an instance and a dollar a GPU of H20, `ratio` a GPU of H200."""
    given = Space(
        LENGTHS,
        S_KV,
        (PrfaasOption("h200", H200, 8 * ratio, most_prfaas),) if most_prfaas else (),
        links if most_prfaas else (),
        (PdOption("h20", H20, DECODE, 8.0, most_pd),),
    )
    return replace(given, **changes)


def counts(bought):
    return bought.prfaas_instances, bought.prefill_instances, bought.decode_instances


# --- the case study at a price ratio of 2.0: 128 USD an hour -----------------------------------------------------


@pytest.mark.parametrize(("form", "most"), [(Form.EXACT, 2.710), (Form.PAPER, 2.813)])
def test_sixteen_h20_instances_are_the_homogeneous_deployment_of_equal_cost(form, most):
    found = equal_cost.best(space(most_prfaas=0, form=form), 128.0)
    assert found.limit.lambda_max_rps == pytest.approx(most, abs=6e-4)
    assert sum(counts(found.bought)) == 16


@pytest.mark.parametrize(("form", "gain"), [(Form.EXACT, 1.158), (Form.PAPER, 1.137)])
def test_the_papers_deployment_gains_what_it_says_at_equal_cost(form, gain):
    local = equal_cost.best(space(most_prfaas=0, form=form), 128.0).limit.lambda_max_rps
    papers = search.best(search.Problem(prfaas_pd(), form, free_threshold=True, free_split=True))
    assert papers.lambda_max_rps / local == pytest.approx(gain, abs=6e-4)


def test_with_n_prfaas_free_one_more_remote_instance_is_better():
    found = equal_cost.best(space(), 128.0)
    assert counts(found.bought) == (5, 1, 5)
    assert found.bought.threshold_tokens == pytest.approx(9750, rel=1e-3)
    assert found.limit.lambda_max_rps == pytest.approx(3.223, abs=6e-4)
    assert found.cost.usd_per_h == pytest.approx(128)
    assert found.limit.lambda_max_rps < found.bound_rps < 1.1 * found.limit.lambda_max_rps
    assert found.combinations > 1e9


def test_money_for_each_byte_changes_the_answer():
    """At 0.02 USD a GB, 12.2 Gbps cost 110 USD an hour: as much as everything else."""
    priced = LinkOption("wan", 100e9, LinkRate(usd_per_byte=0.02e-9))
    bought = Bought(0, 0, 0, 4, 3, 5, 19_600)
    assert equal_cost.cost(space(links=(priced,)), bought, 12.2e9).link_volume == pytest.approx(110, abs=0.5)
    free, paid = equal_cost.best(space(), 128.0), equal_cost.best(space(links=(priced,)), 128.0)
    assert paid.limit.lambda_max_rps < 0.9 * free.limit.lambda_max_rps
    assert paid.cost.usd_per_h <= 128.0 * (1 + 1e-9)


# --- against everything tried ------------------------------------------------------------------------------------


def tried(given, budget, thresholds):
    """Λ_max of the best of all purchases at some thresholds, by loops over everything."""
    work = loads(given, thresholds)
    most = 0.0
    for (b, pd), (a, remote), (k, _) in itertools.product(
        enumerate(given.pd), [(None, None), *enumerate(given.prfaas)], [(None, None), *enumerate(given.links)]
    ):
        if (a is None) != (k is None):
            continue
        for n_r in range(1, remote.most + 1) if remote else [0]:
            for n_p, n_d in itertools.product(range(pd.most + 1), repeat=2):
                if n_p + n_d <= pd.most:
                    bought = Bought(a, k, b, n_r, n_p, n_d, 0.0)
                    most = max(most, limits(given, work, bought, budget).max())
    return most


def limits(given, work: Loads, bought, budget):
    """Λ_max of one purchase at each threshold, 0 where it costs too much."""
    left = budget - equal_cost.cost(given, bought, 0.0).usd_per_h
    if left < -1e-9 * budget:
        return np.zeros(1)
    capacity, pd = given.reserve.capacity, given.pd[bought.pd]
    with np.errstate(divide="ignore", invalid="ignore"):
        stages = [
            np.full(work.thresholds.size, capacity(bought.decode_instances) * pd.decode.instance_rps),
            np.where(work.pd_p_s[bought.pd] > 0, capacity(bought.prefill_instances) / work.pd_p_s[bought.pd], ENDLESS),
        ]
        if bought.prfaas is None:
            stages.append(np.where(work.link_bits > 0, 0.0, ENDLESS))
        else:
            link = given.links[bought.link]
            bits = min(given.link_bps(link), link.rate.bits_per_s(left))
            prfaas_s = work.prfaas_s[bought.prfaas]
            stages.append(np.where(prfaas_s > 0, capacity(bought.prfaas_instances) / prfaas_s, ENDLESS))
            stages.append(np.where(work.link_bits > 0, bits / work.link_bits, ENDLESS))
    return np.min(stages, axis=0)


curves = st.builds(
    lambda start, growth: LogLogCurve([256, 4096, 65536], start * np.array([1.0, growth, growth**2])),
    st.floats(0.05, 1.0),
    st.floats(1.5, 16.0),
)
lengths = st.one_of(
    st.builds(TruncatedLogNormal, st.floats(6, 10), st.floats(0.3, 1.5), st.just(256.0), st.just(65536.0)),
    st.builds(
        lambda values: Empirical(np.array(values, float)), st.lists(st.integers(256, 65536), min_size=1, max_size=8)
    ),
)
dollars = st.sampled_from([1.0, 2.0, 3.5, 8.0])
spaces = st.builds(
    Space,
    lengths,
    st.builds(lambda size: LogLogCurve([256, 65536], [size, 30 * size]), st.floats(1e7, 1e9)),
    st.tuples(
        st.builds(
            PrfaasOption, st.just("fast"), curves, dollars, st.integers(1, 3), st.sampled_from([np.inf, 1e9, 1e10])
        )
    ),
    st.lists(
        st.builds(
            LinkOption,
            st.just("link"),
            st.floats(1e8, 1e11),
            st.builds(LinkRate, st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1e-11])),
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
    st.lists(
        st.builds(
            PdOption, st.just("local"), curves, st.builds(Decode, st.floats(1, 40), st.just(0.03), st.just(300.0)),
            dollars, st.integers(1, 4),
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
    st.builds(Reserve, st.sampled_from([1.0, 0.8]), st.sampled_from([0, 0, 1]), st.sampled_from([0.0, 0.25])),
)  # fmt: skip
budgets = st.floats(1.0, 40.0)


@examples(25)
@given(spaces, budgets)
def test_no_purchase_of_a_small_space_carries_more(given_space, budget):
    thresholds = loads(given_space, count=60).thresholds
    brute = tried(given_space, budget, thresholds)
    found = equal_cost.best(given_space, budget)
    if found is None:
        assert brute == 0
        return
    # the grid of 60 is part of what the search sees only where lengths are few; it never beats a free threshold
    assert found.limit.lambda_max_rps >= brute * (1 - 1e-9)
    assert found.cost.usd_per_h <= budget * (1 + 1e-9)
    assert found.limit.lambda_max_rps <= found.bound_rps * (1 + 1e-9)
    exactly = limits(given_space, loads(given_space, np.array([found.bought.threshold_tokens])), found.bought, budget)
    assert found.limit.lambda_max_rps == pytest.approx(exactly[0], rel=1e-9)


@examples(8)
@given(spaces, budgets)
def test_on_a_fine_grid_every_purchase_tried_comes_as_near_as_the_grid_is(given_space, budget):
    thresholds = loads(given_space, count=4000).thresholds
    brute, found = tried(given_space, budget, thresholds), equal_cost.best(given_space, budget)
    assert (found.limit.lambda_max_rps if found else 0.0) == pytest.approx(brute, rel=5e-3)


@examples(12)
@given(spaces, budgets, st.floats(1.0, 3.0))
def test_more_money_bandwidth_or_instances_never_carry_less(given_space, budget, more):
    def most(of, usd):
        found = equal_cost.best(of, usd)
        return found.limit.lambda_max_rps if found else 0.0

    before = most(given_space, budget) * (1 - 1e-9)
    wider = tuple(replace(link, usable_bps=link.usable_bps * more) for link in given_space.links)
    larger = tuple(replace(option, most=option.most + 1) for option in given_space.pd)
    assert most(given_space, budget * more) >= before
    assert most(replace(given_space, links=wider), budget) >= before
    assert most(replace(given_space, pd=larger), budget) >= before


@examples(12)
@given(spaces, st.floats(0.01, 5.0))
def test_the_cheapest_purchase_for_a_rate_carries_it(given_space, rate_rps):
    found = cheapest(given_space, loads(given_space, count=200), rate_rps)
    if found is not None:
        deployed = equal_cost.deployment(given_space, found.bought)
        assert evaluate(deployed).lambda_max_rps >= rate_rps * (1 - 1e-9)


def test_at_the_optimum_both_sides_saturate_together_and_no_neighbour_is_better():
    """Equation 7 at an interior optimum, equation 8 up to whole instances."""
    found = equal_cost.best(space(), 128.0)
    rates = found.limit.stage_lambda_rps
    assert rates[Stage.PRFAAS] == pytest.approx(rates[Stage.PD_P], rel=1e-9)
    n_prfaas, n_p, n_d = counts(found.bought)
    for change in (-1, 1):
        if n_p + change >= 0 and n_d - change > 0:
            other = replace(found.bought, prefill_instances=n_p + change, decode_instances=n_d - change)
            assert equal_cost.at_its_limit(space(), other, ENDLESS)[1].lambda_max_rps <= found.limit.lambda_max_rps
    fewer = replace(found.bought, prfaas_instances=n_prfaas - 1, decode_instances=n_d + 2)
    assert equal_cost.at_best_split(space(), fewer)[1].lambda_max_rps < found.limit.lambda_max_rps


def test_what_an_instance_can_send_binds_like_a_link():
    narrow = space(prfaas=(PrfaasOption("h200", H200, 16.0, 64, egress_bps=2e9),))
    found = equal_cost.best(narrow, 128.0)
    assert found.limit.egress_bps <= 2e9 * found.bought.prfaas_instances * (1 + 1e-9)
    assert found.limit.lambda_max_rps < equal_cost.best(space(), 128.0).limit.lambda_max_rps


def test_a_budget_that_buys_nothing_has_no_answer():
    assert equal_cost.best(space(), 8.0) is None
    assert equal_cost.best(space(), 16.0).bought.prfaas is None


def test_several_kinds_of_chips_and_links_are_chosen_among():
    fast = PrfaasOption("b200", LogLogCurve([1024, 131072], [0.2, 3.0]), 24.0, 64)
    slow = PrfaasOption("h200", H200, 16.0, 64)
    narrow, wide = LinkOption("10g", 10e9, LinkRate(1.0)), LinkOption("100g", 100e9, LinkRate(4.0))
    both = space(prfaas=(slow, fast), links=(wide, narrow))
    apart = [
        equal_cost.best(space(prfaas=(remote,), links=(link,)), 128.0).limit.lambda_max_rps
        for remote in (slow, fast)
        for link in (narrow, wide)
    ]
    assert equal_cost.best(both, 128.0).limit.lambda_max_rps == pytest.approx(max(apart), rel=1e-9)
