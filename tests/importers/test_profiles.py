import codecs
import json

import pytest

from planner.documents.errors import DocumentError
from planner.entries import check
from planner.importers.profiles import inspect, read
from tests.importers.bench import NAMED, PLACE, jsonl, record, serving, write


def refused(call, *given):
    with pytest.raises(DocumentError) as caught:
        call(*given)
    return str(caught.value)


# -- a table of lengths and times


@pytest.mark.parametrize("header", ["tokens,seconds", "isl;ttft_s", "Input Tokens\tTTFT (s)", "length,t_prefill_s"])
def test_lengths_and_seconds_are_read_under_the_names_that_people_give_them(tmp_path, header):
    separator = next(char for char in ",;\t" if char in header)
    text = header + "\n" + "".join(f"{n}{separator}{s}\n" for n, s in ((1024, 0.44), (8192, 0.72)))
    assert inspect(write(tmp_path, text), {})["points"] == {"tokens": [1024, 8192], "seconds": [0.44, 0.72]}


def test_milliseconds_become_seconds_where_the_name_says_so(tmp_path):
    found = inspect(write(tmp_path, "tokens,ttft_ms\n1000,250\n2000,500\n"), {})
    assert found["points"]["seconds"] == pytest.approx([0.25, 0.5])


def test_a_time_without_a_unit_is_refused_rather_than_guessed(tmp_path):
    assert "line 1, ttft: says no unit; call it ttft_s or ttft_ms" in refused(
        inspect, write(tmp_path, "tokens,ttft\n1000,250\n2000,500\n"), {}
    )


@pytest.mark.parametrize(
    "bom_and_encoding", [(b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le")]
)
def test_line_ends_of_windows_and_marks_of_encoding_make_no_difference(tmp_path, bom_and_encoding):
    mark, encoding = bom_and_encoding
    path = write(tmp_path, mark + "tokens,seconds\r\n1024,0.44\r\n\r\n8192,0.72\r\n".encode(encoding))
    assert inspect(path, {})["points"] == {"tokens": [1024, 8192], "seconds": [0.44, 0.72]}


def test_lengths_in_any_order_come_out_rising(tmp_path):
    found = inspect(write(tmp_path, "tokens,seconds\n8192,0.72\n1024,0.44\n32768,1.84\n"), {})
    assert found["points"] == {"tokens": [1024, 8192, 32768], "seconds": [0.44, 0.72, 1.84]}


def test_a_length_that_stands_twice_is_averaged_and_said_so(tmp_path):
    found = inspect(write(tmp_path, "tokens,seconds\n1000,0.2\n1000,0.4\n4000,1\n"), {})
    assert found["points"] == {"tokens": [1000, 4000], "seconds": [pytest.approx(0.3), 1.0]}
    assert "1000 tokens stand in 2 rows, 0.2 to 0.4 s: their mean is taken" in found["notes"]


def test_means_over_more_requests_weigh_more(tmp_path):
    found = inspect(write(tmp_path, "tokens,seconds,requests\n1000,0.2,90\n1000,0.4,30\n4000,1,50\n"), {})
    assert found["points"]["seconds"][0] == pytest.approx(0.25)


def test_one_length_makes_no_curve(tmp_path):
    path = write(tmp_path, "tokens,seconds\n1024,0.44\n")
    found = inspect(path, {})
    assert found["points"] is None
    assert found["quality"] is None
    assert "1 usable lengths make no curve: a profile needs at least two" in found["notes"]
    assert "prefill.tokens: 1 usable lengths, and a profile needs two at least" in refused(read, path, NAMED)


def test_a_batch_of_several_is_no_single_prefill(tmp_path):
    path = write(tmp_path, "tokens,seconds,batch\n1024,0.4,1\n8192,0.7,1\n1024,1.6,4\n8192,2.8,4\n")
    assert inspect(path, {})["points"]["seconds"] == [0.4, 0.7]
    assert inspect(path, {"use_loaded": "yes", "concurrency": "4"})["points"]["seconds"] == [1.6, 2.8]
    assert "concurrency: has to be chosen, the file has several: 1, 4" in refused(
        read, path, NAMED | {"use_loaded": "yes"}
    )


def test_cached_tokens_make_points_of_their_own(tmp_path):
    path = write(tmp_path, "tokens,cached_tokens,seconds\n1000,0,0.2\n4000,0,0.8\n5000,4000,0.3\n")
    document = read(path, NAMED).document
    assert document["prefill"]["tokens"] == [1000, 4000]
    assert document["prefill_cached"] == [{"new_tokens": 1000, "cached_tokens": 4000, "seconds": 0.3}]
    (assumption,) = [one for one in read(path, NAMED).assumptions if one.field == "tokens_include_cached"]
    assert assumption.value == "yes"
    document = read(path, NAMED | {"tokens_include_cached": "no"}).document
    assert document["prefill_cached"] == [{"new_tokens": 5000, "cached_tokens": 4000, "seconds": 0.3}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tokens,seconds\n1024,nan\n", "line 2, seconds: 'nan' must be a finite number"),
        ("tokens,seconds\n1024,-1\n", "line 2, seconds: '-1' must be at least 0"),
        ("tokens,seconds\n1024,0\n", "line 2, seconds: 0.0 must be greater than 0"),
        ("tokens,seconds\n-5,1\n", "line 2, tokens: '-5' must be at least 0"),
        ("tokens,seconds\n1024,\n", "line 2, seconds: is empty"),
        ('tokens,seconds\n"1,024",1\n', "line 2, tokens: '1,024' has thousands separators or a decimal comma"),
        ("tokens;seconds\n1024;0,44\n", "line 2, seconds: '0,44' has a decimal comma; write 1234.5"),
        ("tokens,seconds\n1024,1e999\n", "line 2, seconds: '1e999' must be a finite number"),
        ("tokens,seconds\n1e12,1\n", "line 2: 1000000000000.0 input tokens must lie from 1 to 1e+09"),
        ("tokens,seconds\n1024,1,2\n", "line 2: has 3 cells where the header has 2"),
        ("tokens,isl,seconds\n1,1,1\n", "column isl: is the same as column tokens"),
        ("tokens,tokens,seconds\n1,1,1\n", "line 1, column 2: 'tokens' is the name of two columns"),
        ("tokens,seconds\n", "is the only line"),
        ("a,b\n1,2\n", "needs a column of lengths (tokens) and one of times (seconds, ttft_s, ttft_ms)"),
        ("tokens,seconds,requests\n1024,1,0\n", "line 2, requests: 0 all requests failed"),
        ("tokens,cached_tokens,seconds\n10,10,1\n", "line 2, cached_tokens: 10.0 must be less than the 10 tokens"),
        ("", "is empty"),
        ("\n \n", "is empty"),
        ('tokens,seconds\n"1024,1\n', "is no row of a table"),
        ("tokens,seconds\n1024,1\n1025,99\n", "values jump from 1 to 99 between lengths 1024 and 1025"),
    ],
)
def test_a_table_that_cannot_be_is_refused_by_line_and_column(tmp_path, text, told):
    assert told in refused(inspect, write(tmp_path, text), {})


# -- a profile's document


def test_the_document_passes_the_gate_of_the_catalogue_with_its_provenance(tmp_path):
    path = write(tmp_path, "tokens,seconds\n1024,0.44\n8192,0.72\n", "mine.csv")
    imported = read(path, NAMED | {"provenance": "measured", "engine": "SGLang 0.5.9"})
    check("profiles", imported.document)
    assert imported.document["name"] == "kimi-h200x8"
    assert imported.document["engine"] == "SGLang 0.5.9"
    assert imported.document["gpus_per_instance"] == 8
    assert imported.document["provenance"] == {
        "prefill": {"kind": "measured", "source": "CSV of lengths and times, mine.csv"}
    }


def test_everything_that_the_file_does_not_say_is_asked_for_at_once(tmp_path):
    told = refused(read, write(tmp_path, "tokens,seconds\n1024,0.44\n8192,0.72\n"), {})
    for field in ("model", "hardware", "gpus_per_instance"):
        assert f"{field}: is not in the file and has to be chosen" in told


def test_the_model_that_the_file_names_is_an_assumption(tmp_path):
    path = write(tmp_path, jsonl(serving(1024, 80), serving(8192, 400)))
    imported = read(path, PLACE)
    assert imported.document["model"] == "llama-3-1-8b-instruct"
    assert next((one.field, one.value) for one in imported.assumptions) == ("model", "llama-3-1-8b-instruct")


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ({"gpus_per_instance": "0"}, "gpus_per_instance: '0' must be a whole number from 1 to 100000"),
        ({"gpus_per_instance": "8.5"}, "gpus_per_instance: '8.5' must be a whole number"),
        ({"hardware": "h200 sxm"}, "hardware"),
        ({"provenance": "guess"}, "provenance: 'guess' must be one of measured"),
        ({"colour": "blue"}, "colour: 'blue' is no choice of a profile; those are backend,"),
        ({"use_loaded": "perhaps"}, "use_loaded: 'perhaps' must be yes or no"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_by_its_name(tmp_path, choice, told):
    text = "tokens,seconds,batch\n1024,0.44,1\n8192,0.72,1\n8192,0.9,2\n"
    assert told in refused(read, write(tmp_path, text), NAMED | choice)


def test_the_quality_of_the_points_stands_beside_them(tmp_path):
    lengths = (1000, 2000, 4000, 8000)
    rows = "".join(f"{n},{0.1 + 1e-4 * n + 1e-8 * n * n!r}\n" for n in lengths)
    quality = inspect(write(tmp_path, "tokens,seconds\n" + rows), {})["quality"]
    assert quality["range_tokens"] == [1000, 8000]
    assert quality["monotone"]
    assert [quality["fit"][name] for name in ("t0_s", "a_s_per_token", "b_s_per_token2")] == pytest.approx(
        [0.1, 1e-4, 1e-8], rel=1e-6
    )
    assert quality["fit"]["largest"] < 1e-6
    assert len(quality["left_out"]) == 2


# -- serving benchmarks


def test_results_at_several_lengths_one_a_line_make_a_profile(tmp_path):
    path = write(tmp_path, jsonl(serving(1024, 80), serving(8192, 400)))
    document = read(path, PLACE).document
    assert document["prefill"] == {"tokens": [1024, 8192], "seconds": [0.08, 0.4], "interpolation": "log_log"}
    assert document["decode"][0] == {"batch": 1, "context_tokens": 1024 + 64, "seconds": pytest.approx(0.0075)}
    check("profiles", document)


def test_the_first_of_several_results_is_refused_for_its_own_mistake(tmp_path):
    path = write(tmp_path, jsonl(serving(1024, 80, model_id="half \ud800"), serving(8192, 400)))
    assert "line 1: has broken Unicode" in refused(inspect, path, {})


def test_results_of_two_models_are_never_one_profile(tmp_path):
    runs = [
        serving(tokens, ms, model_id=model) for model, ms in (("org/a", 80), ("org/b", 800)) for tokens in (1024, 8192)
    ]
    path = write(tmp_path, jsonl(*runs))
    assert "model: has to be chosen, the file has results of several: 'org/a', 'org/b'" in refused(inspect, path, {})
    assert "several: 'org/a', 'org/b'" in refused(read, path, PLACE | {"model": "c"})
    assert read(path, PLACE | {"model": "org/b"}).document["prefill"]["seconds"] == [0.8, 0.8]


def test_a_table_of_two_models_is_never_one_profile(tmp_path):
    path = write(tmp_path, "model,gpu,tokens,seconds\na,h100,1000,1\nb,h100,1000,2\na,h100,2000,3\nb,h100,2000,4\n")
    assert "model: has to be chosen, the file has several: a, b" in refused(read, path, {"gpus_per_instance": "8"})
    document = read(path, {"gpus_per_instance": "8", "model": "b"}).document
    assert (document["hardware"], document["prefill"]["seconds"]) == ("h100", [2, 4])


def test_the_same_results_are_read_from_one_list(tmp_path):
    path = write(tmp_path, json.dumps([serving(1024, 80), serving(8192, 400)], indent=1))
    assert inspect(path, {})["points"] == {"tokens": [1024, 8192], "seconds": [0.08, 0.4]}


def test_infinity_as_python_writes_it_does_not_keep_a_result_from_being_read(tmp_path):
    text = jsonl(serving(1024, 80, request_rate=float("inf"), std_ttft_ms=float("nan")))
    assert inspect(write(tmp_path, text), {})["rows"][0]["requested_rate_rps"] is None


def test_requests_in_flight_together_give_no_points_unless_somebody_says_so(tmp_path):
    path = write(tmp_path, jsonl(serving(1024, 80, max_concurrency=16), serving(8192, 400, max_concurrency=16)))
    found = inspect(path, {})
    assert found["points"] is None
    assert any("set use_loaded=yes" in note for note in found["notes"])
    assert "use_loaded=yes" in refused(read, path, PLACE)
    imported = read(path, PLACE | {"use_loaded": "yes"})
    assert imported.document["prefill"]["seconds"] == [0.08, 0.4]
    assert any("queueing is in it" in note for note in imported.notes)
    assert "queueing is in it" in imported.document["notes"]


def test_concurrencies_that_read_the_same_are_the_same(tmp_path):
    runs = [serving(tokens, ms, max_concurrency=4 + tokens * 1e-12) for tokens, ms in ((1024, 80), (8192, 400))]
    document = read(write(tmp_path, jsonl(*runs)), PLACE | {"use_loaded": "yes", "concurrency": "4"}).document
    assert document["prefill"]["seconds"] == [0.08, 0.4]


def test_a_run_in_which_all_requests_failed_is_refused(tmp_path):
    text = jsonl(serving(1024, 0, completed=0, failed=50))
    assert "completed: 0 all requests failed (50 of them)" in refused(inspect, write(tmp_path, text), {})


def test_a_detailed_result_is_read_request_by_request_without_those_that_failed(tmp_path):
    detail = {"input_lens": [100, 100, 1000, 1000], "ttfts": [0.1, 0.0, 0.5, 0.7], "output_lens": [8, 0, 8, 8]}
    path = write(tmp_path, json.dumps(serving(1, 1, completed=3, errors=["", "timeout", "", ""], **detail)))
    found = inspect(path, {})
    assert [row["ttft_s"] for row in found["rows"]] == [0.1, 0.5, 0.7]
    assert found["points"] == {"tokens": [100, 1000], "seconds": [0.1, pytest.approx(0.6)]}
    assert "1 requests that failed are left out" in found["notes"]


def test_a_batch_prefilled_as_one_is_read_from_sglangs_one_batch_benchmark(tmp_path):
    def run(tokens, seconds, batch):
        return {"run_name": "x", "batch_size": batch, "input_len": tokens, "output_len": 16, "prefill_latency": seconds}

    found = inspect(write(tmp_path, jsonl(run(1024, 0.1, 1), run(4096, 0.3, 1), run(4096, 2.0, 8))), {})
    assert found["points"] == {"tokens": [1024, 4096], "seconds": [0.1, 0.3]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"mean_ttft_ms": 1, "completed": 5', "is no JSON"),
        ('{"mean_ttft_ms": 1, "completed": 5}', "total_input_tokens: is missing"),
        ('{"mean_ttft_ms": "fast", "completed": 5, "total_input_tokens": 9}', "mean_ttft_ms: 'fast' must be a number"),
        ('{"mean_ttft_ms": NaN, "completed": 5, "total_input_tokens": 9}', "mean_ttft_ms: nan must be a number"),
        ('{"completed": 5, "completed": 6}', "has the key 'completed' twice"),
        ('{"a": 1}', "has the keys 'a'"),
        ("[]", "is an empty list"),
        ("[1, 2]", "is no benchmark result that is known"),
        ("[" * 100_000, "is nested too deep"),
        ('{"experiments": []}', "take profile_export_genai_perf.json"),
    ],
)
def test_json_that_is_no_result_is_refused_with_what_is_wrong(tmp_path, text, told):
    assert told in refused(inspect, write(tmp_path, text), {})


def test_a_line_of_another_kind_is_refused_by_its_number(tmp_path):
    text = jsonl(serving(1024, 80), {"results_ttft_s_mean": 1})
    assert "line 2: is a result of another kind" in refused(inspect, write(tmp_path, text), {})


# -- genai-perf and AIPerf


def test_a_summary_at_concurrency_one_is_prefill_alone_whichever_version_wrote_it(tmp_path):
    def summary(tokens, ttft, unit, config):
        return {
            "time_to_first_token": {"unit": unit, "avg": ttft},
            "input_sequence_length": {"unit": "tokens", "avg": tokens},
            "request_count": {"unit": "requests", "avg": 40.0},
            "input_config": config,
        }

    old = {"perf_analyzer": {"stimulus": {"concurrency": 1}}, "model": ["a/b"]}
    new = {"phases": [{"name": "profiling", "concurrency": 1}]}
    found = inspect(write(tmp_path, jsonl(summary(100, 50, "ms", old), summary(1000, 0.4, "sec", new))), {})
    assert found["points"] == {"tokens": [100, 1000], "seconds": [0.05, 0.4]}
    assert found["model"] == "a/b"


def test_requests_one_after_the_other_are_alone_and_warm_up_and_failures_are_left_out(tmp_path):
    path = write(
        tmp_path,
        jsonl(
            record(0, 1, 9.0, 100, phase="warmup"),
            record(1, 2, 0.1, 100),
            record(2, 3, 0.3, 1000),
            record(3, 4, 5.0, 1000, error={"code": 500}),
        ),
    )
    found = inspect(path, {})
    assert found["points"] == {"tokens": [100, 1000], "seconds": [pytest.approx(0.1), pytest.approx(0.3)]}
    assert "1 requests of the warm-up are left out" in found["notes"]
    assert "1 failed or cancelled requests are left out" in found["notes"]


def test_requests_that_overlap_are_not_alone_and_the_most_at_once_are_counted(tmp_path):
    found = inspect(write(tmp_path, jsonl(record(0, 2, 0.1, 100), record(1, 3, 0.3, 1000), record(1.5, 2, 1, 10))), {})
    assert {row["concurrency"] for row in found["rows"]} == {3}
    assert found["aggregates"]["mean_in_flight"] == pytest.approx((2 + 2 + 0.5) / 3)
    assert found["points"] is None


def test_requests_that_found_a_cached_prefix_are_no_plain_prefill(tmp_path):
    hit = {"usage_prompt_cache_read_tokens": {"value": 900, "unit": "tokens"}}
    path = write(
        tmp_path, jsonl(record(0, 1, 0.1, 100), record(1, 2, 0.4, 1000), record(2, 3, 0.05, 1000, metrics=hit))
    )
    document = read(path, NAMED).document
    assert document["prefill"]["seconds"] == pytest.approx([0.1, 0.4])
    assert document["prefill_cached"] == [{"new_tokens": 100, "cached_tokens": 900, "seconds": pytest.approx(0.05)}]


GOOD = record(0, 1, 0.1, 100)["metrics"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"metrics": {**GOOD, "time_to_first_token": {"value": 1, "unit": "parsec"}}},
            "token.unit: 'parsec' must be one",
        ),
        ({"metrics": {**GOOD, "time_to_first_token": {"unit": "ms"}}}, "time_to_first_token.value: is missing"),
        (
            {"metrics": {**GOOD, "input_sequence_length": {"value": -4}}},
            "length.value: -4 must be a number of at least",
        ),
        (
            {"metrics": {**GOOD, "input_sequence_length": {"value": [5]}}},
            "length.value: [5] must be a number of at least",
        ),
        ({"metadata": {}}, "line 2: is no record of a request"),
        ({"metadata": {"request_start_ns": 5, "request_end_ns": 1}}, "must not lie before request_start_ns"),
    ],
)
def test_a_record_that_cannot_be_is_refused_by_its_line(tmp_path, changed, told):
    text = jsonl(record(0, 1, 0.1, 100), record(0, 1, 0.1, 100) | changed)
    assert told in refused(inspect, write(tmp_path, text), {})


def test_records_of_failed_requests_only_are_refused(tmp_path):
    text = jsonl(record(0, 1, 0.1, 100, error={"code": 500}))
    assert "all requests failed (1 of them)" in refused(inspect, write(tmp_path, text), {})


# -- GuideLLM, llmperf, inference-perf


def guidellm(strategy, successful=40, tokens=100, ttft_ms=50.0):
    def metric(mean):
        return {"successful": {"mean": mean}, "errored": {"mean": 999.0}, "total": {"mean": 999.0}}

    return {
        "args": {"strategy": strategy},
        "metrics": {
            "request_totals": {"successful": successful, "total": 40},
            "time_to_first_token_ms": metric(ttft_ms),
            "inter_token_latency_ms": metric(6.0),
            "time_per_output_token_ms": metric(60.0),
            "prompt_token_count": metric(tokens),
            "output_token_count": metric(10.0),
        },
    }


def test_of_guidellm_the_successful_requests_count_and_a_synchronous_run_is_alone(tmp_path):
    runs = [guidellm({"type_": "synchronous"}), guidellm({"type_": "concurrent", "streams": 1}, 40, 900, 200.0)]
    found = inspect(write(tmp_path, json.dumps({"benchmarks": runs})), {})
    assert found["points"] == {"tokens": [100, 900], "seconds": [0.05, 0.2]}
    assert found["rows"][0]["tpot_s"] == pytest.approx(0.006)


def test_a_guidellm_benchmark_without_a_successful_request_is_left_out_or_refused(tmp_path):
    bad = guidellm({"type_": "synchronous"}, successful=0)
    path = write(tmp_path, json.dumps({"benchmarks": [guidellm({"type_": "synchronous"}), bad]}))
    assert "1 benchmarks without a request that came through are left out" in inspect(path, {})["notes"]
    assert "all requests failed (40 of them)" in refused(
        inspect, write(tmp_path, json.dumps({"benchmarks": [bad]})), {}
    )


def test_a_guidellm_benchmark_that_mostly_idles_gives_no_decode_step(tmp_path):
    runs = [guidellm({"type_": "constant", "rate": rate}, tokens=tokens) for rate, tokens in ((0.1, 100), (20, 900))]
    for run, in_flight in zip(runs, (0.0079, 4.0), strict=True):
        run["metrics"]["request_concurrency"] = {"successful": {"mean": in_flight}}
    found = inspect(write(tmp_path, json.dumps({"benchmarks": runs})), {"use_loaded": "yes", "concurrency": "4"})
    assert [step["batch"] for step in found["decode"]] == [4]
    assert any(
        "1 rows with 0.0079 to 0.0079 requests in flight give no decode steps" in note for note in found["notes"]
    )


def test_llmperfs_time_per_token_is_taken_without_its_prefill(tmp_path):
    summary = {
        "results_ttft_s_mean": 1.0,
        "results_end_to_end_latency_s_mean": 3.0,
        "results_number_input_tokens_mean": "602.5",
        "mean_input_tokens": 750,
        "results_number_output_tokens_mean": 101,
        "results_inter_token_latency_s_mean": 0.03,
        "results_num_completed_requests": "30",
        "num_concurrent_requests": 1,
    }
    (row,) = inspect(write(tmp_path, json.dumps(summary)), {})["rows"]
    assert row["tpot_s"] == pytest.approx(2.0 / 100)
    assert (row["input_tokens"], row["asked_input_tokens"]) == (602.5, 750)


def test_too_few_requests_to_plan_on_are_said_so(tmp_path):
    found = inspect(write(tmp_path, jsonl(serving(1024, 80, completed=2, total_input_tokens=2048))), {})
    assert any("only 2 requests stand behind a mean" in note for note in found["notes"])
