"""Rollups against a plain recomputation from the set of samples, whatever the order in which they came."""

import itertools
import math
import struct

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitoring.models import Frame, Rollup, Sample, Series, Source
from monitoring.readings import Histogram, Point
from monitoring.storage.rollups import GAP_MS, RESOLUTIONS_S
from monitoring.storage.writer import Writer
from monitoring.wire import Columns, Mapped, packed
from tests.examples import examples

pytestmark = pytest.mark.django_db

START_MS = 1_790_000_000_000


def frame(source, *series, form="one by one"):
    points = sum(len(each.points) for each in series)
    return Frame.objects.create(source=source, received_ms=START_MS, points=points, payload=payload(series, form))


FORMS = ("one by one", "columns", "former")
"""In which a frame may keep its series; the last one is what was written before there were columns."""


def payload(series, form):
    if form == "columns":
        return packed([], columns(series))
    return msgspec.msgpack.encode(list(series)) if form == "former" else packed(list(series))


def columns(series):
    points = [point for each in series for point in each.points]
    starts = [-1 if point.start_ms is None else point.start_ms for point in points]
    return Columns(
        series=msgspec.msgpack.encode([(each.signal, each.kind, each.labels, each.wrap_bits) for each in series]),
        sizes=struct.pack(f"<{len(series)}q", *(len(each.points) for each in series)),
        ts_ms=struct.pack(f"<{len(points)}q", *(point.ts_ms for point in points)),
        value=struct.pack(f"<{len(points)}d", *(point.value for point in points)),
        start_ms=struct.pack(f"<{len(points)}q", *starts),
    )


def drained(writer):
    while writer.drain().frames:
        pass


def series(kind, points, signal="link_egress_bits", wrap_bits=0):
    return Mapped(signal, kind, (("link", "wan"),), tuple(points), wrap_bits)


# --- the plain way -----------------------------------------------------------------------------------------------


def plain(kind, points, resolution_s, wrap_bits=0):
    """Rollups of points by bucket: loops over the set of them, nothing else."""
    size = resolution_s * 1000
    by_time = {}
    for point in points:
        by_time.setdefault(point.ts_ms, point)
    found = {}
    before = None
    for ts_ms in sorted(by_time):
        point = by_time[ts_ms]
        row = found.setdefault(ts_ms // size * size, {"values": [], "sum": 0.0, "span": 0})
        row["last"], row["last_ms"] = point.value, ts_ms
        if kind == "gauge":
            row["values"].append(point.value)
            row["sum"] += point.value
        elif kind == "counter" and before is not None:
            increase, ms = point.value - before.value, ts_ms - before.ts_ms
            if increase < 0 and wrap_bits and before.value > 0.75 * 2**wrap_bits and point.value < 0.25 * 2**wrap_bits:
                increase += 2**wrap_bits
            same = None in (point.start_ms, before.start_ms) or point.start_ms == before.start_ms
            if increase >= 0 and ms <= GAP_MS and same:
                row["values"].append(increase * 1000 / ms)
                row["sum"] += increase
                row["span"] += ms
        elif kind == "delta" and point.start_ms is not None and point.start_ms < ts_ms:
            row["values"].append(point.value * 1000 / (ts_ms - point.start_ms))
            row["sum"] += point.value
            row["span"] += ts_ms - point.start_ms
        before = point
    return found


def close(one, other):
    return one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=1e-12))


def agree(kind, points, wrap_bits=0):
    for resolution_s in RESOLUTIONS_S:
        wanted = plain(kind, points, resolution_s, wrap_bits)
        rows = {row.bucket_ms: row for row in Rollup.objects.filter(resolution_s=resolution_s)}
        assert set(rows) == set(wanted)
        for bucket_ms, expected in wanted.items():
            row, values = rows[bucket_ms], expected["values"]
            assert close(row.min, min(values, default=None)), (resolution_s, bucket_ms)
            assert close(row.max, max(values, default=None))
            assert close(row.sum, expected["sum"])
            assert row.count == len(values)
            assert (row.last, row.last_ms, row.span_ms) == (expected["last"], expected["last_ms"], expected["span"])


# --- random arrivals ---------------------------------------------------------------------------------------------


OFFSETS = st.lists(st.integers(0, 900_000), min_size=1, max_size=24, unique=True)


@st.composite
def arrivals(draw):
    """Points of a series with resets and starts, cut into frames in any order and form, some of them sent twice."""
    times = sorted(draw(OFFSETS))
    values = draw(st.lists(st.integers(0, 2**33), min_size=len(times), max_size=len(times)))
    starts = draw(st.lists(st.sampled_from([None, 5, 7]), min_size=len(times), max_size=len(times)))
    points = [Point(START_MS + at, float(value), start) for at, value, start in zip(times, values, starts, strict=True)]
    order = draw(st.permutations(points))
    twice = [point for point in points if draw(st.booleans())]
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=12))
    forms = draw(st.lists(st.sampled_from(FORMS), min_size=1, max_size=6))
    frames, rest = [], [*order, *twice]
    while rest:
        size = sizes[len(frames) % len(sizes)]
        frames.append((rest[:size], forms[len(frames) % len(forms)]))
        rest = rest[size:]
    return points, frames, draw(st.booleans()), draw(st.integers(1, 3))


@pytest.mark.parametrize(("kind", "wrap_bits"), [("gauge", 0), ("counter", 0), ("counter", 32), ("delta", 0)])
@settings(examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=arrivals())
def test_rollups_are_those_of_the_set_of_samples(kind, wrap_bits, given):
    points, frames, restarts, at_once = given
    source = Source.objects.create(name="any")
    writer = Writer()
    for some in itertools.batched(frames, at_once):
        for held, form in some:
            frame(source, series(kind, held, wrap_bits=wrap_bits), form=form)
        writer.drain()
        if restarts:
            writer = Writer()
    assert Sample.objects.count() == len(points)
    agree(kind, points, wrap_bits)
    for model in (Frame, Sample, Rollup, Series, Source):
        model.objects.all().delete()


@settings(examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=arrivals(), counts=st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_histograms_sum_their_increases(given, counts):
    points, frames, _, _ = given
    source = Source.objects.create(name="any")
    rising = {point.ts_ms: tuple(count * (at + 1) for count in counts) for at, point in enumerate(points)}
    writer = Writer()
    for held, _ in frames:
        observed = [Point(point.ts_ms, Histogram((1.0, 2.0), rising[point.ts_ms], 1.0)) for point in held]
        frame(source, series("histogram", observed, "ttft_s"))
        writer.drain()
    for resolution_s in RESOLUTIONS_S:
        size = resolution_s * 1000
        wanted = {point.ts_ms // size * size: 0 for point in points}
        for before, point in itertools.pairwise(points):
            if point.ts_ms - before.ts_ms <= GAP_MS:
                wanted[point.ts_ms // size * size] += sum(counts)
        found = {row.bucket_ms: row.count for row in Rollup.objects.filter(resolution_s=resolution_s)}
        assert found == wanted
    for model in (Frame, Sample, Rollup, Series, Source):
        model.objects.all().delete()


# --- by hand -----------------------------------------------------------------------------------------------------


@pytest.fixture
def source():
    return Source.objects.create(name="router")


def stored(source, kind, *points, wrap_bits=0):
    frame(source, series(kind, points, wrap_bits=wrap_bits))
    drained(Writer())
    return Rollup.objects.filter(resolution_s=600).order_by("bucket_ms")


def at(seconds, value, start_ms=None):
    return Point(START_MS + int(seconds * 1000), float(value), start_ms)


def test_a_counter_that_begins_again_has_no_rate_there(source):
    (row,) = stored(source, "counter", at(0, 100), at(10, 200), at(20, 50), at(30, 60))
    assert (row.sum, row.count, row.span_ms) == (110, 2, 20_000)
    assert (row.min, row.max) == (1.0, 10.0)


def test_a_restart_that_looks_like_growth_is_one(source):
    (row,) = stored(source, "counter", at(0, 100, 1), at(10, 200, 1), at(20, 250, 2))
    assert (row.sum, row.count) == (100, 1)


def test_a_counter_of_32_bits_goes_on_where_it_wraps(source):
    (row,) = stored(source, "counter", at(0, 2**32 - 100), at(10, 100), wrap_bits=32)
    assert row.sum == 200


def test_silence_is_no_rate(source):
    (row,) = stored(source, "counter", at(0, 0), at(GAP_MS / 1000 + 1, 1e9))
    assert (row.sum, row.count, row.min) == (0, 0, None)


def test_what_is_stored_leaves_the_inbox(source):
    stored(source, "gauge", at(0, 1))
    assert not Frame.objects.exists()


def test_a_frame_that_cannot_be_stored_stays_there(source, monkeypatch):
    frame(source, series("gauge", [at(0, 1)]))
    writer = Writer()
    with monkeypatch.context() as patched:
        patched.setattr("monitoring.storage.tables.upsert_columns", lambda rows: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            writer.drain()
    assert Frame.objects.count() == 1
    assert not Sample.objects.exists()
    drained(writer)
    assert Sample.objects.count() == 1


def test_series_of_two_sources_are_two(source):
    other = Source.objects.create(name="other")
    frame(source, series("gauge", [at(0, 1)]))
    frame(other, series("gauge", [at(0, 2)]))
    drained(Writer())
    assert Series.objects.count() == 2
    assert sorted(Sample.objects.values_list("value", flat=True)) == [1.0, 2.0]


def test_what_was_acknowledged_before_there_were_columns_is_sorted_in(source):
    # As it was written then, byte by byte: a counter of two points, and a histogram.
    written = bytes.fromhex(
        "9295b06c696e6b5f6567726573735f62697473a7636f756e7465729192a46c696e6ba377616e9293cf000001a0c4506c00cb"
        "40140000000000000793cf000001a0c4506fe8cb401a000000000000c02095a6747466745f73a9686973746f6772616d9091"
        "93cf000001a0c4506c009391cb3fe000000000000092cb3ff0000000000000cb4000000000000000cb7ff8000000000000c0"
        "00"
    )
    Frame.objects.create(source=source, received_ms=START_MS, points=3, payload=written)
    drained(Writer())
    egress, ttft = Series.objects.order_by("signal")
    assert (egress.labels, egress.wrap_bits, ttft.kind, ttft.bounds) == ({"link": "wan"}, 32, "histogram", [0.5])
    counted = Sample.objects.filter(series=egress).order_by("ts_ms")
    assert list(counted.values_list("ts_ms", "value")) == [(START_MS, 5.0), (START_MS + 1000, 6.5)]
    assert counted[0].start_ms == 7
    assert struct.unpack("<2d", Sample.objects.get(series=ttft).counts) == (1.0, 2.0)


def test_of_what_stands_twice_the_first_is_kept_whatever_the_form(source):
    for value, form in enumerate(FORMS * 2):
        frame(source, series("gauge", [at(0, value)]), form=form)
    drained(Writer())
    assert Sample.objects.get().value == 0.0


def test_a_source_that_is_deleted_while_its_frames_wait_does_not_stop_the_others(source):
    other, writer = Source.objects.create(name="other"), Writer()
    for each in (source, other):
        frame(each, series("gauge", [at(0, 1)]), form="columns")
    drained(writer)
    for each in (source, other):
        frame(each, series("gauge", [at(1, 2)]), form="columns")
    source.delete()
    drained(writer)
    assert Sample.objects.filter(series__source=other).count() == 2
    assert not Frame.objects.exists()


def test_series_that_a_failed_transaction_has_made_are_made_again(source, monkeypatch):
    frame(source, series("gauge", [at(0, 1)]), form="columns")
    writer = Writer()
    with monkeypatch.context() as patched:
        patched.setattr("monitoring.storage.tables.upsert_columns", lambda rows: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            writer.drain()
    assert not Series.objects.exists()
    drained(writer)
    assert Sample.objects.get().series == Series.objects.get()


def test_a_slow_database_gets_shorter_transactions_and_a_quick_one_longer_ones(monkeypatch):
    source = Source.objects.create(name="router")
    for second in range(60):
        points = [Point(START_MS + second * 1000 + ms, 1.0) for ms in range(1000)]
        frame(source, series("gauge", points))
    took_s, clock = 4.0, itertools.count()
    monkeypatch.setattr("monitoring.storage.writer.MOST_POINTS", 12_000)
    monkeypatch.setattr("monitoring.storage.writer.LEAST_POINTS", 2000)
    monkeypatch.setattr("monitoring.storage.writer.time.monotonic", lambda: took_s * next(clock))
    writer = Writer()
    # first as many as ever; 12,000 in 4 s are 1,500 in half a second, and so no more than the least
    assert [writer.drain().frames for _ in range(2)] == [12, 2]
    took_s = 0.25
    assert [writer.drain().frames for _ in range(4)] == [2, 4, 8, 12]
