"""One tab that looks at a fake server of snapshots."""

from playwright.sync_api import expect

from tests.browser.live_fake import FakeLive

SHORT = "/live/?range=5m&zone=utc"


class Screen:
    """One tab that looks at the fake."""

    def __init__(self, visitor, **options):
        self.visitor, self.page = visitor, visitor.page
        self.fake = FakeLive(self.page, **options)

    def open(self, address=SHORT, height=340):
        # Timers are the test's: nobody waits for seconds to pass. Charts are below: only those that a test looks at
        # are drawn, each second anew.
        self.page.set_viewport_size({"width": 1280, "height": height})
        self.page.clock.install()
        self.visitor.open(address)
        return self

    def later(self, ms):
        self.page.clock.fast_forward(ms)

    @property
    def connection(self):
        return self.page.locator("[data-connection-text]")

    def out(self, cell, name):
        return self.page.locator(f'[data-cell="{cell}"] [data-out="{name}"]')

    @property
    def egress(self):
        return self.page.locator('[data-link-cell] [data-out="egress"]')

    def chart(self, name="egress"):
        """A chart, drawn."""
        figure = self.page.locator(f'[data-chart="{name}"]')
        figure.scroll_into_view_if_needed()
        expect(figure.locator(".main-svg").first).to_be_visible()
        return figure

    def table(self, chart="egress"):
        """The rows behind a chart."""
        figure = self.chart(chart)
        figure.locator("summary").click()
        return figure.locator("tbody")

    def forgive(self):
        """The browser itself complains of what it cannot reach; that is what the test is about."""
        self.visitor.complaints = [text for text in self.visitor.complaints if "ERR_" not in text]
