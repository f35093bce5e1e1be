"""Benchmark runs as they are: every figure that a file has, under its own load, and a CSV of our own columns."""

import json

import numpy as np
import pytest

from planner.documents.errors import DocumentError
from planner.importers.measurements import read
from tests.importers.bench import NAMED, jsonl, record, serving, write
from tests.shared_data import SHARED, needs_shared_data

OURS = "input_tokens,output_tokens,concurrency,ttft_mean_s,ttft_p90_s,tpot_s,throughput_rps,egress_bps\n"


def runs(tmp_path, text, **choices):
    return read(write(tmp_path, text), {**NAMED, **choices}).document["rows"]


def test_our_own_columns_are_taken_as_they_stand_and_empty_cells_are_left_out(tmp_path):
    text = OURS + "1024,128,1,0.1,0.12,0.01,,\n8192,,16,,2.5,,3.25,6e9\n"
    assert runs(tmp_path, text) == [
        {"input_tokens": 1024, "output_tokens": 128, "concurrency": 1, "ttft_mean_s": 0.1, "ttft_p90_s": 0.12,
         "tpot_s": 0.01},
        {"input_tokens": 8192, "concurrency": 16, "ttft_p90_s": 2.5, "throughput_rps": 3.25, "egress_bps": 6e9},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("input_tokens,ttft_p90_s,egress_gbps\n1,2,3\n", "egress_gbps.*is no column of runs"),
        ("input_tokens,ttft_p90_s\n1024,\n", "line 2: needs at least one of"),
        ("input_tokens,ttft_p90_s\n,0.1\n", "line 2, input_tokens: is empty"),
        ("input_tokens,ttft_p90_s\n1024,fast\n", "line 2, ttft_p90_s: 'fast' must be a number"),
        ("input_tokens,ttft_p90_s\n", "there are no runs below the header"),
        ("input_tokens,ttft_p90_s,concurrency\n1024,0.1,0.5\n", "concurrency: 0.5 must be at least 1"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_by_line_and_column(tmp_path, text, told):
    with pytest.raises(DocumentError, match=told):
        runs(tmp_path, text)


def test_a_serving_benchmark_gives_its_percentiles_and_its_rate(tmp_path):
    result = serving(1024, 80.0, p90_ttft_ms=95.0, p99_ttft_ms=110.0, max_concurrency=8)
    assert runs(tmp_path, json.dumps(result)) == [
        {"input_tokens": 1024.0, "output_tokens": 128.0, "concurrency": 8.0, "requests": 50, "ttft_mean_s": 0.08,
         "tpot_s": 0.0075, "ttft_p50_s": 0.079, "ttft_p90_s": 0.095, "ttft_p99_s": 0.11, "throughput_rps": 1.6}
    ]  # fmt: skip


def test_loads_are_kept_apart_where_a_profile_would_have_to_choose(tmp_path):
    text = jsonl(*(serving(1024, 80.0 * users, max_concurrency=users) for users in (1, 2, 4)))
    assert [run["concurrency"] for run in runs(tmp_path, text)] == [1, 2, 4]


def test_single_requests_are_joined_with_the_percentiles_that_so_many_have(tmp_path):
    # 40 requests one after the other, TTFT 1 to 40 s: enough for a P90, too few for a P99.
    times = np.arange(1.0, 41.0)
    text = jsonl(*(record(100 * at, 100 * at + 90, ttft, 1000) for at, ttft in enumerate(times)))
    (run,) = runs(tmp_path, text)
    assert (run["requests"], run["concurrency"], run["ttft_mean_s"]) == (40, 1, 20.5)
    assert (run["ttft_p50_s"], run["ttft_p90_s"]) == (20.5, pytest.approx(36.1))
    assert "ttft_p99_s" not in run


def test_a_table_of_lengths_and_times_says_measured_unless_somebody_says_otherwise(tmp_path):
    path = write(tmp_path, "tokens,ttft_ms\n1024,80\n8192,500\n", "mine.csv")
    found = read(path, NAMED)
    assert found.document["provenance"] == {
        "rows": {"kind": "measured", "source": "CSV of lengths and times, mine.csv"}
    }
    assert [run["ttft_mean_s"] for run in found.document["rows"]] == [0.08, 0.5]
    assert read(path, {**NAMED, "provenance": "estimated"}).document["provenance"]["rows"]["kind"] == "estimated"


def test_what_the_file_does_not_say_has_to_be_chosen(tmp_path):
    with pytest.raises(DocumentError) as refused:
        read(write(tmp_path, OURS + "1024,128,1,0.1,,,,\n"), {})
    assert [error.field for error in refused.value.errors] == ["model", "hardware", "gpus_per_instance"]
    with pytest.raises(DocumentError, match="is no choice of runs"):
        read(write(tmp_path, OURS + "1024,128,1,0.1,,,,\n"), {**NAMED, "use_loaded": "yes"})


@needs_shared_data
@pytest.mark.parametrize(
    ("file", "field", "expected"),
    [
        ("guidellm_report_v2_0.8dev.json", "ttft_p90_s", 0.011686325),
        ("inference_perf_stage3_lifecycle.json", "ttft_p90_s", 0.037245006),
        ("inference_perf_stage3_lifecycle.json", "throughput_rps", 126.534707),
    ],
)
def test_other_tools_give_the_percentiles_and_rates_that_they_write(file, field, expected):
    found = read(SHARED / "samples" / "bench" / file, NAMED)
    assert found.document["rows"][0][field] == pytest.approx(expected, rel=1e-6)
