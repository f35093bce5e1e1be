"""A real node exporter, a real Prometheus and our real server, each way that they can be joined: the same values."""

import contextlib
import csv
import io
import itertools
import json
import math
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from tests.monitoring.test_real_prometheus import NODE_EXPORTER, PROMETHEUS, page, pytestmark  # noqa: F401 - a mark
from tests.stack.installation import Installation, free_port, until

CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{exporter}"]}}]
  - job_name: prometheus
    static_configs: [{{targets: ["127.0.0.1:{prometheus}"]}}]
remote_write:
  - url: http://127.0.0.1:{planner}/api/v1/write
    authorization: {{type: Bearer, credentials: "{token}"}}
    queue_config: {{max_shards: 1, batch_send_deadline: 100ms}}
    write_relabel_configs:
      - {{source_labels: [__name__], regex: "up|node_netstat_Tcp_OutSegs|process_start_time_seconds", action: keep}}
  - name: in-pieces
    url: http://127.0.0.1:{planner}/api/v1/write
    authorization: {{type: Bearer, credentials: "{pieces}"}}
    queue_config: {{min_shards: 3, max_shards: 3, max_samples_per_send: 4, capacity: 100, batch_send_deadline: 300ms}}
    write_relabel_configs:
      - {{source_labels: [__name__, handler], regex: "{histogram}_(bucket|sum|count);/metrics", action: keep}}
"""
HISTOGRAM = "prometheus_http_request_duration_seconds"
MAPPING = f"""
name: own-prometheus
version: 1
title: How long Prometheus takes to answer
source: its own page
rules:
  - {{metric: {HISTOGRAM}, signal: ttft_s}}
"""
SEGMENTS = "node_netstat_Tcp_OutSegs", frozenset()
ROUTES = ("by-remote-write", "by-scrape", "by-query")
LIVE = "/api/v1/live"


class Chain:
    """The exporter, the Prometheus that scrapes it, and the server that hears of both."""

    def __init__(self, planner, directory):
        self.planner, self.exporter_port, self.prometheus_port = planner, free_port(), free_port()
        self.directory, self.processes = directory, []

    def start(self):
        self._run(NODE_EXPORTER, f"--web.listen-address=127.0.0.1:{self.exporter_port}")
        until(lambda: page(self.exporter_port), 20, "a page of the node exporter")
        self.before = page(self.exporter_port)[SEGMENTS]
        self._describe("sources", name="by-remote-write")
        token = self.planner.request("POST", f"{LIVE}/sources/by-remote-write/tokens/", {}).document["token"]
        mapped = self.planner.request("PUT", f"{LIVE}/mappings/own-prometheus/", {"text": MAPPING}, login=True)
        assert mapped.status == 200, mapped
        self._describe("sources", name="in-pieces", systems=["own-prometheus"])
        pieces = self.planner.request("POST", f"{LIVE}/sources/in-pieces/tokens/", {}).document["token"]
        config = self.directory / "prometheus.yml"
        ports = {"exporter": self.exporter_port, "planner": self.planner.port, "prometheus": self.prometheus_port}
        config.write_text(CONFIG.format(**ports, token=token, pieces=pieces, histogram=HISTOGRAM))
        self._run(
            PROMETHEUS,
            f"--config.file={config}",
            f"--storage.tsdb.path={self.directory / 'prometheus'}",
            f"--web.listen-address=127.0.0.1:{self.prometheus_port}",
        )
        self._describe(
            "targets", name="by-scrape", url=f"http://127.0.0.1:{self.exporter_port}/metrics", interval_s=1.0
        )
        query = {"query": "node_netstat_Tcp_OutSegs", "signal": "sent_segments"}
        address = f"http://127.0.0.1:{self.prometheus_port}"
        self._describe("pulls", name="by-query", url=address, interval_s=1.0, queries=[query])
        return self

    def _describe(self, kind, **described):
        answer = self.planner.request("POST", f"{LIVE}/{kind}/", described)
        assert answer.status == 201, answer

    def _run(self, *command):
        self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def exported(self, source):
        """Time and value of each stored sample, by the door that hands them out."""
        return [(int(row["ts_ms"]), float(row["value"])) for row in self.rows("sent_segments", source)]

    def rows(self, signal, source):
        answer = self.planner.request("GET", f"{LIVE}/export/?signal={signal}&source={source}&start=-15m")
        return list(csv.DictReader(io.StringIO(answer.document.decode())))


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    directory = tmp_path_factory.mktemp("chain")
    planner = Installation("chain", directory)
    with contextlib.ExitStack() as closing:
        closing.callback(planner.stop)
        planner.start()
        chain = Chain(planner, directory)
        closing.callback(chain.stop)
        yield chain.start()


@pytest.mark.parametrize("source", ROUTES)
def test_what_the_exporters_page_says_is_what_we_hand_out(chain, source):
    found = until(lambda: len(each := chain.exported(source)) >= 3 and each, 60, f"three samples {source}")
    after = page(chain.exporter_port)[SEGMENTS]
    values = [value for _, value in found]
    assert values == sorted(values)
    assert all(chain.before <= value <= after for value in values)


def test_the_query_api_shows_the_counter_of_each_as_a_rate_that_is_never_negative(chain):
    until(lambda: all(len(chain.exported(source)) >= 5 for source in ROUTES), 60, "five samples of each")
    answer = chain.planner.request("GET", f"{LIVE}/query/?signal=sent_segments&start=-15m").document
    assert {line["source"] for line in answer["series"]} == set(ROUTES)
    for line in answer["series"]:
        rates = [rate for rate in line["mean"] if rate is not None]
        assert line["unit"] == "segment/s"
        assert rates
        assert min(rates) >= 0


def test_of_one_moment_prometheus_and_we_have_one_value(chain):
    """Remote write hands on Prometheus' own samples: the same times and values as its own database has."""
    found = until(lambda: chain.exported("by-remote-write"), 60, "a sample")
    [theirs] = [dict(values) for _, values in _range(chain, "node_netstat_Tcp_OutSegs")]
    common = [(value, theirs[at]) for at, value in found if at in theirs]
    assert common
    assert all(value == other for value, other in common)


def _range(chain, selector):
    """Prometheus' raw samples of the last minutes: a range selector in an instant query gives them as they are."""
    asked = urllib.parse.urlencode({"query": f"{selector}[5m]", "time": time.time()})
    with urllib.request.urlopen(f"http://127.0.0.1:{chain.prometheus_port}/api/v1/query?{asked}", timeout=10) as answer:
        result = json.load(answer)["data"]["result"]
    return [
        (series["metric"], [(round(at * 1000), float(value)) for at, value in series["values"]]) for series in result
    ]


def test_a_histogram_that_comes_in_pieces_is_prometheus_own_at_each_time(chain):
    """Twelve series by three shards and fours: no message ever has them all."""
    rows = until(lambda: len(each := chain.rows("ttft_s", "in-pieces")) >= 5 and each, 60, "five histograms")
    theirs = {}
    for metric, values in _range(chain, HISTOGRAM + '_bucket{handler="/metrics"}'):
        for ts_ms, value in values:
            theirs.setdefault(ts_ms, {})[float(metric["le"])] = value
    assert {row["kind"] for row in rows} == {"histogram"}
    for row in rows:
        expected = sorted(theirs[int(row["ts_ms"])].items())
        assert [*json.loads(row["bounds"]), math.inf] == [bound for bound, _ in expected]
        assert list(itertools.accumulate(json.loads(row["counts"]))) == [value for _, value in expected]
    source = chain.planner.request("GET", f"{LIVE}/sources/in-pieces/").document
    assert (source["rejected"], source["quarantined"]) == (0, 0)


def test_when_the_exporter_goes_the_target_is_down_and_nothing_is_made_up(chain):
    """Last, for it stops the exporter."""
    chain.processes[0].kill()
    down = until(
        lambda: (each := chain.planner.request("GET", f"{LIVE}/targets/by-scrape/").document)["up"] is False and each,
        30,
        "the target's end",
    )
    assert down["last_error"].startswith("no answer")
    count = len(chain.exported("by-scrape"))
    time.sleep(2.5)
    assert len(chain.exported("by-scrape")) == count
