"""A real Prometheus, scraping a real node exporter, writes to us: what comes is what the exporter's page said."""

import http.server
import math
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import cramjam
import pytest
from prometheus_client.parser import text_string_to_metric_families

from monitoring.sources import remote_write
from tests.patience import UNTIL_ANSWER_S

# where Debian's names and the projects' own differ
NODE_EXPORTER = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
PROMETHEUS = shutil.which("prometheus")
pytestmark = pytest.mark.skipif(
    not (NODE_EXPORTER and PROMETHEUS),
    reason="no prometheus and node exporter on this machine: apt-get install prometheus prometheus-node-exporter",
)
HISTOGRAM = "prometheus_http_request_duration_seconds"
KEPT = f"up|node_boot_time_seconds|node_memory_MemTotal_bytes|node_cpu_seconds_total|{HISTOGRAM}_.*"
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{exporter}"], labels: {{role: prefill}}}}]
  - job_name: prometheus
    static_configs: [{{targets: ["127.0.0.1:{prometheus}"]}}]
remote_write:
  - url: http://127.0.0.1:{receiver}/api/v1/write
    queue_config: {{max_shards: 1, batch_send_deadline: 100ms}}
    metadata_config: {{send_interval: 1s}}
    write_relabel_configs:
      - {{source_labels: [__name__], regex: "{kept}", action: keep}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, what: str):
    """The first true value of `condition()`, asked ten times a second."""
    end = time.monotonic() + 2 * UNTIL_ANSWER_S
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not happen within {2 * UNTIL_ANSWER_S} s"
        time.sleep(0.1)
    return value


def page(port: int) -> dict[tuple[str, frozenset], float]:
    """What a /metrics page says now, by name and labels; empty while nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return {}
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps the bodies and headers that are posted to it."""

    def __init__(self):
        self.posted = []
        super().__init__(("127.0.0.1", 0), Post)


class Post(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.append((body, self.headers["Content-Type"], self.headers["Content-Encoding"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        """Silent."""


class Fleet:
    """A node exporter, a Prometheus that scrapes it and itself, and what that wrote to the receiver."""

    def __init__(self, receiver: Receiver, directory):
        self.receiver, self.exporter_port, self.prometheus_port = receiver, free_port(), free_port()
        self.quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        config = directory / "prometheus.yml"
        config.write_text(
            CONFIG.format(
                exporter=self.exporter_port,
                prometheus=self.prometheus_port,
                receiver=receiver.server_port,
                kept=KEPT,
            )
        )
        self.exporter = subprocess.Popen(
            [NODE_EXPORTER, f"--web.listen-address=127.0.0.1:{self.exporter_port}"], **self.quiet
        )
        until(lambda: page(self.exporter_port), "a page of the node exporter")
        self.before = page(self.exporter_port)
        self.prometheus = subprocess.Popen(
            [
                PROMETHEUS,
                f"--config.file={config}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.prometheus_port}",
            ],
            **self.quiet,
        )

    def readings(self):
        """All that came; nothing of it may be rejected."""
        for message in list(self.receiver.posted):
            readings, rejected = remote_write.decode(*message)
            assert not rejected
            yield from readings

    def named(self, name: str):
        return [reading for reading in self.readings() if reading.name == name]

    def close(self):
        for process in (self.prometheus, self.exporter):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    receiver = Receiver()
    thread = threading.Thread(target=receiver.serve_forever)
    thread.start()
    fleet = Fleet(receiver, tmp_path_factory.mktemp("prometheus"))
    try:
        until(lambda: fleet.named("node_boot_time_seconds") and fleet.named(HISTOGRAM), "a remote write of both pages")
        yield fleet
    finally:
        fleet.close()
        receiver.shutdown()
        receiver.server_close()
        thread.join()


@pytest.mark.parametrize("name", ["node_boot_time_seconds", "node_memory_MemTotal_bytes"])
def test_what_does_not_change_is_what_the_page_says(fleet, name):
    reading = fleet.named(name)[0]
    assert {point.value for point in reading.points} == {fleet.before[name, frozenset()]}
    assert reading.labels == {"instance": f"127.0.0.1:{fleet.exporter_port}", "job": "node", "role": "prefill"}


def test_counters_lie_between_the_pages_before_and_after(fleet):
    readings = fleet.named("node_cpu_seconds_total")
    after = page(fleet.exporter_port)
    assert readings
    for reading in readings:
        own = frozenset((label, reading.labels[label]) for label in ("cpu", "mode"))
        low, high = (one["node_cpu_seconds_total", own] for one in (fleet.before, after))
        assert reading.kind == "counter"
        assert all(low <= point.value <= high for point in reading.points)


def test_times_are_those_of_the_scrapes(fleet):
    now_ms = time.time() * 1000
    assert all(0 <= now_ms - point.ts_ms < 600_000 for one in fleet.named("up") for point in one.points)


def test_a_histogram_has_the_bounds_and_no_more_counts_than_the_page(fleet):
    reading = fleet.named(HISTOGRAM)[0]
    own = frozenset({("handler", reading.labels["handler"])})
    now = page(fleet.prometheus_port)
    cumulative = {
        float(dict(labels)["le"]): value
        for (name, labels), value in now.items()
        if name == f"{HISTOGRAM}_bucket" and own <= labels
    }
    value = reading.points[0].value
    assert (*value.bounds, math.inf) == tuple(sorted(cumulative))
    assert 0 < sum(value.counts) <= cumulative[math.inf]
    assert 0 < value.total <= now[f"{HISTOGRAM}_sum", own]


def test_metadata_come_too(fleet):
    def told():
        bodies = [
            remote_write.MESSAGES["WriteRequest"].FromString(unpacked(body)) for body, *_ in fleet.receiver.posted
        ]
        return {one.metric_family_name: one.type for body in bodies for one in body.metadata}

    kinds = until(told, "a write of metadata")
    assert kinds["node_cpu_seconds_total"] == 1


def test_a_target_that_goes_is_down_and_its_series_end(fleet):
    """Last, for it stops the exporter. Prometheus then writes a staleness marker for each series."""
    fleet.exporter.kill()
    until(lambda: any(one.labels["job"] == "node" and 0.0 in values(one) for one in fleet.named("up")), "up of 0")
    until(lambda: b"\x02\x00\x00\x00\x00\x00\xf0\x7f" in written(fleet), "a staleness marker")
    assert all(math.isfinite(value) for one in fleet.named("node_boot_time_seconds") for value in values(one))


def values(reading) -> list[float]:
    return [point.value for point in reading.points]


def unpacked(body: bytes) -> bytes:
    return bytes(cramjam.snappy.decompress_raw(body))


def written(fleet: Fleet) -> bytes:
    return b"".join(unpacked(body) for body, *_ in list(fleet.receiver.posted))
