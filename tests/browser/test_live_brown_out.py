"""A brown-out that `manage.py replay` sends, on the SRE's screen: an alert and the recommendation come and go."""

import pytest
from playwright.sync_api import expect

from tests.patience import UNTIL_SHOWN_MS
from tests.stack.replays import replayed, replaying

SCENARIO = "case-study-prfaas-pd"
BEFORE = "--as-recorded --speed 300 --duration 240 --calm --only router"
"""Enough lengths for a recommendation; a quarter of a second of ours for each minute of theirs."""
BROWN_OUT = "--speed 1 --duration 45 --brown-out 5 20 6e9 --only router gateway"
IN_FORCE = 19_400
"""Tokens, of the case study; the best t of a link of 6 Gbps is about half as much again: docs/live-controller.md."""
RULE = {
    "name": "brown-out", "watch": "demo", "kind": "threshold", "for_s": 0, "severity": "critical",
    "spec": {"figure": "capacity_bps.wan", "direction": "below", "fire": 20e9, "clear": 50e9},
}  # fmt: skip

# Whatever stands there for a second is noted, however slowly somebody looks; a reload would forget it.
NOTED = """() => {
  window.noted = [];
  const wanted = document.querySelector('[data-cell="threshold"] [data-out="wanted"]');
  const look = () => {
    const tokens = Number(wanted.textContent.replaceAll(",", ""));
    if (tokens && tokens !== noted.at(-1)) noted.push(tokens);
  };
  new MutationObserver(look).observe(wanted, { childList: true, characterData: true, subtree: true });
  look();
}"""


@pytest.fixture
def recorded(server):
    """The server with some minutes of a calm day, which ends now; afterwards as it was."""
    replayed(server, SCENARIO, BEFORE)
    assert server.request("POST", "/api/v1/live/alert-rules/", RULE).status == 201
    yield server
    for address in ("alert-rules/brown-out", "sources/demo-router", "sources/demo-gateway", "watches/demo"):
        server.request("DELETE", f"/api/v1/live/{address}/", login=True)


def test_an_alert_fires_and_ends_and_the_recommended_t_rises_and_comes_back(recorded, visitor):
    page = visitor.open("/live/?watch=demo")
    threshold = page.locator('[data-cell="threshold"]')
    expect(threshold.locator('[data-out="current"]')).to_have_text(f"{IN_FORCE:,}")
    page.evaluate(NOTED)
    alert = page.locator("[data-alerts] tbody tr").filter(has_text="brown-out")
    with replaying(recorded, SCENARIO, BROWN_OUT):
        capacity = page.locator('[data-link-cell] [data-out="capacity"]')
        expect(capacity).to_have_text("6.00")
        expect(alert).to_have_attribute("data-state", "firing")
        page.wait_for_function(f"() => noted.some((t) => t > {1.2 * IN_FORCE})", timeout=UNTIL_SHOWN_MS)
        expect(capacity).to_have_text("100.00")
        expect(alert).to_have_count(0)
        page.wait_for_function(f"() => Math.abs(noted.at(-1) / {IN_FORCE} - 1) < 0.1", timeout=UNTIL_SHOWN_MS)
    ended = page.locator("[data-events]").get_by_role("row").filter(has_text="brown-out")
    expect(ended).to_have_count(1)
    expect(ended).not_to_contain_text("goes on")
