"""The bandwidth wall as the server sends it."""

import json
import re

import pytest

from planner import store

pytestmark = pytest.mark.django_db


seeded = pytest.mark.usefixtures("shipped")


def page_of(client, query="", status=200):
    response = client.get(f"/bandwidth-wall/?{query}")
    assert response.status_code == status
    return response.content.decode()


def data(page):
    return json.loads(re.search(r'<script id="wall-data" type="application/json">(.*?)</script>', page, re.S)[1])


def text(page):
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@seeded
def test_each_cell_says_number_unit_and_the_link_that_carries_it(client):
    page = text(page_of(client, "profile=minimax-m2-5-h200x8&length=32K&gpus=512"))
    assert "59.93 Gbps 100 Gbps published 59.93 Gbps source of the profile" in page
    assert re.search(r"3\.83\d Tbps 3 × 1\.6 Tbps", page)


@seeded
def test_agreement_by_construction_is_not_shown_as_a_check(client):
    page = text(page_of(client))
    assert "0.0 %" not in page
    assert "the profile was derived from that very figure" in page


@seeded
def test_a_profile_from_elsewhere_shows_how_far_it_is_from_the_published_figure(client):
    profile = store.named("profiles", "minimax-m2-5-h200x8")
    measured = {"prefill": {"kind": "measured", "source": "a run of 2026-05-04"}}
    slower = {**profile.document["prefill"], "seconds": [2 * each for each in profile.document["prefill"]["seconds"]]}
    changed = {**profile.document, "prefill": slower, "provenance": measured}
    store.update(profile, changed, revision=profile.revision)
    page = text(page_of(client, "profile=minimax-m2-5-h200x8&length=32K&gpus=512"))
    assert "published 59.93 Gbps, −50.0 %" in page


@seeded
@pytest.mark.parametrize(
    "query", ["", "profile=ring-2-5-1t-h200x8&length=300K&gpus=64&headroom=0.3&link=case-study-100g"]
)
def test_the_page_draws_what_the_api_answers(client, query):
    assert data(page_of(client, query)) == client.get(f"/api/v1/bandwidth/?{query}").json()


@seeded
def test_the_reduction_is_told_with_its_figures(client):
    page = text(page_of(client))
    assert "10 of 80 layers" in page
    assert "4.44 × i 4.5 × p" in page
    assert "35.6 × i 36 × p" in page


@seeded
def test_what_was_typed_stays_and_its_error_is_beside_it(client):
    page = page_of(client, "length=many%3Cb%3E&gpus=64&profile=ring-2-5-1t-h200x8", 400)
    assert 'value="many&lt;b&gt;"' in page
    assert "must be a number of tokens" in re.search(r'data-error="length"[^>]*>([^<]*)', page)[1]
    assert 'value="64"' in page
    assert re.search(r'value="ring-2-5-1t-h200x8" checked', page)
    assert "wall-data" not in page


@seeded
def test_a_parameter_that_is_not_known_is_told(client):
    assert "is not asked here" in page_of(client, "colour=red", 400)


def test_an_empty_catalogue_says_what_to_do(nothing_stored, client):
    assert "No model has a profile yet" in page_of(client)


def test_it_works_under_a_prefix(client, under_a_prefix):
    assert 'href="/planner/api/v1/bandwidth/"' in page_of(client)
