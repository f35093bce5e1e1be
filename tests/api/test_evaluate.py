"""POST evaluate/ and whatif/: the same results as everywhere, for anybody, in plain JSON."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given

from planner import seeding, store
from planner.evaluation import evaluate, whatif
from planner.scenario import SHIPPED, load, parse
from tests.examples import examples
from tests.planner.documents import BASE, documents, shipped

EVALUATE, WHATIF = "/api/v1/evaluate/", "/api/v1/whatif/"
modest = examples(12)


def post(body, address=EVALUATE):
    answer = Client().post(address, json.dumps(body), content_type="application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_anybody_gets_the_published_figures_of_the_case_study_in_paper_form():
    result = post({"scenario": BASE, "form": "paper"})
    assert result["threshold_tokens"] == 19400
    assert result["offload_fraction"] == pytest.approx(0.4957, abs=5e-5)
    assert result["mean_offloaded_tokens"] == pytest.approx(45046, abs=0.5)
    assert result["mean_local_tokens"] == pytest.approx(10224, abs=0.5)
    assert result["lambda_max_rps"] == pytest.approx(3.186, abs=5e-4)
    assert result["egress_bps"] == pytest.approx(12.2e9, abs=0.05e9)
    assert result["theta_rps"] == {
        "prfaas": pytest.approx(1.579, abs=5e-4),
        "pd_p": pytest.approx(1.640, abs=5e-4),
        "pd_d": pytest.approx(3.906, abs=5e-4),
    }


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("form", ["exact", "paper"])
def test_a_name_a_document_and_a_bare_document_have_the_same_result(name, form):
    expected = evaluate(load(name), form)
    assert post({"scenario": name, "form": form}) == expected
    assert post({"scenario": shipped(name), "form": form}) == expected
    assert post(shipped(name), f"{EVALUATE}?form={form}") == expected


def test_the_form_is_exact_unless_said_otherwise_and_the_body_goes_before_the_address():
    assert post({"scenario": BASE})["form"] == "exact"
    assert post({"scenario": BASE}, f"{EVALUATE}?form=paper")["form"] == "paper"
    assert post({"scenario": BASE, "form": "exact"}, f"{EVALUATE}?form=paper")["form"] == "exact"


@pytest.mark.django_db
def test_a_name_set_in_a_shipped_scenario_is_a_stored_one():
    seeding.seed()
    traffic = store.named("traffic", "case-study")
    store.create("traffic", {**traffic.document, "name": "mine", "output_tokens": 1.0})
    assert post({"scenario": BASE, "set": {"traffic": "mine"}}) == post(
        {"scenario": {**shipped(), "traffic": "mine"}, "set": {}}
    )


def test_a_field_set_in_the_envelope_is_set_and_marked_as_the_users():
    result = post({"scenario": BASE, "set": {"links.wan.bandwidth_bps": 6e9, "routing.threshold_tokens": 19_600}})
    assert result["lambda_max_rps"] == pytest.approx(1.57, abs=5e-3)
    assert result["binding"] == ["link"]
    assert result["provenance"] == "user"


def test_what_if_has_the_same_curves_as_everywhere():
    assert post({"scenario": BASE}, WHATIF) == whatif(load(BASE))
    assert post({"scenario": "case-study-homogeneous"}, WHATIF)["threshold_sweep"] is None


@modest
@given(documents())
def test_any_valid_document_has_the_result_that_python_gives_it(document):
    assert post(document) == evaluate(parse(document))
    assert post({"scenario": document, "form": "paper"}, WHATIF) == whatif(parse(document), "paper")


def test_an_evaluation_touches_no_row(django_assert_num_queries, db):
    with django_assert_num_queries(0):
        post({"scenario": BASE})
        post({"scenario": BASE}, WHATIF)


def test_somebody_who_is_signed_in_by_password_gets_the_same(db):
    User.objects.create_user("ada", password="correct horse")
    signed_in = {"authorization": "Basic YWRhOmNvcnJlY3QgaG9yc2U="}
    answer = Client(headers=signed_in).post(EVALUATE, {"scenario": BASE}, content_type="application/json")
    assert answer.json() == evaluate(load(BASE))
