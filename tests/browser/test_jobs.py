"""Optimise in a real browser: sign in, watch, cancel, and what is seen when the server dies."""

import re

from playwright.sync_api import expect

from tests.browser.test_accessibility import complaints
from tests.patience import UNTIL_RESULT_MS

MINUTES = {
    "scenario": "case-study-prfaas-pd",
    "set": {"clusters.pd.instances": 400, "clusters.pd.prefill_instances": 150, "clusters.pd.decode_instances": 250},
}
"""So many splits that their map is not done before somebody has looked."""
DONE = re.compile(r"^[1-9]\d* / 188")


def watched(visitor):
    """A job that computes for long, in a tab that shows how far it is."""
    job = visitor.server.submit(**MINUTES)
    visitor.open(f"/login/?next=/jobs/{job}/")
    visitor.sign_in()
    expect(visitor.page.locator("[data-connection]")).to_have_text("live")
    expect(visitor.page.locator('[data-fact="done"]')).to_have_text(DONE, timeout=UNTIL_RESULT_MS)
    return job


def done(page):
    return int(page.locator('[data-fact="done"]').inner_text().split("/")[0])


def test_a_visitor_signs_in_on_the_way_and_comes_back_to_what_was_tried(visitor):
    page = visitor.open()
    page.get_by_label("Threshold t", exact=True).fill("25000")
    expect(page).to_have_url(re.compile("t=25000"))
    page.get_by_role("link", name="Sign in to optimise").click()
    expect(page).to_have_url(re.compile("/login/"))
    visitor.sign_in()
    expect(page).to_have_url(re.compile(r"/case-study/\?t=25000"))
    expect(page.get_by_role("button", name="Optimise")).to_be_visible()


def test_an_optimisation_shows_its_result_when_it_is_there(visitor):
    page = visitor.open("/login/?next=/case-study/")
    visitor.sign_in()
    visitor.whatif_ms()
    page.get_by_role("button", name="Optimise").click()
    page.wait_for_url("**/jobs/*/")
    outcome = page.locator("[data-outcome]")
    expect(outcome).to_be_visible(timeout=UNTIL_RESULT_MS)
    expect(outcome.locator("h2")).to_contain_text("3.139")
    expect(outcome).to_contain_text("Bound by PrfaaS compute and PD-P.")
    chart = page.locator('[data-chart="map"]')
    chart.scroll_into_view_if_needed()
    expect(chart.locator(".heatmaplayer image").first).to_be_attached()
    chart.locator("summary").click()
    expect(chart.locator("tbody tr")).to_have_count(17 * 11)
    first = chart.locator("tbody tr").first.inner_text()
    page.get_by_label("Split shown in the map").select_option(label="N_p = 1")
    expect(chart.locator("tbody tr").first).not_to_have_text(first)
    for name in ("JSON", "map as CSV"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.path().stat().st_size > 1000
    assert list(complaints(page, "light")) == []


def test_another_is_seen_to_go_on_and_is_cancelled(visitor):
    job, page = watched(visitor), visitor.page
    seen = done(page)
    expect(page.locator('[data-fact="done"]')).not_to_have_text(f"{seen} / 188", timeout=UNTIL_RESULT_MS)
    assert done(page) > seen
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Keep it running").click()
    assert visitor.server.job(job)["cancel_requested"] is False
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("[data-state-text]")).to_have_text("cancelled", timeout=UNTIL_RESULT_MS)
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    page.goto(visitor.server.address + "/jobs/")
    expect(page.locator(f'[data-job="{job}"] [data-state-text]')).to_have_text("cancelled")


def test_a_killed_server_is_said_and_the_page_recovers(visitor):
    job, page = watched(visitor), visitor.page
    visitor.server.kill_server()
    expect(page.locator("[data-connection]")).to_contain_text("the server is silent since", timeout=UNTIL_RESULT_MS)
    visitor.server.start_server()
    expect(page.locator("[data-connection]")).to_have_text("live", timeout=UNTIL_RESULT_MS)
    expect(page.locator("[data-attempt]")).to_be_visible(timeout=UNTIL_RESULT_MS)
    expect(page.locator("[data-attempt]")).to_contain_text("Attempt 2: taken up again after its worker died.")
    visitor.server.request("POST", f"/api/v1/jobs/{job}/cancel/")
    expect(page.locator("[data-state-text]")).to_have_text("cancelled", timeout=UNTIL_RESULT_MS)
    # The browser itself complains of what it could not reach; that is what this test is about.
    visitor.complaints = [text for text in visitor.complaints if "ERR_CONNECTION" not in text]
