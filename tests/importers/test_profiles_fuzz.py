"""Whatever a file holds, only DocumentError comes of it, with a place and a message of one line."""

import copy
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.importers.profiles import inspect, read
from tests.examples import examples
from tests.importers.bench import NAMED, SERVING, record, tried, write
from tests.importers.test_profiles import guidellm

FUZZ = settings(examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
LLMPERF = {
    "results_ttft_s_mean": 0.1,
    "results_number_input_tokens_mean": 500,
    "results_number_output_tokens_mean": 100,
    "results_end_to_end_latency_s_mean": 1.0,
    "results_num_completed_requests": 40,
    "num_concurrent_requests": 1,
}
LIFECYCLE = {
    "load_summary": {"requested_rate": 5},
    "successes": {
        "count": 100,
        "latency": {"request_latency": {"mean": 2.0}, "time_to_first_token": {"mean": 0.2}},
        "throughput": {"requests_per_sec": 5},
        "prompt_len": {"mean": 300},
        "output_len": {"mean": 30},
    },
}
AIPERF = {
    "time_to_first_token": {"unit": "ms", "avg": 50},
    "input_sequence_length": {"unit": "tokens", "avg": 100},
    "request_count": {"avg": 40},
    "input_config": {"loadgen": {"concurrency": 1}, "models": {"items": [{"name": "m"}]}},
}
SERVER = {
    "aiperf_version": "0.13",
    "summary": {},
    "input_config": {"phases": [{"name": "profiling", "concurrency": 2}]},
    "metrics": {
        "x_time_to_first_token_seconds": {"type": "histogram", "series": [{"stats": {"count": 4, "sum": 0.4}}]},
        "x_input_sequence_tokens": {"type": "histogram", "series": [{"stats": {"count": 4, "sum": 400}}]},
    },
}
DETAILED = SERVING | {"completed": 2, "input_lens": [10, 20], "ttfts": [0.1, 0.2], "output_lens": [1, 2], "errors": []}
SEEDS = [
    SERVING,
    DETAILED,
    LLMPERF,
    {"1": LLMPERF, "2": LLMPERF},
    {
        "1": {
            "first-time-to-token_mean_in_ms": 5,
            "concurrency": 1,
            "input_token_length": 9,
            "throughput_token_per_s": 1,
        }
    },
    [{"ttft_s": 0.1, "number_input_tokens": 5, "number_output_tokens": 3, "end_to_end_latency_s": 1}],
    LIFECYCLE,
    AIPERF,
    SERVER,
    {"benchmarks": [guidellm({"type_": "constant", "rate": 2.0}), guidellm({"type_": "concurrent", "streams": 4})]},
    record(0, 1, 0.1, 100),
    {"batch_size": 1, "input_len": 5, "prefill_latency": 0.1, "median_decode_latency": 0.01},
]
odd = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1e308,
        5e-324,
        float("nan"),
        float("inf"),
        "",
        "12",
        "x",
        [],
        {},
        [1],
        {"a": 1},
        10**400,
        "\ud800",
    ]
)


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from places(below, (*path, key))


@st.composite
def spoilt(draw):
    """A result with one or two of its values exchanged for something else, or taken away."""
    document = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(sorted(places(document), key=repr)))
        if not path:
            continue
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[path[-1]]
        else:
            holder[path[-1]] = copy.deepcopy(draw(odd))
    return json.dumps(document)


def only_document_errors(path):
    for call in (inspect, read):
        problem, found = tried(call, path, NAMED | {"use_loaded": "yes"})
        if problem:
            assert problem.errors
            assert "\n" not in str(problem)
        elif call is inspect:
            json.dumps(found, allow_nan=False)


def test_every_seed_is_read_as_it_stands(tmp_path):
    for seed in SEEDS:
        assert inspect(write(tmp_path, json.dumps(seed)), {})["rows"]


@given(spoilt())
@FUZZ
def test_nothing_but_a_document_error_comes_of_a_spoilt_result(tmp_path, text):
    only_document_errors(write(tmp_path, text))


@given(spoilt(), st.integers(0, 2000))
@FUZZ
def test_nothing_but_a_document_error_comes_of_a_truncated_result(tmp_path, text, size):
    only_document_errors(write(tmp_path, text[:size]))


cells = st.sampled_from(
    ["1", "1024", "0.5", "-1", "nan", "1e400", "", '"', "1,0", "x", "ms", "8192", "1e-320", "９", "\x00", "2" * 400]
)
headers = st.sampled_from(
    [
        "tokens,seconds",
        "isl,ttft_ms,batch,osl,tpot_ms",
        "new_tokens,cached_tokens,s",
        "Metric,avg",
        "Metric,avg\nTime to First Token (ms),5\nInput Sequence Length (tokens),5\nInter Token Latency (ms),",
        "Time to First Token,Token Metrics\nSuccessful ms,Successful Input Tokens\nMean,Mean",
        "system,model_path,backend,isl,batch_size,tp_size,silicon_ttft_ms\na,b,c,1,1,1,1",
    ]
)


@given(headers, st.lists(st.lists(cells, max_size=8), max_size=6))
@FUZZ
def test_nothing_but_a_document_error_comes_of_any_table(tmp_path, header, table):
    only_document_errors(write(tmp_path, header + "\n" + "\n".join(",".join(row) for row in table)))


@given(st.binary(max_size=300))
@FUZZ
def test_nothing_but_a_document_error_comes_of_any_bytes(tmp_path, data):
    only_document_errors(write(tmp_path, data))
