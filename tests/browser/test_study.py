"""Sweeps and ablations in a real browser: from the form to where TTFT turns up, seen while it is computed."""

import re

from playwright.sync_api import expect

from tests.browser.test_optimiser import answer, fits
from tests.browser.test_simulate import simulate
from tests.patience import UNTIL_RESULT_MS


def test_a_planner_finds_where_ttft_turns_up_and_what_a_feature_does(visitor):
    page = visitor.open("/simulate/?scenario=case-study-prfaas-pd&requests=20000&replications=3")
    # Who types a range means that sweep.
    page.get_by_label("To, Sweep: load").fill("110")
    expect(page.get_by_label("Sweep: load", exact=True)).to_be_checked()
    page.get_by_label("In, Sweep: load").fill("6")
    page.get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    expect(page.get_by_label("To, Sweep: load")).to_have_value("110")
    page.get_by_label("In, Sweep: load").fill("60")
    simulate(page)
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("alert").get_by_role("link", name="In, Sweep: load").click()
    expect(page.get_by_label("In, Sweep: load")).to_be_focused()
    page.get_by_label("In, Sweep: load").fill("6")
    simulate(page)
    expect(page.locator("[data-variants]")).to_contain_text(
        re.compile(r"So far, of \d+ of 18 replications\."), timeout=UNTIL_RESULT_MS
    )
    expect(page.locator('[data-chart="study-ttft"] .point').first).to_be_attached()
    fits(page)
    turning = re.compile(r"^TTFT turns up at \d\d\.?\d? % of capacity: there P90 of TTFT is twice")
    expect(answer(page)).to_have_text(turning)
    expect(page.locator('[data-table="ttft"] [data-row="110 %"] td').first).to_have_text("not stable")
    for name in ("study-ttft", "study-stages"):
        chart = page.locator(f'[data-chart="{name}"]')
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".point, .js-line").first).to_be_attached()
        expect(chart.locator("[data-caption] .prov")).to_have_count(1)
        chart.locator("summary").click()
        expect(chart.locator("tbody tr")).to_have_count(6)
    for name in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.locator('[data-chart="study-ttft"]').get_by_role("button", name=name).click()
        assert download.value.path().stat().st_size > 100
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.path().read_text().count("\n") == 7
    fits(page)
    page.get_by_role("link", name="Ask again").click()
    expect(page.get_by_label("In, Sweep: load")).to_have_value("6")
    page.get_by_label("Ablation", exact=True).check()
    page.get_by_label("Bandwidth-aware", exact=True).check()
    simulate(page)
    expect(answer(page)).to_have_text(re.compile(r"^Without .* P90 of TTFT is .*; without .*\.$"))
    differences = page.locator('[data-chart="study-differences"]')
    differences.scroll_into_view_if_needed()
    expect(differences.locator(".point")).to_have_count(2)
    fits(page)
