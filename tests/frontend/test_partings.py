"""Sentences on where a simulation and the formulas part: only what can be read off the numbers beside them."""

import copy

import pytest

from planner import scenario, store
from tests.frontend.test_optimiser import data, page_of
from tests.frontend.test_simulate import CASE, computed, partings, planner, row

__all__ = ["planner"]
pytestmark = pytest.mark.django_db


def about(mean, half):
    return {"mean": mean, "low": mean - half, "high": mean + half}


def shown(client, job, **changes):
    """The page of a job whose result is changed."""
    job.result = job.result | changes
    job.save()
    return page_of(client, job)


def test_what_reads_the_same_is_not_said_to_differ(planner):
    job = computed(planner)
    steady = job.result["steady"]
    page = shown(
        planner,
        job,
        offload_fraction=about(steady["offload_fraction"] - 1e-5, 1e-6),
        egress_bps=about(steady["egress_bps"] - 1e5, 1e4),
    )
    assert "offloaded share" not in partings(page)
    assert "Egress" not in partings(page)
    apart = partings(shown(planner, job, egress_bps=about(steady["egress_bps"] - 1e9, 1e4)))
    assert "Egress, 7.40 Gbps, is below the 8.40 Gbps of the formulas" in apart


def test_a_narrow_link_is_no_reason_for_where_requests_go_unless_it_was_cut_off(planner):
    job = computed(planner, brown_from="300", brown_to="900", brown_bps="6")
    steady = job.result["steady"]
    apart = {
        "offload_fraction": about(steady["offload_fraction"] - 0.02, 0.001),
        "egress_bps": about(steady["egress_bps"] - 1e9, 1e4),
    }
    share, egress = partings(shown(planner, job, **apart)).split("The offloaded share")[1].split("Egress")
    assert "the link carried" not in share
    assert "of twenty intervals one misses" in share
    assert "the link carried 6.00 Gbps for 600 s" in egress
    job.input = copy.deepcopy(job.input)
    job.input["simulation"]["brown_out"]["bps"] = 0.0
    share, _ = partings(shown(planner, job)).split("The offloaded share")[1].split("Egress")
    assert "the link carried 0.00 Gbps for 600 s" in share


def test_a_fault_is_a_reason_for_where_requests_go_only_where_the_other_cluster_took_over(planner):
    job = computed(planner, faults_place_1="prfaas", faults_begin_s_1="300", faults_end_s_1="600")
    offloaded = about(job.result["steady"]["offload_fraction"] - 0.02, 0.001)
    share = partings(shown(planner, job, offload_fraction=offloaded)).split("The offloaded share")[1]
    assert "instances were down for a while (of a cluster with nothing up the other one takes requests)" in share
    job.input = copy.deepcopy(job.input)
    job.input["simulation"]["faults"][0]["instances"] = 1
    share = partings(shown(planner, job)).split("The offloaded share")[1].split("Egress")[0]
    assert "instances were down" not in share


def test_throughput_that_is_not_what_arrives_is_explained(planner):
    job = computed(planner)
    offered = job.result["rate_rps"]
    more = partings(shown(planner, job, throughput_rps=about(offered + 0.02, 0.001)))
    assert "Throughput, 2.206 req/s, is above the 2.186 req/s that arrive: more requests waited as counting beg" in more
    less = partings(shown(planner, job, throughput_rps=about(offered - 0.02, 0.001)))
    assert "is below the 2.186 req/s that arrive: more requests waited as counting ended" in less
    assert "Throughput" not in partings(shown(planner, job, throughput_rps=about(offered + 0.02, 0.03)))


def test_of_a_t_that_moved_it_is_not_said_that_the_formulas_say_the_same(planner):
    job = computed(planner)
    assert "The offloaded share is what the formulas say" in partings(
        shown(planner, job, offload_fraction=about(job.result["steady"]["offload_fraction"], 0.01))
    )
    tokens = [19_400.0] * 5 + [31_250.0] * 5
    page = shown(planner, job, series=job.result["series"] | {"threshold_tokens": tokens})
    assert "what the formulas say" not in partings(page)
    assert (
        "The offloaded share, 49.6 %, is near the 49.6 % of the formulas, which have t and N_p/N_d as given; but t was "
        "between 19,400 and 31,250 tokens." in partings(page)
    )


@pytest.mark.once
def test_roles_that_changed_say_what_became_of_the_split_and_of_t(planner):
    split = {"clusters.pd.prefill_instances": 6, "clusters.pd.decode_instances": 2}
    store.create("scenarios", scenario.load(CASE, split).document() | {"name": "split"})
    job = computed(planner, scenario="split", of="split", load="95", roles="yes", role_delay="10")
    series = job.result["series"]
    said = partings(page_of(planner, job))
    assert f"N_p was between {min(series['prefill_instances']):.3g} and {max(series['prefill_instances']):.3g}" in said
    assert f"N_d was between {min(series['decode_instances']):.3g} and {max(series['decode_instances']):.3g}" in said


def test_more_than_lambda_max_in_an_unstable_run_is_what_both_prefill_stages_carry_together(planner):
    page = page_of(planner, computed(planner, load="130", requests="20000"))
    # Θ_prfaas 1.548 and Θ_pd-p 1.612 req/s, as `manage.py evaluate` prints them, each rounded.
    assert "More is carried than Λ_max, 3.122 req/s" in partings(page)
    assert "= 3.159 req/s" in partings(page)
    assert float(row(page, "flows", "Throughput")[1].split()[0]) == pytest.approx(1.548 + 1.612, rel=0.02)


def test_steady_state_is_of_one_rate_throughout(planner):
    page = page_of(planner, computed(planner, load="130"))
    assert row(page, "flows", "Throughput")[2] == "3.122"
    # at Λ_max, as `manage.py evaluate` prints it
    assert row(page, "flows", "Egress")[2] == "12.01"
    assert data(page, "job-simulation")["steady_egress_bps"] == pytest.approx(12.01e9, rel=1e-3)
    assert row(page, "stages", "PrfaaS compute")[1] == "100.0"


def test_intervals_are_shown_as_far_as_they_can_be(planner):
    job = computed(planner)
    times = {name: about(2.0, 3.0) for name in ("mean", "p50", "p90", "p99")}
    page = shown(
        planner,
        job,
        ttft_s=times,
        utilisation=job.result["utilisation"] | {"pd_p": about(0.97, 0.1)},
        waits_s=job.result["waits_s"] | {"pd_p": about(-0.0, 1.0)},
    )
    assert row(page, "ttft", "P90")[0] == "2.00 [0.00, 5.00]"
    assert row(page, "stages", "PD-P")[0] == "97.0 [87.0, 100.0]"
    assert row(page, "stages", "PD-P")[2] == "0.000 [0.000, 1.000]"
    assert data(page, "job-simulation")["ttft"]["p90"] == {"mean": 2.0, "low": 0.0, "high": 5.0}


def test_what_formulas_leave_over_of_retransmission_is_not_told(planner):
    job = computed(planner)
    assert 'data-row="Retransmitted"' not in shown(planner, job, resent_fraction=about(1.71e-12, 1e-12))
    assert row(shown(planner, job, resent_fraction=about(2e-4, 1e-5)), "flows", "Retransmitted")[1] == (
        "0.020 [0.019, 0.021]"
    )
