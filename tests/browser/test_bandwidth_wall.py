"""The bandwidth wall in a real browser: chosen, read, shared."""

import csv
import re

import pytest
from playwright.sync_api import expect


def drawn(page):
    shown = page.locator('[data-chart="bandwidth-wall"]')
    shown.scroll_into_view_if_needed()
    shown.locator(".main-svg").first.wait_for()
    return shown


def row(page, profile):
    return page.locator(f'[data-row="{profile}"]')


def test_map_and_table_say_number_unit_link_and_what_is_published(visitor):
    page = visitor.open("/bandwidth-wall/")
    shown = drawn(page)
    expect(shown.locator(".heatmap-label", has_text="59.93 Gbps").first).to_contain_text("100 Gbps")
    expect(shown.locator("[data-caption]")).to_contain_text("MiniMax-M2.5 at 32K, 59.93 Gbps")
    expect(row(page, "minimax-m2-5-h200x8")).to_contain_text("3 × 1.6 Tbps")
    expect(row(page, "ring-2-5-1t-h200x8")).to_contain_text("published 2.59 Gbps source of the profile")
    expect(page.locator("[data-reduction]")).to_contain_text("35.6")


def test_a_choice_changes_map_table_address_and_json(visitor):
    page = visitor.open("/bandwidth-wall/")
    drawn(page)
    page.get_by_label("Fleets").fill("64")
    expect(row(page, "ring-2-5-1t-h200x8")).to_contain_text("64 GPUs")
    page.get_by_label("Internal 1T hybrid (KDA:MLA 3:1) on 8 × h20", exact=True).check()
    expect(row(page, "internal-1t-hybrid-h20x8")).to_be_visible()
    page.get_by_text("64 GPUs", exact=True).first.click()
    expect(page.locator("[data-wall-views] :checked")).to_have_value("64")
    expect(page).to_have_url(re.compile("view=64"))
    expect(page).to_have_url(re.compile("gpus=64"))
    answer = page.request.get(page.locator("[data-api]").evaluate("link => link.href")).json()
    assert answer["asked"]["gpus"] == [64]
    assert len(answer["rows"]) == 7


def test_an_address_is_a_permalink(visitor, visit):
    path = "/bandwidth-wall/?profile=ring-2-5-1t-h200x8&length=128K&gpus=512&headroom=0&link=case-study-100g&view=512"
    page = visit().open(path)
    shown = drawn(page)
    expect(shown.locator("[data-caption]")).to_contain_text("Of 512 GPUs, the most is Ring-2.5-1T at 128K, 93.4")
    expect(row(page, "ring-2-5-1t-h200x8")).to_contain_text("case-study-100g: 93 % full")
    expect(page.get_by_label("Lengths")).to_have_value("128K")


def test_a_mistake_stands_beside_its_field_and_the_last_answer_stays(visitor):
    page = visitor.open("/bandwidth-wall/")
    drawn(page)
    page.get_by_label("Headroom").fill("2")
    expect(page.locator("#headroom-error")).to_contain_text("must be a share")
    expect(page.get_by_label("Headroom")).to_have_value("2")
    expect(page.get_by_label("Headroom")).to_have_attribute("aria-invalid", "true")
    expect(row(page, "ring-2-5-1t-h200x8")).to_be_visible()
    page.get_by_label("Headroom").fill("0.2")
    expect(page.locator("#headroom-error")).to_be_empty()
    expect(page.locator("[data-caption]")).to_contain_text("20 % to spare")
    visitor.complaints.clear()  # the browser logs the refusal that was asked for


def test_the_map_is_saved_as_csv_with_units(visitor):
    page = visitor.open("/bandwidth-wall/?gpus=512&length=32K")
    shown = drawn(page)
    with page.expect_download() as download:
        shown.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(download.value.path().read_text("utf-8-sig").splitlines()))
    ring = [each for each in rows if each["model"] == "ring-2-5-1t"]
    assert [float(each["cluster, GPUs"]) for each in ring] == [8, 512]
    assert float(ring[1]["demand, Gbps"]) == pytest.approx(166, rel=5e-3)
    assert ring[0]["carried by"] == "10 Gbps"


def test_it_works_without_javascript(visit):
    visitor = visit(java_script_enabled=False)
    page = visitor.open("/bandwidth-wall/")
    page.get_by_label("Lengths").fill("64K")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("table.wall thead")).to_contain_text("64K")
