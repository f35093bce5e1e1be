"""A comparison's document: what it is put together from, what it keeps, and what it refuses."""

from copy import deepcopy

import pytest

from planner import catalog, comparison, scenario
from planner.catalog import SHIPPED
from planner.documents.errors import DocumentError

PRFAAS, HOMOGENEOUS, NAIVE = scenario.SHIPPED
NAMED = {"name": "three", "scenarios": [HOMOGENEOUS, NAIVE, PRFAAS]}


def parse(**changes):
    return comparison.parse({**NAMED, **changes}, SHIPPED)


def refused(**changes):
    with pytest.raises(DocumentError) as caught:
        parse(**changes)
    return {error.field: error.message for error in caught.value.errors}


def test_scenarios_are_put_there_by_name_and_frozen():
    asked = parse()
    assert asked.names == [HOMOGENEOUS, NAIVE, PRFAAS]
    assert asked.raw["scenarios"][2]["routing"]["threshold_tokens"] == 19400
    assert asked.titles == ["Homogeneous PD", "Naive heterogeneous", "PrfaaS-PD"]


def test_the_first_is_the_baseline_until_somebody_says_otherwise():
    assert parse().baseline == 0
    assert parse(baseline=PRFAAS).baseline == 2


def test_what_was_read_is_read_again_as_it_is():
    once = parse(prices=[{"name": "h20", "usd_per_gpu_hour": 1.0}])
    again = comparison.parse(once.document(), SHIPPED)
    assert again.raw == once.raw
    assert comparison.in_order(again.document()) == once.raw


def test_chips_without_a_price_have_that_of_the_catalogues_cheapest_offer_of_the_newest_day():
    asked = parse()
    # The cheapest on demand of 2026-10-24 is Civo's; of the H20 there is one offer alone.
    assert {price.name: price.usd_per_gpu_hour for price in asked.comparison.listed} == {"h20": 1.05, "h200": 3.45}
    assert asked.scenarios[2].parsed.prices[1].usd_per_gpu_hour in (1.05, 3.45)
    assert "h200-civo-2026-10-24" in asked.scenarios[2].provenance("prices.h200")["source"]


def test_a_price_of_the_comparison_goes_before_a_scenarios_own_and_that_before_a_listed_one():
    own = scenario.load(PRFAAS).document() | {"prices": [{"name": "h200", "usd_per_gpu_hour": 5.0}]}
    asked = parse(scenarios=[HOMOGENEOUS, own])
    assert {price.name: price.usd_per_gpu_hour for price in asked.scenarios[1].parsed.prices} == {
        "h200": 5.0,
        "h20": 1.05,
    }
    again = parse(scenarios=[HOMOGENEOUS, own], prices=[{"name": "h200", "usd_per_gpu_hour": 6.0}])
    assert again.scenarios[1].parsed.prices[-1].usd_per_gpu_hour in (6.0, 1.05)
    assert {p.name: p.usd_per_gpu_hour for p in again.scenarios[1].parsed.prices}["h200"] == 6.0
    assert again.scenarios[1].provenance("prices.h200")["kind"] == "user"


def test_an_offer_is_taken_by_its_name():
    asked = parse(prices=[{"name": "h200", "offer": "h200-nebius-2026-10-24"}])
    assert asked.raw["prices"] == [{"name": "h200", "usd_per_gpu_hour": 5.4}]
    assert asked.provenance("prices.h200")["kind"] == "published"


def test_what_chips_draw_is_that_of_the_catalogue():
    assert {draw.name: draw.tdp_w for draw in parse().comparison.draws} == {"h20": 400.0, "h200": 700.0}
    assert parse().draw_w("h200") == 700.0
    assert parse().draw_w("tpu") is None


def test_a_later_change_of_the_catalogue_changes_nothing():
    class Dearer:
        entry, profiles = SHIPPED.entry, SHIPPED.profiles

        @staticmethod
        def prices(hardware):
            return [{**offer, "usd_per_gpu_hour": 99.0} for offer in SHIPPED.prices(hardware)]

    once = parse()
    assert comparison.parse(once.document(), Dearer()).raw == once.raw


def test_fields_of_its_scenarios_are_overridden_by_scenario_and_path():
    asked = comparison.parse(NAMED, SHIPPED, {PRFAAS: {"routing.threshold_tokens": 25000}})
    assert asked.scenarios[2].parsed.routing.threshold_tokens == 25000
    assert asked.scenarios[2].provenance("routing.threshold_tokens")["kind"] == "user"


def test_the_shipped_one_is_what_the_paper_compares():
    asked = comparison.parse(catalog.entry("comparisons", "case-study"), SHIPPED)
    assert asked.comparison.baseline == HOMOGENEOUS
    assert {p.name: p.usd_per_gpu_hour for p in asked.scenarios[2].parsed.prices} == {"h200": 2.1, "h20": 1.05}
    assert asked.scenarios[2].provenance("prices.h200")["kind"] == "inferred"


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"scenarios": [PRFAAS]}, "scenarios", "2 to 6"),
        ({"scenarios": [PRFAAS] * 7}, "scenarios", "2 to 6"),
        ({"scenarios": "all"}, "scenarios", "2 to 6"),
        ({"scenarios": [PRFAAS, PRFAAS]}, f"scenarios.{PRFAAS}", "stands twice"),
        ({"scenarios": [PRFAAS, "nobody"]}, "scenarios.1", "neither a shipped nor a stored scenario"),
        ({"scenarios": [PRFAAS, {"name": "x"}]}, "scenarios.1.schema_version", "is missing"),
        ({"scenarios": [PRFAAS, 7]}, "scenarios.1", "must be a table of fields"),
        ({"baseline": "nobody"}, "baseline", "must be one of the scenarios"),
        ({"schema_version": 2}, "schema_version", "is not known"),
        ({"form": "guess"}, "form", "exact"),
        ({"scale": "height"}, "scale", "gpus"),
        ({"prices": [{"name": "h20", "usd_per_gpu_hour": -1}]}, "prices.h20.usd_per_gpu_hour", "at least 0"),
        ({"prices": [{"name": "h20", "offer": "none"}]}, "prices.h20.offer", "is no stored price"),
        ({"prices": [{"name": "h20", "offer": "h200-nebius-2026-10-24"}]}, "prices.h20.offer", "is an offer of h200"),
        ({"prices": [{"offer": "h200-nebius-2026-10-24", "usd_per_gpu_hour": 1}]}, "prices.0.usd_per_gpu_hour",
         "beside offer"),
        ({"prices": [{"name": "h20", "usd_per_gpu_hour": 1}] * 2}, "prices.h20", "named twice"),
        ({"listed": "all"}, "listed", "must be a list"),
        ({"draws": {"h20": 400}}, "draws", "must be a list"),
        ({"draws": [{"name": [], "tdp_w": 400}]}, "draws.0.name", "must be text"),
        ({"power": {"usd_per_kwh": 0.1, "pue": 0.5}}, "power.pue", "at least 1"),
        ({"color": "red"}, "color", "not a field"),
    ],
)  # fmt: skip
def test_what_is_no_comparison_is_refused_by_field(changes, field, said):
    found = refused(**changes)
    assert field in found, found
    assert said in found[field]


def test_an_override_of_nobody_is_refused():
    with pytest.raises(DocumentError, match=r"set\.nobody"):
        comparison.parse(NAMED, SHIPPED, {"nobody": {"routing.threshold_tokens": 1}})


def test_an_override_that_leads_nowhere_is_refused_with_its_scenario():
    with pytest.raises(DocumentError, match=rf"{PRFAAS}\.routing\.nothing\.here"):
        comparison.parse(NAMED, SHIPPED, {PRFAAS: {"routing.nothing.here": 1}})


def test_reading_changes_nothing_of_what_was_sent():
    given = {**NAMED, "prices": [{"name": "h200", "offer": "h200-nebius-2026-10-24"}]}
    before = deepcopy(given)
    comparison.parse(given, SHIPPED)
    assert given == before
