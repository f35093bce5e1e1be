"""The case study under load in a real browser: from the button to the table, on one page."""

import re

from playwright.sync_api import expect

from tests.browser.test_optimiser import fits
from tests.patience import UNTIL_RESULT_MS


def test_a_press_of_the_button_fills_the_table_in_its_place(visit):
    visitor = visit()
    page = visitor.open()
    page.get_by_role("link", name="Sign in to simulate").click()
    visitor.sign_in()
    page.wait_for_url("**/case-study/")
    part = page.locator("#under-load")
    expect(part).to_contain_text("The paper has no figures under load.")
    page.evaluate("() => { window.isStillHere = true; }")
    part.get_by_role("button", name="Simulate").click()
    expect(part.locator("[data-message]")).to_contain_text(re.compile(r"\d+ of 24 parts"), timeout=UNTIL_RESULT_MS)
    expect(part.locator("tbody tr[data-row]")).to_have_count(12, timeout=UNTIL_RESULT_MS)
    assert page.evaluate("() => window.isStillHere")
    expect(part.locator("[data-shows]")).to_have_text(re.compile(r"^At the same 1\.7 req/s, P90 of TTFT is .* s with"))
    expect(part.get_by_role("button")).to_have_count(0)
    for ending in ("CSV", "JSON"):
        with page.expect_download() as download:
            part.get_by_role("link", name=ending).click()
        assert download.value.suggested_filename.endswith(ending.lower())
    fits(page)
    narrow = visit(width=390).open()
    expect(narrow.locator("#under-load tbody tr[data-row]")).to_have_count(12)
    fits(narrow)
