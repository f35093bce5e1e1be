"""What to buy instead, in a real browser: from the case study to the scenario that was found, and where it ties."""

import re

from playwright.sync_api import expect

from tests.patience import UNTIL_RESULT_MS


def type_prices(page):
    page.get_by_label("Typed price, h200").fill("2")
    page.get_by_label("Typed price, h20", exact=True).fill("1")


def fits(page):
    page.wait_for_load_state()  # an address is there before its style sheets
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def answer(page):
    expect(page).to_have_url(re.compile(r"/jobs/[-0-9a-f]+/$"))
    expect(page.locator("[data-answer]")).to_be_visible(timeout=UNTIL_RESULT_MS)
    return page.locator("#answer-title")


def test_a_planner_asks_what_to_buy_instead_and_keeps_the_answer(visitor):
    page = visitor.open()
    page.get_by_role("link", name="What to buy instead?").click()
    type_prices(page)
    fits(page)
    page.get_by_role("button", name="Sign in and ask").click()
    visitor.sign_in()
    # Nothing that was typed is lost on the way.
    expect(page.get_by_label("Typed price, h200")).to_have_value("2")
    page.get_by_label("Target utilisation").fill("much")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("alert").get_by_role("link", name="Target utilisation").click()
    expect(page.get_by_label("Target utilisation")).to_be_focused()
    page.get_by_label("Target utilisation").fill("100")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(answer(page)).to_have_text(
        "5 × (8 h200) PrfaaS + 1 prefill + 5 decode × (8 h20), t = 9,753 tokens carries 3.223 req/s for 128.00 USD/h: "
        "1.189 times the best without PrfaaS."
    )
    expect(page.locator('[data-row="Λ_max"] td')).to_have_text(
        [re.compile(r"^3\.223"), re.compile(r"^2\.710"), re.compile(r"^3\.122")]
    )
    chart = page.locator('[data-chart="cost-parts"]')
    chart.scroll_into_view_if_needed()
    expect(chart.locator(".barlayer .point").first).to_be_attached()
    for name in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            chart.get_by_role("button", name=name).click()
        assert download.value.path().stat().st_size > 100
    fits(page)
    page.get_by_role("button", name="Save as scenario").click()
    expect(page).to_have_url(re.compile("/scenarios/case-study-prfaas-pd-equal-cost/$"))
    visitor.whatif_ms()
    expect(page.locator("#lambda-max")).to_have_text("3.223")


def test_the_price_ratio_at_which_prfaas_no_longer_pays(visitor):
    page = visitor.open("/optimiser/break_even/?scenario=case-study-prfaas-pd")
    page.get_by_role("link", name="Sign in").click()
    visitor.sign_in()
    type_prices(page)
    fits(page)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(answer(page)).to_contain_text("Price ratio h200:h20: tie at 2.479.")
    chart = page.locator('[data-chart="break-even"]')
    chart.scroll_into_view_if_needed()
    expect(chart.get_by_text("tie at 2.479").first).to_be_attached()
    chart.locator("summary").click()
    expect(chart.locator("tbody tr")).to_have_count(42)
    expect(chart.locator("tbody tr", has_text="tie")).to_have_text(re.compile(r"^2\.479"))
    fits(page)
    # Narrow and wide again: the legend stays above the plot.
    chart.scroll_into_view_if_needed()
    page.wait_for_timeout(1000)
    legend, plot = chart.locator(".legend").bounding_box(), chart.locator(".nsewdrag").first.bounding_box()
    assert legend["y"] + legend["height"] <= plot["y"] + 1


def ask_for_a_front(visitor, rates):
    page = visitor.open("/optimiser/front/?scenario=case-study-prfaas-pd")
    page.get_by_role("link", name="Sign in").click()
    visitor.sign_in()
    type_prices(page)
    # As little as has a front: each of its rates takes a second.
    page.get_by_label("At most, 8 × h200").first.fill("2")
    page.get_by_label("At most, 8 × h20", exact=True).last.fill("4")
    page.get_by_label("Greatest rate").fill("1.2")
    page.get_by_label("How many").fill(str(rates))
    fits(page)
    page.get_by_role("button", name="Ask", exact=True).click()
    return page


def test_a_front_appears_while_it_is_computed_and_a_point_of_it_is_kept(visitor):
    page = ask_for_a_front(visitor, 3)
    chart = page.locator('[data-chart="front"]')
    expect(chart.locator("[data-caption]")).to_contain_text(
        re.compile(r"So far, of [12] of 3 rates|under load"), timeout=UNTIL_RESULT_MS
    )
    expect(answer(page)).to_contain_text(
        "deployments that no other beats in cost, rate and P90 of TTFT: 0.400 to 1.200"
    )
    expect(chart.locator("[data-caption]")).not_to_contain_text("So far")
    chart.scroll_into_view_if_needed()
    point = chart.locator(".scatterlayer .point").nth(1)
    point.wait_for()
    at = point.bounding_box()
    page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    expect(page).to_have_url(re.compile(r"\?point=\d+$"))
    clicked = page.locator("#point-title").text_content()
    expect(page.locator('[data-table="points"] [aria-current="true"]')).to_have_count(1)
    # The same without a mouse.
    first = page.get_by_role("link", name="Show 1", exact=True)
    first.focus()
    first.press("Enter")
    expect(page.locator("#point-title")).to_be_focused()
    expect(page.locator("#point-title")).to_contain_text("Point 1: 0.400 req/s")
    expect(page.locator("#point-title")).not_to_have_text(clicked)
    expect(chart.locator("[data-caption]")).to_contain_text("Chosen: 0.400 req/s")
    fits(page)
    for name in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            chart.get_by_role("button", name=name).click()
        assert download.value.path().stat().st_size > 100
    page.get_by_role("button", name="Save as scenario").click()
    expect(page).to_have_url(re.compile("/scenarios/case-study-prfaas-pd-front-1/$"))
    visitor.whatif_ms()


def test_the_least_cost_under_a_promise_says_what_ttft_is_made_of(visitor):
    page = visitor.open("/optimiser/least_cost/?scenario=case-study-prfaas-pd")
    page.get_by_role("link", name="Sign in").click()
    visitor.sign_in()
    type_prices(page)
    page.get_by_label("Peak rate").fill("10")
    promise = page.get_by_role("group", name="Promise on TTFT")
    promise.get_by_label("At most").fill("4")
    promise.get_by_label("Of TTFT").select_option("90")
    fits(page)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(answer(page)).to_contain_text("without PrfaaS nothing does")
    expect(page.locator("[data-promise]")).to_have_text("Promised: P90 of TTFT under load of at most 4 s.")
    kept = page.locator('[data-row="TTFT, P90, under load"]')
    assert float(kept.locator("td").first.inner_text().split()[0].rstrip("u")) <= 4
    expect(kept.locator("th")).to_have_attribute("title", re.compile("approximation: queue . prefill .*within 5 %"))
    fits(page)
    page.get_by_role("link", name="Ask again").click()
    expect(page.get_by_role("group", name="Promise on TTFT").get_by_label("At most")).to_have_value("4")


def test_a_fleet_of_several_clusters_is_put_together_row_by_row(visitor):
    page = visitor.open("/optimiser/clusters/?scenario=case-study-prfaas-pd")
    page.get_by_role("button", name="Add a link").click()
    link = page.get_by_role("group", name="Link 2")
    expect(link.get_by_label("Name")).to_be_focused()
    link.get_by_label("Name").fill("narrow")
    link.get_by_label("Bandwidth").fill("10")
    page.get_by_role("button", name="Add a PD cluster").click()
    one, two = (page.get_by_role("group", name=f"PD cluster {number}") for number in (1, 2))
    expect(two.get_by_label("Name")).to_be_focused()
    one.get_by_label("Share").fill("60")
    two.get_by_label("Share").fill("30")
    two.get_by_label("over the link").first.fill("narrow")
    page.get_by_role("button", name="Add a PrfaaS cluster").click()
    page.get_by_role("button", name="Remove PrfaaS cluster 2").click()
    expect(page.get_by_role("button", name="Add a PrfaaS cluster")).to_be_focused()
    fits(page)
    page.get_by_role("button", name="Sign in and ask").click()
    visitor.sign_in()
    expect(two.get_by_label("Share")).to_have_value("30")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("alert").get_by_role("link", name="PD cluster 2, Share").click()
    expect(two.get_by_label("Share")).to_be_focused()
    two.get_by_label("Share").fill("40")
    # The Enter key asks; it neither adds nor removes a row.
    two.get_by_label("Share").press("Enter")
    expect(answer(page)).to_contain_text(re.compile(r"^The fleet carries \d\.\d{3} req/s at most; what binds is "))
    expect(page.locator("[data-cluster]")).to_have_count(2)
    expect(page.get_by_role("progressbar", name="Utilisation of narrow")).to_be_visible()
    fits(page)
    page.get_by_role("link", name="Ask again").click()
    expect(two.get_by_label("Share")).to_have_value("40")


def test_another_scenario_brings_its_own_options_and_keeps_what_was_typed(visitor):
    page = visitor.open("/optimiser/equal_cost/")
    type_prices(page)
    page.get_by_label("What is deployed now").select_option("case-study-homogeneous")
    page.wait_for_url(re.compile("scenario=case-study-homogeneous"))
    expect(page.get_by_label("Typed price, h20", exact=True)).to_have_value("1")
    prfaas = page.get_by_role("group", name="PrfaaS: remote prefill")
    expect(prfaas.get_by_role("checkbox", name="8 × h200")).not_to_be_checked()
    # Who types into a row means that row.
    prfaas.get_by_label("At most, 8 × h200").fill("8")
    expect(prfaas.get_by_role("checkbox", name="8 × h200")).to_be_checked()


def test_every_problem_is_offered(visitor):
    page = visitor.open("/optimiser/")
    for name in (
        "The most for a budget",
        "The least cost for a rate",
        "Cost, rate and TTFT",
        "Break-even",
        "Several clusters",
    ):
        expect(page.get_by_role("link", name=name)).to_be_visible()
