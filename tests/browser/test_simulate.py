"""Simulations in a real browser: from the case study to TTFT with its intervals, and what is not stable."""

import re

from playwright.sync_api import expect

from tests.browser.test_optimiser import answer, fits
from tests.patience import UNTIL_RESULT_MS

CHARTS = ("ttft", "over-time")


def simulate(page):
    page.get_by_role("button", name="Simulate", exact=True).click()


def test_a_planner_simulates_the_case_study(visitor):
    page = visitor.open()
    page.get_by_role("main").get_by_role("link", name="Simulate", exact=True).click()
    expect(page).to_have_url(re.compile(r"/simulate/\?scenario=case-study-prfaas-pd$"))
    fits(page)
    # Other options are shown at an address that holds no token; scripts have run when the page has loaded.
    page.wait_for_load_state()
    page.get_by_label("What is simulated").select_option("case-study-homogeneous")
    expect(page).to_have_url(re.compile(r"/simulate/\?.*scenario=case-study-homogeneous"))
    assert "csrf" not in page.url
    expect(page.get_by_text("Compare routing policies")).to_have_count(0)
    page.wait_for_load_state()
    page.get_by_label("What is simulated").select_option("case-study-prfaas-pd")
    expect(page.get_by_text("Compare routing policies")).to_have_count(1)
    # Who types a rate means a rate.
    page.get_by_label("Rate, A rate").fill("2.2")
    expect(page.get_by_label("A rate", exact=True)).to_be_checked()
    page.get_by_label("Replications").fill("3")
    page.get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    expect(page.get_by_label("Rate, A rate")).to_have_value("2.2")
    page.get_by_label("Requests", exact=True).fill("few")
    # Enter asks, and does not only show the options again.
    page.get_by_label("Requests", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.get_by_label("Requests", exact=True)).to_have_value("few")
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
            page.locator('[data-chart="over-time"]').get_by_role("button", name=name).click()
        assert download.value.path().stat().st_size > 100
    fits(page)
    page.get_by_role("link", name="Ask again").click()
    expect(page.get_by_label("Rate, A rate")).to_have_value("2.2")
    expect(page.get_by_label("Requests", exact=True)).to_have_value("20000")


def test_what_formulas_say_of_all_requests_stands_on_the_bar_of_all(visitor):
    page = visitor.open("/simulate/?scenario=case-study-prfaas-pd&requests=3000&replications=2")
    page.get_by_role("main").get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    simulate(page)
    expect(answer(page)).to_contain_text("P90 TTFT is")
    chart = page.locator('[data-chart="ttft"]')
    chart.scroll_into_view_if_needed()
    for name in ("mean", "P50", "P90", "P99"):
        expect(chart.locator(".xtick", has_text=name)).to_be_visible()
    bars = chart.locator(".barlayer .trace").first.locator(".point path")
    marks = chart.locator(".scatterlayer .trace .point")
    expect(bars).to_have_count(4)
    expect(marks).to_have_count(8)
    for at in range(8):
        bar, mark = bars.nth(at % 4).bounding_box(), marks.nth(at).bounding_box()
        assert abs(bar["x"] + bar["width"] / 2 - mark["x"] - mark["width"] / 2) < 1.5


def test_a_load_beyond_the_capacity_is_not_stable(visitor):
    page = visitor.open("/simulate/?scenario=case-study-prfaas-pd&load=130&requests=5000")
    page.get_by_role("main").get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    simulate(page)
    expect(answer(page)).to_contain_text("Not stable: at 4.059 req/s, 130 % of capacity")
    expect(page.locator('[data-chart="ttft"]')).to_have_count(0)
    expect(page.locator('[data-chart="over-time"] [data-caption]')).to_contain_text("more every second")
    fits(page)


def panels(page):
    """Titles of the panels that are drawn above one another, from the top."""
    return page.locator('[data-chart="over-time"] .plot').locator("[class^='g-y'] text")


def test_faults_and_caches_are_asked_for_and_time_is_explored(visitor):
    page = visitor.open("/simulate/?scenario=case-study-prfaas-pd&load=50&requests=6000&replications=2")
    page.get_by_role("main").get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    for part in ("Faults", "Prompts", "Prefix caches"):
        page.locator(f'[data-part="{part}"] > summary').click()
    page.get_by_label("So many, Down 1").fill("2")
    page.get_by_label("From, Down 1").fill("600")
    page.get_by_label("PD cluster", exact=True).fill("2000")
    page.get_by_label("PrfaaS cluster", exact=True).fill("1000")
    page.get_by_label("In common", exact=True).select_option("agents")
    fits(page)
    simulate(page)
    # what is wrong is told where it was typed, in a part that is open
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("alert").get_by_role("link", name="To, Down 1").click()
    expect(page.get_by_label("To, Down 1")).to_be_focused()
    page.get_by_label("To, Down 1").fill("900")
    simulate(page)
    expect(answer(page)).to_contain_text("P90 TTFT is")
    expect(page.locator("[data-mode]")).to_contain_text("Decode was simulated by request.")
    expect(page.locator('[data-row="Spared by prefix caches"] td').nth(1)).to_contain_text(re.compile(r"^\d\d\.\d"))
    expect(page.locator('[data-row="Restarted requests"]')).to_be_visible()
    expect(page.locator("[data-partings]")).to_contain_text("The formulas know nothing of")
    expect(page.locator('[data-table="ttft"] [data-row="P90"] td').last).to_have_text("–")

    chart = page.locator('[data-chart="over-time"]')
    chart.scroll_into_view_if_needed()
    expect(panels(page)).to_have_text(["egress, Gbps", "requests", "instances"])
    expect(chart.locator("[data-caption]")).to_contain_text("PrfaaS instances between 2.0 and 4.0")
    # the keyboard alone: another series, then a part of the time
    page.get_by_label("Egress and link").focus()
    page.keyboard.press("Space")
    expect(panels(page)).to_have_text(["requests", "instances"])
    page.get_by_label("Threshold t").check()
    expect(panels(page)).to_have_text(["t, tokens", "requests", "instances"])
    chart.get_by_role("button", name="A shorter time").press("Enter")
    expect(chart.locator("[data-caption]")).to_contain_text("Shown:")
    chart.get_by_role("button", name="All of it").press("Enter")
    expect(chart.locator("[data-caption]")).not_to_contain_text("Shown:")
    # so do Plotly's own tools
    box = chart.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20, steps=5)
    page.mouse.up()
    expect(chart.locator("[data-caption]")).to_contain_text("Shown:")
    # all series are in the table and the file, whichever are drawn
    chart.locator("summary").click()
    for name in ("egress, mean", "t, mean", "in the system", "PrfaaS instances"):
        expect(chart.locator("thead")).to_contain_text(name)
    with page.expect_download() as download:
        chart.get_by_role("button", name="CSV").click()
    header = download.value.path().read_text("utf-8-sig").splitlines()[0]
    assert header.startswith('"from, s","egress, mean, Gbps"')
    assert "decode instances" in header
    for name in ("Threshold t", "Requests in the system", "Instances by role"):
        page.get_by_label(name).uncheck()
    expect(chart.locator("[data-empty]")).to_contain_text("Nothing is chosen")
    fits(page)
    page.get_by_role("link", name="Ask again").click()
    expect(page.get_by_label("To, Down 1")).to_have_value("900")
    expect(page.get_by_label("In common", exact=True)).to_have_value("agents")


def test_replications_are_heard_of_as_they_end(visitor):
    page = visitor.open("/simulate/?scenario=case-study-prfaas-pd&requests=1000000&replications=20")
    page.get_by_role("main").get_by_role("button", name="Sign in and simulate").click()
    visitor.sign_in()
    simulate(page)
    expect(page.locator('[data-chart="ttft"]')).to_be_hidden()
    expect(page.locator("[data-replications]")).to_contain_text(
        re.compile(r"So far, of \d+ of 20 replications\. At 2\.654 req/s"), timeout=UNTIL_RESULT_MS
    )
    expect(page.locator('[data-fact="done"]')).to_have_text(re.compile(r"^[\d,]+ / 20,000,000$"))
    ttft = page.locator('[data-chart="ttft"]')
    expect(ttft.locator(".point").first).to_be_attached()
    expect(ttft.locator("[data-caption]")).to_contain_text(re.compile(r"So far, of \d+ of 20 replications: P90"))
    time = page.locator('[data-chart="over-time"]')
    time.scroll_into_view_if_needed()
    expect(panels(page)).to_have_text(["egress, Gbps", "requests"])
    page.get_by_label("Requests in the system").uncheck()
    first = time.locator("[data-caption]").text_content()
    expect(time.locator("[data-caption]")).not_to_have_text(first, timeout=UNTIL_RESULT_MS)
    expect(time.locator("[data-caption]")).to_contain_text(re.compile(r"^So far, of \d+ of 20 replications"))
    expect(panels(page)).to_have_text(["egress, Gbps"])
    fits(page)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("[data-state-text]")).to_have_text("cancelled", timeout=UNTIL_RESULT_MS)
    expect(page.get_by_role("link", name="Ask again")).to_be_visible()
