"""The SRE's screen before a server that says what each test tells it: gaps, silence, pauses, addresses, forms."""

import csv
import re
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import expect

from tests.browser.live_fake import NOTES, START_MS, WATCH, points
from tests.browser.live_screen import Screen

AFTER = re.compile("^12:0(0:0[1-9]|0:[1-5]|[1-9])")
"""A time later than that of the first snapshot; how much later hangs on the machine."""


EGRESS = """() => {
  const { data } = document.querySelector('[data-chart="egress"] [data-plot]');
  return Array.from(data.find(({ name }) => name === "egress").y);
}"""
BAND = """() => {
  const { data } = document.querySelector('[data-chart="egress"] [data-plot]');
  const { x, y } = data.find(({ fill }) => fill === "toself");
  const parts = [[]];
  Array.from(y).forEach((value, at) => Number.isNaN(value) ? parts.push([]) : parts.at(-1).push([x[at], value]));
  return parts.filter(({ length }) => length);
}"""


def test_what_nobody_has_is_a_gap_and_never_zero_and_what_was_missed_is_drawn(screen):
    here = screen()
    here.fake.holes = [(START_MS - 60_000, START_MS - 30_000), (START_MS, START_MS + 6000)]
    here.fake.tick(5, sent=False)
    here.open()
    expect(here.connection).to_have_text("live")
    rows = here.table()
    expect(rows).to_contain_text("11:58:59")
    expect(rows).to_contain_text("11:59:30")
    expect(rows).not_to_contain_text("11:59:15")
    # History is some seconds behind the first snapshot; what was between is asked for.
    expect(rows).to_contain_text("12:00:03")
    here.page.wait_for_function(f"() => ({EGRESS})().filter(Number.isNaN).length >= 30")
    known = here.page.evaluate(f"() => ({EGRESS})().filter((value) => !Number.isNaN(value))")
    assert len(known) > 200
    assert min(known) > 4

    # So are numbers that were missed on the way.
    here.fake.tick(3, sent=False)
    missed = here.fake.seq - 3
    here.fake.tick()
    here.later(10_000)  # a table is written anew each ten seconds
    for second in range(5, 10):
        expect(rows).to_contain_text(f"12:00:0{second}")
    assert f"ticks/?since={missed}" in here.fake.asked

    # Of steps of two seconds the least and the most are shaded, but not what lies between two stretches.
    here.chart().locator("summary").click()
    here.page.keyboard.press("2")
    here.page.wait_for_function(f"() => ({EGRESS})().length > 400")
    before, after, *_ = here.page.evaluate(BAND)
    assert max(x for x, _ in before) < START_MS - 60_000
    assert min(x for x, _ in after) == START_MS - 30_000
    at = START_MS - 30_000
    high, *_, low = [value for x, value in after if x == at]
    assert (high, low) == pytest.approx([factor * points(at)["egress_bps.wan"] / 1e9 for factor in (1.1, 0.9)])


def test_silence_is_said_and_what_stands_is_of_then(screen):
    here = screen().open()
    expect(here.connection).to_have_text("live")
    here.chart()
    here.fake.tick()
    before = f"{points(START_MS + 1000)['egress_bps.wan'] / 1e9:.2f}"
    expect(here.egress).to_have_text(before)
    here.fake.refuses = here.fake.is_gone = True
    here.fake.disconnect()
    here.later(6000)
    expect(here.connection).to_have_text(re.compile(r"^stale since 12:00:0\d, reconnecting$"))
    expect(here.page.locator("[data-asof]")).to_contain_text("Nothing new since")
    expect(here.page.locator("[data-strip]")).to_have_attribute("data-stale", "")
    expect(here.egress).to_have_text(before)
    expect(here.page.locator('[data-chart="egress"] .shape-label')).to_contain_text(["no data"])

    # It comes back, and what it stored meanwhile is shown without a reload.
    here.fake.refuses = here.fake.is_gone = False
    here.fake.tick(8, sent=False)
    here.later(20_000)
    expect(here.connection).to_have_text("live")
    expect(here.page.locator("[data-strip]")).not_to_have_attribute("data-stale", "")
    expect(here.table()).to_contain_text("12:00:05")
    here.forgive()


def test_without_websockets_it_asks(screen):
    here = screen()
    here.fake.refuses = True
    here.open()
    expect(here.connection).to_contain_text("polling")
    here.fake.tick(2)
    here.later(2500)
    expect(here.out("threshold", "current")).to_have_text("19,600")
    here.fake.refuses = False
    for _ in range(3):
        here.fake.tick()
        here.later(16_000)
    expect(here.connection).to_have_text("live")


def test_a_pause_has_an_address_and_the_back_button_leads_back(screen, visit):
    here = screen().open()
    expect(here.connection).to_have_text("live")
    here.fake.tick()
    expect(here.out("threshold", "current")).to_have_text("19,600")
    here.page.keyboard.press("Space")
    expect(here.page).to_have_url(re.compile(r"range=5m&at=2026-11-30T12%3A0.*&zone=utc"))
    expect(here.page.locator("[data-paused]")).to_contain_text("Paused: shown is 2026-11-30 11:5")
    paused = here.page.url
    here.fake.changes = {"offload": {"value": 0.25, "ts_ms": START_MS, "age": "live"}}
    here.fake.tick()
    expect(here.page.locator("[data-clock]")).to_have_text(AFTER)
    expect(here.out("offload", "offload")).not_to_have_text("25.0")
    here.page.keyboard.press("ArrowLeft")
    expect(here.page.locator("[data-paused]")).to_contain_text(re.compile("11:5[23]:.* to 2026-11-30 11:5[78]:"))
    here.page.go_back()
    expect(here.page).to_have_url(paused)
    here.page.go_back()
    expect(here.out("offload", "offload")).to_have_text("25.0")

    # Somebody else who is sent the address sees that time, from what was stored.
    other = Screen(visit())
    other.fake.tick(3)
    alert = NOTES[1] | {"id": 9, "kind": "alert", "ts_ms": START_MS - 60_000, "end_ms": START_MS + 600_000}
    ended = alert | {"id": 8, "end_ms": START_MS - 30_000}
    other.fake.notes = [alert, alert | {"id": 10}, ended]
    other.page.clock.install()
    other.page.goto(paused)
    expect(other.page.locator("[data-asof]")).to_contain_text("As of 2026-11-30 12:0")
    expect(other.out("threshold", "current")).to_have_text("19,600")
    expect(other.page.locator("[data-sentence]")).to_have_text("Keep t at 19.6K.")
    # What bound it, and what fired then: not what does now.
    expect(other.out("binding", "binding")).to_have_text("PD-P")
    expect(other.out("alerts", "firing")).to_have_text("2")
    expect(other.out("alerts", "pending")).to_have_text("")


def test_nothing_moves_under_who_drags_and_what_was_dragged_across_is_shown(screen):
    here = screen().open()
    expect(here.connection).to_have_text("live")
    plot = here.chart().locator("[data-plot]")
    expect(plot.locator(".scatterlayer path.js-line").first).to_be_visible()
    box = plot.locator(".nsewdrag").bounding_box()
    middle = box["y"] + box["height"] / 2
    here.page.mouse.move(box["x"] + 0.2 * box["width"], middle)
    here.page.mouse.down()
    here.page.mouse.move(box["x"] + 0.5 * box["width"], middle, steps=3)
    before = plot.evaluate("({ layout }) => layout.datarevision")
    here.fake.tick(2)
    expect(here.page.locator("[data-clock]")).to_have_text(AFTER)
    assert plot.evaluate("({ layout }) => layout.datarevision") == before
    here.page.mouse.move(box["x"] + 0.6 * box["width"], middle)
    here.page.mouse.up()
    # Four tenths of five minutes.
    expect(here.page.locator("[data-paused]")).to_contain_text("Paused: shown is 2026-11-30 11:5")
    (span,) = parse_qs(here.page.url.split("?")[1])["range"]
    assert 110 <= {"s": 1, "m": 60}[span[-1]] * int(span[:-1]) <= 130


def test_a_tab_in_the_background_draws_nothing_and_is_of_now_when_it_is_back(screen):
    here = screen().open()
    expect(here.connection).to_have_text("live")
    here.fake.tick()
    expect(here.egress).not_to_have_text("–")
    turn = """(is) => {
      Object.defineProperty(document, "hidden", { value: is, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    here.page.evaluate(turn, True)
    here.page.evaluate("() => { window.heard = document.querySelector('[data-clock]').textContent; }")
    here.fake.tick(30)
    here.later(5000)
    assert here.page.evaluate("() => document.querySelector('[data-clock]').textContent === heard")
    here.page.evaluate(turn, False)
    expect(here.page.locator("[data-clock]")).to_have_text(re.compile("^12:0(0:[3-5]|[1-9])"))
    expect(here.egress).to_have_text(f"{points(here.fake.now_ms)['egress_bps.wan'] / 1e9:.2f}")


def test_links_that_come_and_go_and_a_server_that_begins_anew_do_not_break_it(screen):
    here = screen().open(height=900)
    expect(here.connection).to_have_text("live")
    here.chart()
    sent = here.fake.tick()
    link = sent["watches"][0]["links"][0]
    here.fake.changes = {"links": [link, link | {"name": "backup"}], "points": {"egress_bps.backup": 1e9}}
    here.fake.tick(2)
    expect(here.page.locator("[data-link-cell]")).to_have_count(2)
    here.page.get_by_label("Link", exact=True).select_option("backup")
    expect(here.page.locator("[data-link-cell]")).to_have_count(1)
    here.fake.changes = {}
    here.fake.tick(2)
    expect(here.page.locator("[data-link-cell]")).to_have_count(0)
    here.page.get_by_label("Link", exact=True).select_option("all")
    expect(here.page.locator("[data-link-cell]")).to_have_count(1)

    here.fake.seq = 0
    here.fake.changes = {"offload": {"value": 0.25, "ts_ms": START_MS, "age": "stale"}}
    here.fake.tick()
    expect(here.out("offload", "offload")).to_have_text("25.0")
    expect(here.page.locator('[data-cell="offload"]')).to_have_attribute("data-age", "stale")
    expect(here.out("offload", "age")).to_have_text(re.compile(r"^stale: \d+ s old$"))

    # However many events go on, so many are shown, and what they lie upon is shaded once.
    events, way = here.page.locator("[data-events] tbody tr"), here.page.locator("[data-all-events]")
    expect(way).to_have_text("All of them")
    begun_ms = range(START_MS - 70_000, START_MS, 1000)
    open_ones = [NOTES[1] | {"id": 100 + at, "is_open": True, "ts_ms": ms} for at, ms in enumerate(begun_ms)]
    here.fake.notes = open_ones
    here.fake.tick()
    expect(events).to_have_count(50)
    expect(way).to_have_text("The newest 50 of 72: all of them")
    expect(way).to_have_attribute("href", re.compile(r"/annotations/\?start=2026-11-30T11%3A5\d.*&watch=case-study"))
    expect(events.first).to_contain_text("goes on")
    shapes = here.page.locator('[data-chart="egress"] .shapelayer path')
    expect(shapes).to_have_count(50 + 1)  # where each began, and the shade
    named = here.page.locator('[data-chart="egress"] .shapelayer text')
    expect(named.first).to_have_text(re.compile(r"^\d+ \d+ \d+ \+\d$"))  # of those that are near one another
    # What became of those that snapshots tell no more of is asked for.
    here.fake.notes = [each | {"is_open": False, "end_ms": START_MS} for each in open_ones]
    here.later(61_000)
    expect(events.first).not_to_contain_text("goes on")


def test_what_is_typed_is_sent_and_what_is_refused_stands_beside_its_field(screen):
    here = screen().open()
    here.page.get_by_role("button", name="Enter t").click()
    here.visitor.sign_in()
    expect(here.connection).to_have_text("live")
    here.page.get_by_role("button", name="Enter t").click()
    value = here.page.get_by_label("Value", exact=True)
    here.page.get_by_role("button", name="Enter", exact=True).click()
    expect(here.page.locator('[data-dialog="enter"] [data-error="value"]')).to_have_text("Type a number.")
    here.fake.refusal = {"field": "value", "value": -1, "message": "must be 0 or more, got -1"}
    value.fill("-1")
    here.page.keyboard.press("Enter")
    expect(here.page.locator('[data-dialog="enter"] [data-error="value"]')).to_have_text("must be 0 or more, got -1")
    expect(value).to_have_attribute("aria-invalid", "true")
    here.fake.refusal = None
    value.fill("21000")
    here.page.keyboard.press("Enter")
    expect(value).not_to_be_visible()
    assert here.fake.posted[-1] == ("POST", "watches/case-study/entered/", {"what": "threshold_tokens", "value": 21000})
    here.visitor.complaints = [text for text in here.visitor.complaints if "400" not in text]
    said = {"value": 21000.0, "at_ms": START_MS, "by": "ada"}
    here.fake.watches = [WATCH | {"entered": {"threshold_tokens": said}}]
    here.page.get_by_role("button", name="Enter t").click()
    expect(here.page.locator("[data-entered]")).to_have_text("Entered last: 21,000 by ada, 2026-11-30 12:00:00.")
    here.page.get_by_role("button", name="Withdraw it").click()
    expect(value).not_to_be_visible()
    assert here.fake.posted[-1] == ("DELETE", "watches/case-study/entered/threshold_tokens/", None)

    here.page.keyboard.press("a")
    here.page.get_by_label("What happened").fill("t raised")
    here.page.locator("#note-from").fill("2026-11-30T11:58:00")
    here.page.keyboard.press("Enter")
    expect(here.page.get_by_label("What happened")).not_to_be_visible()
    said = {"text": "t raised", "kind": "note", "watch": "case-study", "ts_ms": START_MS - 120_000, "end_ms": None}
    assert here.fake.posted[-1] == ("POST", "annotations/", said)

    here.page.get_by_role("button", name="Change annotation 4").click()
    expect(here.page.get_by_label("Kind", exact=True)).to_have_value("alertmanager")  # it may stay of its kind
    here.page.get_by_label("Kind", exact=True).select_option("threshold")
    here.page.get_by_role("button", name="Store", exact=True).click()
    expect(here.page.get_by_label("What happened")).not_to_be_visible()
    note = {"text": NOTES[1]["text"], "kind": "threshold", "watch": "case-study"}
    assert here.fake.posted[-1] == (
        "PATCH", "annotations/4/", note | {"ts_ms": NOTES[1]["ts_ms"], "end_ms": None},
    )  # fmt: skip
    here.page.get_by_role("button", name="Change annotation 3").click()
    here.page.get_by_role("button", name="Delete", exact=True).click()
    here.page.get_by_role("button", name="Delete it for all").click()
    here.fake.tick()
    expect(here.page.get_by_role("button", name="Change annotation 3")).to_have_count(0)
    assert here.fake.posted[-1] == ("DELETE", "annotations/3/", None)


def test_keys_a_kiosk_and_who_switches_keys_off(screen):
    here = screen().open()
    expect(here.connection).to_have_text("live")
    here.page.keyboard.press("3")
    expect(here.page).to_have_url(re.compile("range=1h"))
    here.page.keyboard.press("k")
    expect(here.page.locator(".bar")).not_to_be_visible()
    expect(here.page).to_have_url(re.compile("kiosk=1"))
    here.page.keyboard.press("k")
    expect(here.page.locator(".bar")).to_be_visible()
    here.page.keyboard.press("?")
    here.page.get_by_label("Single keys work on this page").uncheck()
    here.page.get_by_role("button", name="Close").click()
    here.page.keyboard.press("1")
    expect(here.page.locator("[data-dialog=help]")).not_to_be_visible()
    expect(here.page).to_have_url(re.compile("range=1h"))


DRAWN = """() => {
  window.drawn = 0;
  const look = () => { window.drawn = Math.max(window.drawn, document.querySelectorAll(".main-svg").length); };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
}"""


def test_where_nothing_was_sent_or_measured_it_says_so_once_until_something_comes(screen):
    here = screen(has_watch=False).open("/live/?range=3weeks&zone=utc", height=900)
    empty = here.page.locator("[data-empty-state]")
    expect(empty).to_contain_text("manage.py serve --demo")
    expect(here.page.locator("[data-watched]")).not_to_be_visible()
    expect(here.page.locator("[data-notice]")).to_contain_text("no usable value for: range")

    # A source is there, and a watch, but no value of it yet.
    here.page.evaluate(DRAWN)
    here.fake.is_unmeasured = True
    here.fake.watches = [WATCH]
    here.fake.tick()
    expect(here.page.locator("[data-health] tbody tr")).to_have_count(3)
    # In longer steps, whose names last until the next one.
    here.page.keyboard.press("3")
    expect(here.page).to_have_url(re.compile("range=1h"))
    for _ in range(3):
        here.fake.tick()
        here.later(1000)
    expect(empty).to_contain_text("Nothing of this watch has been measured in the time that is shown")
    expect(here.page.locator("[data-charts]")).not_to_be_visible()
    expect(here.page.locator("[data-strip]")).not_to_be_visible()
    assert here.page.evaluate("drawn") == 0

    here.fake.is_unmeasured = False
    here.fake.tick()
    here.chart()
    expect(empty).not_to_be_visible()
    expect(here.page.locator("[data-strip]")).to_be_visible()


FEWEST = """(plot) => {
  plot.fewest = Infinity;
  const look = () => { plot.fewest = Math.min(plot.fewest, plot.querySelectorAll("path.js-line").length); };
  new MutationObserver(look).observe(plot, { childList: true, subtree: true });
}"""


def test_no_chart_is_blank_while_another_time_is_asked_for_or_cannot_be_had(screen):
    here = screen().open()
    plot = here.chart().locator("[data-plot]")
    expect(plot.locator(".scatterlayer path.js-line").first).to_be_visible()
    plot.evaluate(FEWEST)
    here.fake.is_slow = True
    here.page.keyboard.press("3")
    expect(here.page).to_have_url(re.compile("range=1h"))
    here.fake.tick()
    expect(here.page.locator("[data-clock]")).to_have_text(AFTER)
    expect(plot.locator("path.js-line").first).to_be_visible()
    here.fake.answer_all()
    expect(plot.locator(".xaxislayer-above")).to_contain_text("11:10")
    here.fake.is_gone = True
    here.page.keyboard.press("2")
    expect(here.page).to_have_url(re.compile("zone=utc$"))
    here.fake.tick()
    expect(here.page.locator("[data-history-problem]")).to_contain_text("The server does not answer.")
    expect(plot.locator("path.js-line").first).to_be_visible()
    assert plot.evaluate("({ fewest }) => fewest") > 0
    here.forgive()


def test_yesterday_is_drawn_beside_and_what_is_drawn_can_be_saved(screen):
    here = screen().open("/live/?range=5m")
    expect(here.connection).to_have_text("live")
    here.page.keyboard.press("z")
    expect(here.page).to_have_url(re.compile("zone=utc"))
    expect(here.page.locator("[data-clock]")).to_have_text(re.compile(r"^12:0\d:\d\d UTC$"))
    here.page.keyboard.press("y")
    expect(here.page).to_have_url(re.compile("compare=yesterday"))
    chart = here.chart()
    expect(chart.locator(".scatterlayer .js-line")).to_have_count(6)
    asked = [address for address in here.fake.asked if "history" in address]
    assert any(START_MS - 25 * 3_600_000 < int(parse_qs(each)["end"][0]) < START_MS - 23 * 3_600_000 for each in asked)
    with here.page.expect_download() as table:
        chart.get_by_role("button", name="CSV").click()
    header, *rows = csv.reader(Path(table.value.path()).read_text("utf-8-sig").splitlines())
    assert header[:2] == ["time, UTC", "egress, Gbps"]
    # A rate of the past is of ten seconds, as one of now.
    at_ms = round(datetime.fromisoformat(rows[20][0]).timestamp() * 1000)
    seconds = [points(at_ms - 1000 * second)["egress_bps.wan"] for second in range(10)]
    assert float(rows[20][1]) == pytest.approx(sum(seconds) / 10 / 1e9, rel=1e-4)
    with here.page.expect_download() as picture:
        chart.get_by_role("button", name="PNG").click()
    assert Path(picture.value.path()).read_bytes().startswith(b"\x89PNG")
