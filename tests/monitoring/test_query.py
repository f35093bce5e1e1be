"""What is read back: rates, gaps, clamps, quantiles, the same at every resolution; and what is no longer kept."""

import numpy as np
import pytest
from django.db import connection

from monitoring.models import Frame, Rollup, Sample, Source
from monitoring.readings import Histogram, Point
from monitoring.storage import query, retention
from monitoring.storage.query import lines, matching, quantile, window
from monitoring.storage.writer import Writer
from monitoring.wire import Mapped, packed

pytestmark = pytest.mark.django_db
T0 = 1_790_000_400_000 // 600_000 * 600_000
WAN = (("link", "wan"),)


@pytest.fixture
def source():
    return Source.objects.create(name="router")


def store(source, *series):
    for each in series:
        Frame.objects.create(source=source, received_ms=T0, points=len(each.points), payload=packed([each]))
    writer = Writer()
    while writer.drain().frames:
        pass


def counter(values, step_s=1, signal="link_egress_bits", at_s=0):
    points = tuple(Point(T0 + (at_s + at * step_s) * 1000, float(value)) for at, value in enumerate(values))
    return Mapped(signal, "counter", WAN, points)


def gauge(values, step_s=1, signal="link_rtt_s"):
    return Mapped(signal, "gauge", WAN, tuple(Point(T0 + at * step_s * 1000, float(v)) for at, v in enumerate(values)))


def read(signal, seconds, points=600):
    (line,) = lines(matching(signal, {"link": "wan"}), window(T0, T0 + seconds * 1000, points))
    return line


def test_a_window_has_no_more_points_than_were_asked_for():
    for seconds in (1, 60, 3600, 86_400, 30 * 86_400):
        for points in (10, 600):
            found = window(T0, T0 + seconds * 1000, points)
            assert (found.end_ms - found.start_ms) / found.step_ms <= points
            assert found.step_ms % (max(found.resolution_s, 1) * 1000) == 0
    assert window(T0, T0 + 3600_000).resolution_s == 0
    assert window(T0, T0 + 86_400_000).resolution_s == 60


def test_a_counter_is_read_as_its_rate(source):
    store(source, counter(np.arange(120) * 1e9))
    line = read("link_egress_bits", 120, 12)
    assert line.mean == pytest.approx([1e9] * 12)
    assert line.ts_ms == [T0 + at * 10_000 for at in range(12)]


def test_every_resolution_tells_the_same_increase(source):
    rng = np.random.default_rng(1)
    values = np.cumsum(rng.integers(0, 10_000, 3600))
    store(source, counter(values))
    for points, resolution in ((3600, 0), (360, 10), (60, 60), (6, 600)):
        asked = window(T0, T0 + 3600_000, points)
        assert asked.resolution_s == resolution
        (line,) = lines(matching("link_egress_bits", {}), asked)
        # The first sample has none before it: its bucket covers a second less.
        seconds = [asked.step_ms / 1000 - (at == 0) for at in range(len(line.mean))]
        rates = [rate or 0.0 for rate in line.mean]
        assert sum(np.multiply(rates, seconds)) == pytest.approx(values[-1] - values[0])
        assert max(filter(None, line.high)) == np.diff(values).max()


def test_silence_is_a_gap_and_no_zero(source):
    store(source, gauge(range(10)), Mapped("link_rtt_s", "gauge", WAN, (Point(T0 + 300_000, 5.0),)))
    line = read("link_rtt_s", 600)
    assert line.mean[-2:] == [None, 5.0]
    assert 0.0 not in line.mean[1:]


def test_a_rate_beyond_what_the_link_carries_is_clamped_and_flagged(source):
    store(source, gauge([10e9], signal="link_capacity_bps"), counter([0, 5e9, 5e9 + 80e9, 90e9]))
    line = read("link_egress_bits", 4)
    assert max(filter(None, line.mean)) == 10e9
    assert line.clamped == [False, False, True, False]


@pytest.mark.parametrize("points", [600, 60])
def test_a_rate_is_held_against_what_the_link_carried_then(source, points):
    capacity = gauge([10e9] * 60 + [1e9] * 540, signal="link_capacity_bps")
    bits = counter(np.cumsum([0] + [8e9] * 59 + [2e9] * 10 + [0.5e9] * 530))
    store(source, capacity, bits)
    line = read("link_egress_bits", 600, points)
    told = zip(line.ts_ms, line.high, line.clamped, strict=True)
    rates = {(ts_ms - T0) // 1000: (high, flag) for ts_ms, high, flag in told}
    assert rates[50] == (8e9, False)
    # the second, or ten seconds, in which the capacity fell still had the larger one
    assert rates[60] == (2e9, False)
    assert rates[70 if points == 60 else 65] == ((0.5e9, False) if points == 60 else (1e9, True))
    (line,) = lines(matching("link_egress_bits", {}), window(T0, T0 + 50_000, 5))
    assert not any(line.clamped)
    (line,) = lines(matching("link_egress_bits", {}), window(T0 + 62_000, T0 + 68_000))
    assert set(filter(None, line.high)) == {1e9}


def test_absent_is_not_zero(source):
    assert matching("link_egress_bits", {}) == []
    store(source, counter([5]))
    assert read("link_egress_bits", 10).mean == [None]


def test_a_histogram_has_quantiles_and_the_counts_of_the_window(source):
    points = tuple(
        Point(T0 + at * 1000, Histogram((1.0, 2.0, 4.0), (10.0 * at, 20.0 * at, 10.0 * at, 0.0), 60.0 * at))
        for at in range(61)
    )
    store(source, Mapped("ttft_s", "histogram", WAN, points))
    for seconds, count in ((61, 600), (61, 6)):
        line = read("ttft_s", seconds, count)
        assert line.counts == [600.0, 1200.0, 600.0, 0.0]
        assert line.mean[-1] == pytest.approx(60 / 40)
        assert line.quantiles["p50"][-1] == pytest.approx(1.5)


def test_quantiles_are_linear_within_a_bucket():
    bounds, counts = np.array([1.0, 2.0, 4.0]), np.array([0.0, 10.0, 10.0, 0.0])
    assert quantile(bounds, counts, 0.25) == pytest.approx(1.5)
    assert quantile(bounds, counts, 0.75) == pytest.approx(3.0)
    assert quantile(bounds, np.array([0.0, 0.0, 0.0, 5.0]), 0.5) == 4.0
    assert quantile(bounds, np.zeros(4), 0.5) is None


def test_what_is_old_is_deleted_and_the_rest_stays(source):
    day = retention.DAY_MS
    old = Mapped("link_rtt_s", "gauge", WAN, tuple(Point(T0 - 3 * day + at * 1000, 1.0) for at in range(50)))
    store(source, old, gauge(range(50)))
    while retention.expire(T0 + 60_000, {0: 2, 10: 2, 60: 400, 600: 400}):
        pass
    assert set(Sample.objects.values_list("ts_ms", flat=True)) == {T0 + at * 1000 for at in range(50)}
    assert Rollup.objects.filter(resolution_s=10, bucket_ms__lt=T0).count() == 0
    assert Rollup.objects.filter(resolution_s=60, bucket_ms__lt=T0).exists()


def test_days_are_partitions_where_the_database_has_them(source):
    store(source, gauge([1]))
    if connection.vendor == "postgresql":
        from monitoring.storage import partitions

        assert partitions.days() == [T0 // retention.DAY_MS]


def test_queries_do_not_grow_with_the_window(source, django_assert_num_queries):
    store(source, gauge(range(600)))
    found = matching("link_rtt_s", {})
    for seconds in (60, 600, 7 * 86_400):
        with django_assert_num_queries(2 if window(T0, T0 + seconds * 1000).resolution_s == 0 else 1):
            query.lines(found, window(T0, T0 + seconds * 1000))
