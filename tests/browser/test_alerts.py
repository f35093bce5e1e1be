"""An alert from telemetry to the screen and to a webhook, acknowledged and silenced on the way, and its end."""

import json
import re
import time

import pytest
from playwright.sync_api import expect
from websockets.sync.client import connect

from tests.alerts.receiving import receiving

SLOW_MS = 30_000
"""A machine that is busy with other tests takes its time."""
RULE = {
    "name": "t-too-high", "kind": "threshold", "for_s": 0, "severity": "critical", "runbook": "Lower it.",
    "spec": {"figure": "threshold_tokens", "fire": 24_000, "clear": 20_000},
}  # fmt: skip


class Router:
    """Tells the threshold in force."""

    def __init__(self, socket):
        self.socket = socket
        self.seq = json.loads(socket.recv(10))["last_seq"] or 0

    def tells(self, threshold):
        self.seq += 1
        points = [[round(time.time() * 1000), threshold]]
        reading = {"name": "threshold_tokens", "kind": "gauge", "points": points}
        self.socket.send(json.dumps({"v": 1, "seq": self.seq, "readings": [reading]}))
        answer = json.loads(self.socket.recv(20))
        assert answer.get("accepted") == 1, answer


@pytest.fixture
def router(server):
    server.request("POST", "/api/v1/live/sources/", {"name": "router-t", "labels": {"role": "router"}})
    secret = server.request("POST", "/api/v1/live/sources/router-t/tokens/").document["token"]
    headers = {"Authorization": f"Bearer {secret}"}
    with connect(f"ws://127.0.0.1:{server.port}/ws/ingest/", additional_headers=headers, compression=None) as socket:
        yield Router(socket)
    for address in ("sources/router-t", "alert-rules/t-too-high", "receivers/told"):
        server.request("DELETE", f"/api/v1/live/{address}/", login=True)


def test_an_alert_fires_is_acknowledged_silenced_and_ends_without_a_reload(server, visitor, router):
    with receiving() as told:
        receiver = {"name": "told", "kind": "webhook", "url": told.url(), "matchers": {"alertname": "t-too-high"}}
        for address, body in (("alert-rules", RULE), ("receivers", receiver)):
            assert server.request("POST", f"/api/v1/live/{address}/", body).status == 201
        page = visitor.open("/login/")
        visitor.sign_in()
        visitor.open("/live/alerts/")
        row = page.get_by_role("region", name="Open alerts, table").get_by_role("row").filter(has_text="t-too-high")
        expect(page.get_by_role("heading", name="Open", exact=True)).to_be_visible()
        expect(row).to_have_count(0)

        router.tells(25_000)
        expect(row).to_contain_text("firing", timeout=SLOW_MS)
        expect(row).to_contain_text("threshold_tokens is 25,000; at or above 24,000 it fires")
        expect(page.locator("[data-told]")).to_contain_text("firing")

        row.get_by_role("button", name="Acknowledge").click()
        expect(page.get_by_role("status")).to_contain_text(["t-too-high is acknowledged"])
        expect(row).to_contain_text("admin")
        row.get_by_role("link", name="Silence").click()
        expect(page.get_by_label("Alerts with these labels")).to_have_value(re.compile("alertname=t-too-high"))
        page.get_by_label("For, minutes").fill("5")
        page.get_by_role("button", name="Silence", exact=True).click()
        silence = page.get_by_role("region", name="Silences, table").get_by_role("row").filter(has_text="t-too-high")
        expect(silence).to_contain_text("active")
        silence.get_by_role("button", name="End now").click()
        expect(silence).to_have_count(0)

        visitor.open("/live/alerts/")
        expect(row).to_have_count(1)
        router.tells(19_000)
        ended = page.get_by_role("region", name="Ended alerts, table").get_by_role("row").filter(has_text="t-too-high")
        expect(ended).to_have_count(1, timeout=SLOW_MS)
        expect(row).to_have_count(0)
        ended.get_by_role("link", name="t-too-high").click()
        expect(page.get_by_role("region", name="Messages, table").get_by_text("sent")).to_have_count(2, timeout=SLOW_MS)
        assert [each.json["event"] for each in told.told] == ["firing", "resolved"]
