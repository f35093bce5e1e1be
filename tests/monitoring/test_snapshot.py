"""What a viewer sees of now: nothing counted twice, no sum with a hole, what is old said to be old."""

import numpy as np
import pytest

from monitoring import mappings
from monitoring.live.messages import AdviceNow, AlertNow, Pair
from monitoring.mapping.engine import State, map_readings
from monitoring.models import Entered, Source, Watch
from monitoring.replaying.pace import Pace
from tests.monitoring.living import T0, Leader, counter, gauge, histogram, source
from tests.monitoring.replayed import simulated, sources

pytestmark = pytest.mark.django_db
MINUTE_MS = 60_000


@pytest.fixture
def leader():
    return Leader()


def at(seconds):
    return T0 + round(seconds * 1000)


# --- one deployment ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told():
    """Of each source, all series of the first two minutes of a simulated day."""
    times = np.arange(0.0, 121.0)
    found = {}
    for name, each in sources().items():
        readings = each.readings(times.tolist(), 0.0, Pace(T0, 1.0))
        found[name] = map_readings(readings, each.labels, mappings.compiled_for(each.systems), State()).mapped
    return found


def test_requests_are_those_that_were_simulated_though_router_and_engines_tell_of_them(leader, told):
    for name, series in told.items():
        leader.store(Source.objects.create(name=name), *series)
    watch = leader.watch(at(120.2))
    arrivals = simulated().requests
    for number, route in enumerate(("local", "remote")):
        own = arrivals[arrivals["route"] == number]["arrival_s"]
        assert watch.requests_rps[route].value * 10 == ((own > 110) & (own <= 120)).sum()
    counts = {route: sum(counts) for route, counts in watch.lengths.counts.items()}
    assert sum(counts.values()) == pytest.approx((arrivals["arrival_s"] <= 120).sum(), rel=0.1)
    assert {role.role: role.instances.value for role in watch.roles} == {"prfaas": 4.0, "prefill": 3.0, "decode": 5.0}
    waiting = {(queue.stage, queue.bound, queue.role) for queue in watch.queues}
    assert waiting >= {
        ("transfer", "link", "prfaas"),
        ("prefill", "compute", "prefill"),
        ("decode", "compute", "decode"),
    }
    assert ("transfer", "link", "decode") not in waiting  # the same requests, as the decoders tell
    (link,) = watch.links
    assert (link.name, link.capacity_bps.value, link.is_clamped) == ("wan", 100e9, False)
    assert link.kv_bps.value == pytest.approx(link.egress_bps.value, rel=0.2)
    assert watch.name == "all"


def test_without_a_router_engines_are_added_up(leader):
    for name in ("a", "b"):
        leader.store(source(name), counter("requests", range(0, 60, 2), role="prefill", route="local", instance=name))
    assert leader.watch(at(29)).requests_rps["local"].value == pytest.approx(4.0)
    assert leader.watch(at(29)).requests_rps["remote"].age == "absent"


def test_series_of_a_router_go_before_engines_from_the_same_source_too(leader):
    leader.store(
        source("prometheus"),
        counter("requests", range(30), role="router", route="local"),
        counter("requests", range(30), role="prefill", route="local", instance="a"),
        gauge("queued_requests", [3.0] * 30, role="prefill", stage="prefill", bound="compute", instance="a"),
        gauge("queued_requests", [4.0] * 30, role="prefill", stage="prefill", bound="compute", instance="b"),
    )
    watch = leader.watch(at(29))
    assert watch.requests_rps["local"].value == pytest.approx(1.0)
    assert [queue.requests.value for queue in watch.queues] == [7.0]


# --- links -------------------------------------------------------------------------------------------------------


def wan(leader, gateway, bps, capacity, seconds=30):
    leader.store(
        gateway,
        counter("link_egress_bits", np.arange(seconds) * bps, link="wan"),
        gauge("link_capacity_bps", [capacity] * seconds, link="wan"),
    )


def test_a_rate_is_shown_as_no_more_than_the_link_carries_and_that_is_said(leader):
    wan(leader, source("gw"), 12e9, 10e9)
    (link,) = leader.watch(at(29)).links
    assert (link.egress_bps.value, link.utilisation.value, link.is_clamped) == (10e9, 1.0, True)


def test_a_link_that_is_full_is_not_said_to_be_overfull_for_a_late_reading(leader):
    wan(leader, source("gw"), 10e9 * 1.0005, 10e9)
    (link,) = leader.watch(at(29)).links
    assert (link.egress_bps.value, link.is_clamped) == (10e9, False)


def test_a_source_that_falls_silent_is_stale_then_absent_and_never_zero(leader):
    wan(leader, source("gw"), 4e9, 10e9)
    seen = {after: leader.watch(at(29 + after)).links[0].egress_bps for after in (0, 10, 11, 299, 301)}
    assert [(each.value, each.age) for each in seen.values()] == [
        (4e9, "live"), (4e9, "live"), (4e9, "stale"), (4e9, "stale"), (None, "absent"),
    ]  # fmt: skip
    assert seen[11].ts_ms == at(29)
    watch = leader.watch(at(40))
    assert watch.points["egress_bps.wan"] is None
    assert watch.points.keys() == leader.watch(at(29)).points.keys()


def test_a_clock_that_is_ahead_does_not_keep_a_silence_from_being_seen(leader):
    gateway = source("gw")
    wan(leader, gateway, 4e9, 10e9)
    Source.objects.update(skew_ms=25_000)
    assert leader.watch(at(29 - 25 + 11)).links[0].egress_bps.age == "stale"
    Source.objects.update(skew_ms=-25_000)
    assert leader.watch(at(29)).links[0].egress_bps.age == "live"


def test_what_is_resent_is_a_share_and_of_none_sent_not_known(leader):
    gateway = source("gw")
    leader.store(
        gateway,
        counter("link_egress_bits", range(30), link="wan"),
        counter("retransmitted_segments", np.arange(30) * 2.0, link="wan"),
        counter("sent_segments", np.arange(30) * 100.0, link="wan"),
    )
    assert leader.watch(at(29)).links[0].resent.value == pytest.approx(0.02)
    leader.store(
        gateway,
        counter("retransmitted_segments", [58.0] * 20, begin_s=30, link="wan"),
        counter("sent_segments", [2900.0] * 20, begin_s=30, link="wan"),
    )
    assert leader.watch(at(49)).links[0].resent.value is None


# --- sums --------------------------------------------------------------------------------------------------------


def decoders(leader, names, source_of, seconds=30, begin_s=0):
    for name in names:
        rising = np.arange(seconds) * 100.0
        leader.store(source_of(name), counter("output_tokens", rising, begin_s=begin_s, role="decode", instance=name))


def test_a_sum_with_a_silent_part_is_stale_then_absent_then_without_it(leader):
    own = {name: source(name) for name in "ab"}
    decoders(leader, "ab", own.get)
    assert leader.watch(at(29)).output_tps.value == pytest.approx(200.0)
    decoders(leader, "a", own.get, seconds=700, begin_s=30)
    assert [leader.watch(at(each)).output_tps.age for each in (45, 300, 400)] == ["stale", "stale", "absent"]
    assert leader.watch(at(400)).output_tps.value is None
    assert leader.watch(at(29 + 601)).output_tps.value == pytest.approx(100.0)


def test_an_instance_that_ends_while_its_source_goes_on_is_no_hole(leader):
    fleet = source("fleet")
    decoders(leader, "ab", lambda _: fleet)
    decoders(leader, "a", lambda _: fleet, seconds=80, begin_s=30)
    found = [leader.watch(at(each)).output_tps for each in (60, 88, 91)]
    assert [(each.value, each.age) for each in found] == [
        (pytest.approx(200.0), "stale"), (pytest.approx(200.0), "stale"), (pytest.approx(100.0), "live"),
    ]  # fmt: skip


def test_an_instance_that_has_just_begun_is_not_waited_for(leader):
    fleet = source("fleet")
    decoders(leader, "a", lambda _: fleet)
    leader.store(fleet, counter("output_tokens", [5e6], begin_s=29, role="decode", instance="b"))
    assert leader.watch(at(29)).output_tps.value == pytest.approx(100.0)


# --- what is in force --------------------------------------------------------------------------------------------


def test_what_telemetry_tells_goes_before_what_was_entered_and_nothing_is_guessed(leader):
    watch = Watch.objects.create(name="west")
    assert leader.watch(at(0)).threshold_tokens.origin == "unknown"
    Entered.objects.create(watch=watch, what="threshold_tokens", value=1.0, at_ms=at(-100), by="bob")
    Entered.objects.create(watch=watch, what="threshold_tokens", value=8192.0, at_ms=at(-50), by="ada")
    Entered.objects.create(watch=watch, what="instances.decode", value=5.0, at_ms=at(-50), by="ada")
    found = leader.watch(at(0))
    assert (found.threshold_tokens.value, found.threshold_tokens.origin, found.threshold_tokens.by) == (
        8192.0, "entered", "ada",
    )  # fmt: skip
    assert [(role.role, role.instances.value) for role in found.roles] == [("decode", 5.0)]
    leader.store(source(), gauge("threshold_tokens", [19_400.0], role="router"))
    assert leader.watch(at(1)).threshold_tokens.origin == "telemetry"
    assert leader.watch(at(20)).threshold_tokens.age == "stale"
    assert leader.watch(at(400)).threshold_tokens.origin == "entered"
    Entered.objects.create(watch=watch, what="threshold_tokens", value=None, at_ms=at(401), by="ada")
    assert leader.watch(at(402)).threshold_tokens.origin == "unknown"


def test_utilisation_is_of_busy_instances_or_of_busy_time_or_as_told(leader):
    leader.store(
        source(),
        *(gauge("instances", [count] * 30, role=role) for role, count in (("prfaas", 4), ("prefill", 8))),
        gauge("busy_instances", [3] * 30, role="prfaas"),
        counter("busy_s", np.arange(30) * 2.0, role="prefill"),
        gauge("utilisation", [0.6] * 30, role="decode", instance="a"),
        gauge("utilisation", [0.8] * 30, role="decode", instance="b"),
    )
    found = {role.role: role for role in leader.watch(at(29)).roles}
    assert [found[role].utilisation.value for role in ("prfaas", "prefill", "decode")] == pytest.approx(
        [0.75, 0.25, 0.7]
    )
    assert found["decode"].instances.origin == "unknown"


# --- histograms --------------------------------------------------------------------------------------------------


def test_percentiles_are_of_the_last_minute_of_all_routes_together(leader):
    bounds = [1.0, 2.0, 4.0]
    early = [[0, 0, 0, 50]] * 60
    leader.store(
        source(),
        histogram("ttft_s", early + [[9, 1, 0, 0]] * 60, bounds, role="router", route="local"),
        histogram("ttft_s", early + [[0, 0, 10, 0]] * 60, bounds, role="router", route="remote"),
        histogram("ttft_s", [[1000, 0, 0, 0]] * 120, bounds, role="prefill", route="local"),
    )
    found = leader.watch(at(119)).ttft_s
    assert (found.count, found.window_s, found.age) == (1200.0, 60.0, "live")
    # 540 below 1, 60 up to 2, 600 up to 4
    assert found.p50 == pytest.approx(2.0)
    assert found.p90 == pytest.approx(2 + 2 * 480 / 600)


def test_lengths_with_different_bounds_are_made_as_coarse_as_both_are(leader):
    leader.store(
        source(),
        histogram("uncached_tokens", [[0] * 5, [1, 2, 3, 4, 5]], [1, 2, 4, 8], role="router", route="local"),
        histogram("uncached_tokens", [[0] * 4, [1, 1, 1, 1]], [2, 4, 8], role="router", route="remote"),
    )
    found = leader.watch(at(1)).lengths
    assert found.bounds == [2.0, 4.0, 8.0]
    assert found.counts == {"local": [3.0, 3.0, 4.0, 5.0], "remote": [1.0, 1.0, 1.0, 1.0]}


def test_that_no_request_came_is_no_percentile_and_not_old(leader):
    leader.store(source(), histogram("ttft_s", [[0, 0]] * 90, [1.0], role="router"))
    found = leader.watch(at(89)).ttft_s
    assert (found.p50, found.count, found.age) == (None, 0.0, "live")


# --- watches, steps ----------------------------------------------------------------------------------------------


def test_a_watch_sees_its_clusters_and_links_and_what_says_nothing_of_either(leader):
    east = Watch.objects.create(name="east", clusters=["pd-east"], links=["wan-1"], scenario="case", title="East")
    Watch.objects.create(name="west", clusters=["pd-west"])
    leader.store(
        source(),
        *(
            counter("requests", np.arange(30) * rate, role="prefill", route="local", cluster=f"pd-{place}")
            for place, rate in (("east", 1.0), ("west", 2.0))
        ),
        *(counter("link_egress_bits", np.arange(30) * 1e9, link=link) for link in ("wan-1", "wan-2")),
    )
    found = {watch.name: watch for watch in leader.snapshot(at(29)).watches}
    assert found["east"].requests_rps["local"].value == pytest.approx(1.0)
    assert found["west"].requests_rps["local"].value == pytest.approx(2.0)
    assert [[link.name for link in found[name].links] for name in ("east", "west")] == [["wan-1"], ["wan-1", "wan-2"]]
    assert (found["east"].title, found["east"].scenario) == ("East", "case")
    east.delete()
    assert [watch.name for watch in leader.snapshot(at(29)).watches] == ["west"]


def test_a_step_that_fails_leaves_its_part_empty_and_the_others_theirs(leader, caplog):
    def fails(snapshot):
        raise RuntimeError("no such thing")

    def advises(snapshot):
        for watch in snapshot.watches:
            watch.advice = AdviceNow(
                T0, "throughput", "raise", "Raise t.", threshold_tokens=21_700.0, instances={"decode": 6},
                lambda_max_rps=Pair(2.61, 2.75),
            )  # fmt: skip

    def alerts(snapshot):
        snapshot.alerts.append(AlertNow(1, "egress", "firing", "page", T0, "full"))

    leader.store(source(), gauge("instances", [5] * 3, role="decode"))
    found = leader.snapshot(at(2), fails, advises, alerts)
    assert "could not be made" in caplog.text
    assert [alert.rule for alert in found.alerts] == ["egress"]
    points = found.watches[0].points
    assert (points["recommended_threshold_tokens"], points["lambda_max_rps"]) == (21_700.0, 2.61)
    assert points["recommended_instances.decode"] == 6.0


def test_what_a_deleted_source_told_is_no_longer_shown(leader):
    gateway = source("gw")
    wan(leader, gateway, 4e9, 10e9)
    assert leader.watch(at(29)).links
    gateway.delete()
    assert not leader.watch(at(29)).links


# --- taking over -------------------------------------------------------------------------------------------------


def test_who_takes_over_shows_what_the_one_before_showed(leader, told, monkeypatch):
    for name, series in told.items():
        leader.store(Source.objects.create(name=name), *series)
    second = Leader().begin(at(121), monkeypatch)
    before, after = leader.watch(at(121)), second.watch(at(121))
    assert after.points.keys() == before.points.keys()
    assert {name for name, value in after.points.items() if value is None} == {
        name for name, value in before.points.items() if value is None
    }
    for name, value in before.points.items():
        # rates are loaded from buckets of ten seconds: a few requests more or less than in the last ten
        if value is not None and not name.startswith(("requests", "offload", "ttft", "tpot")):
            assert after.points[name] == pytest.approx(value, rel=0.5), name
    assert after.lengths.bounds == before.lengths.bounds
    for route, counts in before.lengths.counts.items():
        assert after.lengths.counts[route] == pytest.approx(counts, rel=0.02, abs=0.02)


def test_who_takes_over_after_a_silence_says_how_old_what_it_has_is(leader, monkeypatch):
    gateway = source("gw")
    wan(leader, gateway, 4e9, 10e9)
    second = Leader().begin(at(29 + 60), monkeypatch)
    found = second.watch(at(29 + 60)).links[0].egress_bps
    assert (found.value, found.age, found.ts_ms) == (pytest.approx(4e9), "stale", at(29))
    wan_after = counter("link_egress_bits", np.arange(3) * 4e9 + 90 * 4e9, begin_s=90, link="wan")
    second.store(gateway, wan_after)
    assert second.watch(at(92)).links[0].egress_bps.value == pytest.approx(4e9)


def test_sources_are_told_with_their_state(leader):
    gateway = source("gw", role="router")
    Source.objects.filter(pk=gateway.pk).update(last_seen_ms=at(0), skew_ms=12)
    (found,) = leader.snapshot(at(40)).sources
    assert (found.name, found.state, found.age_ms, found.skew_ms, found.labels) == (
        "gw", "stale", 40_000, 12, {"role": "router"},
    )  # fmt: skip
