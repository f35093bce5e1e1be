"""Fleets of several clusters as documents: read, searched, refused by field."""

import pytest

from planner import catalog, evaluation, scenario
from planner.documents.errors import DocumentError
from planner.engine import fleet as engine
from planner.fleet import document, result

CASE = "case-study-prfaas-pd"


def pd(name="one", share=1.0, prfaas="west", link="a", **changes):
    given = {
        "name": name,
        "scenario": scenario.load(CASE).document(),
        "share": share,
        "routes": [{"prfaas": prfaas, "link": link}],
    } | changes
    return {key: value for key, value in given.items() if value is not ...}


def fleet(*clusters, **changes):
    given = {
        "problem": "clusters",
        "prfaas": [{"name": "west", "hardware": "h200", "gpus_per_instance": 8, "instances": 4}],
        "links": [{"name": "a", "bandwidth_bps": 100e9}, {"name": "b", "bandwidth_bps": 10e9}],
        "pd": list(clusters) or [pd()],
    }
    return given | changes


def answer(given):
    found = document.parse(given, catalog.SHIPPED)
    return result.document(found, engine.best(document.build(found)))


def refused(given):
    with pytest.raises(DocumentError) as caught:
        answer(given)
    return str(caught.value)


def test_one_of_each_is_the_scenario_optimised():
    found = answer(fleet())
    alone = evaluation.optimize(scenario.load(CASE))
    assert found["lambda_max_rps"] == pytest.approx(alone["lambda_max_rps"], rel=1e-9)
    (cluster,) = found["pd"]
    assert (cluster["prefill_instances"], cluster["decode_instances"]) == (3, 5)
    assert cluster["routes"][0]["threshold_tokens"] == pytest.approx(alone["threshold_tokens"], rel=1e-6)
    assert {each["stage"] for each in found["binding"]} == {"prfaas", "pd_p"}
    assert found["links"][0]["egress_bps"] == pytest.approx(alone["egress_bps"], rel=1e-6)
    assert found["links"][1]["egress_bps"] == 0


def test_two_regions_share_a_prfaas_cluster_over_links_of_their_own():
    found = answer(fleet(pd("one", 0.6), pd("two", 0.4, link="b")))
    assert found["lambda_max_rps"] > evaluation.optimize(scenario.load(CASE))["lambda_max_rps"]
    one, two = found["pd"]
    assert one["lambda_rps"] + two["lambda_rps"] == pytest.approx(found["lambda_max_rps"])
    narrow = next(link for link in found["links"] if link["name"] == "b")
    assert narrow["egress_bps"] <= 10e9


def test_a_split_that_is_not_free_stays():
    other = scenario.load(CASE, {"clusters.pd.prefill_instances": 4, "clusters.pd.decode_instances": 4}).document()
    (cluster,) = answer(fleet(pd(scenario=other, free_split=False)))["pd"]
    assert (cluster["prefill_instances"], cluster["decode_instances"]) == (4, 4)


def test_without_routes_every_request_stays():
    found = answer(fleet(pd(routes=[])))
    assert found["pd"][0]["local_fraction"] == 1
    assert found["links"][0]["egress_bps"] == 0


def test_a_fleet_costs_its_gpus_and_its_tokens_at_the_most_that_it_carries():
    """By hand: 32 H200 at 2 dollars and twice 64 H20 at 1; a request brings 27,486 tokens or so and takes 1,024."""
    prices = [{"name": "h200", "usd_per_gpu_hour": 2.0}, {"name": "h20", "usd_per_gpu_hour": 1.0}]
    found = answer(fleet(pd("one", 0.6), pd("two", 0.4, link="b"), prices=prices))
    cost = found["cost"]
    assert [(each["name"], each["gpus"], each["usd_per_h"]) for each in cost["clusters"]] == [
        ("west", 32, 64.0), ("one", 64, 64.0), ("two", 64, 64.0),
    ]  # fmt: skip
    assert cost["usd_per_h"] == 192.0
    millions = found["lambda_max_rps"] * (27_486 + 1024) * 3600 / 1e6
    assert cost["usd_per_million_tokens"] == pytest.approx(192.0 / millions, rel=1e-4)


def test_a_chip_is_priced_by_the_fleet_else_its_scenario_else_the_catalogue():
    own = scenario.load(CASE).document() | {"prices": [{"name": "h20", "usd_per_gpu_hour": 0.7}]}
    read = document.parse(fleet(pd(scenario=own)), catalog.SHIPPED)
    prices = {price.name: price.usd_per_gpu_hour for price in read.parsed.prices}
    offered = min(each["usd_per_gpu_hour"] for each in catalog.SHIPPED.prices("h200") if each["kind"] == "on_demand")
    assert prices["h20"] == 0.7
    assert prices["h200"] >= offered
    assert "offer h200" in read.raw["provenance"]["prices.h200"]["source"]
    given = [{"name": "h20", "usd_per_gpu_hour": 9.0}]
    read = document.parse(fleet(pd(scenario=own), prices=given), catalog.SHIPPED)
    assert [price.usd_per_gpu_hour for price in read.parsed.prices if price.name == "h20"] == [9.0]


def test_a_frozen_fleet_is_the_same_fleet():
    found = document.parse(fleet(), catalog.SHIPPED)
    again = document.loaded(found.frozen()["fleet"])
    assert again.parsed == found.parsed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (fleet(pd(share=0.5)), "pd: the shares of the PD clusters must sum to 1, got 0.5"),
        (fleet(pd(share=1.5)), "pd.one.share: 1.5 must be at most 1"),
        (fleet(pd(prfaas="east")), "pd: one has a route to east, which is no PrfaaS cluster"),
        (fleet(pd(link="z")), "pd: one has a route over z, which is no link"),
        (fleet(pd("one", 0.5), pd("one", 0.5)), "two of the fleet have the same name"),
        (fleet(pd(scenario={"schema_version": 1})), "pd.one.scenario.name: is missing"),
        (fleet(pd(scenario=...)), "pd.one.scenario: is missing"),
        (fleet(pd=[]), "pd: [] needs at least 1"),
        (fleet(prices=[{"name": "h20", "usd_per_gpu_hour": 1.0}] * 2), "prices.h20: is named twice"),
        (fleet(prices=[{"name": "h20", "usd_per_gpu_hour": -1.0}]), "prices.h20.usd_per_gpu_hour: -1"),
        (fleet(pd="one"), "pd: 'one' must be a list"),
        (
            fleet(prfaas=[{"name": "west", "hardware": "b200", "gpus_per_instance": 8, "instances": 4}]),
            "pd.one.routes: sends internal-1t-hybrid to west, b200 × 8, for which it has no profile; it has h200 × 8",
        ),
        (fleet(links=[{"name": "a", "bandwidth_bps": -1}]), "links.a.bandwidth_bps: -1 must be a number of bit/s"),
    ],
)
def test_mistakes_are_told_by_field(given, said):
    assert said in refused(given)
