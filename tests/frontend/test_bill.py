"""The bill of materials on a scenario's page: what the API says, with units, marks and what to do."""

import pytest

from frontend import bill, figures
from planner import catalog, scenario, seeding
from planner.models import Entry
from planner.procurement import bill_prices
from planner.procurement.bill import Power
from planner.procurement.bill import bill as made_out

pytestmark = pytest.mark.django_db

CASE = "case-study-prfaas-pd"


def table(overrides=None, **options):
    given = bill_prices.given(["h200=2.10", "h20=1.05"], {"h200", "h20"}, catalog.SHIPPED)
    return bill.table(made_out(scenario.load(CASE, overrides), catalog.SHIPPED, prices=given, **options))


def test_every_figure_of_the_table_has_a_mark_and_a_source_or_formula():
    priced = {"links.wan.price": {"usd_per_gb": 0.02, "usd_per_month": 1000.0}}
    made = table(priced, power=Power(0.1))
    cells = [cell for line in (*made.lines, made.total) for cell in line.cells]
    assert all(cell.kind and cell.source for cell in (*cells, made.a_million, made.rate) if cell.text != figures.NONE)
    assert {line.item for line in made.lines} >= {"PrfaaS", "PD prefill", "PD decode", "Link, by volume", "Power"}


def test_totals_are_written_with_their_cents():
    assert [cell.text for cell in table().total.cells] == ["96", figures.NONE, "48.0", "134.40", "98,179.20"]


def test_the_page_shows_the_bill_and_links_to_it_as_a_file(client):
    seeding.seed()
    page = client.get(f"/scenarios/{CASE}/").content.decode()
    api = client.get(f"/api/v1/scenarios/{CASE}/bom").json()
    assert "Bill of materials" in page
    assert figures.usd(api["totals"]["usd_per_month"]) in page
    assert "USD/month" in page
    assert f"/api/v1/scenarios/{CASE}/bom?format=csv" in page


def test_where_a_price_is_missing_the_page_says_what_to_do_and_shows_no_total(client):
    seeding.seed()
    Entry.objects.filter(kind="prices", document__hardware="h20").update(archived=True)
    page = client.get(f"/scenarios/{CASE}/").content.decode()
    assert "Nobody says what h20 costs" in page
    assert "USD per million tokens</span>" not in page


def test_the_links_of_the_bill_stay_under_the_prefix_of_a_proxy(client, under_a_prefix):
    seeding.seed()
    page = client.get(f"/scenarios/{CASE}/").content.decode()
    assert f'href="/planner/api/v1/scenarios/{CASE}/bom' in page
