"""Bills of materials: worked out by hand for the case study, and null where a figure is not known."""

import csv
import io
from copy import deepcopy

import pytest

from planner import catalog, scenario
from planner.documents.errors import DocumentError
from planner.procurement import bill_prices, bill_table
from planner.procurement.bill import Power, bill
from planner.procurement.bill_query import BillQuery, table_of

CASE = "case-study-prfaas-pd"
CHIPS = {"h200", "h20"}
HOURS_A_MONTH = 730.5


class Shelf:
    """The shipped catalogue, with entries of prices and hardware that a test changes."""

    def __init__(self, prices=None, hardware=None):
        self._prices, self._hardware = prices, hardware or {}

    def entry(self, kind, name):
        if kind == "prices" and self._prices is not None:
            found = next((each for each in self._prices if each["name"] == name), None)
            if found is None:
                raise catalog.NotInCatalogue(kind, name, ())
            return found
        return catalog.SHIPPED.entry(kind, name) | (self._hardware.get(name, {}) if kind == "hardware" else {})

    def profiles(self, model):
        return catalog.SHIPPED.profiles(model)

    def prices(self, hardware):
        if self._prices is None:
            return catalog.SHIPPED.prices(hardware)
        return [each for each in self._prices if each["hardware"] == hardware]


def made(prices=("h200=2.10", "h20=1.05"), overrides=None, catalogue=catalog.SHIPPED, name=CASE, **options):
    found = scenario.load(name, overrides or {})
    chips = {cluster.hardware.name for cluster in found.parsed.clusters}
    given = bill_prices.given(prices, chips, catalogue)
    return bill(found, catalogue, prices=given, **options)


# --- arithmetic --------------------------------------------------------------------------------------------------


def test_the_case_study_costs_what_its_gpus_do():
    found = made()
    assert [(line["role"], line["gpus"], line["usd_per_h"]) for line in found["chips"]] == [
        ("prfaas", 32, pytest.approx(67.2)),
        ("prefill", 24, pytest.approx(25.2)),
        ("decode", 40, pytest.approx(42.0)),
    ]
    assert found["totals"]["gpus"] == 96
    assert found["totals"]["usd_per_h"] == pytest.approx(32 * 2.10 + 64 * 1.05)
    assert found["totals"]["usd_per_month"] == pytest.approx(134.4 * HOURS_A_MONTH)


def test_a_million_tokens_cost_what_an_hour_does_by_the_tokens_of_an_hour():
    found = made(form="paper")
    tokens_an_hour = found["lambda_max_rps"] * 3600 * (27_486 + 1024)
    assert found["totals"]["usd_per_million_tokens"] == pytest.approx(134.4 / tokens_an_hour * 1e6, rel=1e-4)
    assert found["lambda_max_rps"] == pytest.approx(3.186, abs=5e-4)


def test_chips_draw_their_tdp_and_power_is_costed_where_it_is_asked_for():
    assert made()["totals"]["power_w"] == 32 * 700 + 64 * 400
    assert made()["power"]["usd_per_h"] is None
    powered = made(power=Power(0.10, 1.3))
    assert powered["power"]["usd_per_h"] == pytest.approx(48 * 1.3 * 0.10)
    assert powered["totals"]["usd_per_h"] == pytest.approx(134.4 + 6.24)


LINE = {"links.wan.price": {"usd_per_gb": 0.02, "usd_per_month": 16_425.0}}


def test_a_link_is_paid_by_the_month_and_by_the_gigabyte():
    (link,) = made(overrides=LINE)["links"]
    assert link["time_usd_per_h"] == pytest.approx(16_425 / HOURS_A_MONTH)
    assert link["egress_bps"] == pytest.approx(12.0e9, abs=0.02e9)
    assert link["volume_usd_per_h"] == pytest.approx(link["egress_bps"] / 8 * 3600 / 1e9 * 0.02)
    assert link["usd_per_month"] == pytest.approx(16_425 + link["gb_per_month"] * 0.02)


def test_traffic_is_counted_at_the_rate_of_the_scenario_or_the_one_asked_about():
    full = made(overrides=LINE)["links"][0]["egress_bps"]
    half = made(overrides=LINE | {"traffic.rate_rps": made()["lambda_max_rps"] / 2})
    assert (half["rate_said_by"], half["links"][0]["egress_bps"]) == ("traffic", pytest.approx(full / 2))
    asked = made(overrides=LINE, rate_rps=made()["lambda_max_rps"] / 4)
    assert (asked["rate_said_by"], asked["links"][0]["egress_bps"]) == ("given", pytest.approx(full / 4))


def test_nothing_is_counted_at_more_than_a_deployment_carries():
    found = made(overrides={"traffic.rate_rps": 1000.0})
    assert found["rate_rps"] == found["lambda_max_rps"]


def test_a_role_without_instances_is_no_line():
    naive = made(name="case-study-naive")
    assert [line["role"] for line in naive["chips"]] == ["prfaas", "decode"]


def test_what_carries_nothing_has_no_price_of_a_token():
    found = made(overrides={"links.wan.bandwidth_bps": 0.0})
    assert found["lambda_max_rps"] == 0
    assert found["totals"]["usd_per_million_tokens"] is None
    assert found["totals"]["usd_per_h"] == pytest.approx(134.4)


# --- which price -------------------------------------------------------------------------------------------------


def test_the_catalogues_cheapest_offer_on_demand_of_the_newest_day_stands_where_nobody_says_a_price():
    offers = [each for each in catalog.SHIPPED.prices("h200") if each["kind"] == "on_demand" and each["date"]]
    day = max(each["date"] for each in offers)
    newest = [each["usd_per_gpu_hour"] for each in offers if each["date"] == day]
    line = made(prices=())["chips"][0]
    assert line["price"]["usd_per_gpu_hour"] == min(newest)
    assert (line["price"]["said_by"], line["price"]["date"]) == ("catalogue", day)
    assert (line["listed"]["cheapest"]["usd_per_gpu_hour"], line["listed"]["dearest"]["usd_per_gpu_hour"]) == (
        min(newest),
        max(newest),
    )


def test_a_given_price_goes_before_the_scenarios_and_that_before_the_catalogues():
    own = {"prices": [{"name": "h200", "usd_per_gpu_hour": 9.0}, {"name": "h20", "usd_per_gpu_hour": 7.0}]}
    line = {each["role"]: each["price"] for each in made(prices=["h200=2"], overrides=own)["chips"]}
    assert (line["prfaas"]["usd_per_gpu_hour"], line["prfaas"]["said_by"]) == (2.0, "given")
    assert (line["decode"]["usd_per_gpu_hour"], line["decode"]["said_by"]) == (7.0, "scenario")


def test_an_offer_prices_a_chip_by_its_name():
    name = catalog.SHIPPED.prices("h20")[0]["name"]
    price = made(prices=["h200=2", f"h20={name}"])["chips"][1]["price"]
    assert price["usd_per_gpu_hour"] == catalog.SHIPPED.prices("h20")[0]["usd_per_gpu_hour"]
    assert price["source"].startswith(f"offer {name} of ")


BOUGHT = {
    "name": "own",
    "hardware": "h200",
    "kind": "purchase",
    "purchase": {"usd_per_gpu": 87_660.0, "amortisation_years": 5, "usd_per_kwh": 0.1, "pue": 1.0},
}


def test_power_that_is_in_the_price_of_a_bought_chip_is_not_paid_twice():
    found = made(prices=["h200=own", "h20=1"], catalogue=Shelf([BOUGHT]), power=Power(1.0))
    assert found["chips"][0]["price"]["usd_per_gpu_hour"] == pytest.approx(2.0 + 0.07)
    assert found["power"]["paid_w"] == 64 * 400
    assert found["totals"]["usd_per_h"] == pytest.approx(32 * 2.07 + 64 + 25.6)
    assert any("bought" in note for note in found["notes"])


# --- what is not known -------------------------------------------------------------------------------------------


def test_a_chip_that_nobody_prices_leaves_no_total():
    found = made(prices=["h200=2"], catalogue=Shelf([]))
    assert found["totals"]["usd_per_h"] is None
    assert found["totals"]["usd_per_month"] is None
    assert found["totals"]["usd_per_million_tokens"] is None
    assert [(each["hardware"], each["what"]) for each in found["missing"]] == [("h20", "usd_per_gpu_hour")]
    assert "price=h20=USD" in found["missing"][0]["message"]
    assert found["chips"][0]["usd_per_h"] == 64


def test_power_of_a_chip_that_nobody_knows_leaves_no_power_and_no_total_that_has_it():
    unknown = Shelf(hardware={"h20": {"tdp_w": None}})
    found = made(catalogue=unknown)
    assert (found["totals"]["power_w"], found["totals"]["usd_per_h"]) == (None, pytest.approx(134.4))
    assert made(catalogue=unknown, power=Power(0.1))["totals"]["usd_per_h"] is None
    assert [each["what"] for each in found["missing"]] == ["tdp_w"]


def test_a_link_without_a_price_counts_as_free_and_the_bill_says_so():
    assert any("link wan: it counts as free" in note for note in made()["notes"])
    assert not any("counts as free" in note for note in made(overrides=LINE)["notes"])


def test_a_total_is_as_weak_as_its_weakest_figure():
    assert made()["evidence"]["usd_per_h"] == "user"
    listed = made(prices=())["evidence"]
    assert listed["usd_per_h"] == "published"
    assert listed["usd_per_million_tokens"] == "inferred"  # as decode and the H20 profile are
    assert made(prices=(), power=Power(0.1))["evidence"]["usd_per_h"] == "user"


# --- as a table --------------------------------------------------------------------------------------------------


def rows(found):
    text = io.StringIO()
    csv.writer(text).writerows(bill_table.lines(found))
    return list(csv.DictReader(io.StringIO(text.getvalue())))


def test_the_lines_of_the_table_add_up_to_its_total():
    table = rows(made(overrides=LINE, power=Power(0.1)))
    *_, total = [float(row["usd_per_h"]) for row in table if row["usd_per_h"]]
    items = [float(row["usd_per_h"]) for row in table if row["usd_per_h"] and row["item"] != "total"]
    assert sum(items) == pytest.approx(total)
    months = [float(row["usd_per_month"]) for row in table if row["usd_per_month"] and row["item"] != "total"]
    assert sum(months) == pytest.approx(total * HOURS_A_MONTH)


def test_what_is_missing_is_in_the_table_too():
    table = rows(made(prices=["h200=2"], catalogue=Shelf([])))
    assert [row["usd_per_h"] for row in table if row["item"] in ("decode", "total")] == ["", ""]
    assert [row["hardware"] for row in table if row["item"] == "missing"] == ["h20"]


def test_no_name_becomes_a_formula_of_a_spreadsheet():
    found = deepcopy(made())
    found["chips"][0]["title"] = '=HYPERLINK("evil")'
    assert rows(found)[0]["title"] == '\'=HYPERLINK("evil")'


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["h200", "=2", "h200=", "h200=-1", "h200=nan", "h200=inf", "b200=2", "h200=no-offer"])
def test_what_is_no_price_is_refused_by_the_parameters_name(text):
    with pytest.raises(DocumentError) as caught:
        bill_prices.given([text], CHIPS, catalog.SHIPPED)
    assert [error.field for error in caught.value.errors] == ["price"]


def test_a_chip_has_one_price():
    with pytest.raises(DocumentError, match="second time"):
        bill_prices.given(["h200=1", "h200=2"], CHIPS, catalog.SHIPPED)


def test_an_offer_of_another_chip_is_no_price():
    name = catalog.SHIPPED.prices("h20")[0]["name"]
    with pytest.raises(DocumentError, match="offer of h20"):
        bill_prices.given([f"h200={name}"], CHIPS, catalog.SHIPPED)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"form": ["short"]}, "form"),
        ({"usd_per_kwh": ["dear"]}, "usd_per_kwh"),
        ({"usd_per_kwh": ["-1"]}, "usd_per_kwh"),
        ({"usd_per_kwh": ["1", "2"]}, "usd_per_kwh"),
        ({"usd_per_kwh": ["0.1"], "pue": ["0.5"]}, "pue"),
        ({"pue": ["1.3"]}, "pue"),
        ({"colour": ["red"]}, "colour"),
    ],
)
def test_a_wrong_parameter_is_told_by_its_name(query, field):
    with pytest.raises(DocumentError) as caught:
        table_of(BillQuery, query).power()
    assert [error.field for error in caught.value.errors] == [field]
