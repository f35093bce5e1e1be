"""Real files, read to the figures that others published of them."""

import json

import pytest

from planner.documents.errors import DocumentError
from planner.engine.traces import encode
from planner.entries import check
from planner.importers import traces
from tests.shared_data import SHARED, needs_shared_data

pytestmark = needs_shared_data
MOONCAKE = SHARED / "traces" / "mooncake_conversation_trace.jsonl.gz"
AZURE = SHARED / "traces" / "AzureLLMInferenceTrace_2023_conv.csv.gz"
REQUESTS = SHARED / "samples" / "requests"


@pytest.fixture(scope="module")
def published():
    return json.loads((SHARED / "traces.json").read_text())


@pytest.fixture(scope="module")
def mooncake():
    return traces.inspect(MOONCAKE, {})


@pytest.fixture(scope="module")
def azure():
    return traces.inspect(AZURE, {})


@pytest.mark.parametrize(("name", "trace"), [("mooncake_conversation", "mooncake"), ("azure_2023_conv", "azure")])
def test_lengths_and_rate_are_the_published_ones(name, trace, published, request):
    found, stats = request.getfixturevalue(trace), published[name]["stats"]
    assert found["rows"] == stats["rows"]
    for ours, theirs in (("input_tokens", "input_length"), ("output_tokens", "output_length")):
        for key in ("min", "p10", "p50", "p90", "p99", "max"):
            assert found[ours][key] == pytest.approx(stats[theirs][key], rel=1e-12), (ours, key)
        assert found[ours]["mean"] == pytest.approx(stats[theirs]["mean"], abs=5e-4)
    assert found["span_s"] == pytest.approx(stats["arrival"]["span_s"], abs=5e-4)
    assert found["rate_rps"] == pytest.approx(stats["arrival"]["rate_rps"], abs=5e-5)


def test_mooncake_hits_are_the_published_ones(mooncake, published):
    prefix = published["mooncake_conversation"]["stats"]["prefix"]
    assert mooncake["token_hit_ratio"] == pytest.approx(prefix["infinite_cache_token_hit_ratio"], abs=5e-5)
    for key in ("min", "p10", "p50", "p90", "p99", "max"):
        assert mooncake["uncached_tokens"][key] == pytest.approx(prefix["uncached_tokens"][key], rel=1e-12)
    assert mooncake["uncached_tokens"]["mean"] == pytest.approx(prefix["uncached_tokens"]["mean"], abs=5e-4)


def test_mooncakes_ticks_are_spread_and_told(mooncake):
    assert any("ticks of 3 s" in note for note in mooncake["notes"])
    assert mooncake["interarrival_cv"] == pytest.approx(1.0, abs=0.05)
    assert {"field": "spread_ticks", "value": "yes"}.items() <= mooncake["assumptions"][-1].items()


def test_mooncake_left_in_its_ticks_has_the_published_variation(published):
    arrival = published["mooncake_conversation"]["stats"]["arrival"]
    found = traces.inspect(MOONCAKE, {"spread_ticks": "no"})
    assert found["interarrival_cv"] == pytest.approx(arrival["interarrival_s"]["cv"], abs=5e-5)
    for seconds in (1, 10, 60):
        theirs = arrival[f"counts_per_{seconds}s"]
        assert found["counts"][f"{seconds}_s"]["max"] == theirs["max"]
        assert found["counts"][f"{seconds}_s"]["index_of_dispersion"] == pytest.approx(theirs["idc"], abs=5e-4)


def test_azure_arrivals_are_the_published_ones(azure, published):
    stats = published["azure_2023_conv"]["stats"]
    assert azure["interarrival_cv"] == pytest.approx(stats["arrival"]["interarrival_s"]["cv"], abs=5e-5)
    assert azure["correlation_of_logs"] == pytest.approx(stats["corr_log_in_out"], abs=5e-5)
    assert azure["token_hit_ratio"] is None
    assert azure["sessions"] is None
    assert azure["first_arrival"].startswith("2023-11-16T18:15:46.68")
    for seconds in (1, 10, 60):
        theirs = stats["arrival"][f"counts_per_{seconds}s"]
        assert azure["counts"][f"{seconds}_s"]["index_of_dispersion"] == pytest.approx(theirs["idc"], abs=5e-4)


@pytest.mark.parametrize("path", [MOONCAKE, AZURE])
def test_a_real_trace_becomes_an_entry_that_keeps_every_length(path):
    imported = traces.read(path, {})
    assert imported.kind == "traffic"
    entry = check("traffic", imported.document)
    assert entry.mean_output_tokens() == pytest.approx(imported.facts["output_tokens"]["mean"], rel=1e-9)
    assert sum(imported.document["input_tokens"]["counts"]) == imported.facts["rows"]
    assert imported.document["arrivals"]["process"] == "recorded"
    assert set(imported.document["provenance"]) >= {"input_tokens", "output_tokens", "arrivals", "rate_rps"}
    if path == MOONCAKE:
        assert entry.prefix.token_hit_ratio == pytest.approx(0.3736, abs=5e-5)
        assert entry.prefix.block_tokens == 512


@pytest.mark.parametrize(("path", "most"), [(MOONCAKE, 17), (AZURE, 8)])
def test_a_real_trace_is_kept_in_few_bytes(path, most):
    chunks = list(traces.open_trace(path, {}).chunks())
    assert sum(len(encode(chunk)) for chunk in chunks) / sum(chunk.rows for chunk in chunks) < most


# --- samples -----------------------------------------------------------------------------------------------------

READ = {
    "llmservingsim_workload_mixed_ns.jsonl": "LLMServingSim JSONL",
    "tt_ci_mooncake_with_session.jsonl": "Mooncake JSONL",
    "tt_customer_mooncake_120.jsonl": "Mooncake JSONL",
    "routesim_example_prefix_hash.jsonl": "RouteSim JSONL",
    "vidur_splitwise_conv_300.csv": "Vidur/Splitwise CSV",
    "azure2024_head_tail_from_notebook.csv": "Azure CSV",
    "azure2024_conv_head_tail_from_notebook.csv": "Azure CSV",
    "burstgpt_3rows_quoted.csv": "BurstGPT CSV",
}
SERIES = ("llmservingsim_vllm_timeseries_rtx4090.csv", "burstgpt_vllm_engine_log_scale1000.csv")


@pytest.fixture(scope="module")
def key_values():
    entries = json.loads((SHARED / "samples" / "index.json").read_text())["entries"]
    return {entry["file"].split("/")[1]: entry["key_values"] for entry in entries if entry["kind"] == "requests"}


@pytest.mark.parametrize("name", READ)
def test_a_sample_is_read_to_its_key_values(name, key_values):
    found, expected = traces.inspect(REQUESTS / name, {}), key_values[name]
    assert found["format"] == READ[name]
    assert found["rows"] == expected["rows"]
    if "mean_input" in expected:
        assert found["input_tokens"]["mean"] == pytest.approx(expected["mean_input"])
    if "mean_output" in expected:
        assert found["output_tokens"]["mean"] == pytest.approx(expected["mean_output"], abs=5e-5)
    if "sum_context" in expected:
        assert found["input_tokens"]["mean"] * found["rows"] == pytest.approx(expected["sum_context"])
    for key, unit in (("last_arrival_s", 1), ("last_timestamp_ms", 1e3), ("last_ts_ms", 1e3)):
        if key in expected:
            assert found["last_arrival_s"] * unit == pytest.approx(expected[key])
    assert found["sessions"] == expected.get("sessions")


def test_every_sample_of_requests_is_read_or_refused_on_purpose(key_values):
    assert {path.name for path in REQUESTS.iterdir()} == {*READ, *SERIES}


@pytest.mark.parametrize("name", SERIES)
def test_an_engines_time_series_is_no_request_log(name):
    with pytest.raises(DocumentError, match=r"time series of an engine .* not a request log"):
        traces.inspect(REQUESTS / name, {})


@pytest.mark.parametrize("name", [name for name in READ if name.startswith("azure2024")])
def test_a_week_without_requests_leaves_no_rate(name):
    found = traces.inspect(REQUESTS / name, {})
    assert found["rate_rps"] is None
    assert any("7 days" in note for note in found["notes"])
    assert "rate_rps" not in traces.read(REQUESTS / name, {}).document


def test_routesims_unit_is_asked_and_its_prefixes_are_reused():
    path = REQUESTS / "routesim_example_prefix_hash.jsonl"
    found = traces.inspect(path, {})
    (assumption,) = found["assumptions"]
    assert (assumption["field"], assumption["value"]) == ("timestamp_unit", "ms")
    assert traces.inspect(path, {"timestamp_unit": "s"})["span_s"] == pytest.approx(1000 * found["span_s"])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    seen, cached = set(), 0
    for row in rows:
        prefix = (row["prefix_hash"], row["prefix_len"])
        cached += min(row["prefix_len"], row["prompt_tokens"]) if prefix in seen else 0
        seen.add(prefix)
    assert found["token_hit_ratio"] == pytest.approx(cached / sum(row["prompt_tokens"] for row in rows))


def test_one_length_for_all_is_told():
    found = traces.inspect(REQUESTS / "tt_customer_mooncake_120.jsonl", {})
    assert any("all requests have 55,296" in note for note in found["notes"])


def test_records_of_aiperf_are_read_from_the_phase_that_counts():
    found = traces.inspect(SHARED / "samples" / "bench" / "aiperf_0.13_records_self.jsonl", {})
    assert found["rows"] == 64
    assert found["format"] == "AIPerf records JSONL"


def test_pages_of_metrics_configurations_and_summaries_are_no_request_logs():
    others = [
        *(path for folder in ("metrics", "configs") for path in sorted((SHARED / "samples" / folder).iterdir())),
        *(path for path in sorted((SHARED / "samples" / "bench").iterdir()) if "records" not in path.name),
        SHARED / "measured_ttft_h200_b200.csv",
        SHARED / "README.md",
    ]
    for path in others:
        with pytest.raises(DocumentError, match="not a request log"):
            traces.inspect(path, {})
