"""What the page of a simulation says of caches, faults, weather, roles and decode, and where formulas stop."""

import re

import pytest

from frontend.simulator.unheard import HEARD, TITLES, approximation, unheard
from planner import scenario, store
from planner.models import Job
from planner.simulating import document
from planner.simulating.schema import Run
from tests.frontend.test_optimiser import data, page_of, text
from tests.frontend.test_simulate import ALONE, CASE, asked, computed, partings, planner, row

__all__ = ["planner"]
pytestmark = pytest.mark.django_db
AGENTS = {"prompts": "agents", "pd_bytes": "2000", "prfaas_bytes": "1000"}
DOWN = {"faults_place_1": "prfaas", "faults_instances_1": "4", "faults_begin_s_1": "300", "faults_end_s_1": "600"}


def read(page, label):
    """Mean of a row of flows."""
    return float(re.match(r"-?[\d,.]+", row(page, "flows", label)[1])[0].replace(",", ""))


def facts(page):
    return text(page.split("data-facts>")[1].split("</dl>")[0])


# --- decode ------------------------------------------------------------------------------------------------------


def test_how_decode_was_simulated_is_said_wherever_a_ttft_stands(planner):
    page = page_of(planner, computed(planner))
    assert "Decode was simulated by request." in text(page)
    assert "TTFT in seconds, decode by request" in text(page)
    assert data(page, "job-simulation")["decoding"] == "by request"
    assert "Decodeby request, a step of 25 ms" in facts(page)
    stepped = page_of(planner, computed(planner, iterations="iteration", step_base="20", step_request="50"))
    assert "TTFT in seconds, decode by iteration" in text(stepped)
    assert "Decodeby iteration, a step of 20 ms + 50 µs a request + 0 ns a token of context" in facts(stepped)


def test_tpot_by_request_is_the_scenarios_step_and_by_iteration_has_percentiles(planner):
    page = page_of(planner, computed(planner))
    assert row(page, "flows", "TPOT") == ["ms", "25.00", "25.00"]
    stepped = page_of(planner, computed(planner, iterations="iteration", step_base="20"))
    assert read(stepped, "TPOT, mean") == pytest.approx(20, abs=0.2)
    assert row(stepped, "flows", "TPOT, P99")[2] == "25.00"
    assert "Decode" not in partings(page)
    assert "decode by iteration" in partings(stepped)


# --- what there is only of something that is on ------------------------------------------------------------------


def test_of_what_is_off_there_is_no_row(planner):
    page = page_of(planner, computed(planner))
    for label in (
        "Spared by prefix caches",
        "Copied prefixes",
        "Retransmitted",
        "Restarted requests",
        "Changes of role",
    ):
        assert f'data-row="{label}"' not in page
    assert "know nothing" not in partings(page)


def test_what_caches_spare_stands_in_the_table_and_is_a_reason(planner):
    job = computed(planner, load="40", replications="1", cache_routing="length", **AGENTS)
    page = page_of(planner, job)
    spared = job.result["cached_fraction"]["mean"]
    assert 0.5 < spared < 1
    assert read(page, "Spared by prefix caches") == pytest.approx(100 * spared, abs=0.06)
    assert read(page, "Copied prefixes") >= 0
    said = f"prefix caches spared {100 * spared:.1f} % of prompts' tokens, and the formulas have the caches endless"
    assert f"{said} and whole prompts are compared with t." in partings(page)
    assert (
        "The formulas know nothing of requests that belong together and prefix caches that fill and forget."
        in partings(page)
    )
    assert "Promptsgenerated sessions of agents" in facts(page)
    assert "PD 2,000 GB, PrfaaS 1,000 GB, blocks of 512 tokens" in facts(page)


def test_utilisation_by_the_formulas_is_that_of_the_sessions_and_not_of_the_scenarios_lengths(planner):
    page = page_of(planner, computed(planner, load="40", **AGENTS))
    simulated, formula = row(page, "stages", "PD-D")[:2]
    assert float(formula) == pytest.approx(float(simulated.split()[0]), rel=0.3)


def test_faults_restart_requests_and_are_seen_over_time(planner):
    page = page_of(planner, computed(planner, load="70", **DOWN))
    assert read(page, "Restarted requests") > 0
    series = data(page, "job-simulation")["series"]
    at = int(450 / series["bin_s"])
    assert series["prfaas_instances"][at] == 0
    assert series["prfaas_instances"][at * 2] == 4
    assert "Faults4 PrfaaS from 300 to 600 s" in facts(page)
    assert "The formulas know nothing of faults." in partings(page)


@pytest.mark.once
def test_roles_that_change_are_counted_and_seen_over_time(planner):
    split = {"clusters.pd.prefill_instances": 6, "clusters.pd.decode_instances": 2}
    store.create("scenarios", scenario.load(CASE, split).document() | {"name": "split"})
    job = computed(planner, scenario="split", of="split", load="95", roles="yes", role_delay="10")
    page = page_of(planner, job)
    series = data(page, "job-simulation")["series"]
    assert series["prefill_instances"][0] == 6
    assert series["decode_instances"][-1] > 2
    assert "instances changed their role" in partings(page)
    assert read(page, "Changes of role") == pytest.approx(job.result["conversions"]["mean"], abs=0.06)


def test_what_tcp_sends_again_stands_in_the_table(planner):
    lossy = scenario.load(CASE, {"links.wan.rtt_s": 0.03}).document() | {"name": "far"}
    store.create("scenarios", lossy)
    page = page_of(planner, computed(planner, scenario="far", of="far", load="40", loss="0.1", connections="64"))
    assert read(page, "Retransmitted") >= 0.1
    assert "64 connections, no bound on the window, 30 ms round trip, 0.1 % loss" in facts(page)


def test_weather_is_drawn_and_named(planner):
    page = page_of(planner, computed(planner, load="40", others="20", windows_begin_s_1="300", windows_end_s_1="600",
        windows_bps_1="5"))  # fmt: skip
    shown = data(page, "job-simulation")
    assert min(shown["capacity"]["bps"]) == pytest.approx(5e9)
    assert max(shown["capacity"]["bps"]) == pytest.approx(8e10)
    assert "others use 20 %; at most 5.00 Gbps from 300 to 600 s" in facts(page)


def test_results_of_before_all_this_are_shown_as_they_were(planner):
    job = computed(planner)
    for name in ("tpot_s", "resent_fraction", "cached_fraction", "copied_bps", "restarted_fraction", "conversions"):
        del job.result[name]
    for name in ("capacity_bps", "resent_fraction", "prfaas_instances", "prefill_instances", "decode_instances"):
        del job.result["series"][name]
    job.save()
    page = page_of(planner, job)
    assert 'data-row="TPOT"' not in page
    assert data(page, "job-simulation")["capacity"] == {"seconds": [0.0], "bps": [1e11]}


def test_what_cannot_be_asked_again_is_said(planner):
    job = computed(planner)
    assert "The form cannot ask for this again" not in page_of(planner, job)
    job.input["simulation"]["weather"] = {"recording": {"interval_s": 60, "bps": [1e10]}}
    job.save()
    assert "The form cannot ask for this again" in page_of(planner, job)


def test_of_sessions_it_is_said_how_these_begin(planner):
    said = facts(page_of(planner, computed(planner, load="40", **AGENTS)))
    assert "Sessions beginPoisson" in said
    assert "Arrivals" not in said


def test_shares_of_paths_are_in_percent(planner):
    said = facts(page_of(planner, computed(planner, paths_share_1="70", paths_share_2="30")))
    assert "Paths of the link2: 70 %, 30 %" in said


def test_what_does_nothing_is_said(planner):
    page = text(page_of(planner, computed(planner, load="40", connections="4", spares_pd_d="1")))
    assert "The link has no round trip: TCP bounds nothing; give links.wan.rtt_s." in page
    assert "Hot spares of PD-D stand in for nothing" in page


def test_what_a_links_utilisation_is_of_is_said_where_it_was_narrow(planner):
    page = page_of(planner, computed(planner, load="40", brown_from="300", brown_to="900", brown_bps="2"))
    what = row(page, "stages", "Link")[-1]
    found = re.search(r"over all of the time together; while it was narrowest, 2\.00 Gbps, ([\d.]+) %", what)
    # at 40 % of Λ_max 4.8 Gbps want to cross
    assert float(found[1]) > 95
    assert "all of the time" not in row(page_of(planner, computed(planner)), "stages", "Link")[-1]


# --- what the formulas know of ------------------------------------------------------------------------------------


def loaded(client, name=CASE, **changes):
    job = asked(client, scenario=name, of=name)
    return document.loaded(job.input["simulation"] | changes)


@pytest.mark.once
def test_the_approximation_speaks_where_everything_is_off(planner):
    for changes in (
        {},
        {"chunks": 4},
        {"failover": False},
        {"ttft_within_s": 3.0},
        {"spares": [{"place": "pd_d", "instances": 1}]},
    ):
        assert unheard(loaded(planner, **changes)) == []
        assert approximation(loaded(planner, **changes)).mean > 0
    assert approximation(loaded(planner, ALONE)).mean > 0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"policy": "all_local"}, "the routing policy"),
        ({"order": "shortest"}, "the order of prefill"),
        ({"chunks": 1}, "KVCaches that are sent after their prefill"),
        ({"connection_bps": 1e10}, "what bounds one transfer"),
        ({"prefill": {"choice": "shortest_queue"}}, "a queue for each instance"),
        ({"prefill": {"batch_tokens": 9000}}, "prefill in batches"),
        ({"decode": {"iterations": True}}, "decode by iteration"),
        ({"decode": {"memory_bytes": 1e12}}, "memory for KVCaches"),
        ({"paths": [{"share": 0.5}, {"share": 0.5}]}, "several paths"),
        ({"tcp": {"connections": 2}}, "TCP"),
        ({"weather": {"fluctuation": {"sd_share": 0.1, "relaxation_s": 9}}}, "the weather of the link"),
        ({"brown_out": {"begin_s": 1, "end_s": 2}}, "the brown-out"),
        ({"faults": [{"place": "pd_d", "begin_s": 1, "end_s": 2}]}, "faults"),
        ({"failures": [{"place": "pd_d", "mean_up_s": 9e4, "mean_down_s": 9}]}, "failures by chance"),
        ({"roles": {}}, "roles that change"),
        ({"prompts": {"source": "sessions"}}, "requests that belong together"),
    ],
)  # fmt: skip
@pytest.mark.once
def test_the_approximation_is_silent_where_anything_is_on(planner, changes, named):
    assert unheard(loaded(planner, **changes)) == [named]
    assert approximation(loaded(planner, **changes)) is None


def test_a_link_that_others_use_by_the_hour_silences_it_and_one_that_they_use_evenly_does_not(planner):
    for name, background, said in (
        ("even", {"kind": "constant", "share": 0.3}, []),
        ("swings", {"kind": "diurnal", "mean_share": 0.3, "amplitude": 0.1}, ["the weather of the link"]),
    ):
        store.create("scenarios", scenario.load(CASE, {"links.wan.background": background}).document() | {"name": name})
        assert unheard(loaded(planner, name)) == said


def test_every_field_of_a_simulation_is_either_heard_or_has_a_name():
    assert set(Run.model_fields) == HEARD | TITLES.keys() | {"spares"}
    assert not HEARD & TITLES.keys()


def test_more_than_lambda_max_is_explained_by_what_the_formulas_leave_out(planner):
    job = computed(planner, load="102", requests="400", replications="1", iterations="iteration", step_base="15")
    if job.result["stable"]:
        assert "that is by the formulas, without decode by iteration" in partings(page_of(planner, job))
    assert Job.objects.filter(pk=job.pk).exists()
