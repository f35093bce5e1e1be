"""The case study built again in the browser from entries of the catalogue, without touching a file."""

import re

from playwright.sync_api import expect


def test_a_planner_builds_the_case_study_again_and_sees_its_published_figures(visitor):
    page = visitor.open("/scenarios/new/")
    visitor.sign_in()
    page.get_by_label("Name").fill("case-study-again")
    page.get_by_label("Title").fill("The case study again")
    page.get_by_label("Model").select_option("internal-1t-hybrid")
    page.get_by_label("Traffic").select_option("case-study")
    remote, local = (page.get_by_role("group", name=name) for name in ("PrfaaS: remote prefill", "PD: local prefill"))
    remote.get_by_label("Profile").select_option("internal-1t-hybrid-h200x8")
    remote.get_by_label("Instances").fill("4")
    remote.get_by_label("Link").select_option("case-study-100g")
    remote.get_by_label("Threshold t").fill("19400")
    local.get_by_label("Profile").select_option("internal-1t-hybrid-h20x8")
    expect(local.get_by_label("Requests at once")).to_have_value("20")
    expect(local.get_by_label("Decode step")).to_have_value("25")
    local.get_by_label("Instances").fill("8")
    page.get_by_role("button", name="Store scenario").click()
    # One field was forgotten: it is named, and nothing that was typed is lost.
    expect(page.get_by_role("alert")).to_contain_text("of them prefill")
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("alert").get_by_role("link", name="of them prefill").click()
    expect(page.get_by_label("of them prefill")).to_be_focused()
    expect(page.get_by_label("Title")).to_have_value("The case study again")
    page.get_by_label("of them prefill").fill("3")
    page.get_by_role("button", name="Store scenario").click()
    expect(page).to_have_url(re.compile("/scenarios/case-study-again/$"))
    visitor.whatif_ms()
    page.get_by_text("paper", exact=True).click()
    expect(page.locator("#lambda-max")).to_have_text("3.186")
    expect(page.locator("[data-out=egress]")).to_have_text("12.22")
    expect(page.locator("[data-out=offload]")).to_have_text("49.6")


def test_only_profiles_of_the_chosen_model_are_offered(visitor):
    page = visitor.open("/scenarios/new/")
    visitor.sign_in()
    page.get_by_label("Model").select_option("minimax-m2-5")
    offered = page.locator("#local_profile option:not([hidden])")
    expect(offered).to_have_count(2)
    expect(offered.nth(1)).to_contain_text("minimax-m2-5-h200x8")
