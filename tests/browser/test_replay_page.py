"""Replays in a real browser: from a recorded window to what another policy would have changed, and back to the form."""

import re

from playwright.sync_api import expect

from tests.browser.test_optimiser import fits
from tests.patience import UNTIL_RESULT_MS


def test_an_operator_sees_a_window_and_finds_what_the_advice_would_have_changed(visitor, half_hour):
    page = visitor.open("/live/replay/?start={start}&end={end}".format(**half_hour.window))
    course = page.locator('[data-chart="replay-course"]')
    course.scroll_into_view_if_needed()
    expect(course.locator(".js-line").first).to_be_attached()
    course.locator("summary").click()
    expect(course.locator("tbody tr")).to_have_count(180)
    expect(page.locator('[data-table="recorded"] [data-row="Threshold t"] td').nth(1)).to_contain_text("19,400")
    page.get_by_label("Static t").fill("30000")
    page.get_by_role("button", name="Sign in and replay").click()
    visitor.sign_in()
    expect(page.get_by_label("Static t")).to_have_value("30000")
    page.get_by_label("Replications").fill("2")
    page.get_by_label("Decode instances").fill("0")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("alert").get_by_role("link", name="Decode instances").click()
    expect(page.get_by_label("Decode instances")).to_be_focused()
    expect(page.locator("#decode_instances-error")).to_contain_text("must be at least 1")
    page.get_by_label("Decode instances").fill("")
    page.get_by_role("button", name="Replay", exact=True).click()
    page.wait_for_url("**/jobs/*/")
    headline = page.locator("[data-answer] h2")
    expect(headline).to_have_text(re.compile("P90 TTFT"), timeout=UNTIL_RESULT_MS)
    expect(page.locator("[data-model]")).to_contain_text("As it was, simulated against measured TTFT: P50")
    expect(page.locator('[data-table="tried"] tbody tr')).to_have_count(4)
    for name, rows in (("replay-course", 180), ("replay-ttft", 3)):
        chart = page.locator(f'[data-chart="{name}"]')
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".point, .js-line").first).to_be_attached()
        expect(chart.locator("[data-caption] .prov")).to_have_count(1)
        chart.locator("summary").click()
        expect(chart.locator("tbody tr")).to_have_count(rows)
    fits(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.path().read_text().count("\n") == 6
    page.get_by_role("link", name="Ask again").click()
    expect(page.get_by_label("Static t")).to_have_value("30000")
