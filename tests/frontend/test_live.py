"""The frame of the live screen: what the scripts are told, and the way between its pages."""

import json
import re

import pytest

from planner.management.demonstration import Demonstration

pytestmark = pytest.mark.django_db


def told(page):
    return json.loads(re.search(r'<script id="live-data" type="application/json">(.*?)</script>', page)[1])


def test_the_scripts_are_told_where_to_ask(client, shipped):
    data = told(client.get("/live/").content.decode())
    assert (data["socket"], data["api"], data["signed_in"]) == ("/ws/live/", "/api/v1/live/", False)
    assert "case-study-prfaas-pd" in data["scenarios"]


def test_behind_a_prefix_all_addresses_have_it(client, under_a_prefix):
    data = told(client.get("/live/", headers={"host": "localhost"}).content.decode())
    assert (data["socket"], data["api"]) == ("/planner/ws/live/", "/planner/api/v1/live/")


@pytest.mark.parametrize("address", ["/live/", "/live/sources/", "/live/targets/", "/live/mapping/"])
def test_every_page_of_what_is_live_leads_to_the_others(client, address):
    page = client.get(address).content.decode()
    nav = re.search(r'<nav class="subnav[^>]*>.*?</nav>', page, re.DOTALL)[0]
    assert re.findall(r'href="([^"]+)" aria-current="page"', nav) == [address]
    assert {"/live/", "/live/sources/", "/live/targets/", "/live/mapping/"} <= set(re.findall(r'href="([^"]+)"', nav))


def test_while_the_day_of_the_demo_is_simulated_the_page_says_so(client, monkeypatch):
    monkeypatch.setattr(Demonstration, "has_begun", True)
    assert "then it begins here by itself" in client.get("/live/").content.decode()
    monkeypatch.setattr(Demonstration, "has_begun", False)
    assert "then it begins here by itself" not in client.get("/live/").content.decode()
