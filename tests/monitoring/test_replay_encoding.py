"""What a replay writes is what the doors read: each encoder against the decoder of its door."""

import math

from hypothesis import given
from hypothesis import strategies as st

from monitoring.readings import Histogram, Point, Reading
from monitoring.replaying import encoding
from monitoring.sources import envelope, exposition, otlp, remote_write

T0 = 1_790_000_000_000
names = st.from_regex(r"[a-z]{3}:[a-z_]{1,10}[a-z]", fullmatch=True)
labels = st.dictionaries(st.sampled_from(["route", "role", "engine"]), st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True))
numbers = st.floats(0, 1e15)


@st.composite
def histograms(draw):
    bounds = sorted(draw(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=5, unique=True)))
    counts = draw(st.lists(st.integers(0, 10**6).map(float), min_size=len(bounds) + 1, max_size=len(bounds) + 1))
    return Histogram(tuple(bounds), tuple(counts), draw(numbers))


@st.composite
def readings(draw, has_start=True):
    found = []
    for name in draw(st.lists(names, min_size=1, max_size=4, unique=True)):
        kind = draw(st.sampled_from(["counter", "gauge", "histogram"]))
        start = T0 - 5000 if has_start and kind != "gauge" else None
        value = draw(histograms()) if kind == "histogram" else draw(numbers)
        found.append(Reading(name, draw(labels), kind, (Point(T0, value, start), Point(T0 + 1000, value, start))))
    return found


def plain(each):
    """By what a door keeps: names, labels, and points."""
    return {(one.name, tuple(sorted(one.labels.items()))): one.points for one in each}


@given(readings())
def test_envelopes(given):
    message = envelope.decode(encoding.envelope(given, 7, T0))
    assert (message.seq, message.sent_ms, message.rejected) == (7, T0, [])
    assert message.readings == given


@given(readings())
def test_otlp(given):
    found, rejected = otlp.decode(encoding.otlp(given), "application/x-protobuf", "gzip")
    assert not rejected
    for each in given:
        own = [one for one in found if one.name == each.name]
        assert {(one.kind, one.is_delta) for one in own} == {(each.kind, False)}
        assert all(each.labels.items() <= one.labels.items() for one in own)
        assert tuple(point for one in own for point in one.points) == each.points


def test_otlp_tells_each_instance_as_a_resource():
    given = [
        Reading("vllm:num_requests_running", {"instance": f"prfaas-{number}"}, "gauge", (Point(T0, float(number)),))
        for number in (1, 2)
    ]
    found, _ = otlp.decode(encoding.otlp(given), "application/x-protobuf", "gzip")
    assert {each.labels["instance"]: each.points[0].value for each in found} == {"prfaas-1": 1, "prfaas-2": 2}


@given(readings(has_start=False))
def test_remote_write(given):
    found, rejected = remote_write.decode(encoding.remote_write(given), "application/x-protobuf", "snappy")
    assert not rejected
    assert plain(found) == plain(given)


@given(readings(has_start=False))
def test_pages_have_the_newest_points(given):
    found, rejected = exposition.readings(encoding.page(given), T0 + 1000)
    assert not rejected
    assert plain(found) == {key: points[-1:] for key, points in plain(given).items()}
    assert {each.name: each.kind for each in found} == {each.name: each.kind for each in given}


def test_a_flat_histogram_is_cumulative():
    (reading,) = [
        Reading("ttft", {"route": "remote"}, "histogram", (Point(T0, Histogram((1.0, 2.0), (3, 2, 1), 9.0)),))
    ]
    told = {(name, labels.get("le")): points[0][1] for name, labels, points in encoding.flat(reading)}
    assert told == {
        ("ttft_bucket", "1.0"): 3, ("ttft_bucket", "2.0"): 5, ("ttft_bucket", "+Inf"): 6,
        ("ttft_sum", None): 9, ("ttft_count", None): 6,
    }  # fmt: skip
    assert math.inf not in told.values()
