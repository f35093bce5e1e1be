"""Scenarios put together from stored entries, as the server sends the pages."""

import json

import pytest
from django.contrib.auth.models import User

from planner import evaluation, store
from planner.models import Entry

pytestmark = pytest.mark.django_db
CASE_STUDY = {
    "name": "mine",
    "title": "The case study, put together again",
    "model": "internal-1t-hybrid",
    "traffic": "case-study",
    "remote_profile": "internal-1t-hybrid-h200x8",
    "remote_instances": 4,
    "link": "case-study-100g",
    "threshold_tokens": 19400,
    "local_profile": "internal-1t-hybrid-h20x8",
    "local_instances": 8,
    "prefill_instances": 3,
    "max_batch": 20,
    "step_ms": 25,
    "slo_tokens_per_s": 40,
}


@pytest.fixture
def planner(shipped, client):
    client.force_login(User.objects.create_user("ada"))
    return client


def stored():
    return store.scenario_of(Entry.objects.get(kind="scenarios", name="mine"))


def test_the_case_study_put_together_from_entries_carries_what_the_paper_says(planner):
    answer = planner.post("/scenarios/new/", CASE_STUDY)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/scenarios/mine/")
    result = evaluation.evaluate(stored(), "paper")
    assert result["lambda_max_rps"] == pytest.approx(3.186, abs=5e-4)
    assert result["egress_bps"] == pytest.approx(12.2e9, abs=0.05e9)


def test_every_figure_keeps_the_source_that_it_has_in_the_catalogue(planner):
    planner.post("/scenarios/new/", CASE_STUDY)
    found = stored()
    assert found.provenance("model.s_kv.bytes")["kind"] == "published"
    assert found.provenance("model.profiles.internal-1t-hybrid-h20x8.seconds")["kind"] == "inferred"
    assert found.provenance("links.wan.bandwidth_bps")["source"] == "arXiv 2604.15039, section 4, about 100 Gbps"
    assert found.provenance("clusters.prfaas.instances") == {"kind": "user", "source": "set by hand"}


def test_a_scenario_does_not_change_when_the_catalogue_does(planner):
    planner.post("/scenarios/new/", CASE_STUDY)
    before = evaluation.evaluate(stored())
    profile = Entry.objects.get(name="internal-1t-hybrid-h200x8")
    prefill = {**profile.document["prefill"], "seconds": [1.0, 2.0, 4.0, 16.0]}
    store.update(profile, {**profile.document, "prefill": prefill}, revision=profile.revision)
    assert evaluation.evaluate(stored()) == before


def test_without_a_remote_cluster_everything_is_prefilled_locally(planner):
    alone = {**CASE_STUDY, "remote_profile": "", "local_instances": 12, "prefill_instances": 9}
    for field in ("remote_instances", "link", "threshold_tokens"):
        del alone[field]
    assert planner.post("/scenarios/new/", alone).status_code == 302
    assert evaluation.evaluate(stored(), "paper")["lambda_max_rps"] == pytest.approx(2.11, abs=5e-3)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "has.dot", "letters, numbers, underscores or hyphens"),
        ("prefill_instances", 9, "must be at most 7: one has to decode"),
        ("remote_profile", "minimax-m2-5-h200x8", "choose one of internal-1t-hybrid"),
        ("link", "", "is missing: what PrfaaS prefills crosses a link"),
        ("threshold_tokens", "", "is missing: requests longer than it go to PrfaaS"),
        ("max_batch", 0, "must be at least"),
        ("step_ms", "fast", "Enter a number"),
    ],
)
@pytest.mark.once
def test_a_mistake_is_told_beside_its_field_and_what_was_typed_is_kept(planner, field, value, said):
    answer = planner.post("/scenarios/new/", {**CASE_STUDY, field: value})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert said in page.split(f'id="{field}-error">')[1].split("</p>")[0]
    assert 'value="The case study, put together again"' in page
    assert not Entry.objects.filter(name="mine").exists()


@pytest.mark.parametrize(
    ("field", "unit", "said"),
    [
        ("max_batch", "requests", "That one decode instance serves together"),
        ("step_ms", "ms", "Time in which each of them gets one token"),
        ("slo_tokens_per_s", "tokens/s", "Output speed that each request is promised"),
        ("threshold_tokens", "tokens", "Requests of more uncached tokens are prefilled remotely"),
    ],
)
def test_a_field_is_explained_and_has_its_unit(planner, field, unit, said):
    page = planner.get("/scenarios/new/").content.decode()
    drawn = page.split(f'<label for="{field}">')[1].split('<div class="field">')[0]
    assert f'aria-describedby="{field}-error {field}-help"' in drawn
    assert f'<span class="unit">{unit}</span>' in drawn
    assert said in drawn.split(f'id="{field}-help">')[1].split("</p>")[0]


def test_a_name_that_is_taken_is_told_beside_the_name(planner):
    planner.post("/scenarios/new/", CASE_STUDY)
    page = planner.post("/scenarios/new/", CASE_STUDY).content.decode()
    assert "is taken among scenarios" in page.split('id="name-error">')[1].split("</p>")[0]


def test_a_visitor_reads_scenarios_and_signs_in_to_make_one(shipped, client):
    assert "case-study-prfaas-pd" in client.get("/scenarios/").content.decode()
    assert client.get("/scenarios/case-study-naive/").status_code == 200
    assert client.get("/scenarios/new/").headers["Location"] == "/login/?next=/scenarios/new/"


def test_the_list_says_what_to_do_when_it_is_empty(nothing_stored, client):
    assert "No scenario yet" in client.get("/scenarios/").content.decode()


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_scenario_is_exported_as_it_can_be_imported(planner, ending):
    planner.post("/scenarios/new/", CASE_STUDY)
    text = planner.get(f"/scenarios/mine.{ending}").content.decode()
    Entry.objects.get(name="mine").delete()
    taken = planner.post("/catalogue/import/", {"kind": "catalogue", "text": text})
    assert planner.post(taken.headers["Location"]).headers["Location"] == "/scenarios/mine/"
    assert planner.get(f"/scenarios/mine.{ending}").content.decode() == text


def test_an_archived_scenario_is_offered_no_more(planner):
    planner.post("/scenarios/new/", CASE_STUDY)
    planner.post("/scenarios/mine/archive/")
    assert "/scenarios/mine/" not in planner.get("/scenarios/").content.decode()
    assert "is archived" in planner.get("/scenarios/mine/").content.decode()


def test_unloaded_ttft_says_what_it_leaves_out(planner):
    page = planner.get("/scenarios/case-study-naive/").content.decode()
    assert "Unloaded TTFT is prefill alone: no queueing, no time on the link" in page


def test_a_scenario_that_the_rules_refuse_by_now_says_why_and_can_be_exported(planner):
    planner.post("/scenarios/new/", CASE_STUDY)
    entry = Entry.objects.get(name="mine")
    entry.document["provenance"]["decode"] = {"kind": "published"}
    entry.save()
    page = planner.get("/scenarios/mine/").content.decode()
    assert "provenance.decode.source: is missing" in page
    assert planner.get("/scenarios/mine.yaml").status_code == 200
    assert "is not valid under today's rules" in planner.get("/scenarios/").content.decode()


def test_the_panel_gets_what_it_may_change(planner):
    planner.post("/scenarios/new/", CASE_STUDY)
    page = planner.get("/scenarios/mine/").content.decode()
    data = json.loads(page.split('id="whatif-data" type="application/json">')[1].split("</script>")[0])
    [choices] = data["scenarios"]
    assert choices["threshold"] == {"path": "routing.threshold_tokens", "value": 19400.0, "range": [128.0, 131072.0]}
    assert data["baseline"]["paper"] == pytest.approx(3.186, abs=5e-4)
