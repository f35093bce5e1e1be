"""Sweeps and ablations as a form, and their results, as the server sends the pages."""

import csv
import html
import io
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils.timezone import now

from frontend.simulator import study_headline
from planner import evaluation, scenario, store, tasks
from planner.models import Job
from planner.simulating.studies.features import FEATURES
from tests.frontend.test_optimiser import beside, data, drawn, headline, page_of, summary, text
from tests.frontend.test_simulate import ALONE, CASE, INTERVAL, TYPED, _replication, ask, asked, planner, row

__all__ = ["planner"]
pytestmark = pytest.mark.django_db

SWEEP = {"study": "load", "lowest_load": "10", "highest_load": "110", "points_load": "3"}
OF_T = {
    "study": "threshold_tokens", "lowest_threshold_tokens": "9700", "highest_threshold_tokens": "38800",
    "points_threshold_tokens": "3",
}  # fmt: skip
FEW = {"requests": "3000", "replications": "2"}


def study(client, **changes):
    return asked(client, **FEW, **changes).input["study"]


def run(job, first=None):
    """Its replications as workers leave them, all or the `first` so many; the result of all."""
    cut, results = tasks.IN_PARTS[job.kind], []
    for at, given in enumerate(cut.parts(job.input)):
        is_ended = first is None or at < first
        results += [json.loads(_replication(json.dumps(given)))] if is_ended else []
        Job.objects.create(
            kind=cut.part, scenario=job.scenario, form=job.form, input=given, version=job.version, parent=job,
            shard=at, state="succeeded" if is_ended else "queued", result=results[-1] if is_ended else None,
        )  # fmt: skip
    return None if first is not None else json.loads(json.dumps(cut.merge(job.input, results), allow_nan=False))


def computed(client, **changes):
    job = asked(client, **(FEW | changes))
    job.result = run(job)
    job.state, job.started_at, job.finished_at = "succeeded", now(), now()
    job.save()
    return job


# --- the form ----------------------------------------------------------------------------------------------------


def test_once_is_what_the_form_starts_from(planner):
    page = planner.get(f"/simulate/?scenario={CASE}").content.decode()
    assert re.search('<input[^>]*name="study"[^>]*value="once"[^>]*checked', page)
    assert asked(planner, **FEW, study="once").kind == "simulate"
    assert asked(planner, **FEW).kind == "simulate"


@pytest.mark.parametrize(
    ("field", "value", "unit"),
    [
        ("lowest_load", "10", "%"),
        ("highest_load", "95", "%"),
        ("points_load", "18", "variants"),
        ("lowest_threshold_tokens", "9700", "tokens"),
        ("highest_bandwidth_bps", "100", "Gbps"),
        ("highest_arrivals_cv", "8", "CV"),
        ("lowest_rate_rps", "0.312", "req/s"),
    ],
)
@pytest.mark.once
def test_ranges_start_from_what_suits_the_scenario(planner, field, value, unit):
    shown = drawn(planner.get(f"/simulate/?scenario={CASE}").content.decode(), field)
    assert f'value="{value}"' in shown
    assert f'<span class="unit">{unit}</span>' in shown


def test_what_an_ablation_turns_off_is_said(planner):
    page = text(planner.get("/simulate/").content.decode())
    assert all(f"{feature.title}: {feature.said}" in page for feature in FEATURES.values())


def test_without_prfaas_there_is_no_threshold_and_no_link_to_vary(planner):
    page = planner.get(f"/simulate/?scenario={ALONE}").content.decode()
    assert 'name="lowest_load"' in page
    assert 'name="lowest_threshold_tokens"' not in page
    assert 'name="lowest_bandwidth_bps"' not in page
    assert "Compare routing policies" not in page
    assert "Compare routing policies" in planner.get(f"/simulate/?scenario={CASE}").content.decode()


def test_of_a_scenario_that_cannot_be_simulated_the_form_is_shown_all_the_same(planner):
    split = {"clusters.pd.prefill_instances": 8, "clusters.pd.decode_instances": 0}
    store.create("scenarios", scenario.load(CASE, split).document() | {"name": "idle"})
    page = planner.get("/simulate/?scenario=idle").content.decode()
    assert 'value="once"' in page
    assert 'name="lowest_load"' not in page


def test_the_form_makes_the_study_that_was_typed(planner):
    found = study(planner, **SWEEP)
    assert (found["kind"], found["vary"], found["values"]) == ("sweep", "load", [0.1, 0.6, 1.1])
    assert found["simulation"]["scenario"]["name"] == CASE
    assert found["simulation"]["requests"] == 3000
    widths = {"lowest_bandwidth_bps": "10", "highest_bandwidth_bps": "1000", "points_bandwidth_bps": "3"}
    assert study(planner, study="bandwidth_bps", **widths)["values"] == [1e10, 1e11, 1e12]


def test_policies_and_ablations_need_nothing_else(planner):
    assert study(planner, study="policy")["values"] == ["as_given", "all_local", "all_remote", "bandwidth_aware"]
    found = study(planner, study="ablation", policy="bandwidth_aware")
    assert (found["kind"], found["features"]) == ("ablation", ["pipelining", "bandwidth_awareness"])


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        (SWEEP | {"lowest_load": ""}, "lowest_load", "Type both ends"),
        (SWEEP | {"lowest_load": "0"}, "lowest_load", "Type a number above 0."),
        (SWEEP | {"highest_load": "5"}, "highest_load", "must be above the lowest, 10 %"),
        (SWEEP | {"highest_load": "2000"}, "highest_load", "must be at most 1000 %"),
        (OF_T | {"policy": "all_local"}, "study", "needs a scenario that routes by a threshold, and “As given” or"),
        (SWEEP | {"points_load": "1"}, "points_load", "greater than or equal to 2"),
        (SWEEP | {"points_load": ""}, "points_load", "Type a whole number."),
        (SWEEP | {"points_load": "40", "replications": "200"}, "replications", "makes 8,000 of 40 variants"),
        ({"study": "ablation", "chunks": "1"}, "study", "Several connections needs a link with a round trip, and more"),
        ({"study": "ablation", "chunks": "1"}, "study", "Bandwidth-aware routing needs “Bandwidth-aware”"),
        ({"study": "guess"}, "study", "Select a valid choice"),
        (SWEEP | {"brown_from": "50", "brown_to": "5"}, "brown_to", "must be after 50 s"),
    ],
)
@pytest.mark.once
def test_a_mistake_is_told_beside_its_field_and_in_the_summary(planner, changes, field, said):
    page = ask(planner, **(FEW | changes)).content.decode()
    assert said in beside(page, field)
    assert said in summary(page)
    assert not Job.objects.exists()


def test_values_of_a_range_that_cannot_be_are_told_once(planner):
    said = summary(ask(planner, **(FEW | SWEEP | {"highest_load": "2000", "points_load": "40"})).content.decode())
    assert said.count("must be at most") == 1


def test_the_summary_calls_a_choice_by_its_legend(planner):
    said = summary(ask(planner, **FEW, study="ablation", chunks="1").content.decode())
    assert "Once, or over and over: has nothing to turn off in this simulation" in said
    assert "study" not in said


def test_who_signs_in_on_the_way_comes_back_to_the_study(shipped, client):
    answer = ask(client, **SWEEP)
    back = parse_qs(urlsplit(answer.headers["Location"]).query)["next"][0]
    page = client.get(back).content.decode()
    assert re.search('<input[^>]*name="study"[^>]*value="load"[^>]*checked', page)
    assert 'value="110"' in drawn(page, "highest_load")


# --- while it runs -----------------------------------------------------------------------------------------------


def test_a_running_study_says_what_its_variants_say_so_far(planner):
    job = asked(planner, **FEW, **SWEEP)
    job.state, job.started_at = "running", now()
    job.save()
    page = page_of(planner, job)
    address = f"/jobs/{job.pk}/variants.json"
    assert f'data-variants="{address}"' in page
    assert 'data-chart="study-ttft"' in page
    assert planner.get(address).json() == {"ended": 0, "parts": 0, "headline": "", "chart": None}
    run(job, first=4)
    found = planner.get(address).json()
    assert (found["ended"], found["parts"]) == (4, 6)
    # The first of each variant, and the second of the first.
    assert [each["name"] for each in found["chart"]["variants"]] == ["10 %", "60 %", "110 %"]
    lows = [each["ttft_s"] and each["ttft_s"]["p90"]["low"] for each in found["chart"]["variants"]]
    assert [low is not None for low in lows] == [True, False, False]
    assert found["headline"].startswith("The knee, where P90 of TTFT is twice that at the lowest load")


def test_a_running_ablation_tells_differences_as_soon_as_there_are_two_replications(planner):
    job = asked(planner, **FEW, study="ablation")
    run(job, first=3)
    found = planner.get(f"/jobs/{job.pk}/variants.json").json()["chart"]
    assert found["baseline"] == "Everything on"
    assert found["variants"][1]["differences"]["ttft_p90_s"]["is_clear"] is None


# --- results -----------------------------------------------------------------------------------------------------


def test_a_sweep_of_the_load_leads_with_its_knee(planner):
    page = page_of(planner, computed(planner, **(SWEEP | {"highest_load": "95", "points_load": "4"})))
    assert re.match(
        r"TTFT turns up at \d\d\.?\d? % of capacity: there P90 of TTFT is twice that at the lowest load, 7\.\d\d s "
        r"\(a straight line between \d\d\.?\d* % and 95 %\)\.$",
        headline(page),
    )
    unloaded = evaluation.evaluate(scenario.load(CASE))["ttft_unloaded_s"]["p90"]
    *times, formula = row(page, "ttft", "10 %")
    assert all(INTERVAL.fullmatch(cell) for cell in times)
    assert formula == f"{unloaded:.2f}"
    assert 'data-table="differences"' not in page
    assert row(page, "flows", "95 %")[1] == "3.122"


def test_what_is_not_stable_says_so_in_the_place_of_its_ttft(planner):
    page = page_of(planner, computed(planner, **SWEEP))
    assert row(page, "ttft", "110 %")[:2] == ["not stable", "–"]
    assert "1 of 3 variants are not stable" in page
    assert data(page, "job-study")["variants"][2]["ttft_s"] is None


def test_an_ablation_leads_with_what_each_feature_does(planner):
    job = computed(planner, study="ablation", policy="bandwidth_aware", requests="5000", replications="4")
    page = page_of(planner, job)
    said = headline(page)
    assert said.startswith("Without ")
    assert "without layer-wise pipelining P90 of TTFT is" in said[0].lower() + said[1:]
    assert 'Everything on <span class="unit">baseline</span>' in page
    mean, p90, p99 = row(page, "differences", "Without: Layer-wise pipelining")
    assert re.match(r"\+0\.0\d\d \[\+0\.0\d\d, \+0\.\d+\] \(\+\d\.\d %\)$", mean)
    assert all(re.match(r"((no difference|within chance): )?[+−]?\d", cell) for cell in (p90, p99))
    assert FEATURES["pipelining"].said in page


def test_policies_that_never_differ_are_told_to_be_no_different(planner):
    page = page_of(planner, computed(planner, study="policy", load="30"))
    assert re.match(
        r"P90 of TTFT is the least with all remote, .*, and the greatest with as given and bandwidth aware, .*"
        r" 1 of 4 is not stable: all local\.$",
        headline(page),
    )
    assert row(page, "differences", "bandwidth aware")[0] == "no difference: 0.000 [0.000, 0.000]"
    # Throughput is told where something is not stable.
    assert re.match(r"−0\.\d", row(page, "differences", "all local")[3])


def variant(name, p90, difference=None, stable=True, **more):
    """A variant of a result, as far as headlines look at it; `difference` as (mean, low, high, verdict)."""
    found = None
    if difference:
        keys = ("mean", "low", "high", "verdict")
        found = {"ttft_p90_s": dict(zip(keys, difference, strict=True)) | {"is_clear": difference[3] == "clear"}} | more
    times = {"p90": {"mean": p90, "low": p90 - 0.1, "high": p90 + 0.1}} if stable else None
    return {
        "name": name, "title": name, "value": name, "ttft_s": times, "stable": stable, "differences": found,
        "replications": 3,
    }  # fmt: skip


def said_of(kind, *variants):
    return study_headline.headline(
        {"knee": None, "kind": kind, "vary": "policy", "baseline": variants[0]["name"], "variants": list(variants)}
    )


def test_what_reads_the_same_is_called_the_same():
    alike = [variant("as given", 7.611), variant("bandwidth aware", 7.612, (0.001, -0.001, 0.003, "no_difference"))]
    same = "P90 of TTFT is the same with as given and bandwidth aware, 7.61 s [7.51, 7.71]."
    assert said_of("sweep", *alike) == same
    off = [variant("all local", 0, stable=False), variant("all remote", 0, stable=False)]
    assert said_of("sweep", *alike, *off) == f"{same} 2 of 4 are not stable: all local and all remote."
    assert said_of("sweep", *alike, variant("all remote", 9.0, (1.4, -2, 4.8, "within_chance"))) == (
        "P90 of TTFT is the least with as given and bandwidth aware, 7.61 s [7.51, 7.71], and the greatest with "
        "all remote, 9.00 s [8.90, 9.10]. No difference from as given can be told apart from chance with 3 "
        "replications."
    )


def test_a_large_difference_that_scatters_is_not_called_none():
    chance = variant("connections", 35.0, (28.0, -30.0, 86.0, "within_chance"))
    assert said_of("ablation", variant("as_given", 7.0), chance) == (
        "Without several connections P90 of TTFT cannot be told apart from chance with 3 replications."
    )
    none = variant("connections", 7.0, (0.0, -0.01, 0.01, "no_difference"))
    assert said_of("ablation", variant("as_given", 7.0), none) == (
        "Without several connections P90 of TTFT is no different."
    )


def test_the_headline_of_an_ablation_speaks_of_what_is_clear():
    mean = {"mean": 4.0, "low": 3.0, "high": 5.0, "is_clear": True, "verdict": "clear"}
    one = variant("connections", 35.0, (28.0, -30.0, 86.0, "within_chance"), ttft_mean_s=mean)
    other = variant("pipelining", 9.0, (2.0, 1.5, 2.5, "clear"))
    assert said_of("ablation", variant("as_given", 7.0), other, one) == (
        "Without several connections mean TTFT is 4.000 s [3.000, 5.000] longer (P90: within chance); "
        "without layer-wise pipelining P90 of TTFT is 2.000 s [1.500, 2.500] longer."
    )


def test_what_does_nothing_and_what_is_not_turned_off_is_said_in_the_words_of_the_form(planner):
    page = page_of(planner, computed(planner, study="ablation", connections="4", spares_pd_d="1"))
    for said in (
        "The link has no round trip: TCP bounds nothing; give the link's round trip in the scenario.",
        "Hot spares of PD-D stand in for nothing: no fault or failure there is simulated.",
        "Several connections (needs a link with a round trip, and more than one of TCP connections)",
        "Bandwidth-aware routing (needs “Bandwidth-aware”)",
    ):
        assert said in html.unescape(page)


def test_one_replication_alone_has_no_interval(planner):
    page = page_of(planner, computed(planner, study="ablation", replications="1"))
    assert "One replication alone has no interval: any difference may be chance." in page
    assert not INTERVAL.search(row(page, "ttft", "Everything on")[0])


def test_numbers_have_marks_and_charts_their_tools(planner):
    page = page_of(planner, computed(planner, study="ablation"))
    part = page.split('data-table="differences"')[1].split("</table>")[0]
    assert part.count("<td") == part.count('class="prov prov-inferred"') == 3
    for name in ("study-ttft", "study-differences", "study-stages"):
        assert f'data-chart="{name}"' in page
    assert data(page, "job-study")["provenance"]["kind"] == "inferred"


def test_what_was_simulated_is_said(planner):
    facts = text(page_of(planner, computed(planner, study="ablation")).split("data-facts>")[1].split("</dl>")[0])
    for said in (
        "Variants2, each of 2 replications of 3,000 requests",
        "all of seed 1",
        "ArrivalsPoisson",
        "PolicyAs given",
    ):
        assert said in facts


def test_the_result_can_be_taken_away_as_a_table(planner):
    job = computed(planner, study="ablation")
    page = page_of(planner, job)
    assert f'href="/jobs/{job.pk}/result.json"' in page
    assert f'href="/jobs/{job.pk}/result.csv"' in page
    rows = list(csv.DictReader(io.StringIO(planner.get(f"/jobs/{job.pk}/result.csv").content.decode())))
    assert [each["variant"] for each in rows] == ["as_given", "pipelining"]
    given, after = job.result["variants"]
    assert float(rows[1]["ttft_p90_s_low"]) == after["ttft_s"]["p90"]["low"]
    assert float(rows[1]["difference_ttft_p90_s_mean"]) == after["differences"]["ttft_p90_s"]["mean"]
    assert rows[0]["difference_ttft_p90_s_mean"] == rows[0]["difference_ttft_p90_s_verdict"] == ""
    assert rows[1]["difference_ttft_mean_s_verdict"] in ("clear", "within chance", "no difference")
    assert float(rows[0]["utilisation_prfaas_mean"]) == given["utilisation"]["prfaas"]["mean"]


@pytest.mark.parametrize("changes", [SWEEP, {"study": "policy"}, {"study": "ablation"}, {"study": "threshold_tokens"}])
@pytest.mark.once
def test_it_can_be_asked_again(planner, changes):
    job = asked(planner, **FEW, **TYPED_RANGES, **changes)
    job.state, job.finished_at = "failed", now()
    job.save()
    address = re.search('href="([^"]*)">Ask again<', page_of(planner, job))[1].replace("&amp;", "&")
    again = planner.get(address).content.decode()
    assert re.search(f'<input[^>]*name="study"[^>]*value="{changes["study"]}"[^>]*checked', again)
    typed = {name: value[0] for name, value in parse_qs(urlsplit(address).query).items()}
    planner.post("/simulate/", TYPED | typed)
    assert Job.objects.order_by("-created_at").first().input == job.input


TYPED_RANGES = {
    "lowest_threshold_tokens": "9700", "highest_threshold_tokens": "38800", "points_threshold_tokens": "4",
}  # fmt: skip


def test_what_no_form_can_ask_is_not_asked_again(planner):
    body = {
        "kind": "sweep", "vary": "load", "values": [0.1, 0.2, 0.9],
        "simulation": {"scenario": CASE, "requests": 1000, "replications": 1},
    }  # fmt: skip
    planner.post("/api/v1/studies/", json.dumps(body), content_type="application/json")
    assert "Ask again" not in page_of(planner, Job.objects.get())
