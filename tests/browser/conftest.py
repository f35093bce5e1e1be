"""A real Chromium in front of the real server."""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.live_screen import Screen
from tests.patience import UNTIL_ANSWER_S, UNTIL_SHOWN_MS
from tests.stack.installation import PASSWORD, ROOT, Installation

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


WINDOW = {"width": 1280, "height": 900}


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if not CHROMIUM.exists():
                item.add_marker(pytest.mark.skip(reason=f"no Chromium at {CHROMIUM}"))


# A page is there before its scripts have run: what is clicked or chosen in between would be nobody's.
LOADING = """
new MutationObserver((changes, observer) => {
  if (!document.documentElement) return;
  document.documentElement.dataset.loading = "";
  observer.disconnect();
}).observe(document, { childList: true });
addEventListener("load", () => { delete document.documentElement.dataset.loading; });
"""


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    """The product as `make serve` starts it, with the real mathematics."""
    # Patient with heartbeats: a machine busy with other tests is not a dead worker.
    variables = {
        "DJANGO_SETTINGS_MODULE": "tests.browser.settings",
        "JOB_HEARTBEAT_TIMEOUT_S": "20",
        "PLANNER_CASE_STUDY_REQUESTS": "1000",
        "PLANNER_CASE_STUDY_REPLICATIONS": "2",
    }
    installation = Installation("browser", tmp_path_factory.mktemp("browser"), variables)
    with contextlib.ExitStack() as closing:
        closing.callback(installation.stop)
        yield installation.start()


@dataclass(frozen=True)
class HalfHour:
    """What was recorded of a watch, in epoch milliseconds."""

    watch: str
    window: dict


@pytest.fixture(scope="package")
def half_hour(server):
    """Telemetry of half an hour with a brown-out, as the doors would have stored it in the last hour, and its watch."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.monitoring.plant"],
        cwd=ROOT, env=server.environment, capture_output=True, text=True, timeout=UNTIL_ANSWER_S, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    watch, start, end = run.stdout.split()
    return HalfHour(watch, {"start": int(start), "end": int(end)})


# Playwright keeps an event loop in this thread, in which no asynchronous test could run: it ends with this package.
@pytest.fixture(scope="package")
def chromium():
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=UNTIL_SHOWN_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


class Visitor:
    """One tab, and all that went wrong in it."""

    def __init__(self, page, server):
        self.page, self.server = page, server
        self.asked, self.complaints = [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("websocket", lambda socket: self.asked.append(socket.url))
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.add_init_script(LOADING)
        # Asked for before every click, choice and expectation, on whatever page the one before has led to.
        page.add_locator_handler(page.locator("html[data-loading]"), lambda: page.wait_for_load_state())

    def _console(self, message):
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def begin_anew(self):
        """As somebody who has never been here: no account, no choices, no page."""
        self.page.unroute_all()
        self.page.emulate_media(media="null", color_scheme="null")
        self.page.set_viewport_size(WINDOW)
        self.open("/login/")  # the lightest page; an empty one would be another process's
        self.page.context.clear_cookies()
        session = self.page.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {"origin": self.server.address, "storageTypes": "local_storage"})
        session.detach()
        self.asked.clear()
        self.complaints.clear()

    def saw_no_mistake(self):
        """Nothing was asked of another host, and nothing complained of."""
        assert {urlsplit(address).hostname for address in self.asked} <= {"127.0.0.1", None}
        assert self.complaints == []

    def open(self, path="/case-study/"):
        self.page.goto(self.server.address + path)
        return self.page

    def whatif_ms(self):
        """How long the latest what-if took; waits until there was one."""
        self.page.locator("[data-whatif][data-whatif-ms]").wait_for()
        return float(self.page.locator("[data-whatif]").get_attribute("data-whatif-ms"))

    def sign_in(self):
        self.page.get_by_label("Username").fill("admin")
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        self.page.wait_for_url(lambda url: "/login/" not in url)


@pytest.fixture
def visit(chromium, server):
    """Opens tabs of visitors who know nothing of each other; at the end none of them may have seen a mistake."""
    with contextlib.ExitStack() as closing:
        visitors = []

        def new(width=WINDOW["width"], **options):
            context = closing.enter_context(window(chromium, viewport=WINDOW | {"width": width}, **options))
            visitors.append(Visitor(context.new_page(), server))
            return visitors[-1]

        yield new
        for visitor in visitors:
            visitor.saw_no_mistake()


@contextlib.contextmanager
def window(chromium, **options):
    context = chromium.new_context(**options)
    context.set_default_timeout(UNTIL_SHOWN_MS)
    with contextlib.closing(context):
        yield context


@pytest.fixture(scope="package")
def tab(chromium, server):
    """One for all visitors who need no more: a new one costs a second of processor time."""
    with window(chromium, viewport=WINDOW) as context:
        yield Visitor(context.new_page(), server)


@pytest.fixture
def visitor(tab):
    """Somebody who has never been here; at the end no mistake may have been seen."""
    tab.begin_anew()
    yield tab
    tab.saw_no_mistake()


@pytest.fixture
def screen(visit):
    """Opens tabs that look at the live screen before a server that says what the test tells it."""
    return lambda **options: Screen(visit(), **options)
