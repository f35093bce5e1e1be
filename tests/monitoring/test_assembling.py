"""Histograms cut over several remote writes: whole however they are cut, and never with fewer bounds than they have."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring import assembling
from monitoring.assembling import GIVEN_UP_AFTER_MS, MISSED_TIMES, SETTLED_AFTER_MS, Assembler, apart
from monitoring.readings import Histogram, Point, Reading

NAME = "vllm:time_to_first_token_seconds"
BOUNDS = (0.1, 0.5, 1.0, 5.0, math.inf)
NOW_MS = 1_790_000_000_000
STEP_MS = 15_000


def scrape(round_, engine="0", bounds=BOUNDS):
    """One scrape's series of a histogram, in the order of a page, one of its own, and what they are as one."""
    ts_ms = NOW_MS + round_ * STEP_MS
    alone = tuple(float(round_ + at + 1) for at in range(len(bounds)))
    labels = {"engine": engine}
    series, cumulative = [], 0.0
    for bound, count in zip(bounds, alone, strict=True):
        cumulative += count
        le = "+Inf" if bound == math.inf else str(bound)
        series.append(Reading(f"{NAME}_bucket", {**labels, "le": le}, "counter", (Point(ts_ms, cumulative),)))
    series.append(Reading(f"{NAME}_sum", labels, "counter", (Point(ts_ms, 2.5 * round_),)))
    series.append(Reading(f"{NAME}_count", labels, "counter", (Point(ts_ms, cumulative),)))
    whole = Reading(NAME, labels, "histogram", (Point(ts_ms, Histogram(bounds[:-1], alone, 2.5 * round_)),))
    return series, whole


class Sent:
    """Messages to an assembler, at times that the test says, with what it holds between them."""

    def __init__(self):
        self.assembler, self.pending, self.given_up, self.others = Assembler(), [], [], []

    def __call__(self, series, now_ms, name=NAME):
        others, parts = apart(series, {name}.__contains__)
        self.others += others
        for each in parts:
            each.first_ms = now_ms
        outcome = self.assembler.put_together([*self.pending, *parts], now_ms)
        self.pending = outcome.pending
        self.given_up += outcome.given_up
        return outcome.readings

    def learnt(self):
        """It has met the histogram once."""
        series, whole = scrape(0)
        assert self(series, NOW_MS) == []
        assert self([], NOW_MS + SETTLED_AFTER_MS) == [whole]
        return self


def at(round_):
    return NOW_MS + round_ * STEP_MS


@pytest.mark.parametrize("cut", range(1, len(BOUNDS) + 2))
def test_a_histogram_that_is_cut_anywhere_is_whole_as_soon_as_its_rest_comes(cut):
    sent = Sent().learnt()
    series, whole = scrape(1)
    assert sent(series[:cut], at(1)) == []
    assert sent(series[cut:], at(1) + 3) == [whole]
    assert (sent.pending, sent.given_up) == ([], [])


@pytest.mark.parametrize("cut", range(1, len(BOUNDS) + 2))
def test_also_the_first_of_all_once_nothing_more_came_for_a_while(cut):
    sent = Sent()
    series, whole = scrape(1)
    assert sent(series[:cut], at(1)) == []
    assert sent(series[cut:], at(1) + 5000) == []
    assert sent([], at(1) + SETTLED_AFTER_MS - 1) == []
    assert sent([], at(1) + SETTLED_AFTER_MS) == [whole]


@given(st.randoms(use_true_random=False), st.integers(1, 12), st.integers(1, 5), st.integers(1, 4), st.booleans())
def test_however_scrapes_are_cut_and_spread_over_shards_all_histograms_come_once_and_whole(
    rng: random.Random, batch, shards, engines, are_known
):
    """As Prometheus does it: a series has its shard, each shard its own batches of any number of scrapes."""
    sent = Sent()
    rounds = 4
    if are_known:
        for engine in range(engines):
            sent(scrape(-1, str(engine))[0], NOW_MS - STEP_MS)
        assert len(sent([], NOW_MS)) == engines
    expected, queues = [], [[] for _ in range(shards)]
    home = {}
    for round_ in range(rounds):
        for engine in range(engines):
            series, whole = scrape(round_, str(engine))
            expected.append(whole)
            for one in series:
                key = one.name, tuple(one.labels.items())
                queues[home.setdefault(key, rng.randrange(shards))].append(one)
    batches = [[queue[i : i + batch] for i in range(0, len(queue), batch)] for queue in queues]
    found = []
    while any(batches):
        shard = rng.choice([each for each in batches if each])
        found += sent(shard.pop(0), NOW_MS + STEP_MS)
    found += sent([], NOW_MS + STEP_MS + SETTLED_AFTER_MS)
    points = {(one.name, one.labels["engine"], point) for one in found for point in one.points}
    assert points == {(NAME, whole.labels["engine"], whole.points[0]) for whole in expected}
    assert sum(len(one.points) for one in found) == rounds * engines
    assert all(one.kind == "histogram" for one in found)
    assert (sent.pending, sent.given_up) == ([], [])


def test_what_lacks_a_part_is_given_up_after_a_while_with_the_reason_and_never_stored_with_fewer_bounds():
    sent = Sent().learnt()
    series, _ = scrape(1)
    assert sent(series[2:], at(1)) == []
    assert sent([], at(1) + GIVEN_UP_AFTER_MS - 1) == []
    assert sent([], at(1) + GIVEN_UP_AFTER_MS) == []
    assert sent.given_up == [f"{NAME}: 2 of the 7 series of a histogram did not come within 60 s"]
    series, whole = scrape(9)
    assert sent(series, at(9)) == [whole]


def test_a_message_that_is_sent_twice_is_taken_once():
    sent = Sent().learnt()
    series, whole = scrape(1)
    sent(series[:3], at(1))
    assert sent(series[3:], at(1)) == [whole]
    assert sent(series[:3], at(1)) == []
    assert sent([], at(1) + GIVEN_UP_AFTER_MS) == []
    assert (sent.pending, sent.given_up) == ([], [])


def test_bounds_that_change_are_taken_up_after_as_many_misses():
    """A process that comes back with other buckets: the old ones never come again."""
    sent = Sent().learnt()
    found = []
    for round_ in range(1, 6):
        series, whole = scrape(round_, bounds=(0.25, 1.0, math.inf))
        found += sent(series, at(round_) + round_ * GIVEN_UP_AFTER_MS)
        found += sent([], at(round_) + (round_ + 1) * GIVEN_UP_AFTER_MS)
    assert len(sent.given_up) == MISSED_TIMES - 1
    assert [each.points[0].value.bounds for each in found] == [(0.25, 1.0)] * (6 - MISSED_TIMES)
    assert found[-1] == whole


def test_new_buckets_beside_the_old_ones_are_waited_for():
    sent = Sent().learnt()
    series, whole = scrape(1, bounds=(0.05, *BOUNDS))
    assert sent(series[1:4], at(1)) == []
    assert sent(series[4:] + series[:1], at(1)) == []
    assert sent([], at(1) + SETTLED_AFTER_MS) == [whole]


def test_a_sum_and_a_count_without_buckets_are_counters_that_wait_once():
    sent = Sent()
    series, _ = scrape(1)
    parts = series[-2:]
    assert sent(parts, at(1)) == []
    assert [each.name for each in sent([], at(1) + SETTLED_AFTER_MS)] == [f"{NAME}_sum", f"{NAME}_count"]
    series, _ = scrape(2)
    assert sent(series[-2:], at(2)) == series[-2:]
    assert sent(series[-2:-1], at(3)) == []  # of a time that is done


def test_what_no_mapping_wants_and_what_is_no_part_stands_for_itself():
    series, _ = scrape(1)
    gauge = Reading(f"{NAME}_count", {}, "gauge", (Point(NOW_MS, 1.0),))
    delta = Reading(f"{NAME}_count", {}, "counter", (Point(NOW_MS, 1.0),), is_delta=True)
    crooked = Reading(f"{NAME}_bucket", {"le": "much"}, "counter", (Point(NOW_MS, 1.0),))
    total = Reading("requests_total", {}, "counter", (Point(NOW_MS, 1.0),))
    sent = Sent()
    assert sent([gauge, delta, crooked, total], NOW_MS) == []
    assert sent.others == [gauge, delta, crooked, total]
    assert apart(series, {"something_else"}.__contains__) == (series, [])


def test_no_more_waits_than_the_bound_and_the_oldest_go_first_with_the_reason(monkeypatch):
    monkeypatch.setattr(assembling, "MOST_VALUES", 10)
    sent = Sent()
    for round_ in range(3):
        sent(scrape(round_)[0][:4], at(round_) // 1000)
    assert [each.ts_ms for each in sent.pending] == [at(1), at(2)]
    assert "more than 10 series" in sent.given_up[0]
