"""What charts show over time: the names and figures of snapshots, gaps where nothing was known, never a zero."""

import math
import time

import numpy as np
import pytest
from django.test import Client

from monitoring import mappings
from monitoring.live import history, ticks
from monitoring.live.messages import Snapshot
from monitoring.live.watched import Watched, named
from monitoring.mapping.engine import State, map_readings
from monitoring.models import Entered, Rollup, Sample, Watch
from monitoring.replaying.pace import Pace
from tests.monitoring.living import T0, Leader, counter, gauge, histogram, source
from tests.monitoring.replayed import sources

pytestmark = pytest.mark.django_db
ALL = Watched("all")


@pytest.fixture
def leader():
    return Leader()


def at(seconds):
    return T0 + round(seconds * 1000)


def over(begin_s, end_s, points=600, watch=ALL):
    return history.over(watch, at(begin_s), at(end_s), at(end_s), points)


def known(values):
    """By second, without those that are not known."""
    return {second: value for second, value in enumerate(values.tolist()) if not math.isnan(value)}


# --- the same as snapshots ---------------------------------------------------------------------------------------


def test_history_has_the_names_of_snapshots_and_ends_with_their_values(leader):
    for name, each in sources().items():
        readings = each.readings(np.arange(0.0, 121.0).tolist(), 0.0, Pace(T0, 1.0))
        sent = map_readings(readings, each.labels, mappings.compiled_for(each.systems), State()).mapped
        leader.store(source(name), *sent)
    points, found = leader.watch(at(120)).points, over(0, 121)
    assert found.lines.keys() == points.keys()
    compared = 0
    for name, value in points.items():
        seconds = found.lines[name].mean[-10:]
        if value is None or name.startswith(("offload", "link_utilisation", "utilisation", "resent")):
            continue
        # a snapshot's rates are of ten seconds
        expected = (
            seconds.mean() if name.startswith(("egress", "kv_bps", "requests")) or "_tps" in name else seconds[-1]
        )
        assert value == pytest.approx(expected, rel=1e-6), name
        compared += 1
    assert compared >= 20
    assert found.counts.keys() == {"local", "remote"}


# --- by hand -----------------------------------------------------------------------------------------------------


def wan(leader, gateway, bps, seconds, begin_s=0, capacity=10e9):
    leader.store(
        gateway,
        counter("link_egress_bits", np.arange(seconds) * bps + begin_s * bps, begin_s=begin_s, link="wan"),
        gauge("link_capacity_bps", [capacity] * seconds, begin_s=begin_s, link="wan"),
    )


def test_a_silence_is_a_gap_and_no_zero(leader):
    gateway = source("gw")
    wan(leader, gateway, 4e9, 30)
    wan(leader, gateway, 4e9, 30, begin_s=200)  # longer than the longest interval of which a rate is told
    egress = over(0, 230).lines["egress_bps.wan"].mean
    shown = known(egress)
    assert set(shown.values()) == {4e9}
    # from the first interval on, ten seconds after the last, and again from the next interval on
    assert sorted(shown) == [*range(1, 40), *range(201, 230)]


def test_what_restarts_makes_no_spike(leader):
    counts = [*(np.arange(30) * 1e9), *(np.arange(30) * 1e9)]
    leader.store(source("gw"), counter("link_egress_bits", counts, link="wan"))
    assert set(known(over(0, 60).lines["egress_bps.wan"].mean).values()) == {1e9}


def test_a_rate_is_no_more_than_the_link_carried_then(leader):
    gateway = source("gw")
    wan(leader, gateway, 12e9, 30)
    found = over(0, 30).lines
    assert set(known(found["egress_bps.wan"].mean).values()) == {10e9}
    assert set(known(found["link_utilisation.wan"].mean).values()) == {1.0}
    assert found["egress_bps.wan"].high[-1] == 10e9


def test_no_request_is_counted_twice_and_a_sum_with_a_hole_is_not_told(leader):
    engines = {name: source(name) for name in "ab"}
    for name, rate in (("a", 1.0), ("b", 2.0)):
        sent = np.arange(30 if name == "b" else 60) * rate
        leader.store(engines[name], counter("requests", sent, role="prefill", route="local", instance=name))
    local = known(over(0, 60).lines["requests_rps.local"].mean)
    assert [local.get(second) for second in (20, 39, 40, 59)] == [3.0, 3.0, None, None]
    leader.store(source("router"), counter("requests", np.arange(60) * 3.5, role="router", route="local"))
    assert set(known(over(0, 60).lines["requests_rps.local"].mean).values()) == {3.5}


def test_what_is_sampled_seldom_is_in_a_sum_from_the_first_step_on(leader):
    fleet = source("fleet")
    leader.store(
        fleet,
        gauge("instances", [2.0] * 10, step_s=15, role="decode", instance="a"),
        gauge("instances", [3.0] * 10, begin_s=14, step_s=15, role="decode", instance="b"),
    )
    assert over(60, 100).lines["instances.decode"].mean.tolist() == [5.0] * 40


def test_percentiles_are_of_the_minute_that_ends_with_a_step(leader):
    bounds = [1.0, 2.0, 4.0]
    rows = [[10, 0, 0, 0]] * 90 + [[0, 0, 10, 0]] * 90
    leader.store(source(), histogram("ttft_s", rows, bounds, role="router", route="local"))
    p50 = over(0, 180).lines["ttft_s.p50"].mean
    # all below 1; then as many below 1 as up to 4; then all from 2 to 4
    assert (p50[60], p50[119], p50[179]) == pytest.approx((0.5, 1.0, 3.0))
    lengths = over(100, 180)
    assert (lengths.bounds, lengths.counts) == ([], {})


def test_lengths_are_those_of_the_window(leader):
    rows = [[1, 2, 0]] * 60 + [[0, 1, 3]] * 60
    leader.store(source(), histogram("uncached_tokens", rows, [1024, 8192], role="router", route="remote"))
    assert over(60, 120).counts == {"remote": [0.0, 60.0, 180.0]}
    assert over(60, 120).as_json()["lengths"]["window_s"] == 60.0


def test_where_no_telemetry_tells_what_was_entered_last_counts(leader):
    watch = Watch.objects.create(name="west")
    for second, value in ((10, 1024.0), (15, None), (20, 8192.0), (40, 4096.0)):
        Entered.objects.create(watch=watch, what="threshold_tokens", value=value, at_ms=at(second))
    leader.store(source(), gauge("threshold_tokens", [19_400.0] * 5, begin_s=50, role="router"))
    found = known(over(0, 60, watch=named("west")).lines["threshold_tokens"].mean)
    assert [found.get(second) for second in (0, 14, 15, 19, 20, 39, 40, 49, 50, 54)] == [
        None, 1024.0, None, None, 8192.0, 8192.0, 4096.0, 4096.0, 19_400.0, 19_400.0,
    ]  # fmt: skip


# --- steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "points", "step_s", "resolution_s"), [(600, 600, 1, 0), (1800, 100, 20, 10), (7200, 60, 120, 60)]
)
def test_longer_windows_have_longer_steps_from_rollups_and_the_same_rates(
    leader, seconds, points, step_s, resolution_s
):
    wan(leader, source("gw"), 4e9, 1300)
    found = history.over(ALL, at(0) + 300, at(seconds) + 300, at(seconds), points)
    assert (found.on.step_ms, found.on.resolution_s, found.on.steps <= points) == (step_s * 1000, resolution_s, True)
    values = set(known(found.lines["egress_bps.wan"].mean).values())
    assert [round(value) for value in values] == [4_000_000_000]


def test_the_same_hour_of_the_day_before_is_another_window(leader):
    wan(leader, source("gw"), 4e9, 60)
    wan(leader, source("gw-after"), 5e9, 60, begin_s=86_400)
    before, after = over(0, 60), over(86_400, 86_460)
    assert (before.on.step_ms, before.on.steps) == (after.on.step_ms, after.on.steps)
    found = (before.lines["egress_bps.wan"].mean[-1], after.lines["egress_bps.wan"].mean[-1])
    assert found == pytest.approx((4e9, 5e9))


@pytest.mark.parametrize(("days", "resolution_s"), [(0, 0), (3, 10), (10, 60), (60, 600), (900, 600)])
def test_what_is_long_ago_is_read_from_what_is_still_kept_of_it(leader, days, resolution_s):
    wan(leader, source("gw"), 4e9, 600)
    if resolution_s:
        Sample.objects.all().delete()
    Rollup.objects.filter(resolution_s__lt=resolution_s).delete()
    found = history.over(ALL, at(0), at(600), at(600) + days * 86_400_000)
    assert found.on.resolution_s == resolution_s
    assert found.lines["egress_bps.wan"].mean[-1] == pytest.approx(4e9)


def test_of_very_many_series_rollups_are_read(leader, monkeypatch):
    monkeypatch.setattr(history, "MOST_SAMPLES", 5 * 600)
    source_of = source("fleet")
    for number in range(6):
        busy = gauge("busy_instances", [1.0] * 600, role="decode", instance=str(number))
        leader.store(source_of, busy, gauge("running_requests", [9.0] * 600, role="decode", instance=str(number)))
    found = over(0, 600)
    assert (found.on.resolution_s, found.on.step_ms) == (10, 10_000)
    assert over(0, 400).on.resolution_s == 0


# --- over REST ---------------------------------------------------------------------------------------------------

HISTORY = "/api/v1/live/watches/all/history/"


def get(address, **query):
    return Client().get(address, query)


def test_history_over_rest_has_null_where_nothing_was_measured(leader, monkeypatch):
    monkeypatch.setattr("monitoring.state.loading.now_ms", lambda: at(25))
    wan(leader, source("gw"), 4e9, 5)
    answer = get(HISTORY, start=at(0), end=at(20), points=600).json()
    assert (answer["v"], answer["watch"], answer["step_ms"], answer["start_ms"]) == (1, "all", 1000, at(0))
    assert answer["ts_ms"] == [at(second) for second in range(20)]
    assert answer["lines"]["egress_bps.wan"]["mean"] == [None] + [4e9] * 14 + [None] * 5


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"start": "later"}, "start"), ({"points": "601"}, "points"), ({"points": "1"}, "points"),
        ({"start": str(10**14)}, "start"), ({"start": "2000", "end": "1000"}, "start"),
    ],
)  # fmt: skip
def test_a_window_that_cannot_be_is_refused_by_field(query, field):
    answer = get(HISTORY, **query)
    assert answer.status_code == 400, answer.content
    assert field in {each["field"] for each in answer.json()["errors"]}


def test_a_watch_that_is_not_there_has_no_history():
    assert get("/api/v1/live/watches/none/history/").status_code == 404
    Watch.objects.create(name="west")
    assert get(HISTORY).status_code == 404  # what is over everything is there while nobody has made a watch


# --- snapshots by number -----------------------------------------------------------------------------------------


def stored(count, begin_ms=0):
    for number in range(count):
        ticks.store(Snapshot(0, begin_ms + number * 1000, [], []))


def test_the_newest_snapshot_is_told_once_to_who_has_it():
    assert get("/api/v1/live/snapshot/").status_code == 404
    stored(3)
    answer = get("/api/v1/live/snapshot/")
    assert answer.json()["seq"] == 3
    again = Client().get("/api/v1/live/snapshot/", headers={"if-none-match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    stored(1)
    assert Client().get("/api/v1/live/snapshot/", headers={"if-none-match": answer.headers["ETag"]}).status_code == 200


def test_what_was_missed_is_told_by_number_and_what_is_no_longer_kept_is_a_gap():
    now_ms = round(time.time() * 1000)
    stored(5, now_ms)
    answer = get("/api/v1/live/ticks/", since=2).json()
    assert ([each["seq"] for each in answer["ticks"]], answer["gap"], answer["more"]) == ([3, 4, 5], False, False)
    stored(15, now_ms + ticks.KEPT_MS)  # the twentieth deletes what is older
    answer = get("/api/v1/live/ticks/", since=2).json()
    assert (answer["ticks"][0]["seq"] > 3, answer["gap"]) == (True, True)
    assert get("/api/v1/live/ticks/", since=20).json()["ticks"] == []
    for wrong in ("-1", "x", "1e3", "9" * 30):
        assert get("/api/v1/live/ticks/", since=wrong).status_code == 400


def test_of_many_that_were_missed_the_oldest_are_told_first(monkeypatch):
    stored(5)
    found = ticks.since(1, most=2)
    assert (len(found.ticks), found.has_more, found.has_gap) == (2, True, False)
