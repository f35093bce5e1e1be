"""From their series to ours: each quantity once, in our unit, and nothing invented."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.mapping.compiling import compiled
from monitoring.mapping.engine import State, map_readings
from monitoring.readings import Histogram, Point, Reading
from monitoring.signals import VALUES
from tests.monitoring.mapping_helpers import ALL, TS, mapped, own, reading, values

OCTETS = '# TYPE {0} counter\n{0}{{ifName="eth0"}} {1}\n'


def whys(ignored):
    return {each.name: each.why for each in ignored}


# --- units, labels, kinds


def test_octets_become_bits_of_the_link_that_they_name():
    (series,), _ = mapped(OCTETS.format("ifHCOutOctets", "1.25e8"))
    assert (series.signal, series.kind, series.labels) == ("link_egress_bits", "counter", (("link", "eth0"),))
    assert series.points[0].value == 1e9


def test_a_histogram_of_milliseconds_becomes_one_of_seconds():
    page = "# TYPE sglang:kv_transfer_latency_ms histogram\n"
    page += 'sglang:kv_transfer_latency_ms_bucket{le="250"} 2\nsglang:kv_transfer_latency_ms_bucket{le="+Inf"} 3\n'
    value = values(page + "sglang:kv_transfer_latency_ms_sum 1500\n")["kv_transfer_s"]
    assert value == Histogram((0.25,), (2.0, 1.0), 1.5)


def test_the_sum_of_a_histogram_of_bytes_counts_bytes():
    page = '# TYPE vllm:nixl_bytes_transferred histogram\nvllm:nixl_bytes_transferred_bucket{le="+Inf"} 3\n'
    page += "vllm:nixl_bytes_transferred_sum 4096\n"
    assert values(page) == {"kv_transfer_bytes": 4096.0}


def test_a_sum_that_came_without_its_buckets_is_the_same_count():
    lookup = own({"metric": "m", "signal": "kv_transfer_bytes", "take": "sum"})
    whole = reading("m", Histogram((1.0,), (1.0, 2.0), 4096.0), "histogram")
    apart = reading("m_sum", 4096.0, ts_ms=TS)
    (one,), (other,) = (map_readings([each], {}, lookup, State()).mapped for each in (whole, apart))
    assert one == other


def test_a_histogram_that_does_not_tell_its_sum_counts_nothing():
    lookup = own({"metric": "m", "signal": "kv_transfer_bytes", "take": "sum"})
    outcome = map_readings([reading("m", Histogram((1.0,), (1.0, 2.0)), "histogram")], {}, lookup, State())
    assert not outcome.mapped
    assert outcome.ignored[0].reason == "does not tell its sum"


def test_an_untyped_metric_is_a_counter_where_the_mapping_says_so():
    assert values("# TYPE node_netstat_Tcp_OutSegs untyped\nnode_netstat_Tcp_OutSegs 570548") == {
        "sent_segments": 570548.0
    }


def test_an_untyped_metric_is_no_counter_where_the_mapping_does_not_say_so():
    series, (ignored,) = mapped("m 5", lookup=own({"metric": "m", "signal": "requests"}))
    assert not series
    assert (ignored.why, ignored.reason) == (
        "kind",
        "is untyped, and the mapping does not say (kind) that it is a counter",
    )


def test_an_untyped_value_is_a_gauge_as_it_is():
    assert values("vllm:num_requests_running 5") == {"running_requests": 5.0}


def test_a_gauge_is_no_counter_and_a_counter_no_histogram():
    rules = {"metric": "m", "signal": "requests"}, {"metric": "h", "signal": "ttft_s"}
    _, ignored = mapped("# TYPE m gauge\nm 1\n# TYPE h counter\nh 1\n", lookup=own(*rules))
    assert whys(ignored) == {"m": "kind", "h": "kind"}


def test_increases_stay_increases():
    lookup = own({"metric": "m", "signal": "requests"})
    (series,) = map_readings([reading("m", 5.0, is_delta=True)], {}, lookup, State()).mapped
    assert (series.kind, series.points) == ("delta", (Point(TS, 5.0),))


def test_a_counter_below_zero_is_no_value():
    lookup = own({"metric": "m", "signal": "requests"})
    assert whys(map_readings([reading("m", -1.0)], {}, lookup, State()).ignored) == {"m": "below"}


# --- speeds


@pytest.mark.parametrize(
    ("line", "bps"),
    [
        ('ifHighSpeed{ifName="lo"} 10', 10e6),
        ('ifSpeed{ifName="eth1"} 1e9', 1e9),
        ('node_network_speed_bytes{device="eth0"} 1.25e9', 10e9),
    ],
)
def test_a_speed_is_in_bits_a_second(line, bps):
    assert values(line) == {"link_capacity_bps": bps}


@pytest.mark.parametrize(
    "line",
    [
        'ifHighSpeed{ifName="eth0"} 0',
        'ifSpeed{ifName="eth0"} 4294967295',
        'node_network_speed_bytes{device="eth0"} -125000',
    ],
)
def test_a_speed_that_is_not_known_is_absent_and_not_zero(line):
    series, (ignored,) = mapped(line)
    assert not series
    assert "says that it is not known" in ignored.reason


# --- aliases


def test_of_two_names_for_one_quantity_the_better_counts():
    page = "vllm:gpu_cache_usage_perc 0.2\nvllm:kv_cache_usage_perc 0.3\n"
    series, (ignored,) = mapped(page)
    assert [each.points[0].value for each in series] == [0.3]
    assert ignored.reason == "the same as vllm:kv_cache_usage_perc, not counted twice"


def test_the_worse_name_counts_where_the_better_one_is_absent():
    assert values("vllm:gpu_cache_usage_perc 0.2") == {"kv_cache_utilisation": 0.2}


def test_a_name_that_was_met_in_an_earlier_message_stands_in_the_way_of_its_alias():
    state = State()
    mapped("vllm:kv_cache_usage_perc 0.3", state=state)
    assert mapped("vllm:gpu_cache_usage_perc 0.2", state=state)[0] == []


def test_a_name_that_is_gone_for_ten_minutes_does_not_stand_in_the_way_any_more():
    state = State()
    mapped("vllm:kv_cache_usage_perc 0.3", state=state)
    later = {"state": state, "ts_ms": TS + 600_001}
    assert values("vllm:gpu_cache_usage_perc 0.2", **later) == {"kv_cache_utilisation": 0.2}


def test_an_alias_counts_for_the_interface_that_has_no_better_counter():
    page = OCTETS.format("ifHCOutOctets", 10) + OCTETS.format("ifOutOctets", 10)
    page += '# TYPE ifOutOctets counter\nifOutOctets{ifName="eth1"} 20\n'
    series, _ = mapped(page)
    assert [(dict(each.labels)["link"], each.points[0].value, each.wrap_bits) for each in series] == [
        ("eth0", 80.0, 0),
        ("eth1", 160.0, 35),
    ]


def test_another_name_is_another_count():
    (narrow,), _ = mapped(OCTETS.format("ifOutOctets", 10))
    (wide,), _ = mapped(OCTETS.format("ifHCOutOctets", 10))
    assert narrow.labels == wide.labels
    assert narrow.points[0].start_ms != wide.points[0].start_ms


def test_a_counter_keeps_its_start_from_message_to_message_and_from_process_to_process():
    first, second = (mapped(OCTETS.format("ifHCOutOctets", value), ts_ms=TS + value)[0] for value in (1, 2))
    assert first[0].points[0].start_ms == second[0].points[0].start_ms


def test_requests_that_wait_are_told_by_reason_or_together_but_not_both():
    page = 'vllm:num_requests_waiting 5\nvllm:num_requests_waiting_by_reason{reason="capacity"} 3\n'
    page += 'vllm:num_requests_waiting_by_reason{reason="deferred"} 2\n'
    series, _ = mapped(page)
    assert {dict(each.labels)["bound"]: each.points[0].value for each in series} == {"compute": 3.0, "link": 2.0}


# --- ranks and duplicates


def ranks(*of, kind="counter", name="m", ts_ms=TS):
    return [Reading(name, {"tp_rank": str(at)}, kind, (Point(ts_ms, value),)) for at, value in enumerate(of)]


def test_bytes_of_ranks_are_added_up():
    lookup = own({"metric": "m", "signal": "kv_transfer_bytes"})
    (series,) = map_readings(ranks(10.0, 20.0, 30.0), {}, lookup, State()).mapped
    assert (series.labels, [point.value for point in series.points]) == ((), [60.0])


def test_histograms_of_ranks_are_added_up_bucket_by_bucket():
    lookup = own({"metric": "m", "signal": "kv_transfer_s"})
    both = ranks(Histogram((1.0,), (1.0, 2.0), 5.0), Histogram((1.0,), (10.0, 20.0), 50.0), kind="histogram")
    (series,) = map_readings(both, {}, lookup, State()).mapped
    assert series.points[0].value == Histogram((1.0,), (11.0, 22.0), 55.0)


def test_histograms_with_different_buckets_are_not_added_up():
    lookup = own({"metric": "m", "signal": "kv_transfer_s"})
    both = ranks(Histogram((1.0,), (1.0, 2.0), 5.0), Histogram((2.0,), (10.0, 20.0), 50.0), kind="histogram")
    outcome = map_readings(both, {}, lookup, State())
    assert not outcome.mapped
    assert "different buckets" in outcome.ignored[0].reason


def test_a_queue_that_ranks_share_is_counted_once_and_those_of_data_parallel_ranks_are_added():
    page = "# TYPE sglang:num_queue_reqs gauge\n"
    for dp_rank, depth in ((0, 4), (1, 6)):
        for tp_rank in range(8):
            page += f'sglang:num_queue_reqs{{dp_rank="{dp_rank}",tp_rank="{tp_rank}"}} {depth}\n'
    assert values(page) == {"queued_requests": 10.0}


def test_shares_of_equal_memories_are_averaged():
    page = 'vllm:kv_cache_usage_perc{engine="0"} 0.2\nvllm:kv_cache_usage_perc{engine="1"} 0.4\n'
    assert values(page)["kv_cache_utilisation"] == pytest.approx(0.3)


def test_gauges_are_not_added_up_where_the_mapping_does_not_say_how():
    lookup = own({"metric": "m", "signal": "running_requests"})
    outcome = map_readings(ranks(1.0, 2.0, kind="gauge"), {}, lookup, State())
    assert not outcome.mapped
    assert [each.why for each in outcome.ignored] == ["ranks", "ranks"]


def test_counters_that_wrap_are_not_added_up():
    page = 'ifOutErrors{ifName="a",slot="1"} 1\nifOutErrors{ifName="a",slot="2"} 1\n'
    series, ignored = mapped(page)
    assert not series
    assert "cannot be added up" in ignored[0].reason


def test_only_what_was_measured_at_the_same_time_is_added_up():
    lookup = own({"metric": "m", "signal": "kv_transfer_bytes"})
    first, second = ranks(10.0, 20.0)
    late = Reading("m", second.labels, "counter", (Point(TS, 20.0), Point(TS + 1000, 25.0)))
    outcome = map_readings([first, late], {}, lookup, State())
    assert [(point.ts_ms, point.value) for point in outcome.mapped[0].points] == [(TS, 30.0)]
    assert outcome.ignored[0].reason == "added up of 2 series, of which 1 were not there at the same time"


def test_a_rank_that_is_missing_leaves_a_hole_and_no_lower_sum():
    lookup, state = own({"metric": "m", "signal": "kv_transfer_bytes"}), State()
    map_readings(ranks(10.0, 20.0), {}, lookup, state)
    assert map_readings(ranks(11.0, ts_ms=TS + 15_000), {}, lookup, state).mapped == []


def test_a_rank_that_is_gone_for_a_minute_is_not_waited_for_and_the_rest_is_another_count():
    lookup, state = own({"metric": "m", "signal": "kv_transfer_bytes"}), State()
    (both,) = map_readings(ranks(10.0, 20.0), {}, lookup, state).mapped
    (one,) = map_readings(ranks(11.0, ts_ms=TS + 60_001), {}, lookup, state).mapped
    assert one.points[0].value == 11.0
    assert one.points[0].start_ms != both.points[0].start_ms


def test_a_series_that_stands_twice_in_a_message_is_taken_once():
    (series,), (ignored,) = mapped(OCTETS.format("ifHCOutOctets", 10) * 2)
    assert series.points[0].value == 80.0
    assert ignored.why == "duplicate"


def test_what_is_absent_is_absent():
    assert mapped("up 1", lookup=own({"metric": "m", "signal": "requests"}))[0] == []


# --- where and of what


@pytest.mark.parametrize(("role", "route"), [("prfaas", "remote"), ("prefill", "local"), ("router", None)])
def test_the_route_follows_from_the_role(role, route):
    (series,), _ = mapped("# TYPE vllm:request_success_total counter\nvllm:request_success_total 5", {"role": role})
    assert dict(series.labels).get("route") == route


def test_a_decode_instance_does_not_count_requests_again():
    series, (ignored,) = mapped(
        "# TYPE vllm:request_success_total counter\nvllm:request_success_total 5", {"role": "decode"}
    )
    assert not series
    assert ignored.reason == "vllm does not take it where role is decode"


def test_the_operator_says_where_a_source_stands():
    page = '# TYPE sglang:num_requests_total counter\nsglang:num_requests_total{engine_type="prefill"} 5'
    (by_itself,), _ = mapped(page)
    (as_told,), _ = mapped(page, {"role": "prfaas", "cluster": "east"})
    assert dict(by_itself.labels) == {"role": "prefill", "route": "local"}
    assert dict(as_told.labels) == {"role": "prfaas", "route": "remote", "cluster": "east"}


def test_a_label_that_has_our_name_by_chance_is_not_ours():
    lookup = own({"metric": "m", "signal": "requests"})
    (series,), _ = mapped('# TYPE m counter\nm{role="leader",route="/v1/chat"} 5', lookup=lookup)
    assert series.labels == ()


def test_a_decision_that_the_mapping_does_not_know_is_not_guessed():
    name = "llm_d_epp_disagg_decision_total"
    series, (ignored,) = mapped(f'# TYPE {name} counter\n{name}{{decision_type="by-moon"}} 5')
    assert not series
    assert ignored.why == "label"


def test_decisions_of_the_router_are_requests_by_route():
    name = "llm_d_epp_disagg_decision_total"
    page = f"# TYPE {name} counter\n"
    for decision, count in (
        ("decode-only", 1),
        ("encode-decode", 2),
        ("prefill-decode", 4),
        ("encode-prefill-decode", 8),
    ):
        page += f'{name}{{decision_type="{decision}",model_name="m"}} {count}\n'
    series, _ = mapped(page, {"role": "router"})
    assert {dict(each.labels)["route"]: each.points[0].value for each in series} == {"local": 3.0, "remote": 12.0}


# --- since when


def test_counters_begin_with_their_process():
    page = "process_start_time_seconds 1.7959e+09\n"
    page += "# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total 5"
    (series,), _ = mapped(page)
    assert series.points[0].start_ms // 1000 == 1_795_900_000


def uptime_page(seconds, tokens=5):
    page = f"# TYPE dynamo_frontend_output_tokens_total counter\ndynamo_frontend_output_tokens_total {tokens}\n"
    return page + f"# TYPE dynamo_component_uptime_seconds gauge\ndynamo_component_uptime_seconds {seconds}\n"


def start_of(page, **more):
    (series,), _ = mapped(page, **more)
    return series.points[0].start_ms


def test_a_start_that_is_told_as_an_uptime_does_not_move_with_its_jitter():
    state = State()
    starts = {start_of(uptime_page(100 + at + 0.4 * (at % 2)), state=state, ts_ms=TS + 1000 * at) for at in range(50)}
    assert len(starts) == 1


def test_a_restart_shows_in_the_uptime_where_the_count_does_not_fall():
    state = State()
    before = start_of(uptime_page(5000, 67), state=state)
    after = start_of(uptime_page(24, 68), state=state, ts_ms=TS + 100_000)
    assert before != after


# --- invariants

KINDS = st.sampled_from(["counter", "gauge", "histogram", "untyped"])
NAMES = st.sampled_from([*ALL.candidates, "process_start_time_seconds", "dynamo_component_uptime_seconds", "unknown"])
LABELS = st.dictionaries(
    st.sampled_from(
        ["role", "route", "model_name", "engine", "tp_rank", "decision_type", "ifName", "device", "reason"]
    ),
    st.sampled_from(["", "0", "1", "capacity", "decode", "decode-only", "eth0", "\udcff"]),
    max_size=4,
)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
HISTOGRAMS = st.builds(Histogram, st.just((1.0, 2.0)), st.tuples(*[st.floats(0, 1e9)] * 3), NUMBERS)
POINTS = st.lists(
    st.builds(Point, st.integers(0, 10**6), NUMBERS | HISTOGRAMS, st.none() | st.integers(0, 10**6)), max_size=3
).map(tuple)
READINGS = st.builds(Reading, NAMES, LABELS, KINDS, POINTS, is_delta=st.booleans())
SOURCES = st.fixed_dictionaries(
    {}, optional={"role": st.sampled_from([*VALUES["role"], "leader"]), "link": st.just("l")}
)


@given(st.lists(READINGS, max_size=12), SOURCES)
def test_every_reading_is_mapped_or_ignored_with_a_reason_and_nothing_is_raised(found, labels):
    outcome = map_readings(found, labels, ALL, State())
    assert all(each.reason and 0 <= each.index < len(found) for each in outcome.ignored)
    assert all(each.points for each in outcome.mapped)
    assert len(outcome.mapped) == len({(each.signal, each.kind, each.labels) for each in outcome.mapped})


GAUGES = st.dictionaries(
    st.tuples(NAMES, st.sampled_from("01234")), st.integers(0, 1000).map(float), min_size=1, max_size=12
).map(lambda found: [reading(name, value, "untyped", labels={"engine": at}) for (name, at), value in found.items()])


@given(GAUGES.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_the_order_of_series_does_not_matter(orders):
    one, other = (map_readings(found, {"role": "prefill"}, ALL, State()).mapped for found in orders)
    assert sorted(one, key=str) == sorted(other, key=str)


def test_what_two_systems_tell_is_counted_once():
    page = "# TYPE agent_tx_bytes_total counter\nagent_tx_bytes_total 100\n"
    page += "# TYPE tent_write_bytes_total counter\ntent_write_bytes_total 100\n"
    series, ignored = mapped(page)
    assert [each.points[0].value for each in series] == [100.0]
    assert [each.why for each in ignored] == ["alias"]


def test_of_two_mappings_that_have_a_metric_the_earlier_one_counts():
    first, second = own({"metric": "m", "signal": "requests"}), own({"metric": "m", "signal": "requests", "scale": 2.0})
    both = compiled([*second.mappings, *first.mappings])
    assert map_readings([reading("m", 5.0)], {}, both, State()).mapped[0].points[0].value == 10.0
