"""What the live screen says of now: what is, what should be, what it would bring, and what nobody knows."""

import re

from playwright.sync_api import expect

from tests.browser.live_fake import START_MS, points


def test_what_is_and_what_should_be_stand_side_by_side(screen):
    here = screen().open()
    expect(here.connection).to_have_text("live")
    here.fake.tick()
    expect(here.egress).to_have_text(f"{points(START_MS + 1000)['egress_bps.wan'] / 1e9:.2f}")
    expect(here.out("threshold", "current")).to_have_text("19,600")
    expect(here.out("threshold", "wanted")).to_have_text("21,560")
    expect(here.out("split", "current")).to_have_text("3 / 5")
    expect(here.out("split", "wanted")).to_have_text("4 / 4")
    expect(here.out("binding", "binding")).to_have_text("Link")
    expect(here.page.locator("[data-sentence]")).to_contain_text("raise t from 19.6K to 21.7K")
    expect(here.page.locator('[data-alerts] tr[data-state="firing"]')).to_contain_text("egress above 90 %")
    # By the server's clock, whatever this machine's says.
    expect(here.page.locator("[data-clock]")).to_have_text(re.compile(r"^12:0\d:\d\d UTC$"))
    expect(here.page.locator('[data-health] [data-key="pd-decode"]')).to_contain_text(re.compile(r"stale\s*[4-9]\d s"))
    expect(here.page.locator("[data-events] tbody tr")).to_contain_text(["t set from 19,600", "provider works"])

    # Alerts lead to their page, each to its own.
    expect(here.page.locator('[data-cell="alerts"] a')).to_have_text("1 firing")
    expect(here.page.locator('[data-cell="alerts"] a')).to_have_attribute("href", "/live/alerts/")
    expect(here.page.locator("[data-alerts] tbody a")).to_have_attribute("href", "/live/alerts/7/")

    # What is beyond the headroom is said to be so.
    link = here.fake.stored[-1]["watches"][0]["links"][0]
    told = {name: link[name] | {"value": bps} for name, bps in (("egress_bps", 9.5e9), ("capacity_bps", 10e9))}
    here.fake.changes = {"links": [link | told]}
    here.fake.tick()
    room = here.page.locator("[data-link-cell] .sub").first
    expect(room).to_have_text("95.0 % used; 0.50 Gbps beyond the headroom of 10 %")

    # On a phone what is, what should be and why are seen at once.
    here.page.set_viewport_size({"width": 390, "height": 844})
    for place in ("[data-sentence]", "[data-link-cell]", '[data-cell="threshold"]', '[data-cell="split"]'):
        expect(here.page.locator(place)).to_be_in_viewport(ratio=1)
    # What was recommended before is read there without scrolling sideways.
    here.page.locator("[data-advice] summary").click()
    here.page.locator("[data-log]").click()
    log = here.page.locator("[data-log-table]")
    expect(log.locator('tbody tr:last-child [data-out="split"]')).to_have_text("3 / 5 → 4 / 4")
    expect(log.locator("tbody tr").last).to_contain_text("Keep t at 19.6K.")
    assert log.evaluate("each => each.parentElement.scrollWidth <= each.parentElement.clientWidth")
    here.page.locator('[data-dialog="log"]').get_by_role("button", name="Close").click()

    # What nobody tells is unknown, and what is not valid is not recommended.
    now = here.fake.stored[-1]["watches"][0]
    unknown = {"value": None, "ts_ms": None, "age": "absent", "origin": "unknown", "by": ""}
    here.fake.changes = {"threshold_tokens": unknown, "advice": now["advice"] | {"problems": ["t in force is unknown"]}}
    here.fake.tick()
    expect(here.out("threshold", "current")).to_have_text("unknown")
    expect(here.out("threshold", "wanted")).to_have_text("–")
    expect(here.page.locator("[data-problems]")).to_contain_text("t in force is unknown")


def line(table, name):
    first = table.page.get_by_role("cell", name=name, exact=True)
    return table.get_by_role("row").filter(has=first).get_by_role("cell")


def test_both_objectives_another_split_and_what_is_unknown_are_told(screen):
    here = screen().open()
    expect(here.connection).to_have_text("live")
    expect(here.out("threshold", "interval")).to_have_text(
        re.compile(r"^greatest Λmax at 22,300 \(20,913 to 22,207\)$")
    )
    expect(here.out("split", "converted")).to_have_text("4 / 4 would carry 3.00 req/s")
    panel = here.page.locator("[data-advice]")
    panel.locator("summary").click()
    brings = panel.get_by_role("region", name="What t brings, table")
    expect(brings.get_by_role("columnheader")).to_have_text(
        ["quantity", "in force", "to set now", "greatest Λmax, followed", "least TTFT"], use_inner_text=True
    )
    for name, values in {
        "t, tokens": ["19,600", "21,560", "22,300", "18,100"],
        "Λmax, req/s": ["2.610", "2.750", "2.810", "2.440"],
        "egress, Gbps": ["5.76", "5.10", "4.90", "6.00"],
        "TTFT mean, s": ["2.31", "2.22", "2.24", "2.05"],
        "TTFT P90, s": ["4.02", "3.61", "3.70", "3.40"],
        "PD-P busy, %": ["72.0", "74.0", "77.0", "77.0"],
    }.items():
        expect(line(brings, name)).to_have_text([name, *values])
    splits = panel.get_by_role("region", name="Instances, table")
    expect(line(splits, "in force")).to_have_text(["in force", "3", "5", "4", "2.610"])
    expect(line(splits, "recommended now")).to_have_text(["recommended now", "4", "4", "4", "3.000"])
    cost = panel.locator("[data-conversion]")
    expect(cost).to_contain_text("Converting 1 of 5 decode instances to prefill")
    expect(cost).to_contain_text("12.4 requests")
    expect(cost).to_contain_text("made up for after 6 min. It is recommended now.")
    expect(panel.locator("[data-basis]")).to_contain_text("bound by the link")
    expect(panel.locator("[data-basis]")).to_contain_text("above t in force with a probability of 97.0 %")
    expect(panel.locator("[data-unknown] li")).to_have_text(["Retransmits: told by no telemetry; they raise no alarm."])

    # The other one is followed, a split that never pays is not recommended, and no t carries the load.
    told = here.fake.snapshot()["watches"][0]["advice"]
    here.fake.changes = {
        "advice": told
        | {
            "objective": "ttft", "objectives": {"throughput": told["objectives"]["throughput"]}, "conversion_s": None,
            "instances": {"prfaas": 4, "prefill": 3, "decode": 5}, "unknown": [],
            "ttft_mean_s": {"current": None, "recommended": None},
        }
    }  # fmt: skip
    here.fake.tick()
    expect(cost).to_contain_text("never made up for. It is not recommended now")
    expect(line(splits, "recommended now")).to_have_text(["recommended now", "3", "5", "4", "2.750"])
    expect(brings.get_by_role("columnheader").last).to_have_text("least TTFT, followed", use_inner_text=True)
    expect(panel.locator("[data-unknown] li")).to_contain_text(
        ["t of the least TTFT: no t carries", "TTFT with t in force: a queue grows", "TTFT with t to set now"]
    )
