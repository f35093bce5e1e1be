"""Real files, read to the figures that are known of them."""

import json

import pytest

from planner.documents.errors import DocumentError
from planner.entries import check
from planner.importers.profiles import inspect, read
from tests.importers.bench import PLACE
from tests.shared_data import SHARED, needs_shared_data

pytestmark = needs_shared_data
BENCH = SHARED / "samples" / "bench"
SILICON = SHARED / "measured_ttft_h200_b200.csv"
CHOSEN = {
    "model": "deepseek-ai/DeepSeek-V3",
    "system": "h200_sxm",
    "backend": "sglang",
    "tp": "8",
    "quant": "fp8",
}


def index(name):
    entries = json.loads((SHARED / "samples" / "index.json").read_text())["entries"]
    (entry,) = [entry for entry in entries if entry["file"] == f"bench/{name}"]
    return entry["key_values"]


def test_every_benchmark_of_the_index_is_read():
    entries = json.loads((SHARED / "samples" / "index.json").read_text())["entries"]
    names = [entry["file"] for entry in entries if entry["kind"] == "bench"]
    assert len(names) >= 9
    for name in names:
        found = inspect(SHARED / "samples" / name, {})
        assert found["rows"], name
        assert found["points"] is None, name  # each was measured at one length, or under load
        assert found["notes"], name
        json.dumps(found, allow_nan=False)


def test_an_llmperf_summary():
    known = index("llmperf_summary_anyscale_70b.json")
    (row,) = inspect(BENCH / "llmperf_summary_anyscale_70b.json", {})["rows"]
    assert row["requests"] == known["results_num_completed_requests"]
    assert row["ttft_s"] == known["results_ttft_s_mean"]
    assert row["asked_input_tokens"] == known["mean_input_tokens"]
    assert row["output_tokens"] == known["results_number_output_tokens_mean"]
    assert row["asked_output_tokens"] == 150


def test_llmperf_by_concurrency():
    known = index("llmperf_tgi_llama3_8b_individual.json")
    found = inspect(BENCH / "llmperf_tgi_llama3_8b_individual.json", {})
    rows = {row["concurrency"]: row for row in found["rows"]}
    assert len(rows) == known["concurrencies"]
    assert rows[8]["ttft_s"] == known["c8_results_ttft_s_mean"]
    assert rows[8]["input_tokens"] == known["c8_measured_mean_input"]
    assert rows[8]["asked_input_tokens"] == known["c8_nominal_mean_input"]
    assert "750 input tokens were asked for, 603 were counted" in found["notes"]
    assert [row["concurrency"] for row in found["rows"] if row["alone"]] == [1]


def test_a_digest_of_llmperf():
    known = index("llmperf_tgi_llama3_8b_summary.json")
    rows = {row["concurrency"]: row for row in inspect(BENCH / "llmperf_tgi_llama3_8b_summary.json", {})["rows"]}
    assert rows[1]["ttft_s"] == pytest.approx(known["c1_ttft_ms"] / 1e3, rel=1e-12)
    assert rows[8]["output_tokens_per_s"] == known["c8_throughput_token_per_s"]
    assert rows[1]["tpot_s"] is None  # their latency per token has the prefill in it


def test_a_guidellm_report():
    known = index("guidellm_report_v2_0.8dev.json")
    found = inspect(BENCH / "guidellm_report_v2_0.8dev.json", {})
    first = found["rows"][0]
    assert len(found["rows"]) == known["benchmarks"]
    assert first["ttft_s"] * 1e3 == pytest.approx(known["b0_ttft_ms_mean"], rel=1e-12)
    assert first["input_tokens"] == known["b0_mean_prompt_tokens"]
    assert first["requests"] == known["b0_successful"]
    assert [row["requested_rate_rps"] for row in found["rows"]] == [2.0, 4.0]
    assert any("only 2 requests" in note for note in found["notes"])


def test_a_guidellm_table_with_several_rows_of_header():
    (row,) = inspect(BENCH / "guidellm_0.8.1_concurrent4_self.csv", {})["rows"]
    assert row["ttft_s"] == pytest.approx(0.10081841796636581, rel=1e-12)
    assert row["tpot_s"] == pytest.approx(0.006003285638796978, rel=1e-12)
    assert (row["input_tokens"], row["output_tokens"]) == (278.21875, 40.0)
    assert (row["requests"], row["concurrency"]) == (32, 4)


def test_an_aiperf_table():
    known = index("aiperf_0.13_profile_export_self.csv")
    found = inspect(BENCH / "aiperf_0.13_profile_export_self.csv", {})
    (row,) = found["rows"]
    assert found["aggregates"]["first_block_header"].startswith(known["first_block_header"].removesuffix("..."))
    assert row["ttft_s"] == pytest.approx(0.11218)
    assert (row["input_tokens"], row["requests"], row["concurrency"]) == (573.3, 64, 7.51)


def test_aiperf_records():
    known = index("aiperf_0.13_records_self.jsonl")
    found = inspect(BENCH / "aiperf_0.13_records_self.jsonl", {})
    assert len(found["rows"]) == known["rows"]
    assert found["rows"][0]["ttft_s"] * 1e3 == pytest.approx(known["first_ttft_ms"], rel=1e-12)
    assert found["aggregates"]["ttft_s"] == pytest.approx(0.11218, rel=1e-4)  # the table of the same run
    assert found["aggregates"]["mean_in_flight"] == pytest.approx(7.51, rel=0.01)
    assert {row["concurrency"] for row in found["rows"]} == {8}


def test_records_of_loaded_requests_make_a_curve_only_where_somebody_says_so():
    choices = PLACE | {"model": "mock"}
    with pytest.raises(DocumentError, match="use_loaded=yes"):
        read(BENCH / "aiperf_0.13_records_self.jsonl", choices)
    imported = read(BENCH / "aiperf_0.13_records_self.jsonl", choices | {"use_loaded": "yes"})
    assert imported.document["prefill"]["tokens"][0] == 117
    assert any("64 requests are joined" in note for note in imported.notes)
    check("profiles", imported.document)


def test_aiperfs_server_metrics():
    known = index("aiperf_0.13_server_metrics_self.json")
    found = inspect(BENCH / "aiperf_0.13_server_metrics_self.json", {})
    assert found["aggregates"]["metrics"] == known["metrics"]
    assert found["aggregates"]["frontend_ttft_count"] == known["frontend_ttft_count"]
    assert found["rows"][0]["ttft_s"] == pytest.approx(0.107, abs=5e-4)
    assert any("as the server saw it" in note for note in found["notes"])


def test_an_inference_perf_report():
    known = index("inference_perf_stage3_lifecycle.json")
    found = inspect(BENCH / "inference_perf_stage3_lifecycle.json", {})
    (row,) = found["rows"]
    assert row["requests"] == known["count"]
    assert row["ttft_s"] == known["ttft_s_mean"]
    assert row["input_tokens"] == known["mean_prompt_len"]
    assert row["requested_rate_rps"] == known["requested_rate"]
    assert row["tpot_s"] == pytest.approx((0.6660568851149694 - 0.032222309439875606) / (62.45035877364644 - 1))


def test_one_thing_of_the_silicon_table_is_chosen_and_said_to_have_waited():
    found = inspect(SILICON, CHOSEN)
    assert {row["input_tokens"] for row in found["rows"]} == {1024, 8192}
    assert found["engine"] == "sglang 0.5.9"
    assert any("it is no single prefill" in note for note in found["notes"])
    assert found["points"] is None
    loaded = CHOSEN | {"use_loaded": "yes", "concurrency": "4"}
    document = read(SILICON, loaded).document
    assert (document["model"], document["hardware"], document["gpus_per_instance"]) == ("deepseek-v3", "h200", 8)
    assert document["prefill"]["tokens"] == [1024, 8192]
    assert document["prefill"]["seconds"] == pytest.approx([0.2596, 0.4469], abs=1e-3)
    assert document["precision"] == "fp8 weights"
    check("profiles", document)


def test_the_silicon_table_as_a_whole_is_read_and_says_what_there_is_to_choose():
    found = inspect(SILICON, {})
    assert len(found["rows"]) == 512
    assert found["points"] is None
    with pytest.raises(DocumentError) as caught:
        read(SILICON, {})
    told = {error.field: error.message for error in caught.value.errors}
    assert "b200_sxm, h200_sxm" in told["system"]
    assert "openai/gpt-oss-120b" in told["model"]


def test_a_choice_that_the_silicon_table_does_not_have_is_answered_with_those_that_it_has():
    with pytest.raises(DocumentError, match="is not in the file; there: b200_sxm, h200_sxm"):
        inspect(SILICON, {"system": "gb300"})


def test_what_is_no_benchmark_is_refused_with_its_columns():
    requests = SHARED / "samples" / "requests"
    with pytest.raises(DocumentError, match="a profile needs a column of lengths"):
        inspect(requests / "llmservingsim_vllm_timeseries_rtx4090.csv", {})
