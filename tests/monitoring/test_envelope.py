"""Our envelope: what of it becomes readings, and what is said of the rest."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.readings import Histogram, Malformed, Point, Reading
from monitoring.sources import envelope, frames
from monitoring.wire import Mapped, packed, unpacked
from tests.examples import examples
from tests.monitoring.fuzzing import thoroughly

NOW_MS = 1_790_000_000_000


def reading(**changes):
    return {"name": "link_rtt_s", "kind": "gauge", "labels": {"link": "wan"}, "points": [[NOW_MS, 0.01]], **changes}


def frame(*readings, **changes):
    return json.dumps({"v": 1, "seq": 7, "readings": list(readings), **changes})


def test_an_envelope_becomes_readings_and_says_its_number():
    found = envelope.decode(frame(reading(), source="gw", sent_ms=NOW_MS))
    assert found.readings == [Reading("link_rtt_s", {"link": "wan"}, "gauge", (Point(NOW_MS, 0.01),))]
    assert (found.seq, found.source, found.sent_ms) == (7, "gw", NOW_MS)


def test_text_and_binary_frames_are_read_alike():
    assert envelope.decode(frame(reading()).encode()) == envelope.decode(frame(reading()))


def test_a_counter_says_since_when_it_counts_and_an_increase_that_it_is_one():
    given_ = reading(kind="counter", points=[[NOW_MS, 5, NOW_MS - 1000]], is_delta=True)
    [found] = envelope.decode(frame(given_)).readings
    assert found.points == (Point(NOW_MS, 5.0, NOW_MS - 1000),)
    assert found.is_delta


def test_points_as_they_are_read_can_be_packed_and_are_the_same_afterwards():
    [found] = envelope.decode(frame(reading(points=[[NOW_MS, 1], [NOW_MS + 1, 2.5, 3]]))).readings
    series = Mapped("link_rtt_s", "gauge", (), found.points)
    assert unpacked(packed([series]))[0].points == (Point(NOW_MS, 1.0), Point(NOW_MS + 1, 2.5, 3))


def test_a_histogram_has_its_buckets_each_alone():
    given_ = reading(name="ttft_s", kind="histogram", points=[[NOW_MS, {"le": [0.1, 1], "n": [5, 2, 1], "sum": 2.5}]])
    [found] = envelope.decode(frame(given_)).readings
    assert found.points[0].value == Histogram((0.1, 1.0), (5.0, 2.0, 1.0), 2.5)


def test_a_histogram_may_leave_its_sum_away():
    given_ = reading(kind="histogram", points=[[NOW_MS, {"le": [1], "n": [1, 0]}]])
    assert math.isnan(envelope.decode(frame(given_)).readings[0].points[0].value.total)


WRONG = {
    "no points": (reading(points=[]), "has no points"),
    "no name": (reading(name=""), "name is empty"),
    "a kind that is none": (reading(kind="timer"), "Invalid enum value 'timer'"),
    "text as value": (reading(points=[[NOW_MS, "5"]]), "points"),
    "a histogram as gauge": (reading(points=[[NOW_MS, {"le": [1], "n": [1, 1]}]]), "must be a number"),
    "a histogram as columns": (reading(points=[[NOW_MS, [[1.0], [1.0, 2.0]]]]), "points"),
    "a number as histogram": (reading(kind="histogram"), "must be {le, n, sum}"),
    "a count too few": (reading(kind="histogram", points=[[NOW_MS, {"le": [1], "n": [1]}]]), "one more than bounds"),
    "bounds that fall": (reading(kind="histogram", points=[[1, {"le": [2, 1], "n": [1, 1, 1]}]]), "does not rise"),
    "a negative count": (reading(kind="histogram", points=[[1, {"le": [2], "n": [1, -1]}]]), "below zero"),
    "a label that is no text": (reading(labels={"link": 5}), "labels"),
    "no object": (5, "Expected `object`"),
}


@pytest.mark.parametrize(("wrong", "said"), WRONG.values(), ids=WRONG)
def test_a_reading_that_is_none_is_rejected_by_its_place_and_the_others_are_taken(wrong, said):
    found = envelope.decode(frame(reading(), wrong, reading(name="other")))
    assert [each.name for each in found.readings] == ["link_rtt_s", "other"]
    assert found.places == [0, 2]
    [rejected] = found.rejected
    assert rejected.index == 1
    assert said in rejected.reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "no JSON object"),
        ("{", "no JSON object"),
        ("{}", "no format that is spoken here"),
        (frame(v=2), "version 2"),
        (frame(seq=-1), "seq is -1"),
        (frame(seq=2**63), "seq is"),
        (frame(seq="7"), "`$.seq`"),
        ('{"v": 1, "readings": []}', "`seq`"),
        ("[" * 100_000, "no JSON object"),
    ],
)
def test_what_is_no_envelope_is_refused_whole(text, said):
    with pytest.raises(Malformed, match=said.replace("$", r"\$")):
        frames.decode(text, NOW_MS)


def test_a_frame_of_too_many_points_is_refused(monkeypatch):
    monkeypatch.setattr(envelope, "MOST_POINTS", 3)
    with pytest.raises(Malformed, match="more than 3 points"):
        envelope.decode(frame(reading(), reading(points=[[1, 1], [2, 2], [3, 3]])))


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
FIELDS = st.sampled_from(["name", "kind", "labels", "points", "is_delta"])
KEYS = st.sampled_from(["v", "seq", "readings", "metrics", "name", "fields", "kind", "counter", "timestamp", "tags"])


@thoroughly
@given(
    st.binary(max_size=200) | st.dictionaries(KEYS, VALUES | st.just(1)).map(lambda found: json.dumps(found).encode())
)
def test_whatever_comes_is_read_or_refused(body):
    try:
        found = frames.decode(body, NOW_MS)
    except Malformed:
        return
    assert len(found.places) == len(found.readings)


@thoroughly
@given(st.lists(st.builds(lambda field, value: {**reading(), field: value}, FIELDS, VALUES), max_size=4))
def test_every_reading_is_taken_or_rejected(readings):
    found = envelope.decode(frame(*readings))
    assert len(found.readings) + len(found.rejected) == len(readings)


@examples(50)
@given(st.lists(st.builds(lambda field, value: {**reading(), field: value}, FIELDS, VALUES), max_size=2))
def test_what_is_read_at_once_is_what_one_by_one_is_read(readings):
    body = frame(reading(), *readings, reading(points=[[NOW_MS, 4, 5], [NOW_MS + 1, -0.5]]), sent_ms=NOW_MS)
    assert envelope.decode(body) == envelope._one_by_one(body)
