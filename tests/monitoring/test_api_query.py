"""Values over REST: by window and labels, as files, and refusals by field."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from monitoring.models import Frame, Source
from monitoring.readings import Histogram, Point
from monitoring.storage.writer import Writer
from monitoring.wire import Mapped, packed

pytestmark = pytest.mark.django_db
T0 = 1_790_000_400_000
ADDRESS = "/api/v1/live/query/"


@pytest.fixture(autouse=True)
def stored():
    for number, (name, link) in enumerate([("router-a", "wan"), ("router-b", "lan")]):
        source = Source.objects.create(name=name)
        sent = [Point(T0 + at * 1000, at * 1e9 * (number + 1)) for at in range(61)]
        seen = [Point(T0 + at * 1000, Histogram((1.0,), (at, at), at * 1.0)) for at in range(5)]
        bits = Mapped("link_egress_bits", "counter", (("link", link),), tuple(sent))
        ttft = Mapped("ttft_s", "histogram", (("link", link),), tuple(seen))
        Frame.objects.create(source=source, received_ms=T0, points=66, payload=packed([bits, ttft]))
    Writer().drain()


def get(address=ADDRESS, **query):
    return Client().get(address, {"start": T0, "end": T0 + 61_000, **query})


def test_rates_are_told_with_unit_source_and_labels():
    answer = get(signal="link_egress_bits", link="wan").json()
    (line,) = answer["series"]
    assert (line["source"], line["labels"], line["unit"]) == ("router-a", {"link": "wan"}, "bit/s")
    assert line["mean"][1:] == [1e9] * 60
    assert (answer["step_ms"], answer["resolution_s"]) == (1000, 0)


def test_series_are_chosen_by_source_and_fewer_points_are_coarser():
    answer = get(signal="link_egress_bits", source="router-b", points=6).json()
    assert [line["source"] for line in answer["series"]] == ["router-b"]
    assert answer["resolution_s"] == 10
    assert answer["series"][0]["mean"][-1] == 2e9


def test_a_histogram_has_its_counts_and_quantiles():
    (line, _) = get(signal="ttft_s").json()["series"]
    assert line["counts"] == [4.0, 4.0]
    assert line["bounds"] == [1.0]
    assert set(line["quantiles"]) == {"p50", "p90", "p99"}


def test_what_nobody_sends_is_an_empty_list():
    assert get(signal="link_rtt_s").json()["series"] == []


def test_all_series_are_listed():
    found = Client().get("/api/v1/live/series/?signal=ttft_s").json()["series"]
    assert [each["source"] for each in found] == ["router-a", "router-b"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"signal": "bytes"}, "signal"),
        ({}, "signal"),
        ({"signal": "ttft_s", "start": "yesterday"}, "start"),
        ({"signal": "ttft_s", "start": T0 + 62_000}, "start"),
        ({"signal": "ttft_s", "points": "1"}, "points"),
        ({"signal": "ttft_s", "points": "many"}, "points"),
        ({"signal": "ttft_s", "start": "-99999999999999d"}, "start"),
        ({"signal": "ttft_s", "start": "-30000d"}, "start"),
        ({"signal": "ttft_s", "start": "\u0663"}, "start"),
        ({"signal": "ttft_s", "lnik": "wan"}, "lnik"),
        ({"signal": "ttft_s", "role": "king"}, "role"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_field(query, field):
    answer = get(**query)
    assert answer.status_code == 400
    assert [(error["field"], error["value"]) for error in answer.json()["errors"]] == [
        (field, None if field not in query else str(query[field]))
    ]


def test_a_window_is_told_by_how_long_ago_it_was():
    answer = Client().get(ADDRESS, {"signal": "ttft_s", "start": "-15m"}).json()
    assert answer["end_ms"] - answer["start_ms"] == 15 * 60_000


def test_samples_are_had_as_csv_and_as_parquet_alike():
    text = b"".join(get("/api/v1/live/export/", signal="ttft_s").streaming_content).decode()
    lines = list(csv.DictReader(io.StringIO(text)))
    file = get("/api/v1/live/export/", signal="ttft_s", **{"as": "parquet"}).content
    table = pq.read_table(pa.BufferReader(file)).to_pylist()
    assert [int(line["ts_ms"]) for line in lines] == [row["ts_ms"] for row in table]
    assert [json.loads(line["counts"]) for line in lines] == [row["counts"] for row in table]
    assert len(table) == 10


def test_rollups_are_exported_for_windows_of_which_samples_are_no_longer_kept():
    address, asked = "/api/v1/live/export/", {"signal": "link_egress_bits", "link": "wan", "resolution_s": 10}
    lines = list(csv.DictReader(io.StringIO(b"".join(get(address, **asked).streaming_content).decode())))
    table = pq.read_table(pa.BufferReader(get(address, **asked, **{"as": "parquet"}).content)).to_pylist()
    # a counter of 1e9 bit each second: the first bucket has no sample before it, the last one only its first second
    assert [float(line["sum"]) for line in lines] == [9e9, *[1e10] * 5, 1e9]
    assert [row["sum"] for row in table] == [9e9, *[1e10] * 5, 1e9]
    assert {row["max"] for row in table} == {1e9}


def test_a_server_sends_an_export_as_it_reads_it():
    async def parts():
        answer = await AsyncClient().get("/api/v1/live/export/", {"signal": "ttft_s", "start": T0, "end": T0 + 61_000})
        assert answer.is_async
        return [part async for part in answer.streaming_content]

    lines = b"".join(async_to_sync(parts)()).decode().splitlines()
    assert len(lines) == 1 + 10


@pytest.mark.parametrize(
    ("given", "field"),
    [({}, "start"), ({"resolution_s": 60, "start": "-500d"}, "start"), ({"resolution_s": 7}, "resolution_s")],
)
def test_an_export_of_too_much_is_refused(given, field):
    answer = Client().get("/api/v1/live/export/", {"signal": "ttft_s", "start": "-365d", **given})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field
