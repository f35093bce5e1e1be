"""The same fleet with faster chips: which stage then binds, and from when on it is the link."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine import growth
from planner.engine.lengths import offload_fraction
from planner.engine.throughput import Stage, evaluate
from planner.engine.varying import Outcome, Subject, outcome, tuned
from tests.engine.case_study import LENGTHS, S_KV, homogeneous, naive, prfaas_pd
from tests.examples import examples

WIDE = 400
"""Decode instances: as good as no limit."""


def mean_bits(threshold):
    """E[S_kv; L > t] in bits, by the trapezoidal rule over ln L."""
    at = np.linspace(np.log(128), np.log(131072), 400_001)
    density = np.exp(-((at - 9.90) ** 2) / 2)
    return 8 * np.trapezoid(density * S_KV(np.exp(at)) * (np.exp(at) > threshold), at) / np.trapezoid(density, at)


@pytest.mark.parametrize("remote_only", [False, True])
def test_the_link_binds_once_it_saturates_before_the_faster_chips(remote_only):
    """All remote: Λ_link = B / E[S_kv], Λ_prfaas = N / E[T]; their ratio is the speed-up."""
    remote = Subject(prfaas_pd(0.0, 0, WIDE))
    expected = 100e9 / mean_bits(0.0) / evaluate(remote.deployment).lambda_max_rps
    found = growth.link_binds_from(remote, remote_only)
    assert found == pytest.approx(expected, rel=1e-5)
    for speed_up, binding in ((found * 0.99, Stage.PRFAAS), (found * 1.01, Stage.LINK)):
        assert growth.limits(growth.faster(remote, speed_up, remote_only)).binding == [binding]


def test_with_decode_as_it_is_decode_binds_first_in_the_case_study():
    given_fleet = Subject(prfaas_pd())
    assert growth.before_link(given_fleet) == [Stage.PD_D]
    fast = growth.limits(growth.faster(given_fleet, 4.0))
    assert fast.lambda_max_rps == pytest.approx(5 * 20 / (0.025 * 1024))
    assert fast.binding == [Stage.PD_D]


def test_faster_chips_on_one_side_leave_the_other_one_to_bind():
    one_sided = Subject(prfaas_pd(n_d=WIDE))
    assert growth.before_link(one_sided, remote_only=True) == [Stage.PD_P]
    assert growth.limits(growth.faster(one_sided, 8.0, remote_only=True)).binding == [Stage.PD_P]


@given(st.floats(1.0, 30.0))
@examples(20)
def test_at_the_given_threshold_only_prefill_rates_change_and_in_proportion(speed_up):
    before, after = (
        growth.limits(each).stage_rps for each in (Subject(prfaas_pd()), growth.faster(Subject(prfaas_pd()), speed_up))
    )
    for stage, rate in before.items():
        grown = speed_up if stage in (Stage.PRFAAS, Stage.PD_P) else 1.0
        assert after[stage] == pytest.approx(grown * rate, rel=1e-9)


def test_egress_is_what_crosses_at_the_rate_that_is_carried():
    limits = growth.limits(Subject(prfaas_pd()))
    assert limits.link_bits == pytest.approx(mean_bits(19400), rel=1e-4)
    assert limits.offload_fraction == pytest.approx(float(offload_fraction(LENGTHS, 19400)))
    assert limits.lambda_max_rps * limits.link_bits == pytest.approx(evaluate(prfaas_pd()).egress_bps, rel=1e-12)


def test_stages_that_no_request_passes_are_left_out():
    assert set(growth.limits(Subject(naive())).stage_rps) == {Stage.PRFAAS, Stage.LINK, Stage.PD_D}
    assert set(growth.limits(Subject(homogeneous())).stage_rps) == {Stage.PD_P, Stage.PD_D}


@pytest.mark.parametrize("fleet", [homogeneous(), prfaas_pd(bandwidth_bps=np.inf), prfaas_pd(n_prfaas=0)])
def test_without_a_link_without_an_end_to_it_or_without_chips_it_never_binds(fleet):
    assert growth.link_binds_from(Subject(fleet)) is None


def test_where_the_threshold_follows_the_link_binds_from_where_its_rate_falls_to_lambda():
    """Both sides grow alike, so that the best t stays until the link is as slow: B / (p · S_kv) = k · Λ."""
    fleet = Subject(prfaas_pd(n_d=WIDE, bandwidth_bps=30e9))
    best = tuned(fleet)
    expected = growth.link_binds_from(best)
    found = growth.link_binds_from_tuned(fleet)
    assert found == pytest.approx(expected, rel=2e-3)
    beyond = tuned(growth.faster(fleet, 2 * found))
    assert Stage.LINK in growth.limits(beyond).binding
    # the local side takes over what the link does not carry
    assert outcome(beyond, Outcome.LAMBDA_MAX) > found * outcome(best, Outcome.LAMBDA_MAX)
    assert beyond.deployment.threshold_tokens > best.deployment.threshold_tokens


def test_a_link_that_binds_already_needs_no_speed_up():
    narrow = Subject(prfaas_pd(n_d=WIDE, bandwidth_bps=3e9))
    assert growth.link_binds_from(narrow) < 1
    assert growth.link_binds_from_tuned(narrow) == 1.0
    assert growth.link_binds_from_tuned(Subject(homogeneous())) is None
    assert (
        growth.link_binds_from_tuned(
            Subject(
                prfaas_pd(),
            )
        )
        is None
    )
