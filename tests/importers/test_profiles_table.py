"""What a CSV of lengths and times may mean besides, and what is asked or refused instead of being guessed."""

import pytest

from planner.documents.errors import DocumentError
from planner.importers.profiles import inspect, read
from tests.importers.bench import NAMED, write


def refused(call, *given):
    with pytest.raises(DocumentError) as caught:
        call(*given)
    return str(caught.value)


# -- times of the whole request


@pytest.mark.parametrize("column", ["latency_s", "latency_ms", "seconds", "time_s"])
def test_a_time_beside_an_output_may_be_of_the_whole_request_and_is_refused(tmp_path, column):
    text = f"isl,osl,{column}\n1024,128,4\n8192,128,6\n"
    told = refused(inspect, write(tmp_path, text), {})
    assert (
        f"line 2, {column}: '4' may be of the whole request, with 128 output tokens; call it ttft_s or ttft_ms" in told
    )


@pytest.mark.parametrize(
    "text", ["isl,osl,ttft_s\n1024,128,4\n8192,128,6\n", "isl,osl,latency_s\n1024,1,4\n8192,1,6\n"]
)
def test_a_time_that_ends_at_the_first_token_is_taken(tmp_path, text):
    assert inspect(write(tmp_path, text), {})["points"]["seconds"] == [4, 6]


# -- whole numbers


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "tokens;ttft_ms\n1.024;100\n8.192;200\n",
            "line 2, tokens: '1.024' has a point for thousands, or a fraction; write 1024",
        ),
        ("tokens;ttft_ms\n3.000;100\n", "line 2, tokens: '3.000' has a point for thousands, or a fraction; write 3000"),
        (
            "tokens,ttft_ms\n1023.7,100\n",
            "line 2, tokens: '1023.7' must be a whole number, without separators of thousands",
        ),
        ("tokens,cached,ttft_ms\n4000,1.024,100\n", "line 2, cached: '1.024' has a point for thousands"),
        ("tokens,osl,ttft_ms\n4000,1.024,100\n", "line 2, osl: '1.024' has a point for thousands"),
        ("tokens,ttft_ms,requests\n4000,100,1.5\n", "line 2, requests: '1.5' must be a whole number"),
    ],
)
def test_a_part_of_a_token_is_refused_with_what_it_may_be(tmp_path, text, told):
    assert told in refused(inspect, write(tmp_path, text), {})


def test_whole_numbers_with_a_point_are_whole_numbers(tmp_path):
    path = write(tmp_path, "tokens,seconds\n1024.0,0.4\n2e3,0.8\n8192.000,1\n")
    assert inspect(path, {})["points"]["tokens"] == [1024, 2000, 8192]


# -- load


@pytest.mark.parametrize("column", ["request_rate", "qps", "Request Rate", "rps"])
def test_times_under_a_request_rate_are_no_prefill_unless_somebody_says_so(tmp_path, column):
    path = write(tmp_path, f"isl,ttft_ms,{column}\n1024,90,4\n8192,400,4\n")
    assert inspect(path, {})["points"] is None
    assert "use_loaded=yes" in refused(read, path, NAMED)
    document = read(path, NAMED | {"use_loaded": "yes"}).document
    assert document["prefill"]["seconds"] == pytest.approx([0.09, 0.4])
    assert "queueing is in it" in document["notes"]


def test_one_of_several_request_rates_is_chosen(tmp_path):
    path = write(tmp_path, "isl,ttft_ms,qps\n1024,90,1\n8192,400,1\n1024,180,4\n8192,800,4\n")
    loaded = NAMED | {"use_loaded": "yes"}
    assert "request_rate: has to be chosen, the file has several: 1, 4" in refused(read, path, loaded)
    assert "request_rate: '3' was not measured; there are 1, 4" in refused(read, path, loaded | {"request_rate": "3"})
    document = read(path, loaded | {"request_rate": "4"}).document
    assert document["prefill"]["seconds"] == pytest.approx([0.18, 0.8])


@pytest.mark.parametrize(
    ("columns", "cells", "alone"),
    [
        ("request_rate", "0", True),
        ("request_rate", "", True),
        ("request_rate", "inf", False),
        ("request_rate,max_concurrency", "inf,1", True),
        ("request_rate,max_concurrency", "inf,8", False),
        ("request_rate,max_concurrency", "2,1", False),
        ("num_users", "8", False),
        ("concurrent_requests", "1", True),
    ],
)
def test_a_row_is_alone_where_nothing_else_was_in_flight(tmp_path, columns, cells, alone):
    path = write(tmp_path, f"isl,ttft_ms,{columns}\n1024,90,{cells}\n8192,400,{cells}\n")
    assert {row["alone"] for row in inspect(path, {})["rows"]} == {alone}


# -- several things in one file


@pytest.mark.parametrize(
    ("column", "choice", "values"),
    [
        ("tp", "tp", ("4", "8")),
        ("tensor_parallel_size", "tp", ("4", "8")),
        ("engine", "backend", ("sglang", "vllm")),
        ("engine_version", "backend_version", ("0.11", "0.12")),
        ("num_gpus", "gpus", ("4", "8")),
        ("quantization", "quant", ("bf16", "fp8")),
        ("cache_hit_rate", "cache_hit_rate", ("0", "0.5")),
    ],
)
def test_rows_of_several_things_are_asked_for_and_never_averaged(tmp_path, column, choice, values):
    rows = "".join(f"{tokens},{tokens * at},{each}\n" for at, each in enumerate(values, 1) for tokens in (1024, 8192))
    path = write(tmp_path, f"tokens,ttft_ms,{column}\n{rows}")
    told = f"{choice}: has to be chosen, the file has several: {', '.join(values)}"
    assert told in refused(read, path, NAMED)
    assert any(told in note for note in inspect(path, {})["notes"])
    document = read(path, NAMED | {choice: values[1]}).document
    assert document["prefill"]["seconds"] == pytest.approx([2.048, 16.384])


def test_what_the_one_thing_is_stands_in_the_profile(tmp_path):
    text = "model,gpu,engine,tp,quant,tokens,seconds\n" + "kimi,h200,vllm,8,fp8,1024,1\nkimi,h200,vllm,8,fp8,2048,2\n"
    document = read(write(tmp_path, text), {}).document
    assert (document["engine"], document["gpus_per_instance"], document["precision"]) == ("vllm", 8, "fp8")


def test_tensors_divided_within_stages_say_nothing_of_the_gpus_of_an_instance(tmp_path):
    text = "model,gpu,tp,pp,tokens,seconds\nkimi,h200,8,2,1024,1\nkimi,h200,8,2,2048,2\n"
    assert "gpus_per_instance: is not in the file" in refused(read, write(tmp_path, text), {})


def test_a_cache_that_was_hit_is_told(tmp_path):
    def notes(rate):
        return inspect(write(tmp_path, f"tokens,seconds,cache_hit_rate\n1024,1,{rate}\n2048,2,{rate}\n"), {})["notes"]

    assert any("cache hit rate of 0.5: part of the prompts was cached" in note for note in notes("0.5"))
    for none in ("0", "0.0", "0 %", ""):
        assert not any("cache hit rate" in note for note in notes(none))


# -- requests that failed


@pytest.mark.parametrize("failed", ["0,", "0,0", "0,nan"])
def test_a_row_without_a_request_that_came_through_gives_no_point(tmp_path, failed):
    text = f"tokens,successful_requests,ttft_s\n1024,40,1\n2048,40,2\n4096,{failed}\n"
    found = inspect(write(tmp_path, text), {})
    assert found["points"]["tokens"] == [1024, 2048]
    assert "1 lines without a request that came through are left out" in found["notes"]


def test_a_table_of_failed_requests_only_is_refused(tmp_path):
    text = "tokens,num_requests,successful_requests,seconds\n1024,40,0,1\n2048,40,0,1\n"
    assert "line 2, successful_requests: 0 all requests failed" in refused(inspect, write(tmp_path, text), {})
