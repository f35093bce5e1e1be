import gzip
import json

import numpy as np
import pytest
import zstandard

from planner.importers import traces
from tests.importers.trace_logs import AZURE, BURST, PLAIN, chunks, inspected, lines, mooncake, refused, write

# --- tables ------------------------------------------------------------------------------------------------------

ROWS = (
    "2024-05-10 00:00:00.5{zone},100,10\n2024-05-10 00:00:01{zone},200,20\n2024-05-10 00:01:00.0000001{zone},300,30\n"
)


@pytest.mark.parametrize("zone", ["", "+00:00", "Z", "+02:00"])
def test_azures_wall_clock_is_read_with_and_without_zone_and_fraction(tmp_path, zone):
    (chunk,) = chunks(tmp_path, AZURE + ROWS.format(zone=zone))
    assert chunk.arrival_ns.tolist() == [0, 500_000_000, 59_500_000_100]
    assert chunk.input_tokens.tolist() == [100, 200, 300]
    assert chunk.output_tokens.tolist() == [10, 20, 30]


def test_zones_and_none_in_one_file_are_mixed_clocks(tmp_path):
    rows = AZURE + "2024-05-10 00:00:00+00:00,1,1\n2024-05-10 00:00:01,1,1\n"
    assert "line 3, TIMESTAMP: '2024-05-10 00:00:01' mixes clocks" in refused(tmp_path, rows)


def test_clocks_that_change_far_into_the_file_are_mixed_too(tmp_path):
    many = "".join(f"2024-05-10 00:{row // 60 % 60:02}:{row % 60:02},1,1\n" for row in range(3600)) * 15
    aware = "2024-05-10 00:59:59+00:00,1,1\n"
    assert "mixes clocks" in refused(tmp_path, AZURE + many[: len(many) // 15] + aware)
    assert "mixes clocks" in refused(tmp_path, AZURE + many[: len(many) // 15] + "12.5,1,1\n")


def test_images_of_the_2025_trace_are_told_apart_from_tokens(tmp_path):
    header = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
    found = inspected(tmp_path, header + "2024-10-15 00:00:00.1+00:00,3,2500,40\n2024-10-15 00:00:01.1+00:00,0,100,9\n")
    assert found["format"] == "Azure LMM 2025 CSV"
    assert found["input_tokens"]["mean"] == 1300
    assert any("NumImages" in note for note in found["notes"])


def test_failures_of_burstgpt_are_left_out_and_counted(tmp_path):
    found = inspected(tmp_path, BURST + "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,0,1087,API log\n")
    assert (found["rows"], found["dropped_rows"]) == (1, 1)
    assert any("1 requests without output tokens" in note for note in found["notes"])


def test_newer_burstgpt_files_have_sessions_some_of_them_empty(tmp_path):
    header = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    rows = (
        "5,7,1.2,ChatGPT,10,18,28,a\n6,7,1.2,ChatGPT,10,18,28,a\n7,,1.2,ChatGPT,10,18,28,a\n8,,1.2,ChatGPT,10,18,28,a\n"
    )
    assert inspected(tmp_path, header + rows)["sessions"] == 3
    assert inspected(tmp_path, header + rows.replace("ChatGPT", '"ChatGPT"'))["sessions"] == 3


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_columns_of_a_plain_table_are_found_or_chosen(tmp_path, delimiter):
    table = "id,when,in,out\na,0.5,10,1\nb,2.5,30,3\n".replace(",", delimiter)
    assert "choose arrival_column, input_column, output_column" in refused(tmp_path, table)
    chosen = {"arrival_column": "when", "input_column": "in", "output_column": "out"}
    found = inspected(tmp_path, table, chosen)
    assert found["input_tokens"]["mean"] == 20
    assert found["last_arrival_s"] == 2.5
    assert {each["field"]: each["value"] for each in found["assumptions"]} == chosen | {"timestamp_unit": "s"}
    assert inspected(tmp_path, table, chosen | {"timestamp_unit": "ms"})["last_arrival_s"] == 0.0025
    assert "is no column of the file" in refused(tmp_path, table, chosen | {"input_column": "In"})


def test_an_unnamed_first_column_of_numbers_is_no_harm(tmp_path):
    assert inspected(tmp_path, ",arrival_s,input_tokens,output_tokens\n0,1,10,1\n1,2,30,3\n")["rows"] == 2


@pytest.mark.parametrize(("header", "last_s"), [("arrival_ms", 2.5), ("arrival_time_us", 0.0025), ("arrival_s", 2500)])
def test_a_columns_name_says_its_unit(tmp_path, header, last_s):
    found = inspected(tmp_path, f"{header},isl,osl\n0,10,1\n2500,10,1\n")
    assert found["last_arrival_s"] == pytest.approx(last_s)
    assert "timestamp_unit" not in {each["field"] for each in found["assumptions"]}


def test_seconds_since_1970_begin_the_trace_at_its_first_request(tmp_path):
    found = inspected(tmp_path, "timestamp,prompt_tokens,completion_tokens\n1700000000123,10,1\n1700000002123,10,1\n")
    assert found["last_arrival_s"] == 2
    assert found["first_arrival"] == "2023-11-14T22:13:20.123000+00:00"


def test_quotes_and_blanks_are_read_as_the_plain_form_is(tmp_path):
    plain = "arrival_s,input_tokens,output_tokens,note\n" + "".join(
        f"{row}.25,{row + 5},{row % 3},x\n" for row in range(50)
    )
    quoted = plain.replace("x\n", '"a, b"\n').replace(",1,", ", 1 ,")
    assert inspected(tmp_path, plain) == inspected(tmp_path, quoted)


@pytest.mark.parametrize(
    "wrap", [gzip.compress, zstandard.compress, lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")]
)
def test_compression_and_line_ends_change_nothing(tmp_path, wrap):
    text = (PLAIN + "0,10,1\n1.5,20,2\n").encode()
    assert inspected(tmp_path, wrap(text)) == inspected(tmp_path, text)
    assert inspected(tmp_path, text.decode().encode("utf-16")) == inspected(tmp_path, text)


# --- JSON lines --------------------------------------------------------------------------------------------------


def test_mooncake_has_blocks_and_sessions(tmp_path):
    found = inspected(tmp_path, lines(*mooncake(4, session_id="a"), *mooncake(1, timestamp=9_000, session_id="b")))
    assert found["format"] == "Mooncake JSONL"
    assert found["sessions"] == 2
    # the first of 600 tokens is cold; the next three share a block of 512; the last is there whole
    assert found["token_hit_ratio"] == pytest.approx((3 * 512 + 600) / 3000)
    assert found["uncached_tokens"]["max"] == 600


@pytest.mark.parametrize(
    ("times", "unit", "span_s"),
    [
        ((0, 1000, 2500), "ms", 2.5),  # as Mooncake has them
        ((0, 0.5, 2.5), "s", 2.5),
        ((1_790_000_000, 1_790_000_001, 1_790_000_004), "s", 4),
        ((1_790_000_000_000, 1_790_000_001_000, 1_790_000_004_000), "ms", 4),
    ],
)
def test_the_unit_of_mooncakes_times_is_told_by_their_digits_and_open_to_choice(tmp_path, times, unit, span_s):
    text = lines(*({"timestamp": time, "input_length": 100, "output_length": 5} for time in times))
    found = inspected(tmp_path, text)
    assert {each["field"]: each["value"] for each in found["assumptions"]} == {"timestamp_unit": unit}
    assert found["span_s"] == pytest.approx(span_s)


@pytest.mark.parametrize(
    ("step", "unit"),
    [
        (1000.0, "ms"),  # as pandas writes whole numbers
        (1000.5, "ms"),
        (0.25, "s"),
    ],
)
def test_milliseconds_of_mooncake_written_as_floats_stay_milliseconds(tmp_path, step, unit):
    rows = [row | {"timestamp": 27_482.0 + step * each} for each, row in enumerate(mooncake(4))]
    found = inspected(tmp_path, lines(*rows))
    assumed = {each["field"]: each for each in found["assumptions"]}["timestamp_unit"]
    assert assumed["value"] == unit
    assert found["span_s"] == pytest.approx(3 * step / (1000 if unit == "ms" else 1))
    assert ("have fractions" in assumed["text"]) == (step == 1000.5)


def test_another_unit_of_mooncakes_times_can_be_chosen(tmp_path):
    assert inspected(tmp_path, lines(*mooncake(4)), {"timestamp_unit": "s"})["span_s"] == 3000


def test_hashes_of_more_tokens_than_the_prompt_has_are_told(tmp_path):
    rows = [*mooncake(200), *mooncake(1, timestamp=200_000, hash_ids=[1, 2, 3])]
    note = "1 requests have hashes of more tokens than their prompt has: what is too much of them is not counted"
    assert note in inspected(tmp_path, lines(*rows))["notes"]
    assert note not in inspected(tmp_path, lines(*mooncake(4)))["notes"]


def test_hashes_of_fewer_tokens_than_the_prompt_has_are_told(tmp_path):
    note = "1 requests have hashes of fewer tokens than their prompt has: the rest of it counts as found in no cache"
    short = mooncake(1, timestamp=200_000, input_length=3571, hash_ids=[1])
    assert note in inspected(tmp_path, lines(*mooncake(200), *short))["notes"]
    within_a_block = mooncake(1, timestamp=200_000, input_length=1024, hash_ids=[1])
    assert not any(
        "fewer tokens" in note for note in inspected(tmp_path, lines(*mooncake(200), *within_a_block))["notes"]
    )


def test_one_column_is_not_two_things(tmp_path):
    text = PLAIN + "0,10,1\n1.5,20,2\n"
    said = refused(tmp_path, text, {"output_column": "input_tokens"})
    assert "output_column: 'input_tokens' is the column of input tokens already" in said


def test_the_order_of_keys_and_spaces_does_not_matter(tmp_path):
    rows = mooncake(5)
    plain = inspected(tmp_path, lines(*rows))
    other = "".join(json.dumps(dict(reversed(row.items())), separators=(",", ":")) + "\n\n" for row in rows)
    assert inspected(tmp_path, other) == plain
    indirect = lines(*({"extra": [1, {"timestamp": 5}], **row} for row in rows))
    found = inspected(tmp_path, indirect)
    assert found["notes"][0] == "columns not used: 'extra'"
    assert found | {"notes": found["notes"][1:]} == plain


def test_hashes_may_be_texts_and_64_bit_numbers(tmp_path):
    numbers = inspected(tmp_path, lines(*mooncake(4)))
    for rename in (str, lambda each: each + 2**63, lambda each: 2**80 + each):
        rows = [row | {"hash_ids": [rename(each) for each in row["hash_ids"]]} for row in mooncake(4)]
        assert inspected(tmp_path, lines(*rows))["token_hit_ratio"] == numbers["token_hit_ratio"]


def test_the_size_of_blocks_is_found_from_their_number_and_can_be_chosen(tmp_path):
    rows = [row | {"input_length": 30, "hash_ids": [1, 2]} for row in mooncake(3)]
    found = inspected(tmp_path, lines(*rows))
    assumed = {each["field"]: each["value"] for each in found["assumptions"]}
    assert assumed["block_tokens"] == "16"
    assert inspected(tmp_path, lines(*mooncake(3)), {"block_tokens": "300"})["token_hit_ratio"] == pytest.approx(2 / 6)
    assert "block_tokens" in refused(tmp_path, lines(*rows), {"block_tokens": "0"})


def test_conversations_of_qwen_are_followed_by_their_parents(tmp_path):
    def chat(chat_id, parent, seconds):
        fields = {"chat_id": chat_id, "parent_chat_id": parent, "timestamp": seconds, "type": "text", "turn": 1}
        return fields | {"input_length": 40, "output_length": 9, "hash_ids": [1, 2, 3]}

    found = inspected(tmp_path, lines(chat(10, -1, 0.5), chat(11, 10, 1.5), chat(12, -1, 2.0), chat(13, 11, 61.2)))
    assert found["format"] == "Qwen-Bailian JSONL"
    assert found["sessions"] == 2
    assert found["last_arrival_s"] == 61.2
    assumed = {each["field"]: each["value"] for each in found["assumptions"]}
    assert assumed == {"timestamp_unit": "s", "block_tokens": "16"}


def test_any_json_lines_can_be_read_by_choosing_keys(tmp_path):
    text = lines({"w": "2026-01-01T00:00:00", "i": 10, "o": 5}, {"w": "2026-01-01T00:00:02.5", "i": 30, "o": 5})
    found = inspected(tmp_path, text, {"arrival_column": "w", "input_column": "i", "output_column": "o"})
    assert (found["input_tokens"]["mean"], found["span_s"]) == (20, 2.5)


def test_of_few_requests_the_rate_and_the_rate_of_their_gaps_are_told(tmp_path):
    found = inspected(tmp_path, PLAIN + "0,10,1\n50,20,2\n113,30,3\n")
    assert found["rate_rps"] == pytest.approx(3 / 113)
    assert found["counts"]["1_s"]["mean"] == pytest.approx(2 / 113)
    assert any("their gaps alone give 0.0177 req/s" in note for note in found["notes"])


# --- columns that are no lengths and times -----------------------------------------------------------------------

STATED = "arrival_s,input_tokens,output_tokens,{0}\n0,10,1,{1}\n1,20,2,{1}\n2,,,{2}\n3,30,3,{2}\n"


def as_objects(table):
    """The same rows with one object each; empty cells are null."""
    header, *rows = [line.split(",") for line in table.splitlines()]
    numbers = ("arrival_s", "input_tokens", "output_tokens")
    return lines(
        *(
            {
                name: None if not cell else int(cell) if name in numbers else cell
                for name, cell in zip(header, row, strict=True)
            }
            for row in rows
        )
    )


@pytest.mark.parametrize("shape", [str, as_objects])
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("status", "success", "failed"),
        ("status_code", "200", "503"),
        ("HTTP status", "ok", "timed out"),
        ("error", "", "connection reset"),
        ("success", "True", "False"),
        ("success", "1", "0"),
    ],
)
def test_requests_that_failed_are_left_out_and_counted_by_the_column_that_says_so(tmp_path, shape, name, good, bad):
    whole = STATED.format(name, good, bad)
    for text in (whole, whole.replace("2,,,", "2,5,5,")):  # a failed request may lack its lengths
        found = inspected(tmp_path, shape(text))
        assert (found["rows"], found["dropped_rows"], found["input_tokens"]["mean"]) == (2, 2, 15)
        assert f"left out: 2 requests that failed, by {name}" in found["notes"]
        assert not any("not used" in note for note in found["notes"])


def test_a_status_that_says_nothing_keeps_the_request_and_is_told(tmp_path):
    found = inspected(tmp_path, STATED.format("status", "200", "queued").replace("2,,,", "2,5,5,"))
    assert found["rows"] == 4
    assert "status has 'queued', which says neither success nor failure: such requests are kept" in found["notes"]


@pytest.mark.parametrize("shape", [str, as_objects])
def test_several_models_in_one_log_are_told_and_one_can_be_chosen(tmp_path, shape):
    text = shape(STATED.format("model", "GPT-4", "ChatGPT").replace("2,,,", "2,5,5,"))
    found = inspected(tmp_path, text)
    assert found["rows"] == 4
    assert "requests of several models are read as one traffic: 'ChatGPT', 'GPT-4'" in found["notes"]
    assert {each["field"]: each["choices"] for each in found["assumptions"]}["model"] == ["all", "GPT-4", "ChatGPT"]
    one = inspected(tmp_path, text, {"model": "GPT-4"})
    assert (one["rows"], one["input_tokens"]["mean"]) == (2, 15)
    assert "left out: 2 requests of another model than GPT-4" in one["notes"]
    assert "has no request that was answered" in refused(tmp_path, text, {"model": "GPT-5"})


def test_one_model_is_no_question(tmp_path):
    found = inspected(tmp_path, STATED.format("model", "GPT-4", "GPT-4").replace("2,,,", "2,5,5,"))
    assert "model" not in {each["field"] for each in found["assumptions"]}
    assert not any("models" in note for note in found["notes"])


@pytest.mark.parametrize("shape", [str, as_objects])
def test_columns_that_are_not_used_are_told_first_those_that_somebody_may_miss(tmp_path, shape):
    text = "arrival_s,prompt_tokens,input_tokens,output_tokens,cached_tokens,user\n0,9,10,1,5,a\n1,9,10,1,5,b\n"
    assert inspected(tmp_path, shape(text))["notes"][:3] == [
        "input tokens are taken from input_tokens, not from 'prompt_tokens'; input_column chooses",
        "'cached_tokens' is not used: reuse is computed from block hashes only, which this file has not",
        "columns not used: 'prompt_tokens', 'cached_tokens', 'user'",
    ]


# --- benchmarks and engines' logs --------------------------------------------------------------------------------

SERVING = {"duration": 10.0, "completed": 3, "input_lens": [10, 20, 30, 40], "output_lens": [1, 2, 0, 4]}


def test_a_serving_benchmark_is_read_with_its_start_times(tmp_path):
    result = SERVING | {
        "start_times": [100.5, 101.5, 0.0, 100.0],
        "errors": ["", "", "timed out", ""],
        "ttfts": [0.1] * 4,
    }
    found = inspected(tmp_path, json.dumps(result, indent=2))
    assert (found["rows"], found["dropped_rows"], found["span_s"]) == (3, 1, 1.5)
    assert found["input_tokens"]["mean"] == pytest.approx(70 / 3)
    assert any("failed in the benchmark" in note for note in found["notes"])


def test_without_start_times_the_arrivals_are_not_known(tmp_path):
    path = write(tmp_path, json.dumps(SERVING))
    found = traces.inspect(path, {})
    assert found["rate_rps"] == pytest.approx(0.3)
    assert found["interarrival_cv"] is None
    assert "arrivals" not in traces.read(path, {}).document


def test_of_several_runs_one_is_chosen(tmp_path):
    text = lines(SERVING, SERVING | {"input_lens": [100, 100, 100, 100]})
    assert inspected(tmp_path, text)["input_tokens"]["max"] == 40
    assert inspected(tmp_path, text, {"run": "2"})["input_tokens"]["max"] == 100
    assert "must be a run of the file" in refused(tmp_path, text, {"run": "3"})


def test_a_benchmark_in_which_everything_failed_is_refused(tmp_path):
    assert "all 4 requests of the benchmark failed" in refused(tmp_path, json.dumps(SERVING | {"output_lens": [0] * 4}))
    assert "all 4 requests" in refused(tmp_path, json.dumps(SERVING | {"errors": ["x"] * 4}))


def test_a_benchmark_without_its_requests_is_a_summary(tmp_path):
    summary = {"duration": 1.0, "completed": 5, "total_input_tokens": 9, "mean_ttft_ms": 3.0}
    for text in (json.dumps(summary), json.dumps(summary, indent=1), lines(summary, summary)):
        assert "summary without a row for each request, not a request log" in refused(tmp_path, text)


def aiperf(start_ns, phase="profiling", **others):
    metrics = {"input_sequence_length": {"value": 50, "unit": "tokens"}, "output_sequence_length": {"value": 7}}
    metadata = {"request_start_ns": start_ns, "benchmark_phase": phase, "x_correlation_id": "c"}
    return {"metadata": metadata, "metrics": metrics} | others


def test_warm_up_and_failures_of_aiperf_are_left_out_and_counted(tmp_path):
    begin = 1_795_955_619_274_100_700
    rows = [
        aiperf(begin, "warmup"),
        aiperf(begin + 10**9),
        aiperf(begin),
        aiperf(begin, error={"code": 500}, metrics={}),
    ]
    found = inspected(tmp_path, lines(*rows))
    assert (found["rows"], found["dropped_rows"], found["span_s"], found["sessions"]) == (2, 2, 1.0, 1)
    assert any("phase warmup" in note for note in found["notes"])
    wrong = aiperf(begin) | {"metrics": {"input_sequence_length": {"value": 50, "unit": "ms"}}}
    assert "line 2, metrics.input_sequence_length.unit: 'ms' must be tokens" in refused(
        tmp_path, lines(aiperf(begin), wrong)
    )


def test_sglangs_request_log_tells_when_a_request_came(tmp_path):
    about = (
        "'meta_info': {'id': 'x', 'prompt_tokens': 120, 'completion_tokens': 7, 'cached_tokens': 0, 'e2e_latency': 1.5}"
    )
    text = (
        "[2026-08-12 10:41:01] server_args=ServerArgs(model_path='m')\n"
        "[2026-08-12 10:41:01] Receive: obj=GenerateReqInput(text='prompt_tokens: 5')\n"
        f"[2026-08-12 10:41:05] Finish: obj=GenerateReqInput(text=\"'prompt_tokens': 9\"), out={{{about}}}\n"
        f"[2026-08-12 10:41:09] Finish: obj=GenerateReqInput(...), out={{'text': '', {about}}}\n"
    )
    found = inspected(tmp_path, text)
    assert (found["rows"], found["span_s"], found["input_tokens"]["mean"]) == (2, 4, 120)
    assert found["first_arrival"] == "2026-08-12T10:41:03.500000+00:00"
    cut = text.replace("'completion_tokens': 7, ", "")
    assert "line 3: is of a finished request, but without" in refused(tmp_path, cut)
    assert "no request that was answered" in refused(tmp_path, text.splitlines()[0])


def test_sglangs_json_log_is_read_alike(tmp_path):
    def entry(event, seconds, **about):
        known = {"prompt_tokens": 120, "completion_tokens": 7, "e2e_latency": 1.5} | about
        return {"timestamp": f"2026-08-12T10:41:{seconds:02}.250", "event": event, "out": {"meta_info": known}}

    rows = [entry("request.received", 1), entry("request.finished", 5), entry("request.finished", 9)]
    found = inspected(tmp_path, lines(*rows))
    assert (found["format"], found["rows"], found["span_s"]) == ("SGLang request log (JSON)", 2, 4)
    wrong = lines(*rows, entry("request.finished", 10, prompt_tokens=-1))
    assert "line 4, out.meta_info.prompt_tokens: -1 must be" in refused(tmp_path, wrong)


def test_vllms_own_log_is_refused_with_the_reason(tmp_path):
    text = "INFO 01-02 03:04:05 [logger.py:39] Received request cmpl-1: prompt: 'x', params: SamplingParams(n=1)\n"
    assert "vLLM's log, which does not say how many tokens" in refused(tmp_path, text)


def test_a_page_of_metrics_a_configuration_and_other_json_are_refused(tmp_path):
    for text, said in (
        ("# HELP vllm:x y\n# TYPE vllm:x gauge\nvllm:x 1\n", "Prometheus"),
        ('vllm:num_requests_running{model_name="m"} 3.0\n', "Prometheus"),
        ('{"model_type": "llama", "hidden_size": 5}', "model's configuration"),
        ('{\n "a": 1\n}', "is a JSON document with 'a', not a request log"),
        ("[1, 2]", "JSON list, not a request log"),
        ("1\n2\n", "must name the columns"),
        ("\n\n \n", "nothing but blank lines"),
    ):
        assert said in refused(tmp_path, text)


def test_a_choice_that_the_file_does_not_leave_is_refused(tmp_path):
    assert "timestamp_unit: 's' is no choice here" in refused(
        tmp_path, AZURE + ROWS.format(zone=""), {"timestamp_unit": "s"}
    )
    assert "must be one of s, ms, us, ns" in refused(tmp_path, "ts,isl,osl\n1,1,1\n", {"timestamp_unit": "h"})
    assert "must be yes or no" in refused(tmp_path, lines(*ticking()), {"spread_ticks": "maybe"})


def ticking():
    return [row | {"timestamp": 3000 * (each // 6)} for each, row in enumerate(mooncake(240))]


def test_ticks_can_be_left_as_they_are(tmp_path):
    spread, left = (chunks(tmp_path, lines(*ticking()), choices)[0] for choices in ({}, {"spread_ticks": "no"}))
    assert np.unique(left.arrival_ns).size == 40
    assert np.unique(spread.arrival_ns).size == 240
    assert np.array_equal(spread.arrival_ns // (3 * 10**9) * (3 * 10**9), left.arrival_ns)
