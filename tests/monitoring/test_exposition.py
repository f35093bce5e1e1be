"""Pages of metrics, against what the format says and against the reference parser of prometheus_client."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from monitoring.readings import Histogram as Folded
from monitoring.readings import Malformed, Point
from monitoring.sources.exposition import readings

TS = 1_796_000_000_000


def read(text):
    found, rejected = readings(text, TS)
    assert not rejected
    return found


def only(text):
    (found,) = read(text)
    return found


def test_a_counter_has_its_name_labels_kind_and_value():
    found = only('# TYPE sent_total counter\nsent_total{device="eth0",port="1"} 5.87707e+06\n')
    assert (found.name, found.kind) == ("sent_total", "counter")
    assert found.labels == {"device": "eth0", "port": "1"}
    assert found.points == (Point(TS, 5_877_070.0),)


def test_a_line_without_a_type_is_untyped():
    assert only("node_netstat_Tcp_OutSegs 570548").kind == "untyped"


def test_a_line_may_have_its_own_time():
    assert only("up 1 1796000000123").points[0].ts_ms == 1_796_000_000_123


def test_blanks_after_commas_and_a_comma_at_the_end_are_allowed():
    assert only('m{model_name="m20", target_model_name="t10",} 2').labels == {
        "model_name": "m20",
        "target_model_name": "t10",
    }


def test_escapes_in_a_label_are_read():
    assert only(r'm{path="C:\\DIR\\",said="a \"b\" } 1",line="one\ntwo"} 1').labels == {
        "path": "C:\\DIR\\",
        "said": 'a "b" } 1',
        "line": "one\ntwo",
    }


def test_a_name_in_quotes_is_read():
    found = only('{"my.metric.name", device="eth0"} 3')
    assert (found.name, found.labels, found.points[0].value) == ("my.metric.name", {"device": "eth0"}, 3.0)


def test_an_exemplar_is_left_out():
    found = only('# TYPE m counter\nm_total{a="b"} 5 # {trace_id="x } y"} 0.7 1.5\n# EOF')
    assert (found.kind, found.labels, found.points[0].value) == ("counter", {"a": "b"}, 5.0)


def test_a_histogram_has_the_counts_of_each_bucket_alone():
    page = """# TYPE ttft_seconds histogram
ttft_seconds_bucket{le="0.1",model="m"} 3
ttft_seconds_bucket{le="1",model="m"} 7
ttft_seconds_bucket{le="+Inf",model="m"} 10
ttft_seconds_sum{model="m"} 12.5
ttft_seconds_count{model="m"} 10
"""
    found = only(page)
    assert (found.name, found.kind, found.labels) == ("ttft_seconds", "histogram", {"model": "m"})
    assert found.points[0].value == Folded((0.1, 1.0), (3.0, 4.0, 3.0), 12.5)


def test_buckets_may_come_in_any_order():
    page = '# TYPE h histogram\nh_sum 4\nh_bucket{le="+Inf"} 3\nh_bucket{le="2"} 1\nh_count 3\nh_bucket{le="1"} 0\n'
    assert only(page).points[0].value == Folded((1.0, 2.0), (0.0, 1.0, 2.0), 4.0)


def test_a_histogram_that_stands_twice_is_two_readings():
    page = '# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n'
    first, second = read(page + page)
    assert first == second


def test_a_series_that_stands_twice_is_two_readings():
    assert len(read('m{a="b"} 1\nm{a="b"} 1\n')) == 2


def test_buckets_that_fall_are_rejected_by_line():
    found, (rejected,) = readings('# TYPE h histogram\nh_bucket{le="1"} 5\nh_bucket{le="+Inf"} 4\nh_sum 1\n', TS)
    assert not found
    assert rejected.index == 2
    assert "less than those below" in rejected.reason


def test_a_bucket_without_a_bound_is_rejected():
    _, rejected = readings('# TYPE h histogram\nh_bucket{a="b"} 5\nh_count{a="b"} 5\n', TS)
    assert "without a bound" in rejected[0].reason


def test_a_sum_and_a_count_of_a_summary_are_counters():
    found = read('# TYPE s summary\ns{quantile="0.5"} 0.2\ns_sum 8\ns_count 4\n')
    assert [(each.name, each.kind) for each in found] == [("s", "gauge"), ("s_sum", "counter"), ("s_count", "counter")]


@pytest.mark.parametrize("value", ["NaN", "nan", "+Inf", "-Inf"])
def test_what_is_no_number_is_no_value(value):
    found, (rejected,) = readings(f"m 1\nstale {value}", TS)
    assert [each.name for each in found] == ["m"]
    assert rejected.index == 2
    assert "has no value" in rejected.reason


def test_a_line_that_cannot_be_read_is_rejected_and_the_others_are_read():
    found, (rejected,) = readings('m 1\nbroken{a="b\nn 2\n', TS)
    assert [each.name for each in found] == ["m", "n"]
    assert rejected.index == 2


def test_an_odd_line_without_end_is_rejected_unread():
    _, (rejected,) = readings("m 1\nn{" + 'a="",' * 10_000 + "}1", TS)
    assert "50,004 characters" in rejected.reason


def test_the_time_at_which_a_counter_began_is_its_start():
    page = '# TYPE m counter\nm_total{a="b"} 5\n# TYPE m_created gauge\nm_created{a="b"} 1.7959e+09\n'
    assert only(page).points == (Point(TS, 5.0, 1_795_900_000_000),)


def test_a_gauge_whose_name_ends_like_a_start_is_a_gauge():
    assert only("# TYPE jobs_created gauge\njobs_created 3\n").kind == "gauge"


def test_a_page_without_series_is_empty():
    assert readings("# HELP m nothing yet\n# TYPE m counter\n\n", TS) == ([], [])


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ('{"status":"success"}', "JSON"),
        ("<!doctype html><html>", "HTML"),
        ("role=leader, state=serving, master={Mem Storage: 20.00 MB / 64.00 MB}", "summary for people"),
        ("Mem Storage: 20 MB", "line 1"),
    ],
)
def test_what_is_no_page_of_metrics_is_refused_saying_what_it_is(page, said):
    with pytest.raises(Malformed, match=said):
        readings(page, TS)


def test_a_page_of_the_python_client_is_read_as_it_was_made():
    registry = CollectorRegistry()
    Counter("sent", "", ["a"], registry=registry).labels("x").inc(3)
    Gauge("depth", "", registry=registry).set(2)
    Summary("took", "", registry=registry).observe(4)
    buckets = Histogram("tokens", "", buckets=(10, 100), registry=registry)
    for tokens in (5, 50, 500, 501):
        buckets.observe(tokens)
    found = {each.name: each for each in read(generate_latest(registry).decode())}
    assert set(found) == {"sent_total", "depth", "took_sum", "took_count", "tokens"}
    assert found["tokens"].points[0].value == Folded((10.0, 100.0), (1.0, 1.0, 2.0), 1056.0)
    assert found["sent_total"].points[0].start_ms is not None


NAMES = st.from_regex(r"[a-z_:][a-z0-9_:]{0,12}", fullmatch=True)
LABELS = st.dictionaries(
    st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(lambda name: name != "le" and name[:2] != "__"),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    max_size=3,
)


def escaped(value):
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


@given(NAMES, LABELS, st.floats(allow_nan=False, allow_infinity=False))
def test_any_line_is_read_as_the_reference_parser_reads_it(name, labels, value):
    line = name + "{" + ",".join(f'{key}="{escaped(said)}"' for key, said in labels.items()) + "} " + repr(value)
    ((sample,),) = [family.samples for family in text_string_to_metric_families(line)]
    found = only(line)
    assert (found.name, found.labels, found.points[0].value) == (sample.name, sample.labels, float(sample.value))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    try:
        found, _ = readings(text, TS)
    except Malformed:
        return
    assert all(math.isfinite(point.value) for each in found for point in each.points if each.kind != "histogram")
