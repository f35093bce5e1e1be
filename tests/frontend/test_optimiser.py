"""Questions of cost as forms, and their answers, as the server sends the pages."""

import json
import re
from functools import cache
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now

from planner import store, tasks
from planner.models import Entry, Job

pytestmark = pytest.mark.django_db
CASE = "case-study-prfaas-pd"
H20, H200 = "internal-1t-hybrid-h20x8", "internal-1t-hybrid-h200x8"
COMMON = {"scenario": CASE, "of": CASE, "form": "exact", "usd_h200": "2", "usd_h20": "1"}
PURCHASE = {
    **COMMON, "prfaas": [H200], "pd": [H20], "link": ["wan"], "utilisation": "100", "spare": "0", "headroom": "0",
    **{f"{side}_most_{profile}": "64" for side in ("prfaas", "pd") for profile in (H20, H200)},
}  # fmt: skip
# Of which the front of one rate takes a second.
FEW = {f"prfaas_most_{H200}": "2", f"pd_most_{H20}": "4"}
QUESTIONS = {
    "equal_cost": {**PURCHASE, "budget": "own"},
    "least_cost": {**PURCHASE, "rate": "10"},
    "front": {**PURCHASE, **FEW, "rate": "1.2", "rates": "2", "percentile": "90"},
    "break_even": {
        **COMMON, "parameter": "price_ratio", "lowest_price_ratio": "1", "highest_price_ratio": "5",
    },
}  # fmt: skip
PRICELESS = {"offer_h200": "", "offer_h20": "", "usd_h200": "", "usd_h20": ""}


@pytest.fixture
def planner(shipped, client):
    client.force_login(User.objects.create_user("ada"))
    return client


def ask(client, problem="equal_cost", **changes):
    return client.post(f"/optimiser/{problem}/", {**QUESTIONS[problem], **changes})


def asked(client, problem="equal_cost", **changes):
    """The question that a form makes."""
    answer = ask(client, problem, **changes)
    assert answer.status_code == 302, summary(answer.content.decode())
    return Job.objects.get(pk=answer.headers["Location"].split("/")[2])


def computed(client, problem="equal_cost", **changes):
    """The job with its result, as workers compute it."""
    job = asked(client, problem, **changes)
    job.result = in_parts(job) if job.kind in tasks.IN_PARTS else solved(job.kind, job.input)
    job.state, job.started_at, job.finished_at = "succeeded", now(), now()
    job.save()
    return job


def solved(kind, given):
    return json.loads(_solved(kind, json.dumps(given)))


@cache
def _solved(kind, text_of_input):
    """One rate of a front takes a second, and many tests ask for the same."""
    given = json.loads(text_of_input)
    posed = tasks.KINDS[kind].problem(given)
    outcome = tasks.KINDS[kind].function(posed, lambda done, total, message: None)
    return json.dumps(tasks.KINDS[kind].result(given, posed, outcome), allow_nan=False)


def in_parts(job, first=None):
    """The result of the whole, its parts stored; only the `first` so many are computed if that is said."""
    cut = tasks.IN_PARTS[job.kind]
    for at, given in enumerate(cut.parts(job.input)):
        is_ended = first is None or at < first
        Job.objects.create(
            kind=cut.part, scenario=job.scenario, form=job.form, input=given, version=job.version, parent=job,
            shard=at, state="succeeded" if is_ended else "queued", result=solved(cut.part, given) if is_ended else None,
        )  # fmt: skip
    parts = [part.result for part in job.shards.filter(state="succeeded").order_by("shard")]
    return json.loads(json.dumps(cut.merge(job.input, parts), allow_nan=False))


def page_of(client, job):
    return client.get(f"/jobs/{job.pk}/").content.decode()


def text(page):
    return " ".join(unescape(re.sub("<[^>]+>", "", page)).split())


def summary(page):
    return text(page.split("data-summary")[1].split("</div>")[0]) if "data-summary" in page else ""


def beside(page, field):
    """What is said to be wrong beside a field."""
    return text(page.split(f'id="{field}-error">')[1].split("</p>")[0])


def drawn(page, field):
    """A field with its label, unit and help."""
    return page.split(f'<label for="{field}">')[1].split('<div class="field">')[0]


def headline(page):
    return text(page.split('id="answer-title">')[1].split("</h2>")[0])


def row(page, label):
    cells = page.split(f'data-row="{label}"')[1].split("</tr>")[0].split("<td")[1:]
    return [text("<td" + cell.split("<abbr")[0]) for cell in cells]


def data(page, name):
    return json.loads(page.split(f'id="{name}" type="application/json">')[1].split("</script>")[0])


# --- the forms ---------------------------------------------------------------------------------------------------


def test_the_optimiser_leads_to_each_problem_and_keeps_the_scenario(planner):
    page = planner.get("/optimiser/?scenario=case-study-naive").content.decode()
    for problem in QUESTIONS:
        assert f'href="/optimiser/{problem}/?scenario=case-study-naive"' in page
    assert 'aria-current="page">Optimiser' in page


@pytest.mark.parametrize("address", ["/case-study/", f"/scenarios/{CASE}/"])
def test_scenario_and_case_study_lead_to_the_optimiser(planner, address):
    page = planner.get(address).content.decode()
    assert f'href="/optimiser/equal_cost/?scenario={CASE}">What to buy instead?' in page


@pytest.mark.parametrize(
    ("problem", "field", "unit", "said"),
    [
        ("equal_cost", "usd_h200", "USD/GPU-hour", ""),
        ("equal_cost", "budget_usd", "USD/h", ""),
        ("equal_cost", f"prfaas_most_{H200}", "instances", ""),
        ("equal_cost", f"pd_batch_{H200}", "requests", "That one decode instance serves together"),
        ("equal_cost", f"pd_step_{H200}", "ms", "25 ms are 40 tokens/s"),
        ("equal_cost", "gb_wan", "USD/GB", ""),
        ("equal_cost", "month_aws-direct-connect-100g", "USD/month", ""),
        ("equal_cost", "utilisation", "%", "room for bursts"),
        ("equal_cost", "spare", "instances", "1 is N−1"),
        ("equal_cost", "headroom", "%", "Share of the link that stays free"),
        ("equal_cost", f"prfaas_egress_{H200}", "Gbps", "through its network cards"),
        ("least_cost", "rate", "req/s", "The scenario as it is carries 3.122 req/s at most"),
        ("front", "rate", "req/s", "carries 3.122 req/s at most"),
        ("front", "rates", "rates", "which any worker computes"),
        ("least_cost", "promise", "s", "TTFT is queue + prefill + the part of the transfer that prefill does not"),
        ("break_even", "highest_bandwidth_bps", "Gbps", ""),
        ("break_even", "lowest_link_usd_per_gb", "USD/GB", ""),
        ("break_even", "lowest_kv_factor", "×", ""),
    ],
)
@pytest.mark.once
def test_a_field_has_its_unit_and_is_explained(planner, problem, field, unit, said):
    shown = drawn(planner.get(f"/optimiser/{problem}/?scenario={CASE}").content.decode(), field)
    assert f'<span class="unit">{unit}</span>' in shown
    assert said in text(shown)
    if said:
        assert f'aria-describedby="{field}-error {field}-help"' in shown


def test_offers_are_the_newest_first_and_the_newest_on_demand_is_chosen(planner):
    store.create("prices", {
        "name": "h20-tomorrow", "hardware": "h20", "date": "2030-01-01", "provider": "Spotty", "kind": "spot",
        "usd_per_gpu_hour": 0.4,
    })  # fmt: skip
    page = planner.get("/optimiser/equal_cost/").content.decode()
    of_h20 = re.findall(r"<option.*?</option>", drawn(page, "offer_h20"))
    assert [text(option) for option in of_h20] == [
        "none",
        "2030-01-01, Spotty, spot: 0.4 USD/GPU-hour",
        "no date, UCloud Compshare, on demand: 1.05 USD/GPU-hour",
    ]
    assert "selected" in of_h20[2]
    assert "2026-10-24, Civo, on demand: 3.45 USD/GPU-hour" in drawn(page, "offer_h200").split("selected")[1]


def test_a_bought_chip_is_offered_at_what_it_costs_an_hour(planner):
    purchase = {"usd_per_gpu": 30_000.0, "amortisation_years": 4.0, "usd_per_kwh": 0.1, "pue": 1.3}
    store.create("prices", {"name": "ours", "hardware": "h200", "kind": "purchase", "purchase": purchase})
    page = planner.get("/optimiser/equal_cost/").content.decode()
    tdp_w = Entry.objects.get(kind="hardware", name="h200").document["tdp_w"]
    assert f"purchase: {30_000 / (4 * 8766) + 0.1 * 1.3 * tdp_w / 1000:.4g} USD" in drawn(page, "offer_h200")


def test_the_scenarios_own_price_goes_before_the_market(planner):
    priced = {**Entry.objects.get(kind="scenarios", name=CASE).document, "name": "priced"}
    store.create("scenarios", {**priced, "prices": [{"name": "h20", "usd_per_gpu_hour": 0.9}]})
    page = planner.get("/optimiser/equal_cost/?scenario=priced").content.decode()
    assert "own: 0.9 USD/GPU-hour" in drawn(page, "offer_h20").split("selected")[1].split("<option")[0]
    job = asked(planner, scenario="priced", of="priced", usd_h20="", offer_h20="own")
    assert {each["name"]: each["usd_per_gpu_hour"] for each in job.input["question"]["prices"]}["h20"] == 0.9


def test_hardware_without_a_price_says_so_at_once(planner):
    Entry.objects.filter(kind="prices", document__hardware="h20").delete()
    page = planner.get("/optimiser/equal_cost/").content.decode()
    assert page.count("No price on demand is stored: type one.") == 1


def test_profiles_that_the_scenario_does_not_hold_are_offered_too(planner):
    profile = {**Entry.objects.get(kind="profiles", name=H200).document, "name": "on-b200", "hardware": "b200"}
    store.create("profiles", profile)
    changes = {"prfaas": [H200, "on-b200"], "usd_b200": "5", "prfaas_most_on-b200": "8", "pd_most_on-b200": "8"}
    assert 'value="on-b200"' in planner.get("/optimiser/equal_cost/").content.decode()
    question = asked(planner, **changes).input["question"]
    assert question["prfaas"] == [{"profile": H200, "most": 64}, {"profile": "on-b200", "most": 8}]
    assert "on-b200" in [each["name"] for each in question["scenario"]["model"]["profiles"]]


def test_a_form_makes_the_question_that_was_typed(planner):
    question = asked(
        planner, budget="typed", budget_usd="200", pd=[H20, H200], usd_h200="", offer_h200="h200-civo-2026-10-24",
        link=["wan", "aws-us-east-1-us-west-2"], gb_wan="0.005", **{"gb_aws-us-east-1-us-west-2": "0.02"},
        utilisation="80", spare="1", headroom="15", form="paper",
        **{f"pd_batch_{H200}": "40", f"pd_step_{H200}": "20", f"prfaas_most_{H200}": "12"},
    ).input["question"]  # fmt: skip
    assert question["budget_usd_per_h"] == 200
    assert question["prfaas"] == [{"profile": H200, "most": 12}]
    assert {"profile": H200, "most": 64, "decode": {"max_batch": 40.0, "step_s": 0.02}} in question["pd"]
    assert question["reserve"] == {"target_utilisation": 0.8, "spare_instances": 1, "link_headroom": 0.15}
    assert [(each["name"], each["price"]["usd_per_gb"]) for each in question["links"]] == [
        ("wan", 0.005),
        ("aws-us-east-1-us-west-2", 0.02),
    ]
    assert question["form"] == "paper"
    assert {each["name"]: each["usd_per_gpu_hour"] for each in question["prices"]} == {"h200": 3.45, "h20": 1.0}
    origins = question["provenance"]
    assert origins["prices.h200"]["kind"] == "published"
    assert origins["prices.h20"] == {"kind": "user", "source": "set by hand"}
    assert (origins["links.wan"]["kind"], origins["links.aws-us-east-1-us-west-2"]["kind"]) == ("user", "estimated")


def test_percent_and_gbps_are_stored_as_shares_and_bits(planner):
    vary = {"parameter": "bandwidth_bps", "lowest_bandwidth_bps": "1.5", "highest_bandwidth_bps": "250"}
    assert asked(planner, "break_even", **vary).input["question"]["vary"] == {
        "parameter": "bandwidth_bps", "lowest": 1.5e9, "highest": 2.5e11,
    }  # fmt: skip


def test_another_scenario_sets_the_budget(planner):
    question = asked(planner, budget="other", baseline="case-study-homogeneous").input["question"]
    assert question["baseline"]["name"] == "case-study-homogeneous"


# --- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "changes", "field", "said"),
    [
        ("equal_cost", {"usd_h200": "two"}, "usd_h200", "Enter a number."),
        ("equal_cost", {"usd_h20": "-1"}, "usd_h20", "greater than or equal to 0"),
        ("equal_cost", PRICELESS, "usd_h200", "What does a GPU-hour of h200 cost?"),
        ("equal_cost", {"pd": []}, "pd", "Choose at least one"),
        ("equal_cost", {"pd": [H200]}, f"pd_batch_{H200}", "says how h20 × 8 decodes, not this"),
        ("equal_cost", {"pd": [H200], f"pd_batch_{H200}": "40"}, f"pd_step_{H200}", "Type both, or neither."),
        (
            "equal_cost",
            {"pd": [H200], f"pd_batch_{H200}": "0", f"pd_step_{H200}": "25"},
            f"pd_batch_{H200}",
            "must be at least",
        ),
        ("equal_cost", {"link": []}, "link", "is missing"),
        ("equal_cost", {f"prfaas_most_{H200}": "0"}, f"prfaas_most_{H200}", "greater than or equal to 1"),
        ("equal_cost", {f"prfaas_most_{H200}": ""}, f"prfaas_most_{H200}", "Type a whole number."),
        ("equal_cost", {"utilisation": "150"}, "utilisation", "less than or equal to 100"),
        ("equal_cost", {"utilisation": "0"}, "utilisation", "must be greater than 0"),
        ("equal_cost", {"spare": "1.5"}, "spare", "Enter a whole number."),
        ("equal_cost", {"budget": "typed"}, "budget_usd", "Type the budget"),
        ("equal_cost", {"budget": "typed", "budget_usd": "0"}, "budget_usd", "must be at least"),
        ("equal_cost", {"budget": "other"}, "baseline", "Choose the scenario"),
        ("least_cost", {"rate": ""}, "rate", "Type the rate"),
        ("front", {"rate": ""}, "rate", "Type the rate"),
        ("front", {"rates": "51"}, "rates", "less than or equal to 50"),
        ("front", {"rates": ""}, "rates", "Type a whole number."),
        ("least_cost", {"promise": "0"}, "promise", "must be at least"),
        ("least_cost", {"promise": "soon"}, "promise", "Enter a number."),
        ("least_cost", {"promise": "4", "form": "paper"}, "form", "must be exact here"),
        ("equal_cost", {f"prfaas_egress_{H200}": "0"}, f"prfaas_egress_{H200}", "must be at least"),
        ("break_even", {"lowest_price_ratio": ""}, "lowest_price_ratio", "Type both ends"),
        ("break_even", {"highest_price_ratio": "1"}, "highest_price_ratio", "must be greater than 1"),
    ],
)
@pytest.mark.once
def test_a_mistake_is_told_beside_its_field_and_in_the_summary(planner, problem, changes, field, said):
    answer = ask(planner, problem, **changes)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert said in beside(page, field)
    assert said in summary(page)
    assert re.search(f'href="#{field}(_0)?"', page)
    assert not Job.objects.exists()


def test_what_was_typed_is_kept(planner):
    page = ask(planner, usd_h200="two", gb_wan="0.0071", spare="3", prfaas=[H20], form="paper").content.decode()
    assert 'value="two"' in drawn(page, "usd_h200")
    assert 'value="0.0071"' in drawn(page, "gb_wan")
    assert 'value="3"' in drawn(page, "spare")
    checked = [re.search('value="(.*?)"', each)[1] for each in re.findall("<input[^>]*checked[^>]*>", page)]
    assert checked == ["own", H20, H20, "wan", "paper"]


def test_prompts_that_are_no_lognormal_cannot_be_varied(planner):
    recorded = {**Entry.objects.get(kind="scenarios", name=CASE).document, "name": "recorded"}
    lengths = {"distribution": "gamma", "shape": 2.0, "mean": 20_000.0, "min": 128, "max": 131_072}
    recorded["traffic"] = {**recorded["traffic"], "input_tokens": lengths}
    del recorded["traffic"]["name"]
    store.create("scenarios", recorded)
    vary = {"parameter": "length_factor", "lowest_length_factor": "0.5", "highest_length_factor": "2"}
    page = ask(planner, "break_even", scenario="recorded", of="recorded", **vary).content.decode()
    assert "truncated log-normal" in beside(page, "parameter")


def test_break_even_needs_a_scenario_with_prfaas(planner):
    alone = {"scenario": "case-study-homogeneous", "of": "case-study-homogeneous"}
    page = ask(planner, "break_even", **alone, parameter="bandwidth_bps", lowest_bandwidth_bps="1",
               highest_bandwidth_bps="9").content.decode()  # fmt: skip
    assert "needs a cluster of role prfaas" in summary(page)


def test_an_unknown_scenario_or_problem_is_not_found(planner):
    answer = planner.get("/optimiser/equal_cost/?scenario=none-such")
    assert (answer.status_code, "known: case-study" in answer.content.decode()) == (404, True)
    assert planner.get("/optimiser/guess/").status_code == 404


def test_without_any_scenario_the_page_says_what_to_do(nothing_stored, client):
    assert "Put one together" in client.get("/optimiser/equal_cost/").content.decode()


def test_another_scenario_is_shown_before_anything_is_asked(planner):
    page = ask(planner, scenario="case-study-homogeneous", usd_h20="1.25").content.decode()
    assert not Job.objects.exists()
    assert summary(page) == ""
    assert 'value="1.25"' in drawn(page, "usd_h20")
    assert 'name="of" value="case-study-homogeneous"' in page


# --- signing in --------------------------------------------------------------------------------------------------


def test_who_signs_in_on_the_way_comes_back_to_what_was_typed(shipped, client):
    answer = ask(client, usd_h200="2.75", spare="2", link=["gcp-interconnect-100g"])
    assert answer.headers["Location"].startswith("/login/?next=")
    back = parse_qs(urlsplit(answer.headers["Location"]).query)["next"][0]
    assert len(back) < 1000
    page = client.get(back).content.decode()
    assert 'value="2.75"' in drawn(page, "usd_h200")
    assert 'value="2"' in drawn(page, "spare")
    chosen = re.findall('<input[^>]*name="link"[^>]*checked', page)
    assert len(chosen) == 1
    assert "gcp-interconnect-100g" in chosen[0]
    assert "<details open>" in page
    assert not Job.objects.exists()


# --- answers -----------------------------------------------------------------------------------------------------


def test_the_most_for_a_budget_is_what_the_design_says(planner):
    page = page_of(planner, computed(planner))
    assert headline(page) == (
        "5 × (8 h200) PrfaaS + 1 prefill + 5 decode × (8 h20), t = 9,753 tokens carries 3.223 req/s for 128.00 USD/h: "
        "1.189 times the best without PrfaaS."
    )
    assert "Buy next: one PrfaaS instance (8 × h200), which brings" in page
    assert row(page, "Λ_max") == ["3.223", "2.710", "3.122"]
    assert row(page, "PD prefill") == ["1 × (8 h20)", "12 × (8 h20)", "3 × (8 h20)"]
    assert row(page, "Threshold t") == ["9,753", "–", "19,400"]
    assert row(page, "Bound by") == ["PrfaaS compute and PD-P", "PD-P", "PrfaaS compute"]
    assert row(page, "TTFT, mean, unloaded")[2] == "2.22"
    assert row(page, "Cost") == ["128.00", "128.00", "128.00"]
    assert row(page, "Cost of input tokens")[0] == "0.276"
    assert "1,394,389,425 deployments compared" in text(page)
    listed = text(page.split("data-at-listed-prices>")[1].split("</p>")[0])
    assert "0.869 times the best without PrfaaS for the same money at the cheapest" in listed
    assert "0.574 times" in listed
    given = text(page.split("data-given-at-best>")[1].split("</p>")[0])
    assert "(3 + 5, t = 19,652 tokens) the scenario as given would carry 3.139 req/s: 1.158 times" in given
    assert "no purchase can be" in page.split("data-bound>")[1]
    assert "Unloaded TTFT is prefill alone" in page
    assert "the link counts as free" in page


def test_costs_are_shown_by_part_with_shares_that_the_chart_has_too(planner):
    page = page_of(planner, computed(planner))
    costs = text(page.split('data-table="costs"')[1].split("</table>")[0])
    assert "PrfaaS80.00u62.50.00u0.064.00u50.0" in costs
    assert "PD prefill8.00u6.3" in costs
    chart = data(page, "job-cost-parts")
    assert [each["title"] for each in chart["deployments"]] == ["best", "best without PrfaaS", "as given"]
    assert chart["deployments"][0]["parts_usd_per_h"]["prfaas"] == 80
    assert 'data-chart="cost-parts"' in page


def test_prices_say_where_they_come_from(planner):
    page = page_of(planner, computed(planner, usd_h200="", offer_h200="h200-civo-2026-10-24"))
    prices = page.split('data-table="prices"')[1].split("</table>")[0]
    assert 'data-kind="published"' in prices
    assert "offer h200-civo-2026-10-24 of 2026-10-24" in prices
    assert 'data-kind="user"' in prices


def test_the_least_cost_says_what_it_saves(planner):
    page = page_of(planner, computed(planner, "least_cost"))
    assert "carries 10.156 req/s for 384.00 USD/h: the best without PrfaaS costs 1.208 times as much" in headline(page)
    assert "Asked for 10.000 req/s, which the costs are of." in text(page)


@pytest.mark.once
def test_a_promise_on_ttft_is_kept_and_told_with_what_ttft_is_made_of(planner):
    job = computed(planner, "least_cost", promise="4", percentile="90")
    assert job.input["question"]["promise"] == {"ttft_s": 4.0, "percentile": 90}
    page = page_of(planner, job)
    assert "Promised: P90 of TTFT under load of at most 4 s." in text(page)
    best, given = row(page, "TTFT, P90, under load")
    assert (float(best) <= 4, given) == (True, "–")
    # Ten per cent of the prompts take an H20 instance longer than that, with nobody before them.
    assert headline(page).endswith("; without PrfaaS nothing does.")
    percentiles = [float(row(page, f"TTFT, {name}, under load")[0]) for name in ("P50", "P90", "P99")]
    assert percentiles == sorted(percentiles)
    loaded = job.result["best"]["ttft_loaded_s"]
    for stage, what in (("prfaas", "PrfaaS"), ("link", "the link"), ("pd_p", "PD prefill"), ("pd_d", "a decode slot")):
        wait = loaded["waits_s"].get(stage)
        assert row(page, f"Mean wait for {what}")[0] == ("–" if wait is None else f"{wait:.2f}")
    assert "within 2 % up to 80 % load and within 5 % up to 93 %" in text(page.split("data-loaded>")[1])
    shown = page.split('data-row="TTFT, mean, under load"')[1].split("</tr>")[0]
    assert '<span class="unit">s, approximation</span>' in shown
    assert "queue + prefill + the part of the transfer" in shown.split('title="')[1]


def test_ttft_under_load_is_shown_without_a_promise_too_and_not_where_it_was_not_asked_for(planner):
    page = page_of(planner, computed(planner, "least_cost"))
    assert "data-promise" not in page
    assert float(row(page, "TTFT, P99, under load")[0]) > 0
    assert "under load" not in page_of(planner, computed(planner))


def test_a_promise_that_nothing_keeps_says_so(planner):
    page = page_of(planner, computed(planner, "least_cost", promise="0.01"))
    assert headline(page).startswith("Not feasible")
    assert "Save as scenario" not in page


def test_what_an_instance_can_send_is_typed_in_gbps_and_kept_with_its_source(planner):
    question = asked(planner, **{f"prfaas_egress_{H200}": "12.5"}).input["question"]
    assert question["prfaas"] == [{"profile": H200, "most": 64, "egress_bps": 1.25e10}]
    assert question["provenance"]["prfaas.0.egress_bps"] == {"kind": "user", "source": "set by hand"}


def test_what_the_scenarios_own_instances_can_send_stands_there_and_can_be_taken_away(planner):
    capped = {**Entry.objects.get(kind="scenarios", name=CASE).document, "name": "capped"}
    capped["clusters"] = [
        each | ({"egress_bps": 2e10} if each["role"] == "prfaas" else {}) for each in capped["clusters"]
    ]
    store.create("scenarios", capped)
    of = {"scenario": "capped", "of": "capped"}
    page = planner.get("/optimiser/equal_cost/?scenario=capped").content.decode()
    assert 'value="20"' in drawn(page, f"prfaas_egress_{H200}")
    job = asked(planner, **of, **{f"prfaas_egress_{H200}": "20"})
    assert job.input["question"]["prfaas"][0]["egress_bps"] == 2e10
    assert "prfaas.0.egress_bps" not in job.input["question"]["provenance"]
    without = asked(planner, **of, **{f"prfaas_egress_{H200}": ""})
    assert "egress_bps" not in without.input["question"]["prfaas"][0]
    page = planner.get(again(page_of(planner, finished(without)))).content.decode()
    assert 'value="20"' not in drawn(page, f"prfaas_egress_{H200}")


def test_what_cannot_be_is_said_as_such(planner):
    job = computed(planner, "least_cost", rate="30")
    page = page_of(planner, job)
    assert headline(page).startswith("Not feasible: with all that may be bought Λ_max is")
    assert "what binds is the link and PD prefill" in headline(page)
    assert "the most at any price" in page
    assert "Save as scenario" not in page
    assert planner.get(f"/jobs/{job.pk}/scenario/").status_code == 404


def test_where_prfaas_does_not_pay_the_sentence_says_so(planner):
    page = page_of(planner, computed(planner, usd_h200="20", budget="typed", budget_usd="128"))
    assert headline(page).endswith("128.00 USD/h: PrfaaS does not pay here.")
    assert row(page, "PrfaaS")[0] == "–"


def test_a_reserve_is_said_to_be_of_what_is_bought(planner):
    said = "The reserve is kept free of what is bought"
    assert said in text(page_of(planner, computed(planner, spare="1")))
    assert said not in text(page_of(planner, computed(planner)))


@pytest.mark.once
def test_break_even_names_its_tie_and_its_sides(planner):
    page = page_of(planner, computed(planner, "break_even"))
    assert headline(page) == (
        "Price ratio h200:h20: tie at 2.479. Below, the scenario carries more than the best without PrfaaS for the "
        "same money; above, less."
    )
    chart = data(page, "job-break-even")
    assert chart["ties"][0]["text"] == "2.479"
    assert chart["given"] == 2
    assert len(chart["values"]) == len(chart["gain"]) == 41
    assert 'data-save="csv"' in page


@pytest.mark.parametrize(
    ("parameter", "lowest", "highest", "said"),
    [
        ("bandwidth_bps", "1", "200", "tie at 8.997 Gbps. Above, the scenario carries more"),
        ("link_usd_per_gb", "0", "0.02", "tie at 0.00284 USD/GB. Below, the scenario carries more"),
        ("kv_factor", "0.5", "2", "In this whole range the scenario carries more"),
        ("price_ratio", "3", "5", "In this whole range the scenario carries no more"),
    ],
)
@pytest.mark.once
def test_ties_are_told_in_peoples_units(planner, parameter, lowest, highest, said):
    ends = {f"lowest_{parameter}": lowest, f"highest_{parameter}": highest}
    assert said in headline(page_of(planner, computed(planner, "break_even", parameter=parameter, **ends)))


def test_the_jobs_list_names_the_problems(planner):
    for problem in QUESTIONS:
        asked(planner, problem)
    page = planner.get("/jobs/").content.decode()
    for name in ("The most for a budget", "The least cost for a rate", "Cost, rate and TTFT", "Break-even"):
        assert f"{name}: {CASE}</a>" in page


@pytest.mark.parametrize("problem", QUESTIONS)
def test_a_question_that_runs_or_failed_has_a_page(planner, problem):
    job = asked(planner, problem)
    assert "Waits for a worker." in page_of(planner, job)
    Job.objects.filter(pk=job.pk).update(state="failed", error="why", finished_at=now())
    assert ">Ask again</a>" in page_of(planner, job)


def test_the_result_is_taken_away_as_json(planner):
    job = computed(planner)
    answer = planner.get(f"/jobs/{job.pk}/result.json")
    assert answer.json()["result"]["gain"] == pytest.approx(1.189, abs=6e-4)


def test_a_kind_without_a_page_of_its_own_gives_its_result_away(planner):
    job = computed(planner)
    Job.objects.filter(pk=job.pk).update(kind="front_shard", result={"points": []})
    page = page_of(planner, job)
    assert f'href="/jobs/{job.pk}/result.json"' in page
    assert "data-again" not in page
    assert "Ask again" not in page


# --- a front -----------------------------------------------------------------------------------------------------


@pytest.fixture
def front(planner):
    return computed(planner, "front")


def points_table(page):
    rows = page.split('data-table="points"')[1].split("<tbody>")[1].split("</tbody>")[0].split("</tr>")[:-1]
    return [[text("<td" + cell.split("<abbr")[0]) for cell in each.split("<td")[1:]] for each in rows]


def test_a_front_is_a_table_and_a_chart_of_what_nothing_beats(planner, front):
    page = page_of(planner, front)
    points = front.result["points"]
    assert headline(page).startswith(f"{len(points)} deployments that no other beats in cost, rate and P90 of TTFT: ")
    assert [(rate, usd, seconds) for rate, usd, seconds, _ in points_table(page)] == [
        (f"{each['rate_rps']:.3f}", f"{each['cost']['usd_per_h']:.2f}", f"{each['ttft_loaded_s']['p90']:.2f}")
        for each in points
    ]
    assert {each["rate_rps"] for each in points} == {0.6, 1.2}
    chart = data(page, "job-front")
    assert [each["seconds"] for each in chart["points"]] == [each["ttft_loaded_s"]["p90"] for each in points]
    assert "within 5 % up to 93 %" in text(page.split("data-loaded>")[1])
    assert 'data-chart="front"' in page
    assert "Choose a point in the chart" in text(page)


def test_a_chosen_point_stands_beside_what_is_deployed_and_is_kept_as_a_scenario(planner, front):
    page = planner.get(f"/jobs/{front.pk}/?point=1").content.decode()
    chosen = front.result["points"][1]
    assert f"Point 2: {chosen['rate_rps']:.3f} req/s, {chosen['cost']['usd_per_h']:.2f} USD/h" in text(page)
    assert row(page, "Λ_max") == [f"{chosen['lambda_max_rps']:.3f}", "3.122"]
    assert row(page, "TTFT, P90, under load") == [f"{chosen['ttft_loaded_s']['p90']:.2f}", "–"]
    assert 'aria-current="true">Show 2</a>' in page
    answer = planner.post(f"/jobs/{front.pk}/scenario/", {"point": "1"})
    assert answer.headers["Location"] == f"/scenarios/{CASE}-front-2/"
    kept = store.scenario_of(Entry.objects.get(kind="scenarios", name=f"{CASE}-front-2"))
    pd = next(each for each in kept.document()["clusters"] if each["role"] == "pd")
    assert (pd["prefill_instances"], pd["decode_instances"]) == (
        chosen["pd"]["prefill_instances"],
        chosen["pd"]["decode_instances"],
    )
    assert "P90 of TTFT" in Entry.objects.get(name=f"{CASE}-front-2").title


def test_a_name_that_is_taken_keeps_the_point_that_was_chosen(planner, front):
    planner.post(f"/jobs/{front.pk}/scenario/", {"point": "0"})
    page = planner.post(f"/jobs/{front.pk}/scenario/", {"point": "0"}).content.decode()
    assert 'name="point" value="0"' in page
    assert f'value="{CASE}-front-1-{str(front.pk)[:8]}"' in page


@pytest.mark.parametrize("point", ["", "99999", "-1", "x", "²", "9" * 400])
def test_a_point_that_is_not_there_is_none(planner, front, point):
    page = planner.get(f"/jobs/{front.pk}/", {"point": point}).content.decode()
    assert "Choose a point in the chart" in text(page)
    assert planner.post(f"/jobs/{front.pk}/scenario/", {"point": point}).status_code == 404


def test_while_a_front_is_computed_its_page_shows_what_its_parts_have_found(planner):
    job = asked(planner, "front")
    Job.objects.filter(pk=job.pk).update(state="running", started_at=now())
    assert f'data-so-far="/jobs/{job.pk}/points.json"' in page_of(planner, job)
    nothing = planner.get(f"/jobs/{job.pk}/points.json").json()
    assert (nothing["points"], nothing["ended"], nothing["parts"]) == ([], 0, 0)
    in_parts(job, first=1)
    found = planner.get(f"/jobs/{job.pk}/points.json").json()
    assert (found["ended"], found["parts"], found["percentile"]) == (1, 2, 90)
    assert {each["rate_rps"] for each in found["points"]} == {0.6}


def test_only_a_front_has_points(planner):
    assert planner.get(f"/jobs/{asked(planner).pk}/points.json").status_code == 404


def test_a_front_of_nothing_says_so(planner):
    job = computed(planner, "front", rate="4000")
    page = page_of(planner, job)
    assert (
        headline(page)
        == "What may be bought carries at most 1.562 req/s; the least of these rates is 2000 req/s. Allow more of it."
    )
    assert 'data-chart="front"' not in page


# --- asking again ------------------------------------------------------------------------------------------------


def again(page):
    return unescape(re.search('href="([^"]*)">Ask again', page)[1])


@pytest.mark.parametrize(
    ("problem", "changes"),
    [
        ("equal_cost", {}),
        ("equal_cost", {"budget": "other", "baseline": "case-study-homogeneous", "form": "paper"}),
        ("equal_cost", {"budget": "typed", "budget_usd": "200.5", "link": ["wan", "gcp-within-us"], "gb_wan": "0.1"}),
        ("equal_cost", {"usd_h200": "", "offer_h200": "h200-nebius-2026-10-24", "spare": "2", "utilisation": "80"}),
        ("equal_cost", {"prfaas": [], "link": []}),
        ("least_cost", {"pd": [H20, H200], f"pd_batch_{H200}": "40", f"pd_step_{H200}": "12.5"}),
        ("least_cost", {"promise": "4.5", "percentile": "99"}),
        ("front", {}),
        ("front", {"rates": "12", "percentile": "50", f"prfaas_egress_{H200}": "40"}),
        ("least_cost", {f"prfaas_egress_{H200}": "12.5"}),
        ("break_even", {"parameter": "bandwidth_bps", "lowest_bandwidth_bps": "2", "highest_bandwidth_bps": "20"}),
    ],
)
@pytest.mark.once
def test_the_same_question_can_be_asked_again(planner, problem, changes):
    job = asked(planner, problem, **changes)
    page = planner.get(again(page_of(planner, finished(job)))).content.decode()
    second = planner.post(f"/optimiser/{problem}/", filled(page))
    assert Job.objects.get(pk=second.headers["Location"].split("/")[2]).input == job.input


def finished(job):
    Job.objects.filter(pk=job.pk).update(state="failed", error="why", finished_at=now())
    return job


def filled(page):
    """What a browser sends of the form."""
    form = page.split("data-question-form")[1].split("</form>")[0]
    typed = {}
    for tag in re.findall("<input[^>]*>", form):
        name, value = re.search('name="(.*?)"', tag), re.search('value="(.*?)"', tag)
        is_box = 'type="checkbox"' in tag or 'type="radio"' in tag
        if name and (not is_box or "checked" in tag):
            typed.setdefault(name[1], []).append(value[1] if value else "")
    for name, options in re.findall(r'<select name="(\S+?)".*?>(.*?)</select>', form, re.DOTALL):
        chosen = re.search('value="([^"]*)" selected', options)
        typed[name] = [chosen[1] if chosen else ""]
    scenario = re.search('id="scenario".*?value="([^"]*)" selected', form, re.DOTALL)[1]
    return {**typed, "scenario": scenario}


def test_prices_that_are_not_the_listed_ones_lead_to_those(planner):
    page = page_of(planner, computed(planner))
    form = page.split("data-listed>")[1].split("</form>")[0]
    assert "h200 3.45 USD/GPU-hour (Civo, 2026-10-24); h20 1.05 USD/GPU-hour (UCloud Compshare, no date)" in text(form)
    typed = re.findall(r'<input type="hidden" name="(\S+?)" value="(.*?)">', form)
    second = planner.post("/optimiser/equal_cost/", {name: text for name, text in typed if name[0] != "c"})
    question = Job.objects.get(pk=second.headers["Location"].split("/")[2]).input["question"]
    assert {each["name"]: each["usd_per_gpu_hour"] for each in question["prices"]} == {"h200": 3.45, "h20": 1.05}


def test_an_answer_at_listed_prices_does_not_lead_to_itself(planner):
    listed = {"usd_h200": "", "usd_h20": "", "offer_h200": "h200-civo-2026-10-24",
              "offer_h20": "h20-ucloud-compshare-undated"}  # fmt: skip
    assert "data-listed" not in page_of(planner, computed(planner, **listed))


# --- what was found, kept ----------------------------------------------------------------------------------------


def test_one_click_keeps_what_was_found(planner):
    job = computed(planner)
    answer = planner.post(f"/jobs/{job.pk}/scenario/")
    assert answer.headers["Location"] == "/scenarios/case-study-prfaas-pd-equal-cost/"
    entry = Entry.objects.get(kind="scenarios", name="case-study-prfaas-pd-equal-cost")
    assert entry.title == "PrfaaS-PD: the most for a budget"
    assert "5 × (8 h200) PrfaaS" in entry.document["description"]
    assert "3.223" in planner.get("/scenarios/").content.decode()


def test_a_name_that_is_taken_is_asked_for(planner):
    job = computed(planner)
    planner.post(f"/jobs/{job.pk}/scenario/")
    page = planner.post(f"/jobs/{job.pk}/scenario/").content.decode()
    assert "is taken among scenarios" in summary(page)
    assert f'value="case-study-prfaas-pd-equal-cost-{str(job.pk)[:8]}"' in page
    answer = planner.post(f"/jobs/{job.pk}/scenario/", {"name": "another"})
    assert answer.headers["Location"] == "/scenarios/another/"
    assert "has spaces" in planner.post(f"/jobs/{job.pk}/scenario/", {"name": "has spaces"}).content.decode()


def test_a_visitor_signs_in_to_keep_it(client, planner):
    job = computed(planner)
    planner.logout()
    assert f"/login/?next=/jobs/{job.pk}/scenario/" in page_of(client, job)
    assert client.post(f"/jobs/{job.pk}/scenario/").headers["Location"].startswith("/login/")


def test_a_bought_chip_keeps_the_source_of_its_decode_figures(planner):
    changes = {"pd": [H200], f"pd_batch_{H200}": "40", f"pd_step_{H200}": "20", "prfaas": [], "link": []}
    job = computed(planner, budget="typed", budget_usd="200", **changes)
    planner.post(f"/jobs/{job.pk}/scenario/", {"name": "on-h200"})
    found = store.scenario_of(Entry.objects.get(kind="scenarios", name="on-h200"))
    assert found.provenance("decode.step_s") == {"kind": "user", "source": "set by hand"}
