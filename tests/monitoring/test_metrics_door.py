"""`/metrics`: gauges of what is recommended and measured, with its age, and nothing in the place of what is stale."""

import shutil
import subprocess
import time

import pytest
from django.test import Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from monitoring.live.messages import AdviceNow, Current, Drift, Pair, Target
from monitoring.models import Source, Tick
from tests.monitoring.advised import snapshot, stored, value, watch_now

pytestmark = pytest.mark.django_db
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def now_ms():
    return round(time.time() * 1000)


def advised(ts_ms, **fields):
    found = watch_now(ts_ms=ts_ms)
    found.advice = AdviceNow(
        ts_ms, "throughput", "link_busy", "raise t", threshold_tokens=21_340.0,
        instances={"prfaas": 4, "prefill": 3, "decode": 5}, lambda_max_rps=Pair(2.61, 2.75), **fields,
    )  # fmt: skip
    return found


def page(accept="text/plain;version=0.0.4"):
    return Client().get("/metrics", headers={"accept": accept})


def samples(answer=None, parse=text_format):
    """By name, without our prefix, and labels."""
    text = (answer or page()).content.decode()
    return {
        (each.name.removeprefix("prfaas_planner_"), *sorted(each.labels.values())): each.value
        for family in parse(text)
        for each in family.samples
    }


def test_what_is_recommended_is_told_with_its_time_and_validity():
    ts_ms = now_ms()
    stored(snapshot(advised(ts_ms), ts_ms=ts_ms))
    found = samples()
    assert found["recommended_threshold_tokens", "case"] == 21_340.0
    assert found["recommended_instances", "case", "prefill"] == 3.0
    assert found["current_threshold_tokens", "case"] == 19_400.0
    assert found["current_instances", "case", "decode"] == 5.0
    assert found["recommendation_valid", "case"] == 1.0
    assert found["recommendation_timestamp_seconds", "case"] == ts_ms / 1000
    assert found["link_egress_bits_per_second", "case", "wan"] == 7e9
    assert found["link_capacity_bits_per_second", "case", "wan"] == 100e9
    assert found["offload_ratio", "case"] == 0.5
    assert found["lambda_max_requests_per_second", "case", "current"] == 2.61
    assert found["lambda_max_requests_per_second", "case", "recommended"] == 2.75


def test_the_reason_both_objectives_predictions_and_drift_are_told():
    ts_ms = now_ms()
    fields = {
        "confidence": 0.97, "threshold_low": 20_000.0, "threshold_high": 23_000.0, "egress_bps": Pair(9.6e9, 8.7e9),
        "ttft_mean_s": Pair(1.9, None), "drift": [Drift("prefill_s.remote", 1.5, 1.4, 1.6, True)],
        "objectives": {"throughput": Target(21_700.0), "ttft": Target(9_000.0)},
    }  # fmt: skip
    stored(snapshot(advised(ts_ms, **fields), ts_ms=ts_ms))
    found = samples()
    assert found["recommendation_info", "case", "link_busy", "throughput"] == 1.0
    assert found["recommendation_confidence", "case"] == 0.97
    assert (found["best_threshold_low_tokens", "case"], found["best_threshold_high_tokens", "case"]) == (20e3, 23e3)
    assert found["best_threshold_tokens", "case", "throughput"] == 21_700.0
    assert found["best_threshold_tokens", "case", "ttft"] == 9_000.0
    assert found["predicted_egress_bits_per_second", "case", "current"] == 9.6e9
    assert found["predicted_egress_bits_per_second", "case", "recommended"] == 8.7e9
    assert ("predicted_ttft_mean_seconds", "case", "recommended") not in found
    assert found["profile_drift_ratio", "case", "prefill_s.remote"] == 1.5


def test_no_sample_has_a_time_of_its_own():
    ts_ms = now_ms()
    stored(snapshot(advised(ts_ms), ts_ms=ts_ms))
    families = list(text_format(page().content.decode()))
    assert {each.timestamp for family in families for each in family.samples} == {None}


def test_what_is_not_recommended_is_left_out_and_said_to_be_invalid():
    ts_ms = now_ms()
    stored(snapshot(advised(ts_ms, problems=["too few lengths"]), ts_ms=ts_ms))
    found = samples()
    assert found["recommendation_valid", "case"] == 0.0
    assert ("recommended_threshold_tokens", "case") not in found
    assert ("recommended_instances", "case", "prefill") not in found
    assert ("lambda_max_requests_per_second", "case", "recommended") not in found
    assert found["lambda_max_requests_per_second", "case", "current"] == 2.61
    assert found["current_threshold_tokens", "case"] == 19_400.0


def test_what_has_grown_stale_is_left_out_and_never_zero():
    ts_ms = now_ms()
    watch = advised(ts_ms)
    watch.links[0].egress_bps = value(7e9, ts_ms - 60_000, "stale")
    watch.threshold_tokens = Current(19_400.0, ts_ms - 60_000, "stale", "telemetry")
    stored(snapshot(watch, ts_ms=ts_ms))
    found = samples()
    assert ("link_egress_bits_per_second", "case", "wan") not in found
    assert ("current_threshold_tokens", "case") not in found
    assert found["link_capacity_bits_per_second", "case", "wan"] == 100e9


def test_what_was_entered_by_hand_goes_on_to_count():
    ts_ms = now_ms()
    watch = advised(ts_ms)
    watch.threshold_tokens = Current(15_000.0, ts_ms - 86_400_000, "live", "entered", "ada")
    stored(snapshot(watch, ts_ms=ts_ms))
    assert samples()["current_threshold_tokens", "case"] == 15_000.0


def test_a_recommender_that_has_died_is_told_by_its_age_and_by_nothing_else():
    ts_ms = now_ms() - 60_000
    stored(snapshot(advised(ts_ms), ts_ms=ts_ms))
    found = samples()
    assert found == {
        ("snapshot_timestamp_seconds",): ts_ms / 1000,
        ("recommendation_timestamp_seconds", "case"): ts_ms / 1000,
        ("recommendation_valid", "case"): 0.0,
    }


def test_sources_are_told_before_anything_was_measured():
    Source.objects.create(name="gw", last_seen_ms=1_790_000_400_000)
    Source.objects.create(name="never")
    assert samples() == {("source_last_seen_timestamp_seconds", "gw"): 1_790_000_400.0}


def test_a_snapshot_of_another_version_is_as_none():
    Tick.objects.create(seq=1, ts_ms=now_ms(), payload=b'{"seq": "one"}')
    assert samples() == {}


def test_who_asks_for_open_metrics_gets_the_same_in_that_format():
    ts_ms = now_ms()
    stored(snapshot(advised(ts_ms), ts_ms=ts_ms))
    answer = page(OPEN_METRICS)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert answer.content.endswith(b"# EOF\n")
    assert samples(answer, open_metrics) == samples()


def test_one_query_reads_the_snapshot_and_one_the_sources(django_assert_num_queries):
    ts_ms = now_ms()
    stored(snapshot(advised(ts_ms), ts_ms=ts_ms))
    with django_assert_num_queries(2):
        page()


def test_nothing_is_changed_by_metrics():
    assert Client().post("/metrics").status_code == 405


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool: apt-get install prometheus")
def test_promtool_finds_nothing_wrong_with_the_page_but_that_links_are_in_bits():
    ts_ms = now_ms()
    Source.objects.create(name="gw", last_seen_ms=ts_ms)
    stored(snapshot(advised(ts_ms), ts_ms=ts_ms))
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=page().content, capture_output=True, check=False, timeout=60
    )
    # in bits is how links are sold, and how the names of other exporters have them
    said = [line for line in checked.stderr.decode().splitlines() if line]
    assert checked.stdout == b""
    assert all(line.endswith('use base unit "bytes" instead of "bits"') for line in said), said
    assert all(line.startswith(("prfaas_planner_link_", "prfaas_planner_predicted_egress_")) for line in said)
