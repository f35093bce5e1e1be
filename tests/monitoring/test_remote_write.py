"""Remote write 1.0: series as they are written, histograms put together, and what is none of it."""

import math
import struct
import tracemalloc

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.readings import Histogram, Malformed, Point, Unsupported
from monitoring.sources import packed, remote_write
from tests.monitoring.fuzzing import check, damaged, thoroughly

MS = 1_790_000_000_123
TYPE = "application/x-protobuf"
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
COUNTER, GAUGE, HISTOGRAM, SUMMARY = 1, 2, 3, 5
PLACE = {"instance": "10.0.0.1:8000", "job": "vllm"}


def packed_request(*series, metadata=()) -> bytes:
    """A body: each series is its name, labels, and samples (time, value)."""
    request = remote_write.MESSAGES["WriteRequest"]()
    for name, labels, samples in series:
        one = request.timeseries.add()
        for label in sorted({"__name__": name, **labels}.items()):
            one.labels.add(name=label[0], value=label[1])
        for ts_ms, value in samples:
            one.samples.add(timestamp=ts_ms, value=value)
    for family, kind in metadata:
        request.metadata.add(metric_family_name=family, type=kind)
    return snappy(request.SerializeToString())


def snappy(body: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(body))


def readings_of(*series, metadata=()):
    readings, rejected = remote_write.decode(packed_request(*series, metadata=metadata), TYPE, "snappy")
    assert not rejected
    return readings


def histogram(name: str, cumulative: dict[str, float], total: float, ts_ms: int = MS, labels=PLACE):
    """A histogram's series as Prometheus flattens it."""
    buckets = [(f"{name}_bucket", labels | {"le": le}, [(ts_ms, value)]) for le, value in cumulative.items()]
    count = list(cumulative.values())[-1]
    return [*buckets, (f"{name}_sum", labels, [(ts_ms, total)]), (f"{name}_count", labels, [(ts_ms, count)])]


# --- series


def test_a_message_is_read_by_the_protocols_field_numbers():
    """Written by hand from prompb/types.proto: TimeSeries{labels=1{name=1,value=2}, samples=2{value=1,timestamp=2}}."""
    label = b"\x0a\x0e\x0a\x08__name__\x12\x02up"
    sample = b"\x12\x0b\x09" + struct.pack("<d", 1.0) + b"\x10\x07"
    series = label + sample
    body = snappy(b"\x0a" + bytes([len(series)]) + series)
    (reading,), _ = remote_write.decode(body, TYPE, "snappy")
    assert (reading.name, reading.labels, reading.points) == ("up", {}, (Point(7, 1.0),))


def test_a_series_keeps_its_labels_and_all_its_samples():
    (reading,) = readings_of(("queue", PLACE, [(MS, 1.5), (MS + 5000, 0.0)]))
    assert reading.labels == PLACE
    assert reading.points == (Point(MS, 1.5), Point(MS + 5000, 0.0))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("node_network_transmit_bytes_total", "counter"),
        ("vllm:time_to_first_token_seconds_sum", "counter"),
        ("vllm:time_to_first_token_seconds_count", "counter"),
        ("vllm:num_requests_waiting", "untyped"),
        ("node_netstat_Tcp_RetransSegs", "untyped"),
    ],
)
def test_without_metadata_the_name_tells_the_kind(name, kind):
    assert readings_of((name, {}, [(MS, 1.0)]))[0].kind == kind


@pytest.mark.parametrize(
    ("name", "told", "kind"),
    [
        ("ifHCOutOctets", ("ifHCOutOctets", COUNTER), "counter"),
        ("requests_total", ("requests", COUNTER), "counter"),
        ("disk_total", ("disk_total", GAUGE), "gauge"),
        ("wait_seconds", ("wait_seconds", SUMMARY), "gauge"),
        ("wait_seconds_sum", ("wait_seconds", SUMMARY), "counter"),
        ("ttft_count", ("ttft", HISTOGRAM), "counter"),
        ("other", ("ifHCOutOctets", COUNTER), "untyped"),
        ("odd_total", ("odd_total", 99), "counter"),
    ],
)
def test_metadata_in_the_message_tells_the_kind(name, told, kind):
    assert readings_of((name, {}, [(MS, 1.0)]), metadata=[told])[0].kind == kind


def test_metadata_alone_are_no_readings():
    assert readings_of(metadata=[("up", GAUGE)]) == []


def test_a_staleness_marker_ends_a_series_without_a_value():
    assert readings_of(("up", {}, [(MS, STALE)])) == []
    assert readings_of(("up", {}, [(MS, 1.0), (MS + 1, STALE)]))[0].points == (Point(MS, 1.0),)


def test_a_nan_is_nothing_recorded():
    assert readings_of(("go_gc_duration_seconds", {"quantile": "0.5"}, [(MS, math.nan)])) == []


def test_what_cannot_be_taken_is_rejected_alone_and_by_its_place():
    body = packed_request(
        ("up", {}, [(MS, 1.0)]),
        ("", {}, [(MS, 1.0)]),
        ("late", {}, [(0, 1.0)]),
        ("limit", {}, [(MS, math.inf)]),
        ("down", {}, [(MS, 0.0)]),
    )
    readings, rejected = remote_write.decode(body, TYPE, "snappy")
    assert [reading.name for reading in readings] == ["up", "down"]
    assert [(one.index, one.reason) for one in rejected] == [
        (1, "a series has no __name__"),
        (2, "late: a sample has no time"),
        (3, "limit: a sample is infinite"),
    ]


def test_a_repeated_label_is_rejected():
    request = remote_write.MESSAGES["WriteRequest"]()
    series = request.timeseries.add()
    for name, value in (("__name__", "x"), ("a", "1"), ("a", "2")):
        series.labels.add(name=name, value=value)
    _, (rejected,) = remote_write.decode(snappy(request.SerializeToString()), TYPE, "snappy")
    assert rejected.reason == "x: a label is repeated"


def test_a_native_histogram_is_rejected_with_the_remedy():
    request = remote_write.MESSAGES["WriteRequest"]()
    series = request.timeseries.add(histograms=[b""])
    series.labels.add(name="__name__", value="ttft")
    _, (rejected,) = remote_write.decode(snappy(request.SerializeToString()), TYPE, "snappy")
    assert rejected.reason == "ttft: native histograms are not read here: send classic ones"


# --- histograms


def test_a_whole_histogram_becomes_one_reading_of_each_buckets_own_count():
    (reading,) = readings_of(*histogram("ttft", {"0.1": 2.0, "1": 5.0, "10.0": 9.0, "+Inf": 9.0}, 12.5))
    assert (reading.name, reading.labels, reading.kind, reading.is_delta) == ("ttft", PLACE, "histogram", False)
    assert reading.points == (Point(MS, Histogram((0.1, 1.0, 10.0), (2.0, 3.0, 4.0, 0.0), 12.5)),)


@given(st.permutations(histogram("ttft", {"0.1": 2.0, "1": 5.0, "+Inf": 6.0}, 12.5)))
def test_the_order_of_a_histograms_series_does_not_matter(series):
    (reading,) = readings_of(*series)
    assert reading.points[0].value == Histogram((0.1, 1.0), (2.0, 3.0, 1.0), 12.5)


def test_histograms_are_told_apart_by_their_labels():
    one = histogram("ttft", {"1": 5.0, "+Inf": 6.0}, 3.0, labels={"engine": "0"})
    other = histogram("ttft", {"1": 1.0, "+Inf": 1.0}, 0.5, labels={"engine": "1"})
    folded = readings_of(*one, *other)
    assert {reading.labels["engine"]: reading.points[0].value.total for reading in folded} == {"0": 3.0, "1": 0.5}


def test_a_sender_that_catches_up_gives_a_point_for_each_time():
    early, late = (histogram("ttft", {"1": n, "+Inf": n + 1}, n / 2, MS + int(n)) for n in (4.0, 6.0))
    (reading,) = readings_of(*early, *late)
    assert [(point.ts_ms - MS, point.value.counts) for point in reading.points] == [(4, (4.0, 1.0)), (6, (6.0, 1.0))]


@pytest.mark.parametrize("missing", range(1, 5))
def test_a_histogram_that_lacks_a_part_stays_counters(missing):
    """Without one of its buckets it is whole: that absence cannot be seen."""
    series = histogram("ttft", {"0.1": 2.0, "1": 5.0, "+Inf": 9.0}, 12.5)
    del series[missing]
    left = readings_of(*series)
    if missing == 1:
        assert left[0].points[0].value == Histogram((0.1,), (2.0, 7.0), 12.5)
    else:
        assert [(one.name, one.kind) for one in left] == [(name, "counter") for name, _, _ in series]


def test_parts_of_another_time_stay_counters():
    series = histogram("ttft", {"1": 5.0, "+Inf": 9.0}, 12.5)
    series[0][2].append((MS + 1, 6.0))
    folded, left = readings_of(*series)
    assert folded.kind == "histogram"
    assert (left.name, left.kind, left.points) == ("ttft_bucket", "counter", (Point(MS + 1, 6.0),))


def test_counts_that_fall_with_the_bound_are_no_histogram():
    assert {one.kind for one in readings_of(*histogram("ttft", {"1": 5.0, "+Inf": 4.0}, 1.0))} == {"counter"}


@pytest.mark.parametrize("le", ["", "many", "nan", "-Inf"])
def test_a_bucket_without_a_bound_is_a_counter(le):
    (reading,) = readings_of(("fill_bucket", {"le": le}, [(MS, 1.0)]))
    assert (reading.name, reading.kind) == ("fill_bucket", "counter")


def test_a_sum_that_is_of_no_histogram_is_left():
    whole = histogram("ttft", {"1": 5.0, "+Inf": 9.0}, 12.5)
    names = [one.name for one in readings_of(*whole, ("wait_sum", PLACE, [(MS, 1.0)]))]
    assert sorted(names) == ["ttft", "wait_sum"]


# --- formats


@pytest.mark.parametrize(
    "content_type", [TYPE, f"{TYPE};proto=prometheus.WriteRequest", f'{TYPE}; proto="prometheus.WriteRequest"', ""]
)
def test_version_1_is_spoken(content_type):
    assert len(remote_write.decode(packed_request(("up", {}, [(MS, 1.0)])), content_type)[0]) == 1


@pytest.mark.parametrize(
    ("content_type", "content_encoding"),
    [
        (f"{TYPE};proto=io.prometheus.write.v2.Request", "snappy"),
        (f"{TYPE}; charset=x; Proto = io.prometheus.write.v2.Request", "snappy"),
        ("application/json", "snappy"),
        (TYPE, "gzip"),
        (TYPE, "zstd"),
    ],
)
def test_version_2_and_other_formats_are_told_what_is_spoken(content_type, content_encoding):
    with pytest.raises(Unsupported, match="is not spoken here: send"):
        remote_write.decode(b"", content_type, content_encoding)


EXAMPLE = packed_request(
    *histogram("ttft", {"0.1": 2.0, "1": 5.0, "+Inf": 9.0}, 12.5),
    ("requests_total", PLACE, [(MS, 4.0), (MS + 1000, STALE)]),
    metadata=[("requests", COUNTER)],
)


@thoroughly
@given(st.one_of(st.binary(max_size=200), damaged(EXAMPLE)))
def test_any_body_is_read_or_refused(body):
    check(remote_write.decode, body, TYPE, "snappy")


@thoroughly
@given(damaged(bytes(cramjam.snappy.decompress_raw(EXAMPLE))))
def test_any_protobuf_in_whole_snappy_is_read_or_refused(message):
    check(remote_write.decode, snappy(message), TYPE, "snappy")


def test_a_size_that_is_only_claimed_is_refused_before_it_is_allocated():
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="unpacks to 4294967295 bytes"):
            remote_write.decode(b"\xff\xff\xff\xff\x0f" + bytes(20), TYPE, "snappy")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_bomb_is_refused():
    with pytest.raises(Malformed, match="send smaller batches"):
        remote_write.decode(snappy(bytes(packed.MOST_BYTES + 1)), TYPE, "snappy")


def test_more_samples_than_a_message_may_have_are_refused(monkeypatch):
    monkeypatch.setattr(remote_write, "MOST_POINTS", 2)
    with pytest.raises(Malformed, match="more than 2 samples"):
        readings_of(("up", {}, [(MS, 1.0), (MS + 1, 1.0), (MS + 2, 1.0)]))
