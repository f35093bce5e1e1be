"""What a dry run tells of a page."""

import pytest

from monitoring.mapping import shipped
from monitoring.mapping.dry_run import dry_run
from monitoring.readings import Malformed

VLLM = """# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.75
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.25
# TYPE vllm:request_prefill_kv_computed_tokens histogram
vllm:request_prefill_kv_computed_tokens_bucket{le="100"} 1
vllm:request_prefill_kv_computed_tokens_bucket{le="1000"} 2
vllm:request_prefill_kv_computed_tokens_bucket{le="+Inf"} 4
vllm:request_prefill_kv_computed_tokens_sum 5050
# TYPE vllm:e2e_request_latency_seconds gauge
vllm:e2e_request_latency_seconds 5
python_info{version="3.13"} 1
broken line here
"""


def run(text, labels=None):
    return dry_run(text, shipped().values(), labels or {})


def test_the_system_of_a_page_is_recognised():
    (system,) = run(VLLM).systems
    assert (system.name, system.series) == ("vllm", 3)


def test_every_series_has_a_meaning_or_a_reason():
    rows = run(VLLM).rows
    assert all(bool(row.meanings) != bool(row.reason) for row in rows)
    assert {row.name: row.why for row in rows if row.why} == {
        "vllm:gpu_cache_usage_perc": "alias",
        "vllm:e2e_request_latency_seconds": "listed",
        "python_info": "unknown",
    }


def test_a_meaning_has_signal_labels_value_and_unit():
    row = next(row for row in run(VLLM, {"cluster": "east"}).rows if row.labels.get("engine") == "1")
    (meaning,) = row.meanings
    assert (meaning.signal, meaning.value, meaning.unit) == ("kv_cache_utilisation", 0.75, "1")
    assert meaning.labels == {"cluster": "east", "model": "m"}


def test_a_histogram_is_told_by_its_observations_and_their_sum():
    row = next(row for row in run(VLLM).rows if row.kind == "histogram")
    assert (row.meanings[0].observations, row.meanings[0].value) == (4.0, 5050.0)


def test_what_would_be_stored_has_its_ranks_added_up():
    found = {each.signal: each.value for each in run(VLLM).mapped}
    assert found == {"kv_cache_utilisation": 0.5, "uncached_tokens": 5050.0}


def test_the_counts_add_up():
    assert run(VLLM).counts == {
        "series": 6,
        "taken": 3,
        "alias": 1,
        "listed": 1,
        "unknown": 1,
        "rejected_lines": 1,
        "mapped": 2,
    }


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (VLLM, "its buckets are as wide as from 100 to 1000 tokens"),
        (VLLM, "without a role"),
        ('ifHighSpeed{ifName="a"} 0', "0 says that it is not known"),
        ('ifHCOutOctets{ifName="a"} 1\nifOutOctets{ifName="a"} 1', "a counter of 32 bits that begins again"),
        ("python_info 1", "no series of this page is a signal of ours"),
        ('ifHCOutOctets{ifName="a"} 1\n' * 2, "stands there twice; taken once"),
    ],
)
def test_what_to_look_out_for_is_told(page, said):
    assert any(said in each for each in run(page).warnings)


def test_with_a_role_the_route_is_known_and_nothing_is_told_of_it():
    assert not any("without a role" in each for each in run(VLLM, {"role": "prfaas"}).warnings)


def test_series_that_cannot_be_added_up_have_no_meaning_but_a_reason():
    page = 'ifOutErrors{ifName="a",slot="1"} 1\nifOutErrors{ifName="a",slot="2"} 1\n'
    report = run(page)
    assert [row.why for row in report.rows] == ["ranks", "ranks"]
    assert not report.mapped


def test_what_is_no_page_of_metrics_is_refused():
    with pytest.raises(Malformed, match="HTML"):
        run("<html></html>")


def test_an_empty_page_is_an_empty_report():
    assert run("").counts == {"series": 0, "taken": 0, "rejected_lines": 0, "mapped": 0}
