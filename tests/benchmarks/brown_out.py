"""How long a brown-out takes from the link to the screen: sent by `manage.py replay`, seen by a real browser."""

import argparse
import csv
import io
import math
import os
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.stack.installation import Installation
from tests.stack.replays import replaying

SCENARIO = "case-study-prfaas-pd"
ROUNDS, A_ROUND = 10, 10
"""Each round begins anew, so that its samples come at another time of the server's second."""
FIRST_S, EVERY_S, LASTS_S = 5, 3, 2
"""Of a round: a token that was just made is not known at once."""
LOWEST_BPS, STEP_BPS = 6e9, 1e8
"""Each brown-out of a round carries another rate, by which the screen shows which one it is."""
GOLDEN = 0.618034
WITHIN_MS = 10_000
"""Of a sample, after which its brown-out was missed."""

# Of each snapshot: when it was here, when it was made, and what the link carries.
HEARD = """{
  const Real = WebSocket;
  window.heard = [];
  window.WebSocket = class extends Real {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        const { ts_ms, watches } = JSON.parse(data);
        const bps = watches.find(({ name }) => name === "demo")?.links[0]?.capacity_bps.value;
        heard.push([bps ?? 0, Date.now(), ts_ms]);
      });
    }
  };
}"""
# A page is drawn once a frame, and this is called before it is on the screen: it is there when the next frame begins.
NOTED = """() => {
  window.noted = [];
  let before = "";
  const look = () => {
    const capacity = document.querySelector('[data-link-cell] [data-out="capacity"]');
    if (!capacity || capacity.textContent === before) return;
    before = capacity.textContent;
    const said = before;
    requestAnimationFrame(() => noted.push([Number(said) * 1e9 || 0, Date.now()]));
  };
  new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
}"""


def begins_s(a_round):
    """Of each brown-out of a round: evenly over the second between two samples, as a link does not wait for them."""
    at = np.arange(a_round)
    return FIRST_S + EVERY_S * at + (at * GOLDEN + 0.5 * GOLDEN) % 1


def carried_bps(a_round):
    return LOWEST_BPS + STEP_BPS * np.arange(a_round)


def arguments(rounds, a_round):
    """Of `replay`, at speed 1: a second is a second."""
    pairs = zip(begins_s(a_round), carried_bps(a_round), strict=True)
    windows = [f"--brown-out {begin:.3f} {begin + LASTS_S:.3f} {bps:.0f}" for begin, bps in pairs]
    duration_s = FIRST_S + EVERY_S * a_round + 1
    return f"--speed 1 --duration {duration_s} --rounds {rounds} {' '.join(windows)}"


def watched(installation, given):
    """What snapshots said that the link carries, and what the strip did, each with its times in ms."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(HEARD)
        page.goto(f"{installation.address}/live/?watch=demo")
        page.evaluate(NOTED)
        with replaying(installation, SCENARIO, given) as replay:
            while replay.poll() is None:
                page.wait_for_timeout(500)
        page.wait_for_timeout(WITHIN_MS / 5)
        found = page.evaluate("() => [heard, noted]")
        browser.close()
    return found


def sent(installation):
    """What the gateway told of the link: time in ms and bit/s of each sample."""
    address = "/api/v1/live/export/?signal=link_capacity_bps&source=demo-gateway&start=-2h"
    rows = csv.DictReader(io.StringIO(installation.request("GET", address).document.decode()))
    return [(int(row["ts_ms"]), float(row["value"])) for row in rows]


def delays_s(samples, heard, noted, a_round):
    """Of each brown-out that was seen: to its snapshot, to the browser, to the screen; then from its sample, and from
    when the link fell, to the screen."""
    ends = (math.ceil(begin) - begin for begin in begins_s(a_round))
    waits_s = dict(zip(carried_bps(a_round), ends, strict=True))
    found = []
    for (_, before_bps), (ts_ms, bps) in pairwise(samples):
        if bps == before_bps or bps not in waits_s:
            continue
        (shown_ms,), (heard_ms, made_ms) = first(noted, bps, ts_ms, 1), first(heard, bps, ts_ms, 2)
        times_s = np.array([ts_ms, made_ms, heard_ms, shown_ms]) / 1000
        total_s = times_s[-1] - times_s[0]
        found.append((*np.diff(times_s), total_s, total_s + waits_s[bps]))
    found = np.array(found).reshape(-1, 5)
    return found[~np.isnan(found).any(axis=1)]


def first(rows, bps, ts_ms, times):
    """The times of the first of the rows that says so, after a sample and not too late; NaN if there is none."""
    return next(
        (at for said, *at in rows if round(said) == bps and 0 <= at[0] - ts_ms <= WITHIN_MS), [math.nan] * times
    )


PARTS = ("sample to snapshot", "snapshot to browser", "browser to screen", "sample to screen", "link to screen")


def summary(found, wanted, skew_ms, loads):
    """Lines."""
    yield f"  {wanted - len(found)} of {wanted} were not seen within {WITHIN_MS / 1000:g} s"
    for what, delay_s in zip(PARTS, found.T, strict=True):
        if delay_s.size:
            median, late = np.quantile(delay_s, [0.5, 0.95])
            yield f"  {what:<20} median {median:.2f} s, P95 {late:.2f} s, most {delay_s.max():.2f} s"
    yield f"  samples were received {-skew_ms} ms after their time; load {loads[0]:.1f} before, {loads[1]:.1f} after"


def lines(rounds=ROUNDS, a_round=A_ROUND):
    """For `make bench`."""
    yield f"brown-outs on the screen: {rounds} replays at speed 1, {a_round} each, Chromium on /live/, SQLite"
    with tempfile.TemporaryDirectory() as directory:
        installation = Installation("brown-out", Path(directory), {"DJANGO_SETTINGS_MODULE": "config.settings"})
        installation.start_server()
        try:
            before = os.getloadavg()[0]
            heard, noted = watched(installation, arguments(rounds, a_round))
            skew_ms = installation.request("GET", "/api/v1/live/sources/demo-gateway/").document["skew_ms"]
            found = delays_s(sent(installation), heard, noted, a_round)
            yield from summary(found, rounds * a_round, skew_ms, (before, os.getloadavg()[0]))
        finally:
            installation.stop()


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.brown_out", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--a-round", type=int, default=A_ROUND)
    given = parser.parse_args()
    for line in lines(given.rounds, given.a_round):
        print(line, flush=True)


if __name__ == "__main__":
    main()
