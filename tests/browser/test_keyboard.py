"""By the keyboard alone: every stop is seen, none holds the focus, and a question is asked and answered."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_optimiser import answer
from tests.stack.installation import PASSWORD

MOST_STOPS = 150
STOP = """() => {
  const at = document.activeElement;
  const drawn = getComputedStyle(at).opacity === "0" ? at.closest("label") : at;
  const { outlineStyle, outlineWidth } = getComputedStyle(drawn);
  const { top, bottom } = drawn.getBoundingClientRect();
  return {
    name: at.outerHTML.slice(0, 120),
    isPage: at === document.body,
    isOutlined: outlineStyle !== "none" && parseFloat(outlineWidth) >= 1,
    isInView: bottom > 0 && top < innerHeight,
  };
}"""
"""Where the focus is. A choice that is drawn by its label is seen by that."""


@pytest.fixture
def visitor(visit):
    """Whose pages are where they scroll to at once: who moves on does not wait for it."""
    return visit(reduced_motion="reduce")


def step(page):
    """One stop further, which must be seen to be one."""
    page.keyboard.press("Tab")
    stop = page.evaluate(STOP)
    assert stop["isPage"] or (stop["isOutlined"] and stop["isInView"]), stop
    return stop


def to(page, target):
    """From stop to stop until the target has the focus."""
    target.wait_for()
    for _ in range(MOST_STOPS):
        step(page)
        if target.evaluate("element => element === document.activeElement"):
            return target
    raise AssertionError(f"{target} is not reached within {MOST_STOPS} stops")


def follow(page, target):
    """Leaves for where the target leads."""
    to(page, target)
    with page.expect_event("load"):
        page.keyboard.press("Enter")


def test_from_the_start_page_to_an_answer(visitor):
    page = visitor.open("/")
    visitor.whatif_ms()
    step(page)
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()

    # The threshold is moved, in small steps and to its end.
    slider = to(page, page.get_by_label("Threshold t, log scale"))
    before = float(page.locator("#threshold").input_value())
    page.keyboard.press("ArrowRight")
    expect(page.locator("#threshold")).not_to_have_value(f"{before:g}")
    page.keyboard.press("Home")
    expect(page.locator("#threshold")).to_have_value("128")
    expect(slider).to_be_focused()

    # Round the rest of the page, and by its navigation to the optimiser.
    follow(page, page.get_by_role("navigation", name="Main").get_by_role("link", name="Optimiser"))
    expect(page).to_have_url(re.compile(r"/optimiser/$"))
    to(page, page.locator(".skip"))
    page.keyboard.press("Enter")
    follow(page, page.get_by_role("link", name="The most for a budget"))

    # A form is filled: numbers are typed, boxes and buttons are chosen.
    to(page, page.get_by_label("Typed price, h200"))
    page.keyboard.type("2")
    to(page, page.get_by_label("Typed price, h20", exact=True))
    page.keyboard.type("1")
    follow(page, page.get_by_role("button", name="Sign in and ask"))
    to(page, page.get_by_label("Username"))
    page.keyboard.type("admin")
    to(page, page.get_by_label("Password"))
    page.keyboard.type(PASSWORD)
    with page.expect_event("load"):
        page.keyboard.press("Enter")
    expect(page.get_by_label("Typed price, h200")).to_have_value("2")
    follow(page, page.get_by_role("button", name="Ask", exact=True))
    expect(answer(page)).to_contain_text("carries 3.223 req/s for 128.00 USD/h")


def test_no_stop_of_a_page_full_of_controls_holds_the_focus(visitor):
    page = visitor.open("/simulate/?scenario=case-study-prfaas-pd")
    to(page, page.locator(".skip"))
    stops = 0
    while not step(page)["isPage"]:
        stops += 1
        assert stops < MOST_STOPS
    step(page)
    expect(page.locator(".skip")).to_be_focused()
