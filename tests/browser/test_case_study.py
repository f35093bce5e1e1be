"""The case study page in a real browser: what moves, how fast, and for whom it is usable."""

import re
from statistics import median

import pytest
from playwright.sync_api import expect

CHARTS = ("lambda-threshold", "lambda-split", "lengths", "egress")
WITHIN_MS = 100
# A shared machine that runs other tests at the same time is no laptop: the test fails where something is wrong in
# kind, and says what it measured.
ALLOWED_MS = 4 * WITHIN_MS


def paths(page, chart):
    """What a chart has drawn."""
    return page.locator(f'[data-chart="{chart}"] .scatterlayer').inner_html()


def see_all(page):
    """Charts are drawn when they come into view."""
    for chart in CHARTS:
        page.locator(f'[data-chart="{chart}"]').scroll_into_view_if_needed()
        page.locator(f'[data-chart="{chart}"] .main-svg').first.wait_for()


def test_the_page_comes_with_its_numbers_and_charts_and_asks_nobody_else(visitor):
    page = visitor.open()
    see_all(page)
    table = page.locator('[data-form-view="exact"] table').first
    expect(table.locator('[data-row="Λ_max"]')).to_contain_text("3.122")
    expect(table.locator('[data-row="Λ_max"]')).to_contain_text("3.24")
    expect(page.locator("#lambda-max")).to_have_text("3.122")
    expect(page.locator('[data-out="binding"]')).to_have_text("Bound by PrfaaS compute.")


def test_the_slider_moves_numbers_and_charts(visitor):
    page = visitor.open()
    visitor.whatif_ms()
    see_all(page)
    before = {chart: paths(page, chart) for chart in CHARTS}
    page.get_by_label("Threshold t, log scale").fill("600")
    expect(page.locator("#threshold")).to_have_value("8190")
    expect(page.locator('[data-out="binding"]')).to_have_text("Bound by PrfaaS compute.")
    expect(page.locator("#lambda-max")).to_have_text("2.514")
    for chart in CHARTS:
        expect(page.locator(f'[data-chart="{chart}"] [data-caption]')).not_to_be_empty()
        assert paths(page, chart) != before[chart], chart
    page.get_by_role("slider", name="Split").press("ArrowRight")
    expect(page.locator("[data-split]")).to_have_text("4 / 4")
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.locator("#lambda-max")).to_have_text("3.122")


def test_a_point_that_was_moved_is_where_a_redraw_puts_it(visitor):
    page = visitor.open()
    visitor.whatif_ms()
    points = page.locator('[data-chart="egress"] .point')
    page.locator('[data-chart="egress"]').scroll_into_view_if_needed()
    points.first.wait_for()
    first = points.last.get_attribute("transform")
    page.get_by_label("Threshold t, log scale").fill("500")
    expect(points.last).not_to_have_attribute("transform", first)
    moved = points.last.get_attribute("transform")
    page.get_by_role("button", name="Dark").click()  # draws everything again
    redrawn = points.last.get_attribute("transform")
    for ours, theirs in zip(numbers(moved), numbers(redrawn), strict=True):
        assert ours == pytest.approx(theirs, abs=0.01)


def numbers(text):
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


def test_a_move_is_answered_soon(visitor, record_property):
    page = visitor.open()
    visitor.whatif_ms()
    page.locator("#whatif-title").scroll_into_view_if_needed()
    see_all(page)
    took = []
    for _ in range(9):
        page.locator("[data-whatif]").evaluate("panel => delete panel.dataset.whatifMs")
        page.get_by_label("Threshold t, log scale").press("ArrowRight")
        took.append(visitor.whatif_ms())
    record_property("whatif_ms", took)
    print(f"what-if from move to drawn: median {median(took):.0f} ms of {sorted(took)}")  # noqa: T201 - the measurement
    assert median(took) < ALLOWED_MS


def test_both_forms_are_one_switch_for_table_and_panel(visitor):
    page = visitor.open()
    visitor.whatif_ms()
    page.get_by_role("link", name="paper form").click()
    expect(page.locator("#lambda-max")).to_have_text("3.186")
    expect(page.locator('[data-form-view="paper"]')).to_be_visible()
    expect(page.locator('[data-form-view="exact"]')).to_be_hidden()
    expect(page).to_have_url(re.compile("form=paper"))


def test_a_binding_link_is_named(visitor):
    page = visitor.open()
    page.get_by_label("Link bandwidth", exact=True).fill("6")
    expect(page.locator('[data-out="binding"]')).to_have_text("Bound by the link.")
    expect(page.locator('[data-stage="link"] [data-value="used"]')).to_have_text("100.0")


def test_a_refused_value_stays_and_its_error_is_beside_it(visitor):
    page = visitor.open()
    visitor.whatif_ms()
    field = page.get_by_label("Link bandwidth", exact=True)
    field.fill("-5")
    expect(page.locator("#bandwidth-error")).not_to_be_empty()
    expect(field).to_have_value("-5")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("50")
    expect(page.locator("#bandwidth-error")).to_be_empty()


@pytest.mark.parametrize("name", ["Homogeneous PD", "Naive heterogeneous"])
def test_the_other_deployments_can_be_moved_too(visitor, name):
    page = visitor.open()
    page.get_by_label("Deployment").select_option(label=name)
    expect(page.locator("#lambda-max")).to_have_text({"Homogeneous PD": "2.033", "Naive heterogeneous": "2.334"}[name])
    expect(page.get_by_label("Threshold t", exact=True)).to_be_disabled()
    see_all_but = [chart for chart in CHARTS if name != "Homogeneous PD" or chart in {"lambda-split", "lengths"}]
    for chart in see_all_but:
        page.locator(f'[data-chart="{chart}"]').scroll_into_view_if_needed()
        expect(page.locator(f'[data-chart="{chart}"] .main-svg').first).to_be_visible()


@pytest.mark.parametrize("chart", CHARTS)
def test_each_chart_has_a_table_and_can_be_saved(visitor, chart):
    page = visitor.open()
    visitor.whatif_ms()
    figure = page.locator(f'[data-chart="{chart}"]')
    figure.locator("summary").click()
    figure.locator("tbody tr").nth(5).wait_for()
    for kind in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            figure.get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"{chart}.{kind.lower()}"
        assert download.value.path().stat().st_size > 300


def test_the_theme_is_kept(visitor):
    page = visitor.open()
    root = page.locator("html")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.get_by_role("button", name="Dark").click()
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-bs-theme", "dark")
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")


def test_the_system_chooses_the_theme_until_somebody_does(visit):
    expect(visit(color_scheme="dark").open().locator("html")).to_have_attribute("data-bs-theme", "dark")


def test_the_table_is_there_without_scripts(visit):
    page = visit(java_script_enabled=False).open()
    expect(page.locator('[data-form-view="exact"] [data-row="Λ_max"]')).to_contain_text("3.122")
    page.get_by_role("link", name="paper form").click()
    expect(page.locator('[data-form-view="paper"] [data-row="Λ_max"]')).to_contain_text("3.186")


def test_a_reload_keeps_what_was_tried(visitor):
    page = visitor.open()
    page.get_by_label("Threshold t", exact=True).fill("30000")
    expect(page).to_have_url(re.compile("t=30000"))
    page.reload()
    expect(page.get_by_label("Threshold t", exact=True)).to_have_value("30000")
    expect(page.locator('[data-out="offload"]')).to_have_text("32.1")


@pytest.mark.parametrize("typed", ["-5", "", "1e30"])
def test_what_cannot_be_a_threshold_is_not_asked_for_and_greys_the_numbers(visitor, typed):
    page = visitor.open()
    visitor.whatif_ms()
    before = len(visitor.asked)
    page.get_by_label("Threshold t", exact=True).fill(typed)
    page.get_by_text("0 to 1,000,000,000 tokens").wait_for()
    page.get_by_text("Numbers and charts of the last valid input").wait_for()
    assert visitor.asked[before:] == []
    page.get_by_label("Threshold t", exact=True).fill("25000")
    page.get_by_text("Numbers and charts of the last valid input").wait_for(state="hidden")
    assert any("whatif" in address for address in visitor.asked[before:])


def test_an_address_with_unusable_values_says_which_and_shows_the_scenario_as_shipped(visitor):
    page = visitor.open("/case-study/?t=abc&np=99&scenario=zzz&form=bar")
    page.get_by_text("The address held no usable value for: scenario, threshold, split, form").wait_for()
    visitor.whatif_ms()
    expect(page.locator("#lambda-max")).to_have_text("3.122")


def test_on_paper_every_chart_is_drawn_and_light(visit):
    visitor = visit(color_scheme="dark")
    page = visitor.open()
    visitor.whatif_ms()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("[data-plot] .main-svg").nth(3)).to_be_attached()
    for plot in page.locator("[data-plot]").all():
        assert plot.locator(".main-svg").first.evaluate("svg => svg.style.background") == "rgb(255, 255, 255)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
