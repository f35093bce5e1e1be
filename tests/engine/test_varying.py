"""A deployment with some of its figures changed: one by one, thousands at once, and at its best threshold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine import search
from planner.engine.blind import best_remote_share
from planner.engine.cost import LinkRate
from planner.engine.curves import LogLogCurve
from planner.engine.lengths import Empirical, TruncatedGamma, TruncatedPareto, mean
from planner.engine.lengths.stretched import Stretched
from planner.engine.outcomes import FEW, outcomes, pieces
from planner.engine.priced import Prices
from planner.engine.sensitivity import at, elasticity
from planner.engine.throughput import Form, evaluate
from planner.engine.varying import Load, Outcome, Parameter, Subject, few, outcome, tuned, varied
from tests.engine.case_study import H200, TOKENS, homogeneous, naive, prfaas_pd
from tests.examples import examples

PRICES = Prices(16.8, 8.4, LinkRate(5.0, 1e-11))
POWER = Prices(1.0, 0.5)
QUICK = (Outcome.LAMBDA_MAX, Outcome.COST, Outcome.TTFT_P90)
WAVY = LogLogCurve(TOKENS, [0.6, 0.5, 1.9, 7.0])
"""It falls between its first two points."""


def subject(deployment=None, form=Form.EXACT, **changes):
    return Subject(deployment or prfaas_pd(), form, PRICES, POWER, 1.1, **changes)


KINDS = {
    "threshold": prfaas_pd(),
    "local": homogeneous(),
    "remote": naive(),
    "blind": prfaas_pd(np.inf, remote_share=0.4),
    "wavy": prfaas_pd(prfaas=replace(prfaas_pd().prfaas, t_prefill=WAVY, egress_bps=2e9)),
    "gamma": prfaas_pd(lengths=TruncatedGamma(1.2, 20_000, 128, 131072)),
    "recorded": prfaas_pd(lengths=Empirical(np.geomspace(200, 120_000, 57))),
}
WITHOUT_SIGMA = ("gamma", "recorded")
factors = st.floats(0.25, 4.0)


@st.composite
def changes(draw, kind, count):
    """Factors of some parameters, `count` of each."""
    allowed = [each for each in Parameter if each is not Parameter.SIGMA or kind not in WITHOUT_SIGMA]
    chosen = draw(st.lists(st.sampled_from(allowed), unique=True))
    return {each: np.array(draw(st.lists(factors, min_size=count, max_size=count))) for each in chosen}


# --- one by one --------------------------------------------------------------------------------------------------


def test_doubling_the_instances_of_the_stage_that_binds_doubles_lambda_until_another_binds():
    """In the baseline PD-P binds at 2.03 and decode at 3 · 20 / (0.025 · 1024) = 2.34 req/s."""
    base = subject(homogeneous())
    given = outcome(base, Outcome.LAMBDA_MAX)
    wide = varied(base, {Parameter.N_D: 4.0})
    assert outcome(varied(wide, {Parameter.N_P: 2.0}), Outcome.LAMBDA_MAX) == pytest.approx(2 * given, rel=1e-12)
    assert outcome(varied(base, {Parameter.N_P: 2.0}), Outcome.LAMBDA_MAX) == pytest.approx(2.34375, rel=1e-12)


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Parameter.T_PREFILL_PRFAAS, -1.0),
        (Parameter.N_PRFAAS, 1.0),
        (Parameter.T_PREFILL_PD_P, 0.0),
        (Parameter.S_KV, 0.0),
        (Parameter.BANDWIDTH, 0.0),
        (Parameter.STEP, 0.0),
        (Parameter.PRICE_PD, 0.0),
    ],
)
def test_only_the_stage_that_binds_has_an_elasticity_and_it_is_one(parameter, expected):
    found = elasticity(subject(), [parameter], [Outcome.LAMBDA_MAX])
    assert found[Outcome.LAMBDA_MAX] == pytest.approx(expected, abs=1e-9)


def test_elasticities_of_cost_are_the_shares_of_what_is_paid():
    """4 and 8 instances at 16.8 and 8.4 USD/h: each side is half, without power and link."""
    cheap = Subject(prfaas_pd(), chips=Prices(16.8, 8.4))
    for parameter in (Parameter.PRICE_PRFAAS, Parameter.PRICE_PD):
        assert elasticity(cheap, [parameter], [Outcome.COST])[Outcome.COST] == pytest.approx(0.5, rel=1e-7)


def test_ttft_is_in_proportion_to_both_prefill_times_together():
    both = [Parameter.T_PREFILL_PRFAAS, Parameter.T_PREFILL_PD_P]
    base, slow = (at(subject(), both, factor, [Outcome.TTFT_P90])[Outcome.TTFT_P90] for factor in (1.0, 1.7))
    assert slow == pytest.approx(1.7 * base, rel=1e-9)


def test_cost_is_what_a_hand_calculation_says():
    base = Subject(naive(), chips=Prices(16.8, 8.4, LinkRate(7.305, 1e-11)), prompt_ratio=2.0)
    limit = evaluate(naive())
    link = 7.305 + limit.egress_bps / 8 * 3600 * 1e-11
    tokens = 2 * mean(naive().lengths) + 1024
    expected = (4 * 16.8 + 8 * 8.4 + link) / (limit.lambda_max_rps * tokens * 3600) * 1e6
    assert outcome(base, Outcome.COST) == pytest.approx(expected, rel=1e-12)


def test_a_cost_without_prices_is_not_known():
    assert np.isnan(outcome(Subject(prfaas_pd()), Outcome.COST))
    assert np.isnan(outcomes(Subject(prfaas_pd()), {}, [Outcome.COST])[Outcome.COST]).all()


def test_a_load_of_its_own_is_a_share_of_what_is_carried():
    most = outcome(subject(), Outcome.LAMBDA_MAX)
    own = outcome(subject(), Outcome.TTFT_P90_LOADED, Load(share=0.8))
    assert own == outcome(subject(), Outcome.TTFT_P90_LOADED, Load(rate_rps=0.8 * most))
    assert outcome(subject(), Outcome.TTFT_P90_LOADED, Load(rate_rps=1.01 * most)) == np.inf


@pytest.mark.parametrize("factor", [0.0, -1.0, np.inf, np.nan])
def test_a_factor_that_is_not_positive_is_refused(factor):
    with pytest.raises(ValueError, match="positive factor"):
        varied(subject(), {Parameter.S_KV: factor})
    with pytest.raises(ValueError, match="positive factor"):
        Stretched(prfaas_pd().lengths, factor)


def test_lengths_that_are_not_log_normal_have_no_sigma_to_vary():
    with pytest.raises(ValueError, match="sigma"):
        varied(subject(KINDS["gamma"]), {Parameter.SIGMA: 1.1})
    assert np.isnan(at(subject(KINDS["gamma"]), [Parameter.SIGMA], 1.1, QUICK)[Outcome.LAMBDA_MAX])


# --- lengths -----------------------------------------------------------------------------------------------------


@given(st.floats(1.1, 4.0), st.floats(0.2, 5.0))
@examples(25)
def test_a_stretched_pareto_is_the_pareto_with_its_bounds_stretched(alpha, factor):
    stretched = Stretched(TruncatedPareto(alpha, 500, 90_000), factor)
    same = TruncatedPareto(alpha, 500 * factor, 90_000 * factor)
    t = factor * np.array([100.0, 700.0, 20_000.0, 1e6])
    assert (stretched.shortest, stretched.longest) == (same.shortest, same.longest)
    assert stretched.between(0.0, t) == pytest.approx(same.between(0.0, t), abs=1e-12)
    assert stretched.quantile([0.1, 0.9]) == pytest.approx(same.quantile([0.1, 0.9]), rel=1e-12)
    for ours, theirs in (
        (stretched.partial_means(t), same.partial_means(t)),
        (stretched.partial_expectations([H200], t, H200.kinks), same.partial_expectations([H200], t, H200.kinks)),
    ):
        assert np.array(ours) == pytest.approx(np.array(theirs), rel=1e-7, abs=1e-9)


def test_few_recorded_lengths_stand_for_many_in_equal_shares():
    many = Empirical(np.geomspace(100, 100_000, 50_001))
    found = few(many, 1000)
    assert found.samples.size == 1000
    assert mean(found) == pytest.approx(mean(many), rel=1e-4)
    assert few(found, 1000) is found


# --- at its best -------------------------------------------------------------------------------------------------


def test_tuned_carries_what_the_exhaustive_search_carries():
    problem = search.Problem(prfaas_pd(), Form.EXACT, free_threshold=True, free_split=False)
    assert outcome(tuned(subject()), Outcome.LAMBDA_MAX) == pytest.approx(search.best(problem).lambda_max_rps, rel=1e-9)


def test_tuned_finds_the_share_of_a_router_that_knows_no_lengths_and_leaves_a_local_deployment():
    found = tuned(subject(KINDS["blind"])).deployment
    assert found.remote_share == best_remote_share(KINDS["blind"])
    assert tuned(subject(homogeneous())) == subject(homogeneous())


# --- thousands at once -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), form=st.sampled_from(Form))
@examples(12)
def test_many_changes_at_once_are_what_they_are_one_by_one(kind, data, form):
    base, some = subject(KINDS[kind], form), data.draw(changes(kind, 3))
    found = outcomes(base, some, QUICK)
    for place in range(3 if some else 1):
        one = varied(base, {each: float(values[place]) for each, values in some.items()})
        expected = [outcome(one, each) for each in QUICK]
        assert [found[each][place] for each in QUICK] == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(
    ("kind", "within"), [("threshold", 1e-3), ("blind", 1e-3), ("gamma", 1e-3), ("recorded", 0.03)]
)
def test_a_table_of_work_is_as_good_as_the_work_itself(kind, within):
    """Errors of 25 %, the greatest that is assumed; of 57 recorded lengths, one passes the threshold at a time."""
    rng = np.random.default_rng(3)
    some = {Parameter.PROMPT: np.exp(0.25 * rng.standard_normal(2 * FEW))}
    if kind not in WITHOUT_SIGMA:
        some[Parameter.SIGMA] = np.exp(0.25 * rng.standard_normal(2 * FEW))
    base = subject(KINDS[kind])
    read = outcomes(base, some, QUICK)
    found = outcomes(base, {each: values[:FEW] for each, values in some.items()}, QUICK)
    for each in QUICK:
        assert read[each][:FEW] == pytest.approx(found[each], rel=within)


def test_lengths_that_cannot_be_have_no_outcome():
    point = prfaas_pd(lengths=replace(prfaas_pd().lengths, sigma=1e-3))
    found = outcomes(subject(point), {Parameter.PROMPT: np.array([1.0, 30.0])}, QUICK)
    assert [np.isnan(found[each]).tolist() for each in QUICK] == [[False, True]] * 3
    with pytest.raises(ValueError, match="not possible"):
        outcomes(subject(point), {Parameter.PROMPT: np.linspace(1.0, 30.0, FEW + 1)}, QUICK)


def test_ttft_under_load_is_one_by_one():
    with pytest.raises(ValueError, match="one by one"):
        outcomes(subject(), {}, [Outcome.TTFT_P90_LOADED])


def test_a_prefill_time_that_falls_has_an_interval_between_each_two_of_its_points():
    assert pieces(subject()) == 2
    assert pieces(subject(KINDS["wavy"])) == 4
