"""OTLP and remote write over HTTP, through the real application: answered after the commit, in the sender's format."""

import base64
import gzip
import json

import cramjam
import httpx
import pytest
from django.db import OperationalError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from monitoring import inbox, pipeline
from monitoring.doors import http as door
from monitoring.models import Frame, Sample, Source
from monitoring.sources.remote_write import MESSAGES
from tests.monitoring import senders
from tests.monitoring.senders import application, asked, now_ms, taking

pytestmark = pytest.mark.django_db(transaction=True)
PROTOBUF = "application/x-protobuf"


@pytest.fixture
def secret():
    return senders.source()[1]


async def post(path, body, secret=None, **headers):
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if secret:
        sent["Authorization"] = f"Bearer {secret}"
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.post(path, content=body, headers=sent)


def points_stored():
    """Counted in the transaction that stores them."""
    return Source.objects.get().accepted


def otlp(*values, ts_ms=None, link="wan"):
    """A gauge link_rtt_s, one data point for each value."""
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="link_rtt_s")
    for at, value in enumerate(values):
        point = metric.gauge.data_points.add(time_unix_nano=((ts_ms or now_ms()) + at) * 10**6, as_double=value)
        attribute = point.attributes.add(key="link")
        attribute.value.string_value = link
    return request.SerializeToString()


def written(*values, ts_ms=None):
    """The same as a remote write, one sample for each value."""
    request = MESSAGES["WriteRequest"]()
    series = request.timeseries.add()
    for name, value in (("__name__", "link_rtt_s"), ("link", "wan")):
        series.labels.add(name=name, value=value)
    for at, value in enumerate(values):
        series.samples.add(value=value, timestamp=(ts_ms or now_ms()) + at)
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


async def write(body, secret, **headers):
    return await post(
        "/api/v1/write", body, secret, **{"Content_Type": PROTOBUF, "Content_Encoding": "snappy"} | headers
    )


# --- OTLP --------------------------------------------------------------------------------------------------------


async def test_an_export_is_stored_and_answered_in_its_own_format(secret):
    async with taking():
        answer = await post("/v1/metrics", otlp(0.01, 0.02), secret, Content_Type=PROTOBUF)
        assert (answer.status_code, answer.headers["content-type"]) == (200, PROTOBUF)
        assert not ExportMetricsServiceResponse.FromString(answer.content).HasField("partial_success")
        assert await asked(points_stored) == 2


async def test_json_and_gzip_are_taken_too(secret):
    point = {"timeUnixNano": str(now_ms() * 10**6), "asDouble": 0.01}
    metrics = [{"name": "link_rtt_s", "gauge": {"dataPoints": [point]}}]
    body = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}).encode()
    headers = {"Content_Type": "application/json", "Content_Encoding": "gzip"}
    async with taking():
        answer = await post("/v1/metrics", gzip.compress(body), secret, **headers)
        assert (answer.status_code, answer.json()) == (200, {})
        assert answer.headers["content-type"] == "application/json"
        assert await asked(points_stored) == 1


async def test_what_is_out_of_its_time_is_a_partial_success(secret):
    async with taking():
        answer = await post("/v1/metrics", otlp(0.01, ts_ms=now_ms() - 3_600_000), secret, Content_Type=PROTOBUF)
    told = ExportMetricsServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, told.rejected_data_points) == (200, 1)
    assert "older than 10 min" in told.error_message


# --- remote write ------------------------------------------------------------------------------------------------


async def test_a_write_is_stored_and_answered_with_nothing(secret):
    async with taking():
        answer = await write(written(0.01, 0.02, 0.03), secret)
        assert (answer.status_code, answer.content) == (204, b"")
        assert await asked(points_stored) == 3


async def test_a_write_that_comes_again_is_stored_once(secret):
    async with taking():
        body = written(0.01, 0.02)
        for _ in range(2):
            assert (await write(body, secret)).status_code == 204
        await senders.until(lambda: not Frame.objects.exists())
        assert await asked(Sample.objects.count) == 2


async def test_the_token_may_be_the_password_of_basic_authentication(secret):
    basic = "Basic " + base64.b64encode(f"prometheus:{secret}".encode()).decode()
    async with taking():
        assert (await write(written(0.01), None, Authorization=basic)).status_code == 204


async def test_a_sender_of_the_second_version_is_told_to_fall_back(secret):
    async with taking():
        answer = await write(b"", secret, Content_Type=f"{PROTOBUF};proto=io.prometheus.write.v2.Request")
    assert answer.status_code == 415


async def test_samples_out_of_their_time_are_not_tried_again_and_the_others_are_stored(secret):
    now = now_ms()
    request = MESSAGES["WriteRequest"]()
    for link, ts_ms in (("a", now), ("b", now - 3_600_000)):
        series = request.timeseries.add()
        for name, value in (("__name__", "link_rtt_s"), ("link", link)):
            series.labels.add(name=name, value=value)
        series.samples.add(value=0.01, timestamp=ts_ms)
    async with taking():
        answer = await write(bytes(cramjam.snappy.compress_raw(request.SerializeToString())), secret)
        assert answer.status_code == 400
        assert answer.text == "1 rejected, all others are stored: link_rtt_s: is older than 10 min (1)"
        assert await asked(points_stored) == 1


# --- both --------------------------------------------------------------------------------------------------------

DOORS = pytest.mark.parametrize("path", ["/v1/metrics", "/api/v1/write"])


@DOORS
async def test_without_a_token_nothing_is_taken_and_the_scheme_is_told(path):
    async with taking():
        answer = await post(path, b"", Content_Type=PROTOBUF)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="telemetry"')


@DOORS
async def test_with_a_token_of_nobody_nothing_is_taken(path):
    async with taking():
        assert (await post(path, b"", "of nobody", Content_Type=PROTOBUF)).status_code == 403


@DOORS
async def test_a_body_that_is_none_of_its_format_is_refused(path, secret):
    async with taking():
        assert (await post(path, b"\xff\xff", secret, Content_Type=PROTOBUF)).status_code == 400
        assert (await post(path, b"{}", secret, Content_Type="text/csv")).status_code == 415
    assert await asked(Source.objects.filter(accepted=0).count) == 1


@DOORS
async def test_a_body_that_is_too_large_is_refused(path, secret, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    async with taking():
        answer = await post(path, b"x" * 101, secret, Content_Type=PROTOBUF)
    assert answer.status_code == 413
    assert b"more than 100 bytes" in answer.content


@DOORS
async def test_only_posting_is_possible(path):
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "by POST, got GET" in answer.text


@DOORS
async def test_a_token_in_the_address_is_refused_with_the_reason(path, secret):
    async with taking():
        answer = await post(f"{path}?token={secret}", b"", secret, Content_Type=PROTOBUF)
    assert answer.status_code == 401
    assert b"a token in the address gets into logs" in answer.content


@pytest.mark.parametrize("path", ["/ws/ingest/", "/ws/live/"])
def test_who_comes_to_a_websocket_by_plain_http_is_told_so(client, path):
    answer = client.get(path)
    assert (answer.status_code, answer.headers["upgrade"]) == (426, "websocket")
    assert b"a proxy in front must pass on Upgrade" in answer.content


@DOORS
async def test_before_telemetry_is_taken_senders_try_again_later(path, secret):
    answer = await post(path, b"", secret, Content_Type=PROTOBUF)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


async def test_where_there_is_no_room_senders_try_again_later(secret, monkeypatch):
    def commit(offers):
        raise OperationalError("the database is away")

    monkeypatch.setattr(inbox, "commit", commit)
    monkeypatch.setattr(door, "ANSWERED_WITHIN_S", 0.1)
    async with taking() as intake:
        first = await write(written(0.01), secret)
        assert (first.status_code, first.headers["retry-after"]) == (503, "2")
        monkeypatch.setattr(pipeline, "MOST_BYTES", intake.pipeline.waiting_bytes)
        second = await post("/v1/metrics", otlp(0.01), secret, Content_Type=PROTOBUF)
        assert (second.status_code, second.headers["retry-after"]) == (503, "2")


async def test_a_disk_that_is_full_is_told(secret, monkeypatch):
    def commit(offers):
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(inbox, "commit", commit)
    async with taking():
        answer = await write(written(0.01), secret)
    assert (answer.status_code, answer.text) == (503, "the disk of the database is full")
