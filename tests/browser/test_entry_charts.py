"""The charts of the catalogue's detail pages in a real browser: drawn, readable without colour, saved, and honest when
there is nothing to draw."""

import re

import pytest
from playwright.sync_api import expect

PAGES = {
    "models/ring-2-5-1t": ("s-kv", "kv-rate"),
    "profiles/ring-2-5-1t-h200x8": ("prefill", "residuals", "kv-rate"),
    "profiles/internal-1t-hybrid-h20x8": ("decode-steps",),
    "traffic/synthetic-conversations": ("length-histogram", "length-cdf", "fit-qq", "arrivals", "prefix-hits"),
    "links/aws-us-east-1-us-west-2": ("tcp",),
    "prices/h100-nebius-2026-10-24": ("price-history",),
    "hardware/h100": ("price-history",),
}
UNITS = re.compile(r"tokens|MiB|Gbps|%|, ms|, s |req/s|USD|day|requests|connections|minutes")


def figure(page, chart):
    """The frame of a chart, scrolled to: charts are drawn when they come into view."""
    found = page.locator(f'[data-chart="{chart}"]')
    found.scroll_into_view_if_needed()
    return found


def opened(visitor, entry):
    page = visitor.open(f"/catalogue/{entry}/")
    page.locator("[data-entry-charts][data-shown]").wait_for()
    return page


@pytest.mark.parametrize("entry", PAGES)
def test_each_chart_is_drawn_with_caption_provenance_units_table_and_exports(visitor, entry):
    page = opened(visitor, entry)
    for at, chart in enumerate(PAGES[entry]):
        shown = figure(page, chart)
        shown.locator(".main-svg").first.wait_for()
        expect(shown.locator("[data-caption]")).to_contain_text(re.compile(r"\w{3,}.*\."))
        expect(shown.locator("[data-caption] abbr.prov").first).to_be_attached()
        for axis in (".xtitle", ".ytitle"):
            expect(shown.locator(axis)).to_have_text(UNITS)
        shown.locator("summary").click()
        shown.locator("tbody tr").first.wait_for()
        # Pictures are made in one place for all charts, and take their time.
        for kind in ("CSV",) if at else ("PNG", "SVG", "CSV"):
            with page.expect_download() as download:
                shown.get_by_role("button", name=kind).click()
            assert download.value.path().stat().st_size > 60


@pytest.mark.parametrize(
    ("entry", "chart", "what"),
    [
        ("models/llama-3-1-70b", "kv-rate", "No profile"),
        ("profiles/ring-2-5-1t-h200x8", "cached-prefill", "add points"),
        ("profiles/ring-2-5-1t-h200x8", "decode-steps", "add batch"),
        ("traffic/case-study", "fit-qq", "no record to fit"),
        ("traffic/case-study", "prefix-hits", "No prefix reuse"),
        ("links/case-study-100g", "tcp", "round-trip time"),
        ("links/case-study-100g", "background", "Nobody says"),
        ("prices/h20-ucloud-compshare-undated", "price-history", "No offer has a date"),
        ("hardware/rubin-cpx", "price-history", "add a price"),
    ],
)
def test_where_there_is_nothing_to_draw_the_chart_says_what_to_add(visitor, entry, chart, what):
    shown = figure(opened(visitor, entry), chart)
    expect(shown.locator("[data-empty]")).to_contain_text(what)
    expect(shown.locator("[data-plot]")).to_be_hidden()


def test_curves_are_told_apart_without_colour(visitor):
    page = opened(visitor, "models/internal-1t-hybrid")
    shown = figure(page, "kv-rate")
    shown.locator(".main-svg").first.wait_for()
    expect(shown.locator(".legend")).to_contain_text("8 × h200")
    expect(shown.locator(".legend")).to_contain_text("8 × h20")
    dashes = shown.locator(".legendlines path.js-line").evaluate_all("lines => lines.map(l => l.style.strokeDasharray)")
    assert len(set(dashes)) == len(dashes) == 2
    expect(figure(page, "s-kv").locator(".legend")).to_contain_text("request-level")


def test_numbers_of_the_charts_are_those_of_the_catalogue(visitor):
    page = opened(visitor, "models/ring-2-5-1t")
    expect(figure(page, "s-kv").locator("[data-caption]")).to_contain_text("32K tokens leaves 640.0 MiB at bf16")
    shown = figure(opened(visitor, "profiles/ring-2-5-1t-h200x8"), "kv-rate")
    shown.locator("summary").click()
    row = shown.locator("tbody tr", has_text="32,768")
    expect(row).to_contain_text("2.59")


def test_what_is_extrapolated_is_shaded_and_named(visitor):
    shown = figure(opened(visitor, "profiles/ring-2-5-1t-h200x8"), "prefill")
    expect(shown.locator(".annotation", has_text="extrapolated")).to_have_count(2)
    expect(shown.locator(".shapelayer path")).to_have_count(2)


def test_a_fit_is_chosen_and_drawn_over_the_record(visitor):
    page = opened(visitor, "traffic/synthetic-conversations")
    fits = page.locator("[data-fits]")
    expect(fits.locator("tbody tr").first.get_by_role("radio")).to_be_checked()
    caption = figure(page, "fit-qq").locator("[data-caption]")
    fits.get_by_label("pareto").check()
    expect(caption).to_contain_text("keep empirical")
    fits.get_by_label("gamma").check()
    expect(caption).to_contain_text("gamma")
    expect(figure(page, "length-histogram").locator(".legend")).to_contain_text("input, gamma")


def test_a_sample_is_labelled_as_a_sample(visitor):
    shown = figure(opened(visitor, "traffic/case-study"), "arrivals")
    expect(shown.locator(".legend")).to_contain_text("one sample, not a record")
    expect(shown.locator("[data-caption]")).to_contain_text("one random sample")


def test_charts_that_cannot_be_had_are_said(visit):
    visitor = visit()
    visitor.page.route("**/charts/", lambda route: route.abort())
    page = visitor.open("/catalogue/models/ring-2-5-1t/")
    expect(page.locator("[data-charts-error]")).to_contain_text("could not be had")
    visitor.complaints.clear()  # the browser complains of the request that was broken on purpose


def test_the_caption_of_lengths_has_the_exact_percentiles_that_the_table_has(visitor):
    page = opened(visitor, "traffic/synthetic-conversations")
    told = figure(page, "length-cdf").locator("[data-caption]")
    expect(told).to_contain_text("nine tenths")
    rows = page.get_by_role("region", name="Lengths, table").locator("tbody tr")
    for at in range(rows.count()):
        half, most = rows.nth(at).locator("td").all_text_contents()[1:3]
        expect(told).to_contain_text(f"{rows.nth(at).locator('th').text_content().lower()} {half} and {most}")
