"""The catalogue in a real browser: an entry's whole life, two people at one entry, keyboard and phone."""

import re

from playwright.sync_api import expect


def signed_in(visitor, path):
    visitor.open(f"/login/?next={path}")
    visitor.sign_in()
    expect(visitor.page).to_have_url(re.compile(re.escape(path)))
    return visitor.page


def fits(page):
    return page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def add(page, name, **more):
    """Stores hardware of this name from wherever the tab is."""
    page.goto(re.match(r"https?://[^/]+", page.url)[0] + "/catalogue/hardware/new/")
    page.get_by_label("Name").fill(name)
    for label, text in {"Memory GB": "80", **more}.items():
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Store hardware").click()
    expect(page.get_by_role("status")).to_contain_text(f"Stored {name}.")


def test_an_entry_lives_from_a_mistake_to_its_end(visitor):
    page = visitor.open("/catalogue/hardware/")
    page.get_by_role("link", name="Sign in to change").click()
    visitor.sign_in()
    page.get_by_role("link", name="New hardware").click()

    # A mistake: nothing is stored, it stands beside its input, and what was typed is still there.
    page.get_by_label("Name").fill("tried-chip")
    page.get_by_label("Title").fill("A chip that is tried")
    page.get_by_label("Memory GB", exact=True).fill("eighty")
    page.get_by_label("Kind").select_option("published")
    page.get_by_label("Source").fill("its data sheet")
    page.get_by_role("button", name="Store hardware").click()
    memory = page.get_by_label("Memory GB", exact=True)
    expect(memory).to_have_attribute("aria-invalid", "true")
    expect(memory).to_have_accessible_description("must be a number")
    expect(memory).to_have_value("eighty")
    expect(page.get_by_label("Source")).to_have_value("its data sheet")
    expect(page.locator("[data-summary]")).to_be_focused()
    page.locator("[data-summary]").get_by_role("link", name="Memory").click()
    expect(memory).to_be_focused()

    # Put right, stored, and changed.
    memory.fill("80")
    page.get_by_role("button", name="Store hardware").click()
    expect(page.get_by_role("status")).to_contain_text("Stored A chip that is tried.")
    expect(page.locator('[data-field="memory_bytes"]')).to_contain_text("80")
    expect(page.locator('[data-field="memory_bytes"] abbr')).to_have_attribute("title", "published: its data sheet")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Memory GB", exact=True).fill("96")
    page.get_by_label("Source").fill("a letter")
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_role("status")).to_contain_text("revision 2")

    # Its history says so, and leads back.
    page.get_by_role("link", name="History").click()
    change = page.locator('[data-revision="2"] [data-path="memory_bytes"]')
    expect(change.locator("del")).to_have_text("80 GB")
    expect(change.locator("ins")).to_have_text("96 GB")
    page.locator('[data-revision="1"]').get_by_role("button", name="Restore this version").click()
    expect(page.get_by_role("status")).to_contain_text("stored again, as revision 3")
    expect(page.locator('[data-field="memory_bytes"]')).to_contain_text("80")

    # Archived, offered again, deleted after a question.
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_role("status")).to_contain_text("Archived")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("status")).to_contain_text("Restored")
    page.get_by_role("link", name="Delete").click()
    expect(page.locator("main")).to_contain_text("history of 5 revisions")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("status")).to_contain_text("Deleted tried-chip")
    expect(page.locator('[data-entry="tried-chip"]')).to_have_count(0)


def test_two_people_at_one_entry_lose_nothing(visit):
    first, second = visit(), visit()
    here = signed_in(first, "/catalogue/hardware/")
    add(here, "shared-chip")
    here.get_by_role("link", name="Edit").click()
    there = signed_in(second, "/catalogue/hardware/shared-chip/edit/")
    there.get_by_label("TDP W", exact=True).fill("700")
    there.get_by_role("button", name="Store").click()
    expect(there.get_by_role("status")).to_contain_text("revision 2")
    here.get_by_label("Memory GB", exact=True).fill("96")
    here.get_by_role("button", name="Store").click()
    expect(here.locator("[data-conflict]")).to_contain_text("Revision 2, edited")
    expect(here.locator('[data-conflict] [data-path="tdp_w"]')).to_contain_text("700 W")
    expect(here.get_by_label("Memory GB", exact=True)).to_have_value("96")
    expect(here.get_by_label("TDP W", exact=True)).to_have_value("700")
    here.get_by_role("button", name="Store").click()
    expect(here.get_by_role("status")).to_contain_text("revision 3")
    expect(here.locator('[data-field="tdp_w"]')).to_contain_text("700")
    expect(here.locator('[data-field="memory_bytes"]')).to_contain_text("96")


def test_leaving_with_something_typed_is_asked_about(visit):
    page = signed_in(visit(), "/catalogue/links/new/")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(re.compile("/catalogue/links/$"))
    assert asked == []
    page.go_back()
    page.get_by_label("Name").fill("half-typed")
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(re.compile("/catalogue/links/$"))
    assert asked == ["beforeunload"]


def test_a_choice_shows_what_belongs_to_it(visitor):
    page = signed_in(visitor, "/catalogue/traffic/new/")
    page.get_by_label("Name").fill("typed-traffic")
    inputs = page.get_by_role("group", name="Input lengths", exact=True)
    expect(inputs.get_by_role("textbox")).to_have_count(0)
    inputs.get_by_label("Distribution").select_option("gamma")
    for label, text in {"Shape": "2", "Mean": "8000", "Shortest tokens": "128", "Longest tokens": "131072"}.items():
        inputs.get_by_role("textbox", name=re.compile(f"^{label}")).fill(text)
    outputs = page.get_by_role("group", name="Output lengths", exact=True)
    outputs.get_by_label("Number or distribution").select_option("number")
    outputs.get_by_role("textbox", name=re.compile("^Output lengths")).fill("512")
    page.get_by_role("button", name="Store traffic").click()
    expect(page.get_by_role("status")).to_contain_text("Stored typed-traffic.")
    expect(page.get_by_role("region", name="Lengths, table")).to_contain_text("512")


def test_a_list_is_narrowed_and_sorted_by_keyboard_and_its_address_keeps_it(visitor):
    page = visitor.open("/catalogue/hardware/")
    page.get_by_label("Search").fill("NVIDIA H")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("search=NVIDIA"))
    page.get_by_role("link", name="Memory").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name=re.compile("^Memory"))).to_have_attribute("aria-sort", "descending")
    expect(page.locator("tbody tr").first).to_have_attribute("data-entry", "h200")
    page.reload()
    expect(page.locator("tbody tr").first).to_have_attribute("data-entry", "h200")


def test_a_laptop_shows_every_offer_whole(visitor):
    page = visitor.open("/catalogue/prices/h100-azure-nd96isr-h100-v5-2026-11-09/")
    assert fits(page)
    region = page.get_by_role("region", name="Offers, table")
    expect(region.get_by_role("row", name="Azure")).to_contain_text("12.290")
    assert region.evaluate("table => table.scrollWidth <= table.clientWidth")
