"""`manage.py replay` against a running server, through its doors: what is read back is what was simulated."""

import re
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.monitoring.replayed import SCENARIO, simulated
from tests.patience import UNTIL_ANSWER_S
from tests.stack.installation import ROOT, Installation, is_gone, until

DURATION_S, BROWN_OUT_BPS = 180.0, 3e9
DAY = f"--die pd-decode 20 80 --reset gateway 160 --brown-out 60 140 {BROWN_OUT_BPS:g}".split()
NAMES = ("router", "prfaas", "pd-prefill", "pd-decode", "gateway")
LAST = {"router": "threshold_tokens", "gateway": "link_capacity_bps"}
"""A signal that each source tells to the end; the others tell what runs."""


@pytest.fixture(scope="module")
def sent(running):
    """The server, and when by its clock the replayed day began, in ms."""
    before_ms = round(time.time() * 1000)
    command = f"manage.py replay {SCENARIO} --url {running.address} --as-recorded --speed 300 --duration {DURATION_S:g}"
    done = subprocess.run(
        [sys.executable, *command.split(), *DAY],
        cwd=ROOT,
        env=running.environment,
        capture_output=True,
        text=True,
        timeout=6 * UNTIL_ANSWER_S,
    )
    assert done.returncode == 0, done.stderr
    until(lambda: has_all(running, before_ms), 30, "the last sample of each source")
    return running, before_ms


def has_all(running, before_ms):
    """Whether what was acknowledged is sorted in, too: every source up to the last second of the day."""
    router = seen(running, LAST["router"], before_ms)
    if not router or router[0]["ts_ms"][-1] - router[0]["ts_ms"][0] < DURATION_S * 1000:
        return False
    lines = [seen(running, LAST.get(name, "running_requests"), before_ms, source=f"demo-{name}") for name in NAMES]
    # A histogram of remote writes that was never met waits for more of its series.
    lines += [seen(running, "uncached_tokens", before_ms, source=f"demo-{name}") for name in ("prfaas", "pd-prefill")]
    return all(lines) and {line["ts_ms"][-1] for each in lines for line in each} == {router[0]["ts_ms"][-1]}


def accepted(running):
    return {each["name"]: each["accepted"] for each in running.request("GET", "/api/v1/live/sources/").document}


def seen(running, signal, before_ms, points=600, **labels):
    window = {"start": before_ms - 190_000, "end": before_ms + 60_000, "points": points, "signal": signal} | labels
    query = "&".join(f"{name}={value}" for name, value in window.items())
    return running.request("GET", f"/api/v1/live/query/?{query}").document["series"]


def test_every_door_has_taken_all_that_it_was_sent(sent):
    running, _ = sent
    sources = running.request("GET", "/api/v1/live/sources/").document
    assert {each["name"]: (each["rejected"], each["accepted"] > 0) for each in sources if "demo" in each["name"]} == {
        f"demo-{name}": (0, True) for name in NAMES
    }


def test_rates_by_route_are_those_of_the_router(sent):
    running, before_ms = sent
    lines = seen(running, "requests", before_ms, role="router")
    lengths = seen(running, "uncached_tokens", before_ms, role="router")
    counts = {line["labels"]["route"]: sum(line["counts"]) for line in lengths}
    for line in lines:
        rate = np.mean([value for value in line["mean"] if value is not None])
        # each request is in the histogram once, and in the counter's rate once
        assert rate * DURATION_S == pytest.approx(counts[line["labels"]["route"]], abs=1)
    total = sum(counts.values())
    assert total == pytest.approx(simulated().requests["arrival_s"].searchsorted(DURATION_S), rel=0.05)


def test_engines_count_the_requests_that_the_router_sends_them(sent):
    running, before_ms = sent
    for route, source in (("remote", "demo-prfaas"), ("local", "demo-pd-prefill")):
        (routed,) = seen(running, "uncached_tokens", before_ms, role="router", route=route)
        prefilled = seen(running, "uncached_tokens", before_ms, source=source)
        waiting_now = sum(line["mean"][-1] for line in seen(running, "queued_requests", before_ms, source=source))
        busy = 4 if route == "remote" else 3
        assert 0 <= sum(routed["counts"]) - sum(sum(line["counts"]) for line in prefilled) <= waiting_now + busy


def test_the_brown_out_is_visible_in_what_the_link_carries_and_could(sent):
    running, before_ms = sent
    (capacity,), (egress,) = seen(running, "link_capacity_bps", before_ms), seen(running, "link_egress_bits", before_ms)
    low = [ts_ms for ts_ms, bps in zip(capacity["ts_ms"], capacity["mean"], strict=True) if bps == BROWN_OUT_BPS]
    assert (low[-1] - low[0]) / 1000 == pytest.approx(80, abs=2)
    during = [
        bps
        for ts_ms, bps in zip(egress["ts_ms"], egress["mean"], strict=True)
        if low[0] + 20_000 < ts_ms < low[-1] - 5000
    ]
    assert np.array(during) == pytest.approx(BROWN_OUT_BPS, rel=1e-4)
    assert max(bps for bps in egress["mean"] if bps is not None) > 1.5 * BROWN_OUT_BPS


def test_the_round_trip_and_what_is_sent_again_rise_in_the_brown_out(sent):
    running, before_ms = sent
    (round_trip,) = seen(running, "link_rtt_s", before_ms, link="wan")
    # 30 ms, and a second that 3 Gbps need for the buffer of 30 ms of 100 Gbps
    assert max(round_trip["mean"]) == pytest.approx(1.03)
    assert round_trip["mean"][30] < 0.06
    (again,), (dropped,) = (
        seen(running, name, before_ms) for name in ("retransmitted_segments", "link_dropped_packets")
    )
    assert max(value for value in again["mean"] if value is not None) > 1
    assert max(value for value in dropped["mean"] if value is not None) > 1


def test_a_dead_source_has_a_gap_and_no_zero(sent):
    running, before_ms = sent
    lines = seen(running, "running_requests", before_ms, source="demo-pd-decode")
    assert len(lines) == 5
    for line in lines:
        gap = np.diff(line["ts_ms"])
        assert gap.max() == pytest.approx(30_500, abs=2000)  # half of a minute's silence: the null is in its middle
        assert line["mean"][int(gap.argmax()) + 1] is None or line["mean"][int(gap.argmax())] is None


def test_over_a_reset_there_is_no_rate_and_none_is_negative(sent):
    running, before_ms = sent
    (egress,) = seen(running, "link_egress_bits", before_ms)
    (capacity,) = seen(running, "link_capacity_bps", before_ms)
    by_time = dict(zip(egress["ts_ms"], egress["mean"], strict=True))
    begins_ms = capacity["ts_ms"][0]
    missing = [(ts_ms - begins_ms) / 1000 for ts_ms, bps in by_time.items() if bps is None]
    assert 160 in np.round(missing)
    assert all(bps >= 0 for bps in by_time.values() if bps is not None)
    assert len(missing) <= 3


def test_the_window_is_a_recording_that_has_the_brown_out(sent):
    running, before_ms = sent
    address = f"/api/v1/live/recording/?start={before_ms - 190_000}&end={before_ms + 60_000}&link=wan"
    found = running.request("GET", address).document
    assert BROWN_OUT_BPS in found["link"]["capacity_bps"]
    assert found["sources"] == ["demo-router"]


def test_a_server_with_a_demo_sends_to_itself_and_scrapes_its_pages(tmp_path):
    installation = Installation("demo", tmp_path)
    installation.server = installation.run(
        "manage.py", "serve", "--demo", "--port", str(installation.port), log="server.log"
    )
    try:
        until(lambda: re.search(r"demo-pd-decode by page", installation.log("server.log")), 60, "the start of the demo")
        until(
            lambda: all(accepted(installation).get(f"demo-{name}") for name in NAMES), 40, "something from each source"
        )
        until(lambda: shown(installation), 20, "a snapshot of what is replayed")
        until(lambda: advised(installation), 20, "an advice on it, for all to see")
        children = installation.processes()
    finally:
        installation.kill_server()  # the hardest end: it can tell nobody
    until(lambda: all(is_gone(child.pid) for child in children), 10, "the end of all that it started")


def shown(installation):
    """Whether the live view has the watch of the demo, with rates and a link."""
    answer = installation.request("GET", "/api/v1/live/snapshot/")
    if answer.status != 200:
        return False
    (watch,) = answer.document["watches"]
    assert (watch["name"], watch["scenario"]) == ("demo", SCENARIO)
    return watch["requests_rps"]["local"]["value"] is not None and watch["links"][0]["egress_bps"]["age"] == "live"


def advised(installation):
    """Whether it is advised on from what is seen: over REST, in the audit log, and in /metrics."""
    address = "/api/v1/live/watches/demo/"
    told = installation.request("GET", f"{address}recommendation/").document
    rows = installation.request("GET", f"{address}recommendations/?page_size=1").document["results"]
    if not rows or told["current_threshold_tokens"] is None:
        return False
    metrics = installation.request("GET", "/metrics").document
    assert rows[0]["inputs"]["scenario"] == SCENARIO
    return told["advice"]["samples"] > 0 and b'prfaas_planner_recommendation_valid{watch="demo"}' in metrics
