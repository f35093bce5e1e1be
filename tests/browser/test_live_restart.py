"""The SRE's screen before a real server that is killed, and is there again: no reload, nothing that falls to zero."""

import contextlib
import json
import threading
import time

import pytest
from playwright.sync_api import expect
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.browser.conftest import Visitor
from tests.patience import UNTIL_SHOWN_MS
from tests.stack.installation import Installation

EGRESS_BPS, CAPACITY_BPS = 6e9, 10e9


class Gateway:
    """Tells the octets of a link twice a second, whoever listens; its counter goes on meanwhile."""

    def __init__(self, installation):
        self._address = f"ws://127.0.0.1:{installation.port}/ws/ingest/"
        assert (
            installation.request("POST", "/api/v1/live/sources/", {"name": "gateway", "labels": {"link": "wan"}}).status
            == 201
        )
        self._token = installation.request("POST", "/api/v1/live/sources/gateway/tokens/").document["token"]
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ending.set()
        self._thread.join()

    def _run(self):
        while not self._ending.is_set():
            with contextlib.suppress(OSError, WebSocketException, EOFError):
                self._talk()
            self._ending.wait(0.2)

    def _talk(self):
        with connect(
            self._address, additional_headers={"Authorization": f"Bearer {self._token}"}, open_timeout=5
        ) as socket:
            socket.recv(5)
            while not self._ending.wait(0.5):
                ts_ms = round(time.time() * 1000)
                bits, capacity = EGRESS_BPS * ts_ms / 1000, CAPACITY_BPS
                readings = [
                    {"name": "link_egress_bits", "kind": "counter", "points": [[ts_ms, bits]]},
                    {"name": "link_capacity_bps", "kind": "gauge", "points": [[ts_ms, capacity]]},
                ]
                socket.send(json.dumps({"v": 1, "seq": ts_ms, "readings": readings}))
                socket.recv(5)


@pytest.fixture
def installation(tmp_path):
    installation = Installation("restarted", tmp_path)
    installation.start_server()
    yield installation
    installation.stop()


SEEN = """() => {
  window.seen = new Set();
  const places = () => document.querySelectorAll('[data-out="egress"]');
  const look = () => { for (const place of places()) seen.add(place.textContent); };
  new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
  look();
}"""
DRAWN = """() => {
  const { data } = document.querySelector('[data-chart="egress"] [data-plot]');
  return [...data.find(({ name }) => name === "egress").y].filter((value) => !Number.isNaN(value));
}"""


def test_a_server_that_is_killed_and_is_there_again_is_followed_without_a_reload_or_a_zero(chromium, installation):
    with (
        contextlib.closing(chromium.new_context(viewport={"width": 1280, "height": 900})) as context,
        Gateway(installation),
    ):
        page = Visitor(context.new_page(), installation).open("/live/")
        connection, egress = page.locator("[data-connection]"), page.locator('[data-link-cell] [data-out="egress"]')
        expect(egress).to_have_text("6.00", timeout=UNTIL_SHOWN_MS)
        expect(connection).to_have_attribute("data-connection", "live")
        page.evaluate(SEEN)
        installation.kill_server()
        expect(connection).not_to_have_attribute("data-connection", "live", timeout=UNTIL_SHOWN_MS)
        installation.start_server()
        expect(connection).to_have_attribute("data-connection", "live", timeout=UNTIL_SHOWN_MS)
        expect(page.locator("[data-link-cell]:not([data-age])")).to_have_count(1, timeout=UNTIL_SHOWN_MS)
        expect(egress).to_have_text("6.00")
        assert page.evaluate("() => [...seen]") == ["6.00"]
        drawn = page.evaluate(DRAWN)
        assert min(drawn) == pytest.approx(EGRESS_BPS / 1e9, rel=0.01)
