"""The live screen on a phone, by axe-core, and after eight hours."""

import re

from playwright.sync_api import expect

from tests.browser.live_fake import START_MS
from tests.browser.live_screen import SHORT
from tests.browser.test_accessibility import complaints, draw_all

HIDE = "(is) => Object.defineProperty(document, 'hidden', { value: is, configurable: true })"
"""What is hidden draws nothing anew, unless its size or colours change."""


def test_it_keeps_nobody_out_and_fits_a_phone(screen):
    here = screen(brown_out=(START_MS - 120_000, START_MS - 30_000))
    here.visitor.open(SHORT)
    expect(here.connection).to_have_text("live")
    here.page.locator("[data-advice] summary").click()
    here.page.get_by_role("button", name="What was recommended before").click()
    logged = here.page.locator("[data-log-table] tbody tr")
    expect(logged.nth(0)).to_contain_text("19,600 → –3 / 5 → –stale: nothing is recommended")
    expect(logged.nth(1)).to_contain_text("19,600 → 21,7003 / 5 → 4 / 4keep: Keep t at 19.6K.")
    here.page.get_by_role("button", name="Close").click()
    draw_all(here.page)
    here.page.evaluate(HIDE, True)
    wrong = []
    for theme in ("light", "dark"):
        wrong += complaints(here.page, theme)
        here.page.locator("[data-theme-toggle]").click()
    assert not wrong, "\n".join(wrong)


HEARD = """{
  const Real = WebSocket;
  window.WebSocket = class extends Real {
    constructor(...given) {
      super(...given);
      window.heard = this;
    }
  };
}"""
# Each fourth second of them: what is kept of a snapshot is told by seven thousand as well.
EIGHT_HOURS = """
async ([snapshot, from, to]) => {
  const [watch] = snapshot.watches;
  const egress = watch.points["egress_bps.wan"];
  for (let second = from * 3600; second < to * 3600; second += 4) {
    const [hour, ten] = [Math.floor(second / 3600), Math.floor(second / 600)];
    for (const name of Object.keys(watch.points)) if (name.includes("of-hour")) delete watch.points[name];
    watch.points["egress_bps.wan"] = egress * (1 + 0.1 * Math.sin(second));
    watch.points[`egress_bps.of-hour-${hour}`] = 1e9;
    const ts = snapshot.ts_ms + second * 1000;
    const notes = [{ ...snapshot.notes[1], id: 100 + ten, ts_ms: ts - (second % 600) * 1000 }];
    const next = { ...snapshot, seq: snapshot.seq + 1 + second / 4, ts_ms: ts, notes };
    heard.onmessage({ data: JSON.stringify(next) });
    if (second % 3600 === 0) await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  }
}
"""


def used(page):
    """Bytes of the heap, and nodes of the document and whatever holds some, while nothing is drawn."""
    page.evaluate(HIDE, True)
    page.evaluate(
        "async () => { for (let frame = 0; frame < 20; frame += 1) await new Promise(requestAnimationFrame); }"
    )
    session = page.context.new_cdp_session(page)
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    found = session.send("Runtime.getHeapUsage")["usedSize"], session.send("Memory.getDOMCounters")["nodes"]
    session.detach()
    page.evaluate(HIDE, False)
    return found


def test_eight_hours_leave_the_page_no_larger(screen):
    here = screen()
    here.page.add_init_script(HEARD)
    here.visitor.open(SHORT)
    expect(here.connection).to_have_text("live")
    expect(here.page.locator('[data-chart="egress"] .main-svg').first).to_be_visible()
    snapshot = here.fake.snapshot()
    here.page.evaluate(EIGHT_HOURS, [snapshot, 0, 2])
    (heap, nodes) = used(here.page)
    here.page.evaluate(EIGHT_HOURS, [snapshot, 2, 8])
    expect(here.page.locator("[data-clock]")).to_have_text(re.compile("^(19:59:[45]|20:)"))
    (later, later_nodes) = used(here.page)
    # Plotly remembers up to 10,000 labels that it has measured; 5,400 snapshots, of which
    # points alone were kept, were seen to be three tenths more.
    assert later < 1.2 * heap
    assert later_nodes < 1.1 * nodes
