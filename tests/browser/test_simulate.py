"""Simulations in a real browser: from the case study to TTFT with its intervals, and what is not stable."""

import re

from playwright.sync_api import expect

from tests.browser.test_optimiser import UNTIL_RESULT_MS, answer, fits

CHARTS = ("ttft", "egress-time", "threshold-time", "in-system")


def simulate(page):
    page.get_by_role("button", name="Simulate", exact=True).click()


def test_a_planner_simulates_the_case_study(visitor):
    page = visitor.open()
    page.get_by_role("main").get_by_role("link", name="Simulate").click()
    expect(page).to_have_url(re.compile(r"/simulate/\?scenario=case-study-prfaas-pd$"))
    fits(page)
    # Who types a rate means a rate.
    page.get_by_label("Rate, A rate").fill("2.2")
    expect(page.get_by_label("A rate", exact=True)).to_be_checked()
    page.get_by_label("Replications").fill("3")
    page.get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    expect(page.get_by_label("Rate, A rate")).to_have_value("2.2")
    page.get_by_label("Requests", exact=True).fill("few")
    simulate(page)
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("alert").get_by_role("link", name="Requests").click()
    expect(page.get_by_label("Requests", exact=True)).to_be_focused()
    page.get_by_label("Requests", exact=True).fill("20000")
    simulate(page)
    expect(answer(page)).to_have_text(
        re.compile(
            r"^At 2\.200 req/s, 70\.5 % of capacity, P90 TTFT is \d\.\d\d s \[\d\.\d\d, \d\.\d\d\]; "
            r"unloaded it would be 3\.51 s\.$"
        )
    )
    for name in CHARTS:
        chart = page.locator(f'[data-chart="{name}"]')
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".point, .js-line").first).to_be_attached()
        expect(chart.locator("[data-caption] .prov")).to_have_count(1)
        chart.locator("summary").click()
        expect(chart.locator("tbody tr").first).to_be_visible()
    expect(page.locator('[data-chart="ttft"] tbody tr')).to_have_count(4)
    for name in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.locator('[data-chart="egress-time"]').get_by_role("button", name=name).click()
        assert download.value.path().stat().st_size > 100
    fits(page)
    page.get_by_role("link", name="Ask again").click()
    expect(page.get_by_label("Rate, A rate")).to_have_value("2.2")
    expect(page.get_by_label("Requests", exact=True)).to_have_value("20000")


def test_a_load_beyond_the_capacity_is_not_stable(visitor):
    page = visitor.open("/simulate/?scenario=case-study-prfaas-pd&load=130&requests=5000")
    page.get_by_role("main").get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    simulate(page)
    expect(answer(page)).to_contain_text("Not stable: at 4.059 req/s, 130 % of capacity")
    expect(page.locator('[data-chart="ttft"]')).to_have_count(0)
    expect(page.locator('[data-chart="in-system"] [data-caption]')).to_contain_text("more every second")
    fits(page)


def test_replications_are_heard_of_as_they_end(visitor):
    page = visitor.open("/simulate/?scenario=case-study-prfaas-pd&requests=1000000&replications=20")
    page.get_by_role("main").get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    simulate(page)
    expect(page.locator("[data-replications]")).to_contain_text(
        re.compile(r"So far, of \d+ of 20 replications\. At 2\.654 req/s"), timeout=UNTIL_RESULT_MS
    )
    expect(page.locator('[data-fact="done"]')).to_have_text(re.compile(r"^[\d,]+ / 20,000,000$"))
    fits(page)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("[data-state-text]")).to_have_text("cancelled", timeout=UNTIL_RESULT_MS)
    expect(page.get_by_role("link", name="Ask again")).to_be_visible()
