"""Plain series go straight to columns: with the results of the long way, whatever comes, and whatever came before."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.mapping import straight
from monitoring.mapping.engine import State, map_message, map_readings
from monitoring.readings import Histogram, Point, Reading, joined
from monitoring.wire import NEVER, Mapped, unpacked_keys
from tests.monitoring.mapping_helpers import ALL, TS, own, reading

LOOKUP = own(
    {"metric": "usage", "signal": "kv_cache_utilisation", "scale": 0.01},
    {"metric": "octets", "signal": "link_egress_bits", "scale": 8, "wrap_bits": 32, "rename": {"if": "link"}},
    {"metric": "speed", "signal": "link_capacity_bps", "unknown": [0], "rename": {"if": "link"}},
    {"metric": "queue", "signal": "queued_requests", "aggregate": "sum"},
    {"metric": "tokens", "signal": "output_tokens", "one_of": "tokens", "choice": 1},
    {"metric": "tokens_old", "signal": "output_tokens", "one_of": "tokens", "choice": 2},
    {"metric": "bytes", "signal": "kv_transfer_bytes", "take": "sum"},
    {"metric": "delay", "signal": "ttft_s"},
    start_metric="begun",
)


@pytest.fixture(autouse=True)
def even_few(monkeypatch):
    """Also messages of one reading."""
    monkeypatch.setattr(straight, "FEWEST", 1)


def numbers(packed, letter="q"):
    return struct.unpack(f"<{len(packed) // 8}{letter}", packed)


def unfolded(columns):
    """Columns as series one by one."""
    points = zip(numbers(columns.ts_ms), numbers(columns.value, "d"), numbers(columns.start_ms), strict=True)
    found = []
    for key, size in zip(unpacked_keys(columns.series), numbers(columns.sizes), strict=True):
        its = [next(points) for _ in range(size)]
        told = tuple(Point(ts_ms, value, None if start_ms == NEVER else start_ms) for ts_ms, value, start_ms in its)
        found.append(Mapped(key.signal, key.kind, key.labels, told, key.wrap_bits))
    return found


def straightened(outcome):
    return [] if outcome.columns is None else unfolded(outcome.columns)


# --- whatever comes ----------------------------------------------------------------------------------------------

NAMES = ["usage", "octets", "speed", "queue", "tokens", "tokens_old", "bytes", "bytes_sum", "delay", "begun", "unheard"]
LABELS = st.fixed_dictionaries(
    {},
    optional={"instance": st.sampled_from("ab"), "rank": st.sampled_from("01"), "if": st.sampled_from(["eth0", "\0"])},
)
VALUES = st.one_of(st.integers(0, 2**33).map(float), st.sampled_from([-1.0, 0.0, -0.0, 0.5, math.nan, math.inf, 1e308]))
STARTS = st.sampled_from([None, None, 0, 5, TS - 12_345])
HISTOGRAM = st.builds(Histogram, st.just((0.1, 1.0)), st.just((1.0, 2.0, 3.0)), st.sampled_from([math.nan, 4.5]))


@st.composite
def some_reading(draw, ts_ms):
    name = draw(st.sampled_from(NAMES))
    if draw(st.integers(0, 9)) == 0:
        kind = draw(st.sampled_from(["counter", "gauge", "untyped", "histogram"]))
    else:
        kind = {"usage": "gauge", "speed": "gauge", "queue": "gauge", "delay": "histogram", "bytes": "histogram"}.get(
            name, "counter"
        )
    value = HISTOGRAM if kind == "histogram" else VALUES
    if name == "begun":
        value = st.sampled_from([0.0, 1_795_000_000.25, 1_795_500_000.0, math.nan])
    times = draw(st.lists(st.sampled_from([ts_ms, ts_ms, ts_ms + 500, ts_ms - 2000]), min_size=1, max_size=3))
    points = tuple(Point(each, draw(value), draw(STARTS)) for each in times)
    return Reading(name, draw(LABELS), kind, points, is_delta=draw(st.integers(0, 7)) == 0)


@st.composite
def messages(draw):
    ts_ms, found = TS, []
    for pause_ms in draw(st.lists(st.sampled_from([1000, 50_000, 61_000, 601_000]), min_size=1, max_size=5)):
        ts_ms += pause_ms
        found.append(draw(st.lists(some_reading(ts_ms), max_size=12)))
    return found


def said(mapped):
    return sorted(repr(each) for each in mapped)


@given(messages())
def test_what_goes_straight_is_what_the_long_way_makes_of_it(given):
    one, other = State(), State()
    labels = {"role": "decode"}
    for readings in given:
        found = map_message(readings, labels, LOOKUP, one)
        expected = map_readings(joined(readings), labels, LOOKUP, other)
        assert said([*found.mapped, *straightened(found)]) == said(expected.mapped)
        assert said(found.ignored) == said(expected.ignored)


# --- by hand -----------------------------------------------------------------------------------------------------


def test_plain_series_go_straight_from_their_first_message():
    readings = [reading("octets", 100.0, labels={"if": "eth0"}), reading("usage", 50.0, "gauge")]
    outcome = map_message(readings, {}, LOOKUP, State())
    assert not outcome.mapped
    egress, usage = unfolded(outcome.columns)
    assert (egress.signal, egress.labels, egress.wrap_bits) == ("link_egress_bits", (("link", "eth0"),), 35)
    assert (egress.points[0].value, usage.points[0].value) == (800.0, 0.5)


def test_a_process_that_tells_its_start_in_the_same_message_tells_it_of_its_counters():
    readings = [reading("octets", 1.0), reading("begun", 1_795_000_000.5, "gauge"), reading("usage", 1.0, "gauge")]
    egress, usage = unfolded(map_message(readings, {}, LOOKUP, State()).columns)
    assert egress.points[0].start_ms // 1000 == 1_795_000_000  # the milliseconds mark what is counted
    assert usage.points[0].start_ms is None


def test_a_better_alias_that_comes_later_ends_the_straight_way_of_the_worse_one():
    state = State()
    assert straightened(map_message([reading("tokens_old", 5.0)], {}, LOOKUP, state))
    later = [reading("tokens_old", 6.0, ts_ms=TS + 61_000), reading("tokens", 60.0, ts_ms=TS + 61_000)]
    outcome = map_message(later, {}, LOOKUP, state)
    assert outcome.columns is None
    assert [each.points[0].value for each in outcome.mapped] == [60.0]


def test_a_worse_alias_that_comes_later_does_not_count_while_the_better_one_was_there_of_late():
    state = State()
    map_message([reading("tokens", 60.0)], {}, LOOKUP, state)
    outcome = map_message([reading("tokens_old", 6.0, ts_ms=TS + 599_000)], {}, LOOKUP, state)
    assert not outcome.mapped
    assert outcome.ignored[0].why == "alias"


def test_a_rank_that_went_straight_is_missed_in_the_sum_when_a_second_one_comes():
    state = State()
    first, second = ({"rank": each} for each in "01")
    assert straightened(map_message([reading("queue", 3.0, "gauge", labels=first)], {}, LOOKUP, state))
    alone = map_message([reading("queue", 4.0, "gauge", TS + 1000, labels=second)], {}, LOOKUP, state)
    assert not alone.mapped
    assert "1 were not there" in alone.ignored[0].reason


def test_a_value_that_says_nothing_is_told_and_the_others_go_straight():
    readings = [reading("octets", -1.0), reading("usage", 50.0, "gauge")]
    outcome = map_message(readings, {}, LOOKUP, State())
    assert [(each.index, each.why) for each in outcome.ignored] == [(0, "below")]
    assert [each.signal for each in unfolded(outcome.columns)] == ["kv_cache_utilisation"]


def test_other_mappings_mean_another_thing_at_once():
    state = State()
    map_message([reading("usage", 50.0, "gauge")], {}, LOOKUP, state)
    other = own({"metric": "usage", "signal": "utilisation"})
    [series] = unfolded(map_message([reading("usage", 50.0, "gauge")], {}, other, state).columns)
    assert (series.signal, series.points[0].value) == ("utilisation", 50.0)


def test_few_readings_are_not_worth_columns(monkeypatch):
    monkeypatch.setattr(straight, "FEWEST", 2)
    outcome = map_message([reading("output_tokens", 5.0)], {}, ALL, State())
    assert outcome.columns is None
    assert [each.signal for each in outcome.mapped] == ["output_tokens"]
