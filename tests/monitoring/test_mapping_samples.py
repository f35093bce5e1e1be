"""Pages that real systems made, where they are at hand: the values noted when they were taken, and their traps."""

import functools
import json

import pytest

from monitoring.mapping import shipped
from monitoring.mapping.dry_run import dry_run
from monitoring.mapping.engine import State
from monitoring.readings import Histogram, Malformed
from monitoring.sources.exposition import readings
from tests.monitoring.mapping_helpers import TS, mapped
from tests.shared_data import SHARED

SAMPLES = SHARED / "samples"
pytestmark = pytest.mark.skipif(
    not (SAMPLES / "index.json").exists(), reason=f"no sample pages at {SAMPLES}; set PLANNER_SHARED_DATA"
)


def page(name):
    return (SAMPLES / "metrics" / name).read_text()


def told():
    """The values of the index: file, series and number."""
    if not (SAMPLES / "index.json").exists():
        return []
    entries = json.loads((SAMPLES / "index.json").read_text())["entries"]
    pages = [entry for entry in entries if entry["kind"] == "metrics" and entry["file"].endswith(".prom")]
    found = [(entry["file"].split("/")[1], key, value) for entry in pages for key, value in entry["key_values"].items()]
    return [each for each in found if each[1] not in ("samples", "ifInOctets_eth0_32bit")]


def value_of(found, name, labels):
    """The value of a line, also of one that is part of a histogram; 37 series stand in a page twice."""
    for each in found:
        value = each.points[0].value
        if each.labels != labels or not name.startswith(each.name):
            continue
        if isinstance(value, Histogram) and name != each.name:
            return {"_sum": value.total, "_count": sum(value.counts)}[name.removeprefix(each.name)]
        if each.name == name:
            return value
    raise AssertionError(f"{name} {labels} is not there")


@pytest.mark.parametrize(("name", "series", "value"), told())
def test_a_page_is_read_with_the_values_that_it_has(name, series, value):
    (wanted,), _ = readings(f"{series} {value}", TS)
    found, rejected = readings(page(name), TS)
    assert not rejected
    assert value_of(found, wanted.name, wanted.labels) == pytest.approx(float(value))


@functools.cache
def reported(name):
    return dry_run(page(name), shipped().values(), {})


@pytest.mark.parametrize(("name", "series", "value"), told())
def test_the_dry_run_of_a_page_has_each_of_them_in_our_unit_or_says_why_not(name, series, value):
    (wanted,), _ = readings(f"{series} {value}", TS)
    rows = [
        row
        for row in reported(name).rows
        if row.labels == wanted.labels and wanted.name in (row.name, f"{row.name}_sum", f"{row.name}_count")
    ]
    assert rows
    for row in rows:
        assert bool(row.meanings) != (row.why is not None and bool(row.reason))
        for meaning in row.meanings:
            shown = meaning.observations if wanted.name == f"{row.name}_count" else meaning.value
            # octets are shown as bits, Mbit/s as bit/s, percent as shares
            assert shown in [pytest.approx(scale * float(value)) for scale in (1, 8, 1e6, 0.01)]


def by_link(series, signal):
    return {dict(each.labels)["link"]: each.points[0].value for each in series if each.signal == signal}


def values(series):
    assert len({each.signal for each in series}) == len(series)
    return {each.signal: each.points[0].value for each in series}


def test_the_interfaces_of_a_router_by_snmp():
    series, ignored = mapped(page("snmp_exporter_0.21_ifmib_self.prom"))
    assert by_link(series, "link_ingress_bits")["eth0"] == 8 * 5.718774897e9
    assert by_link(series, "link_egress_bits")["eth0"] == 8 * 7.152311e6
    assert by_link(series, "link_capacity_bps") == {"lo": 10e6}
    twins = [each for each in ignored if each.why == "alias" and each.name == "ifInOctets"]
    assert len(twins) == 4


def test_the_interfaces_of_a_switch_by_gnmi_count_though_they_are_untyped():
    series, _ = mapped(page("gnmic_processor_doc.prom"))
    assert values(series) == {
        "link_ingress_bits": 8 * 35_284_165.0,
        "link_egress_bits": 8 * 219_527_024.0,
        "link_dropped_packets": 0.0,
        "link_error_packets": 0.0,
    }
    assert {each.kind for each in series} == {"counter"}


def test_the_interfaces_of_a_host_without_the_loopback_and_with_no_speed():
    series, _ = mapped(page("node_exporter_1.5.0_self.prom"))
    assert set(by_link(series, "link_ingress_bits")) == {"eth0", "ifb0", "ifb1"}
    assert by_link(series, "link_ingress_bits")["eth0"] == 8 * 4.682753199e9
    assert by_link(series, "link_capacity_bps") == {}


def test_a_host_whose_rdma_counters_were_not_read_says_so():
    report = dry_run(page("node_exporter_1.5.0_self.prom"), shipped().values(), {})
    assert any("RDMA" in each for each in report.warnings)


def test_a_prefill_worker_of_dynamo_counts_requests_and_not_the_questions_of_its_router():
    series, _ = mapped(page("dynamo_1.6.1_prefill_component_self.prom"), {"role": "prfaas"})
    assert values(series) == {"requests": 67.0}
    assert dict(series[0].labels)["route"] == "remote"


def test_a_decode_worker_of_dynamo_is_read_by_its_engines_names():
    series, ignored = mapped(page("dynamo_1.6.1_decode_component_self.prom"), {"role": "decode"})
    found = values(series)
    assert found["kv_cache_utilisation"] == 0.0
    assert (sum(found["tpot_s"].counts), sum(found["engine_ttft_s"].counts)) == (3214.0, 67.0)
    assert "requests" not in found
    assert "ttft_s" not in found
    assert [each.name for each in ignored if each.why == "alias"] == ["vllm:gpu_cache_usage_perc"]


def test_between_two_pages_of_a_worker_are_a_hundred_requests():
    state = State()
    names = ("dynamo_1.6.1_decode_component_self.prom", "dynamo_1.6.1_decode_component_self_t2.prom")
    pages = [mapped(page(name), {"role": "decode"}, state=state, ts_ms=TS + at) for at, name in enumerate(names)]
    first, second = (values(series)["engine_ttft_s"] for series, _ in pages)
    assert sum(second.counts) - sum(first.counts) == 100.0


def test_a_frontend_of_dynamo_tells_what_the_caller_sees():
    series, _ = mapped(page("dynamo_1.6.1_frontend_after_restart_self.prom"), {"role": "router"})
    found = values([each for each in series if each.signal != "queued_requests"])
    assert sum(found["ttft_s"].counts) == 68.0
    assert (found["requests"], found["input_tokens"], found["cached_tokens"]) == (68.0, 72_862.0, 0.0)
    assert found["prompt_tokens"].total == 72_862.0


def test_a_restarted_frontend_is_seen_by_its_uptime_though_its_count_rose():
    name, state = "dynamo_1.6.1_frontend_after_restart_self.prom", State()
    before = page(name).replace("23.660880389", "3600").replace(" 68\n", " 67\n")
    (first, _), (second, _) = (
        mapped(each, state=state, ts_ms=TS + at) for at, each in ((0, before), (30_000, page(name)))
    )
    starts = [
        {each.points[0].start_ms // 1000 for each in series if each.kind != "gauge"} for series in (first, second)
    ]
    assert all(len(each) == 1 for each in starts)
    assert starts[0] != starts[1]


def test_a_router_of_llm_d_with_old_and_new_names():
    series, ignored = mapped(page("llmd_epp_router_testdata_concat.prom"), {"role": "router"})
    found = {(each.signal, dict(each.labels).get("model")): each.points[0].value for each in series}
    assert (found["requests", "m10"], found["requests", "m20"]) == (3.0, 1.0)
    assert sum(found["tpot_s", "m20"].counts) == 2.0
    assert found["kv_cache_utilisation", None] == 0.3
    assert [each.name for each in ignored if each.why == "duplicate"] == ["inference_model_request_tpot_seconds"]


def test_one_metric_of_tensorrt_llm_has_many_quantities_that_are_not_added_up():
    series, _ = mapped(page("trtllm_backend_readme.prom"))
    assert values(series) == {"queued_requests": 1.0, "running_requests": 0.0, "kv_cache_utilisation": 0.4875}


def test_mooncakes_summary_is_refused_saying_what_it_is():
    with pytest.raises(Malformed, match="summary for people"):
        dry_run(page("mooncake_master_summary_self.txt"), shipped().values(), {})
