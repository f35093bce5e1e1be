"""What a replay's sources tell of a simulated day: counters that rise, what is conserved, restarts, and the pace."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.readings import Histogram
from monitoring.replaying.course import REMOTE, assigned
from monitoring.replaying.crossing import Crossing, Steps, on_the_wire
from monitoring.replaying.day import AMPLITUDE, DAY_S, HOUR_S, Burst, Day, Restart, Silence, usual
from monitoring.replaying.emulated import Counted, Present
from monitoring.replaying.pace import Pace
from planner.engine.simulation.tcp import Tcp
from tests.monitoring.replayed import BROWN_OUT, CALM, DURATION_S, ROUGH, simulated, sources

T0 = 1_790_000_000_000
AS_IT_WAS = Pace(T0, 1.0)
EVERY_10_S = np.arange(0.0, DURATION_S + 1, 10.0).tolist()
SOURCES = ("router", "prfaas", "pd-prefill", "pd-decode", "gateway")


def told(source, name, times, started_s=0.0, pace=AS_IT_WAS, which=CALM, over_tcp=False, **labels):
    """The values of the series of a name with these labels, one list a series."""
    readings = sources(which, over_tcp)[source].readings(times, started_s, pace)
    some = [each for each in readings if each.name == name and labels.items() <= each.labels.items()]
    return [[point.value for point in each.points] for each in some]


# --- counters and histograms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_counted_never_falls(source):
    for reading in sources(ROUGH, over_tcp=True)[source].readings(EVERY_10_S, 0.0, AS_IT_WAS):
        if reading.kind == "gauge":
            continue
        rows = [
            point.value.counts if isinstance(point.value, Histogram) else (point.value,) for point in reading.points
        ]
        assert (np.diff(np.array(rows), axis=0) >= 0).all(), reading.name


def test_histograms_of_lengths_have_every_request_once():
    requests = simulated().requests
    arrived = requests[requests["arrival_s"] <= DURATION_S]
    for route, number in (("local", 0), ("remote", 1)):
        own = arrived[arrived["route"] == number]
        ((counted,),) = told("router", "requests", [DURATION_S], route=route)
        ((lengths,),) = told("router", "uncached_tokens", [DURATION_S], route=route)
        assert counted == sum(lengths.counts) == own.size > 100
        assert lengths.total == pytest.approx(own["tokens"].sum())


def test_on_a_calm_day_every_request_is_on_its_side_of_the_threshold():
    requests = simulated().requests
    assert simulated().threshold_tokens.at(DURATION_S) == 19_400
    remote = requests["route"] == REMOTE
    assert requests["tokens"][remote].min() > 19_400 >= requests["tokens"][~remote].max()


def test_engines_have_prefilled_what_the_router_sent_them():
    requests = simulated().requests
    for source, number in (("prfaas", 1), ("pd-prefill", 0)):
        ended = requests[(requests["route"] == number) & (requests["end_s"] <= DURATION_S)]
        counted = told(source, "vllm:request_success_total", [DURATION_S])
        assert sum(value for (value,) in counted) == ended.size
        times = told(source, "vllm:request_prefill_time_seconds", [DURATION_S])
        assert sum(value.total for (value,) in times) == pytest.approx((ended["end_s"] - ended["begin_s"]).sum())


def test_generated_tokens_are_those_of_the_answers_that_ended_and_a_part_of_those_that_go_on():
    requests = simulated().requests
    spoken = sum(value for (value,) in told("pd-decode", "vllm:generation_tokens_total", [DURATION_S]))
    ended = requests[requests["done_s"] <= DURATION_S]["output"].sum()
    begun = requests[requests["decode_s"] <= DURATION_S]["output"].sum()
    assert ended < spoken < begun


@given(
    at_s=st.lists(st.floats(0, 100), min_size=1, max_size=30),
    split_s=st.floats(0, 100),
    bounds=st.lists(st.floats(1, 50), min_size=1, max_size=5, unique=True).map(sorted),
)
def test_two_lives_of_a_source_count_together_what_one_would(at_s, split_s, bounds):
    counted = Counted(np.array(at_s), np.array(at_s), bounds)
    whole, before, after = (counted.histogram(*span) for span in ((0, 100), (0, split_s), (split_s, 100)))
    if split_s > 0:
        assert np.array_equal(np.add(before.counts, after.counts), whole.counts)
    assert sum(whole.counts) == len(at_s)
    assert whole.total == pytest.approx(sum(at_s)) == counted.total(0, 100)


# --- queues and instances ----------------------------------------------------------------------------------------


def test_littles_law_holds_between_gauges_and_rates():
    """L = λ·W, of those that decode, by samples a second apart."""
    requests, times = simulated().requests, np.arange(0.0, DURATION_S).tolist()
    running = np.sum(told("pd-decode", "vllm:num_requests_running", times), axis=0)
    stays = np.minimum(requests["done_s"], DURATION_S) - np.minimum(requests["decode_s"], DURATION_S)
    assert running.mean() == pytest.approx(stays.sum() / DURATION_S, rel=0.01)


def test_a_queue_is_there_while_somebody_waits():
    present = Present(np.array([1.0, 2.0, np.inf]), np.array([3.0, 2.5, np.inf]))
    assert [present.at(0, at) for at in (0.5, 1, 2, 2.7, 3, 9)] == [0, 1, 2, 1, 0, 0]


def test_no_instance_prefills_two_requests_at_a_time():
    requests = simulated().requests
    for number in (0, 1):
        own = requests[requests["route"] == number]
        for instance in np.unique(own["prefiller"]):
            mine = np.sort(own[own["prefiller"] == instance], order="begin_s")
            assert (mine["begin_s"][1:] >= mine["end_s"][:-1] - 1e-9).all()


def test_work_goes_to_whoever_has_the_least():
    begin_s, end_s = np.array([0.0, 1.0, 2.0, 3.0]), np.array([10.0, 2.5, 4.0, 9.0])
    assert assigned(begin_s, end_s, 2).tolist() == [0, 1, 0, 1]


# --- the link ----------------------------------------------------------------------------------------------------


def test_a_brown_out_is_told_by_the_switch():
    during, after = (BROWN_OUT.begin_s + BROWN_OUT.end_s) / 2, BROWN_OUT.end_s + 100
    ((before_mbps, low_mbps, later_mbps),) = told("gateway", "ifHighSpeed", [100.0, during, after], which=ROUGH)
    assert (before_mbps, low_mbps, later_mbps) == (100_000, 3_000, 100_000)


def test_no_more_crosses_the_link_than_it_carries():
    (octets,) = told("gateway", "ifHCOutOctets", [220.0, 290.0], which=ROUGH)
    assert 8 * (octets[1] - octets[0]) == pytest.approx(70 * BROWN_OUT.bps, rel=1e-6)


def test_what_crossed_the_link_is_what_landed_and_a_part_of_what_is_on_its_way():
    requests, (octets,) = simulated().requests, told("gateway", "ifHCOutOctets", [DURATION_S])
    landed = requests[requests["landed_s"] <= DURATION_S]["kv_bytes"].sum()
    begun = requests[requests["begin_s"] <= DURATION_S]["kv_bytes"].sum()
    assert landed * 0.999 <= octets[0] <= begun


def grown(source, name, begin_s, end_s):
    ((before, after),) = told(source, name, [begin_s, end_s], which=ROUGH, over_tcp=True)
    return after - before


def test_a_brown_out_over_tcp_sends_more_again_while_the_link_stays_full():
    calm, during = (100.0, BROWN_OUT.begin_s), (BROWN_OUT.begin_s + 30, BROWN_OUT.end_s - 10)
    shares = [
        grown("prfaas", "retransmitted_segments", *span) / grown("prfaas", "sent_segments", *span)
        for span in (calm, during)
    ]
    assert shares[0] < 1e-6 < 1e-5 < shares[1] < 0.05
    octets = grown("gateway", "ifHCOutOctets", *during)
    assert 8 * octets == pytest.approx((during[1] - during[0]) * BROWN_OUT.bps, rel=1e-4)
    # segments of 1,460 bytes, each of which is dropped by the full link before it is sent again
    assert grown("prfaas", "sent_segments", *during) == pytest.approx(octets / 1460, rel=1e-6)
    assert grown("gateway", "ifOutDiscards", *during) == grown("prfaas", "retransmitted_segments", *during)


def test_a_round_trip_is_the_links_own_and_the_buffer_that_is_full_while_it_is():
    # 30 ms of 100 Gbps are buffered, which 3 Gbps empty in a second
    ((before, during),) = told("prfaas", "link_rtt_s", [150.0, 290.0], which=ROUGH, over_tcp=True)
    assert 0.030 < before < 0.045
    assert during == pytest.approx(0.03 + 0.03 * 100e9 / BROWN_OUT.bps)


def crossing(bps, tcp, capacity=((0.0, 10e9),)):
    """Ten seconds of so many bit/s sent of a link that usually carries 10 Gbps."""
    times, values = map(np.array, zip(*capacity, strict=True))
    sent = np.array([0.0, 10.0 * bps])
    return Crossing(np.array([0.0, 10.0]), sent, 0 * sent, 0 * sent, Steps(times, values), tcp, 10e9)


@pytest.mark.parametrize(
    ("bps", "tcp", "capacity", "round_trip_s"),
    [
        (5e9, Tcp(rtt_s=0.04), [(0.0, 10e9)], 0.06),  # full half of the time, with 40 ms in its buffer
        (5e9, Tcp(rtt_s=0.04), [(0.0, 5e9)], 0.12),
        (5e9, Tcp(rtt_s=0.04, window_bytes=1e6), [(0.0, 10e9)], 0.04),  # windows bound it, and nothing queues
        (9.9e9, Tcp(rtt_s=0.04, window_bytes=1e6), [(0.0, 10e9)], 0.08),
        (5e9, Tcp(rtt_s=0.04), [(0.0, np.inf)], 0.04),
        (0.0, Tcp(rtt_s=0.04), [(0.0, 0.0)], None),
        (5e9, None, [(0.0, 10e9)], None),
    ],
)
def test_a_round_trip_by_hand(bps, tcp, capacity, round_trip_s):
    found = crossing(bps, tcp, capacity).round_trip_s(5.0)
    assert found == (None if round_trip_s is None else pytest.approx(round_trip_s))


def test_of_a_hundred_packets_of_which_one_is_lost_ninety_nine_are_delivered():
    sent, again, dropped = on_the_wire(np.array([0.0, 99.0, 99.0, 198.0]), np.array([0.0, 0.99, 0.99, 1.98]), 0.0)
    assert sent.tolist() == pytest.approx([0, 100, 100, 200])
    assert again.tolist() == dropped.tolist() == pytest.approx([0, 1, 1, 2])
    # a way that loses as much drops nothing for being full
    assert on_the_wire(np.array([0.0, 99.0]), np.array([0.0, 0.99]), 0.01)[2].tolist() == pytest.approx(
        [0, 0], abs=1e-9
    )


def test_what_is_not_known_is_not_told_and_nothing_fails():
    names = {each.name for source in sources().values() for each in source.readings([60.0], 0.0, AS_IT_WAS)}
    assert not names & {"link_rtt_s", "sent_segments", "retransmitted_segments", "ifOutDiscards"}
    assert told("router", "failed_requests", [0.0, DURATION_S]) == [[0, 0], [0, 0]]


def test_decode_is_as_busy_as_the_places_in_its_batches():
    (running,) = [sum(values) for values in zip(*told("pd-decode", "vllm:num_requests_running", [400.0]), strict=True)]
    ((busy,),) = told("router", "utilisation", [400.0], role="decode")
    assert busy == pytest.approx(running / (5 * 20))  # instances, and requests in a batch


# --- restarts and silences ---------------------------------------------------------------------------------------


def test_after_a_restart_counters_begin_at_zero_and_grow_as_before():
    times = [300.0, 400.0, 500.0]
    (whole,) = told("router", "requests", times, route="remote")
    (again,) = told("router", "requests", times, started_s=300.0, route="remote")
    assert again == [0, whole[1] - whole[0], whole[2] - whole[0]]


def test_who_tells_since_when_it_counts_tells_of_its_restart():
    readings = {each.name: each for each in sources()["pd-prefill"].readings([400.0], 300.0, AS_IT_WAS)}
    assert readings["vllm:request_success_total"].points[0].start_ms == T0 + 300_000
    assert readings["process_start_time_seconds"].points[0].value == (T0 + 300_000) / 1000
    (octets, _) = sources()["gateway"].readings([400.0], 300.0, AS_IT_WAS)
    assert octets.points[0].start_ms is None


def test_gauges_do_not_know_of_restarts():
    assert told("router", "queued_requests", [400.0]) == told("router", "queued_requests", [400.0], started_s=300.0)


def test_a_day_knows_who_is_silent_and_since_when_each_counts():
    day = Day(100, silences=(Silence("router", 10, 20),), restarts=(Restart("gateway", 30), Restart("gateway", 60)))
    assert [day.is_silent("router", at) for at in (9, 10, 19.9, 20)] == [False, True, True, False]
    assert not day.is_silent("gateway", 15)
    assert [day.started_s("gateway", at) for at in (29, 30, 59, 60)] == [0, 30, 30, 60]


def test_t_stays_in_a_brown_out_unless_it_is_asked_to_move():
    assert simulated(ROUGH).threshold_tokens.at(ROUGH.brown_outs[0].end_s) == 19_400
    assert simulated(replace(ROUGH, moves_t=True)).threshold_tokens.at(ROUGH.brown_outs[0].end_s) > 1.1 * 19_400


def test_load_swings_about_its_mean_and_bursts():
    shares = Day(DAY_S).shares()
    assert shares.mean() == pytest.approx(1)
    assert (shares.max(), shares.min()) == (
        pytest.approx(1 + AMPLITUDE, rel=1e-4),
        pytest.approx(1 - AMPLITUDE, rel=1e-4),
    )
    assert shares.argmax() == pytest.approx(6 * 60, abs=1)  # eight o'clock and six hours
    burst = Day(DAY_S, bursts=(Burst(HOUR_S, 2 * HOUR_S, 3),)).shares() / shares
    assert (burst[60:120] == 3).all()
    assert burst.sum() == pytest.approx(1440 + 2 * 60)


def test_a_usual_day_has_all_of_it_and_no_brown_out_where_there_is_no_link():
    day = usual(1e11)
    assert all((day.bursts, day.brown_outs, day.silences, day.restarts))
    assert day.brown_outs[0].bps == 1e10
    assert not usual(None).brown_outs


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"duration_s": 0}, "duration must be positive"),
        ({"load": float("nan")}, "load must be positive"),
        ({"bursts": (Burst(5, 5, 2),)}, "end after that, got 5 to 5 s"),
        ({"bursts": (Burst(5, 6, 0),)}, "factor of a burst must be positive, got 0"),
        ({"silences": (Silence("router", -1, 6),)}, "got -1 to 6 s"),
    ],
)
def test_a_day_that_cannot_be_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        Day(**({"duration_s": 100} | changes))


# --- the pace ----------------------------------------------------------------------------------------------------


def test_a_faster_day_has_the_same_rates_queues_and_means():
    fast = Pace(T0, 60.0)
    slow_values, fast_values = (
        told("gateway", "ifHCOutOctets", [0.0, 600.0], pace=pace)[0] for pace in (AS_IT_WAS, fast)
    )
    assert fast.ts_ms(600.0) - fast.ts_ms(0.0) == 10_000
    assert fast_values[1] / 10 == pytest.approx(slow_values[1] / 600, rel=1e-6)
    queues = [told("router", "busy_instances", [300.0], pace=pace) for pace in (AS_IT_WAS, fast)]
    assert queues[0] == queues[1]
    (slow,), (quick,) = (told("router", "ttft_s", [600.0], pace=pace, route="local")[0] for pace in (AS_IT_WAS, fast))
    assert quick.total == pytest.approx(slow.total / 60)
    assert all(count == int(count) for count in quick.counts)
    assert sum(quick.counts) == pytest.approx(sum(slow.counts) / 60, abs=0.5 * np.count_nonzero(slow.counts))


def test_as_recorded_nothing_is_divided_and_a_second_stays_one():
    pace = Pace(T0, 100.0, as_recorded=True)
    assert [pace.ts_ms(at) - T0 for at in (0.0, 1.0, 5.5)] == [0, 1000, 5500]
    assert list(pace.steps(3.0)) == [0, 1, 2, 3]
    assert pace.wall_s(300.0) == 3
    assert pace.counted(7.0) == 7


def test_a_fast_day_is_sampled_once_a_second_of_ours():
    pace = Pace(T0, 60.0)
    assert [pace.ts_ms(at) - T0 for at in pace.steps(180.0)] == [0, 1000, 2000, 3000]
    with pytest.raises(ValueError, match="speed must be from 1"):
        Pace(T0, 0.5)
