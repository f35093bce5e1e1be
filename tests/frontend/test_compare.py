"""Comparisons as the server sends their pages: the table, the files, the report, and what is stored of them."""

import codecs
import csv
import io
import json
import re
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from planner import scenario, store
from planner.models import Entry, Job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]
PRFAAS, HOMOGENEOUS, NAIVE = scenario.SHIPPED
CASE = "/compare/case-study/"
UNSAVED = f"/compare/-/?scenario={NAIVE}&scenario={PRFAAS}"


@pytest.fixture
def planner():
    client = Client()
    client.force_login(User.objects.create_user("planner"))
    return client


def text(answer, status=200):
    assert answer.status_code == status, answer.content[:500]
    return answer.content.decode()


def test_the_list_says_what_each_comparison_comes_to():
    page = text(Client().get("/compare/"))
    assert "The case study&#x27;s three deployments" in page
    assert "PrfaaS-PD carries the most: 3.122 req/s, +53.6 % against the baseline." in page


def test_without_comparisons_the_list_says_what_to_do():
    for entry in Entry.objects.filter(kind=store.COMPARISONS):
        store.archive(entry, revision=entry.revision)
    assert "No comparison is stored. Choose scenarios below" in text(Client().get("/compare/"))


def test_the_table_has_units_marks_formulas_and_winners():
    page = text(Client().get(CASE))
    row = page[page.index('data-row="lambda_max_rps"') :].split("</tr>")[0]
    assert "req/s" in row
    assert 'data-kind="inferred"' in row
    assert "(eq. 6)" in row
    assert "PrfaaS-PD, by 33.8 %" in row
    ttft = page[page.index('data-row="ttft_p90_s"') :].split("</tr>")[0]
    assert "no difference between Naive heterogeneous and PrfaaS-PD" in ttft  # homogeneous PD needs three times as long


def test_the_case_study_and_every_scenario_lead_to_a_comparison():
    assert f'href="{CASE}"' in text(Client().get("/case-study/"))
    assert f'href="/compare/?scenario={PRFAAS}"' in text(Client().get(f"/scenarios/{PRFAAS}/"))


def test_changes_to_the_baseline_are_shown_where_asked_for():
    page = text(Client().get(f"{CASE}table/?show=changes"))
    row = page[page.index('data-row="lambda_max_rps"') :].split("</tr>")[0]
    assert "+53.6" in row
    assert "change, %" in row


def test_what_changes_in_place_has_the_bills_and_prices_that_belong_to_it():
    fresh = text(Client().get(f"{CASE}table/?price.h200=4.2"))
    assert "PrfaaS-PD: 201.60 USD/h" in fresh  # 32 × 4.2 + 64 × 1.05
    field = fresh[fresh.index('id="price.h200"') :].split("</div>")[0]
    assert 'value="4.2"' in field
    assert 'data-kind="user"' in field
    assert 'id="published"' in fresh
    assert 'id="published"' not in text(Client().get(f"{CASE}table/?set.{PRFAAS}.routing.threshold_tokens=25000"))


def test_an_empty_price_of_a_link_or_of_electricity_is_none(planner):
    link = f"link.{PRFAAS}.usd_per_gb"
    planner.post(f"{CASE}save/?{link}=0.02&usd_per_kwh=0.1&pue=1.3", {"name": "priced"})
    assert "PrfaaS-PD: 140.64 USD/h" not in text(Client().get("/compare/priced/table/"))
    page = text(Client().get(f"/compare/priced/table/?{link}="))
    assert "PrfaaS-PD: 140.64 USD/h" in page  # 134.40 and 48 kW × 1.3 × 0.1
    assert "PrfaaS-PD: 134.40 USD/h" in text(Client().get(f"/compare/priced/table/?{link}=&usd_per_kwh="))
    assert "PrfaaS-PD: 144.00 USD/h" in text(Client().get(f"/compare/priced/table/?{link}=&pue=2"))


def test_a_price_is_shown_with_all_its_digits():
    assert 'value="1234567.25"' in text(Client().get(f"{CASE}?link.{PRFAAS}.usd_per_month=1234567.25"))


def test_where_nothing_is_carried_the_headline_says_so():
    down = "&".join(f"set.{name}.links.wan.achieved_bps=0" for name in (NAIVE, PRFAAS))
    assert "Nothing is carried." in text(Client().get(f"{UNSAVED}&{down}"))


def test_the_headline_says_who_is_not_as_large_as_the_others():
    share = 'set.{0}.routing={{"policy":"blind","remote_share":0.6}}&set.{0}.free=["routing.remote_share"]'
    small = f"set.{NAIVE}.clusters.prfaas.instances=1"
    page = text(Client().get(f"{UNSAVED}&scale=gpus&baseline={NAIVE}&{share.format(PRFAAS)}&{small}"))
    assert "Not rescaled: its router knows no lengths" in page
    assert "PrfaaS-PD (not rescaled) carries the most" in page


def test_the_published_values_stand_beside_ours_with_both_reasons():
    page = text(Client().get(f"{CASE}?form=paper"))
    section = page[page.index('id="published"') :]
    assert "Rounding of the table." in section
    assert "Representative length." in section
    row = section[section.index('data-row="equal-cost"') :].split("</tr>")[0]
    # The paper says about 15 %.
    assert float(re.search(r"<td class=\"first\">([\d.]+)", row)[1]) == pytest.approx(1.15, abs=0.02)
    assert "1.15" in row
    assert "12 + 4 instances" in row


def test_a_changed_deployment_is_not_held_against_the_paper():
    query = urlencode({f"set.{PRFAAS}.routing.threshold_tokens": "25000"})
    page = text(Client().get(f"{CASE}?{query}"))
    assert 'id="published"' not in page
    assert "25,000" in page


def test_another_price_keeps_what_is_published_beside_it():
    page = text(Client().get(f"{CASE}?price.h200=3"))
    assert "with an H200 at 2.86 times" in page


def test_scenarios_are_shown_side_by_side_without_being_stored():
    page = text(Client().get(UNSAVED))
    assert "not stored" in page
    assert "Naive heterogeneous" in page
    assert "Homogeneous PD" not in page


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/compare/nobody/", 404, "is no stored comparison; known: case-study"),
        ("/compare/-/?scenario=case-study-naive", 400, "2 to 6"),
        ("/compare/-/", 400, "2 to 6"),
        (f"{CASE}?baseline=nobody", 400, "must be one of the scenarios"),
        (f"{CASE}?price.h200=cheap", 400, "must be a number"),
        (f"{CASE}?price.h200=-1", 400, 'data-field="price.h200"'),
        (f"{CASE}?pue=1.2", 400, 'data-field="usd_per_kwh"'),
        (f"{CASE}?link.{PRFAAS}.usd_per_gb=-1", 400, f'data-field="link.{PRFAAS}.usd_per_gb"'),
        ("/compare/case-study.csv?price.h200=cheap", 400, "must be a number"),
        (f"{CASE}scenarios/{PRFAAS}/?price.h200=cheap", 400, "must be a number"),
        (f"{CASE}?link.{PRFAAS}.usd_per_mile=1", 400, "usd_per_gb"),
        (f"{CASE}?set.{PRFAAS}.routing.nothing=1", 400, "allowed"),
        (f"{CASE}?scale=height", 400, "gpus"),
        (f"{CASE}scenarios/nobody/", 404, ""),
    ],
)
def test_an_address_that_cannot_be_shown_says_why(address, status, said):
    assert said in text(Client().get(address), status)


def test_the_csv_has_a_line_for_every_metric_of_every_deployment():
    found = Client().get("/compare/case-study.csv?scale=cost").content
    assert found.startswith(codecs.BOM_UTF8)  # else spreadsheets do not read Λ
    lines = list(csv.DictReader(io.StringIO(found.decode("utf-8-sig"))))
    assert {line["comparison"] for line in lines} == {"case-study"}
    rates = {line["scenario"]: float(line["value"]) for line in lines if line["metric"] == "lambda_max_rps"}
    assert list(rates) == [HOMOGENEOUS, NAIVE, PRFAAS]
    assert {line["scale"] for line in lines} == {"cost"}
    assert all(line["unit"] and line["formula"] for line in lines)


def test_the_json_is_the_result_with_the_document_that_it_belongs_to():
    found = json.loads(text(Client().get("/compare/case-study.json?form=paper")))
    assert found["comparison"]["form"] == found["result"]["form"] == "paper"
    again = Client().post(
        "/api/v1/compare/", json.dumps({"comparison": found["comparison"]}), content_type="application/json"
    )
    assert again.json()["metrics"] == found["result"]["metrics"]


def test_the_report_names_inputs_sources_assumptions_and_version():
    page = text(Client().get(f"{CASE}report/?form=paper"))
    bandwidth = page[page.index("links.wan.bandwidth_bps") :].split("</tr>")[0]
    assert re.findall("<td[^>]*>([^<]*)", bandwidth)[:2] == ["100", "Gbps"]
    assert "arXiv 2604.15039, section 4, about 100 Gbps" in page
    assert "prices.h200.usd_per_gpu_hour" in page
    assert "Electricity is taken to be in the price of a GPU-hour." in page
    assert f"http://testserver{CASE}?form=paper" in page
    assert "PrfaaS Planner 0." in page


# --- storing -----------------------------------------------------------------------------------------------------


def test_what_is_shown_is_stored_under_a_name(planner):
    answer = planner.post(
        f"/compare/-/save/?scenario={NAIVE}&scenario={PRFAAS}&baseline={PRFAAS}&price.h200=3", {"name": "mine"}
    )
    assert answer.status_code == 302, answer.content[:300]
    document = store.named(store.COMPARISONS, "mine").document
    assert document["baseline"] == PRFAAS
    assert document["prices"] == [{"name": "h200", "usd_per_gpu_hour": 3.0}]
    assert "Naive heterogeneous" in text(planner.get(answer["Location"]))


def test_a_name_that_is_taken_is_replaced_only_where_that_was_said(planner):
    page = text(planner.post(f"{CASE}save/?form=paper", {"name": "case-study", "title": "New"}))
    assert "is taken among comparisons" in page
    assert "Replace case-study" in page
    assert store.named(store.COMPARISONS, "case-study").revision == 1
    planner.post(f"{CASE}save/?form=paper", {"name": "case-study", "title": "New", "replace": "yes"})
    entry = store.named(store.COMPARISONS, "case-study")
    assert (entry.revision, entry.title, entry.document["form"]) == (2, "New", "paper")


def test_a_name_that_cannot_be_keeps_what_was_typed(planner):
    page = text(planner.post(f"{CASE}save/", {"name": "no blanks here", "title": "A title"}))
    assert "Nothing is stored yet." in page
    assert 'value="no blanks here"' in page
    assert '<a href="#name">Name</a> must be letters, digits' in page
    assert 'value="A title"' in page


def test_a_deployment_as_it_is_shown_is_stored_as_a_scenario(planner):
    address = f"{CASE}scenarios/{HOMOGENEOUS}/?scale=cost&baseline={PRFAAS}"
    assert "as the comparison shows it, not stored" in text(planner.get(address))
    answer = planner.post(address, {"name": "as-dear", "title": "As dear"})
    assert answer.status_code == 302
    kept = store.named(store.SCENARIOS, "as-dear")
    assert kept.document["clusters"][0]["instances"] == 16
    assert kept.title == "As dear"
    taken = text(planner.post(address, {"name": "as-dear"}))
    assert "is taken among scenarios" in taken


def test_what_was_moved_on_the_page_of_a_deployment_is_stored_with_it(planner):
    address = f"{CASE}scenarios/{PRFAAS}/"
    planner.post(address, {"name": "moved", "set": '{"routing.threshold_tokens": 25000}'})
    assert store.named(store.SCENARIOS, "moved").document["routing"]["threshold_tokens"] == 25_000
    for mistake, said in (("[", "set: "), ("[1]", "must be an object"), ('{"routing.threshold_tokens": -5}', "-5")):
        assert said in text(planner.post(address, {"name": "other", "set": mistake}))


def test_nothing_is_stored_without_signing_in():
    for address in (f"{CASE}save/", f"{CASE}scenarios/{NAIVE}/", f"{CASE}simulate/", f"{CASE}archive/"):
        answer = Client().post(address, {"name": "mine"})
        assert answer.status_code == 302
        assert "/login/" in answer["Location"]
    assert not Entry.objects.filter(name="mine").exists()
    assert not Job.objects.exists()


def test_an_archived_comparison_stays_readable(planner):
    planner.post(f"{CASE}archive/")
    assert "archived" in text(planner.get(CASE))
    assert "No comparison is stored" in text(planner.get("/compare/"))


# --- under load --------------------------------------------------------------------------------------------------


def test_a_simulation_is_started_from_the_page_and_followed_there(planner):
    answer = planner.post(f"{CASE}simulate/?form=paper", {"at": "load", "load": "50", "requests": "1000"})
    assert answer["Location"] == f"{CASE}?form=paper#simulation"
    job = Job.objects.get()
    assert job.input["side_by_side"]["runs"][0]["load"] == 0.5
    page = text(planner.get(CASE))
    assert f"/ws/jobs/{job.pk}/" in page
    assert "its figures appear in the table" in page


def test_a_rate_is_one_for_all(planner):
    planner.post(f"{CASE}simulate/", {"at": "rate", "rate_rps": "1.7", "load": "85", "replications": "2"})
    assert [run["rate_rps"] for run in Job.objects.get().input["side_by_side"]["runs"]] == [1.7] * 3


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"load": "much"}, "load", "must be a number"),
        ({"load": "-5"}, "load", "must be greater than 0"),
        ({"load": "2000"}, "load", "must be at most 1000 %"),
        ({"requests": "2.5"}, "requests", "must be a whole number"),
        ({"requests": "3"}, "requests", "must be at least 100"),
        ({"requests": "inf"}, "requests", "must be a whole number"),
        ({"replications": "nan"}, "replications", "must be a whole number"),
        ({"at": "rate", "rate_rps": ""}, "rate_rps", "is missing"),
    ],
)
def test_a_simulation_that_cannot_be_is_told_beside_its_field_and_nothing_is_lost(planner, typed, field, said):
    typed = {"at": "load", "load": "70", "rate_rps": "1.9", "requests": "1,000", "replications": "3"} | typed
    page = planner.post(f"{CASE}simulate/?form=paper", typed).content.decode()
    assert said in page.split(f'id="{field}-error">')[1].split("</p>")[0]
    assert f'<a href="#{field}">' in page.split("data-summary")[1].split("</ul>")[0]
    for name in ("load", "rate_rps", "requests", "replications"):
        assert f'name="{name}" value="{typed[name]}"' in page
    assert f'value="{typed["at"]}" checked' in page
    # The view is still the one that was asked for, and so is the address of the form.
    assert f'action="{CASE}simulate/?form=paper"' in page
    assert not Job.objects.exists()


def test_all_that_is_wrong_with_a_simulation_is_told_at_once(planner):
    page = planner.post(f"{CASE}simulate/", {"load": "much", "requests": "2.5"}).content.decode()
    assert page.split("data-summary")[1].split("</ul>")[0].count("<li>") == 2


def test_who_signs_in_on_the_way_to_a_simulation_comes_back_to_the_comparison(planner):
    assert planner.get(f"{CASE}simulate/?form=paper")["Location"] == f"{CASE}?form=paper#simulation"


def test_pages_work_under_a_prefix(under_a_prefix):
    page = text(Client().get(CASE))
    assert 'data-table-url="/planner/compare/case-study/table/"' in page


def test_a_comparison_is_exported_and_imported_like_any_entry(planner):
    document = planner.get("/api/v1/comparisons/case-study/").json()["document"] | {"name": "brought"}
    file = io.BytesIO(json.dumps({"schema_version": 1, "comparisons": [document]}).encode())
    file.name = "comparison.json"
    preview = planner.post("/catalogue/import/", {"kind": "catalogue", "file": file})
    stored = planner.post(preview["Location"], {"action": "store"})
    assert stored["Location"] == "/compare/brought/", stored.content[:300]
