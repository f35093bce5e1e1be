"""Pages as engines make them, with prometheus_client and the names of their releases: what they tell is all taken."""

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from monitoring.mapping import shipped
from monitoring.mapping.compiling import compiled
from monitoring.mapping.engine import State, map_readings
from tests.monitoring.mapping_helpers import mapped, reading
from tests.monitoring.mapping_helpers import own as compiled_own

BOUNDS = (1, 10, 100)


class Page:
    """A page of metrics with the same labels."""

    def __init__(self, **labels):
        self.registry, self.labels, self.made = CollectorRegistry(), labels, {}

    def counter(self, name, value, **more):
        self._made(Counter, name, more).inc(value)

    def gauge(self, name, value, **more):
        self._made(Gauge, name, more).set(value)

    def histogram(self, name, *observed, **more):
        made = self._made(Histogram, name, more, buckets=BOUNDS)
        for value in observed:
            made.observe(value)

    def _made(self, kind, name, more, **options):
        labels = {**self.labels, **more}
        if name not in self.made:
            self.made[name] = kind(name, "", list(labels), registry=self.registry, **options)
        return self.made[name].labels(**labels)

    def text(self):
        return generate_latest(self.registry).decode()


def vllm_page():
    page = Page(model_name="kimi", engine="0")
    page.counter("vllm:request_success", 40, finished_reason="stop")
    page.counter("vllm:request_success", 2, finished_reason="length")
    page.histogram("vllm:request_prefill_kv_computed_tokens", 5, 50, 500)
    page.histogram("vllm:request_prompt_tokens", 7, 70)
    page.counter("vllm:prompt_tokens", 900)
    page.counter("vllm:prompt_tokens_by_source", 500, source="local_compute")
    page.counter("vllm:prompt_tokens_by_source", 300, source="local_cache_hit")
    page.counter("vllm:prompt_tokens_by_source", 100, source="external_kv_transfer")
    page.counter("vllm:prefix_cache_hits", 300)
    page.counter("vllm:generation_tokens", 4200)
    page.histogram("vllm:time_to_first_token_seconds", 0.5)
    page.histogram("vllm:inter_token_latency_seconds", 0.05, 0.06)
    page.histogram("vllm:request_prefill_time_seconds", 0.4)
    page.gauge("vllm:num_requests_waiting", 9)
    page.gauge("vllm:num_requests_waiting_by_reason", 6, reason="capacity")
    page.gauge("vllm:num_requests_waiting_by_reason", 3, reason="deferred")
    page.gauge("vllm:num_requests_running", 12)
    page.gauge("vllm:kv_cache_usage_perc", 0.75)
    page.histogram("vllm:nixl_bytes_transferred", 2048, 4096)
    page.histogram("vllm:nixl_xfer_time_seconds", 0.02)
    page.counter("vllm:nixl_num_failed_transfers", 1)
    return page.text()


def told(series):
    """Values by signal and what else tells them apart; of a histogram its observations and their sum."""
    found = {}
    for each in series:
        labels = dict(each.labels)
        value = each.points[-1].value
        plain = value if isinstance(value, float) else (sum(value.counts), pytest.approx(value.total))
        found[each.signal, labels.get("bound")] = plain
    return found


def test_a_vllm_page_is_taken_whole():
    series, ignored = mapped(vllm_page(), {"role": "prfaas"})
    assert {dict(each.labels)["model"] for each in series} == {"kimi"}
    assert told(series) == {
        ("requests", None): 42.0,
        ("uncached_tokens", None): (3.0, 555.0),
        ("prompt_tokens", None): (2.0, 77.0),
        ("input_tokens", None): 900.0,
        ("cached_tokens", None): 400.0,
        ("engine_ttft_s", None): (1.0, 0.5),
        ("prefill_s", None): (1.0, 0.4),
        ("queued_requests", "compute"): 6.0,
        ("queued_requests", "link"): 3.0,
        ("running_requests", None): 12.0,
        ("kv_cache_utilisation", None): 0.75,
        ("kv_transfer_bytes", None): 6144.0,
        ("kv_transfer_s", None): (1.0, 0.02),
        ("failed_kv_transfers", None): 1.0,
    }
    assert not [each for each in ignored if each.why == "unknown"]


def test_a_decode_vllm_tells_tokens_out_and_no_prompts_again():
    series, _ = mapped(vllm_page(), {"role": "decode"})
    signals = {each.signal for each in series}
    assert {"output_tokens", "tpot_s"} <= signals
    assert not signals & {"requests", "uncached_tokens", "prompt_tokens", "input_tokens", "cached_tokens", "prefill_s"}


def sglang_page():
    page = Page(model_name="kimi", engine_type="prefill")
    page.counter("sglang:num_requests", 42)
    page.counter("sglang:num_aborted_requests", 2)
    page.histogram("sglang:uncached_prompt_tokens_histogram", 5, 50, 500)
    page.histogram("sglang:prompt_tokens_histogram", 7, 70)
    page.counter("sglang:prompt_tokens", 900)
    page.counter("sglang:cached_tokens", 300, cache_source="device")
    page.counter("sglang:cached_tokens", 100, cache_source="host")
    page.histogram("sglang:time_to_first_token_seconds", 0.5)
    for name, depth in (("queue", 6), ("prefill_bootstrap_queue", 1), ("prefill_inflight_queue", 3)):
        for rank in "01":
            page.gauge(f"sglang:num_{name}_reqs", depth, tp_rank=rank, dp_rank="0")
    page.gauge("sglang:num_running_reqs", 12, tp_rank="0", dp_rank="0")
    page.gauge("sglang:token_usage", 0.75, tp_rank="0", dp_rank="0")
    page.counter("sglang:forward_execution_seconds", 30, category="extend", tp_rank="0")
    page.counter("sglang:forward_execution_seconds", 30, category="extend", tp_rank="1")
    for rank, megabytes in (("0", 3), ("1", 5)):
        page.histogram("sglang:kv_transfer_total_mb", megabytes, tp_rank=rank)
        page.histogram("sglang:kv_transfer_latency_ms", 20, tp_rank=rank)
    page.counter("sglang:num_transfer_failed_reqs", 1, tp_rank="0")
    return page.text()


def test_a_sglang_page_is_taken_whole():
    series, ignored = mapped(sglang_page())
    assert {dict(each.labels)["role"] for each in series} == {"prefill"}
    found = told([each for each in series if dict(each.labels).get("stage") != "transfer"])
    assert found == {
        ("requests", None): 42.0,
        ("failed_requests", None): 2.0,
        ("uncached_tokens", None): (3.0, 555.0),
        ("prompt_tokens", None): (2.0, 77.0),
        ("input_tokens", None): 900.0,
        ("cached_tokens", None): 400.0,
        ("engine_ttft_s", None): (1.0, 0.5),
        ("queued_requests", "compute"): 6.0,
        ("queued_requests", "link"): 1.0,
        ("running_requests", None): 12.0,
        ("kv_cache_utilisation", None): 0.75,
        ("busy_s", None): 30.0,
        ("kv_transfer_bytes", None): 8.0 * 2**20,
        ("kv_transfer_s", None): (2.0, 0.04),
        ("failed_kv_transfers", None): 1.0,
    }
    assert not [each for each in ignored if each.why == "unknown"]


def test_requests_that_wait_for_the_link_are_told_apart_from_those_that_wait_for_compute():
    series, _ = mapped(sglang_page())
    queued = {
        tuple(dict(each.labels)[name] for name in ("bound", "stage")): each
        for each in series
        if each.signal == "queued_requests"
    }
    assert {key: each.points[0].value for key, each in queued.items()} == {
        ("compute", "prefill"): 6.0,
        ("link", "prefill"): 1.0,
        ("link", "transfer"): 3.0,
    }


def test_the_names_of_gnmic_may_have_the_prefix_of_the_installation():
    path = "interfaces_interface_state_counters_out_octets"
    for name in (path, f"gnmic_{path}"):
        (series,), _ = mapped(f'{name}{{interface_name="eth1",source="leaf-01"}} 10')
        assert dict(series.labels) == {"link": "eth1", "instance": "leaf-01"}
        assert (series.kind, series.points[0].value) == ("counter", 80.0)


def test_transfers_within_a_machine_do_not_count_as_kvcache_sent():
    page = "# TYPE tent_write_bytes_total counter\n"
    page += 'tent_write_bytes_total{transport="rdma"} 100\ntent_write_bytes_total{transport="nvlink"} 900\n'
    (series,), _ = mapped(page)
    assert series.points[0].value == 100.0


def test_a_gpu_that_is_busy_half_of_the_time_is_utilised_by_half():
    page = '# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="a"} 40\n'
    (series,), _ = mapped(page + 'DCGM_FI_DEV_GPU_UTIL{gpu="1",Hostname="a"} 60\n')
    assert series.points[0].value == pytest.approx(0.5)


def test_every_shipped_mapping_compiles_by_itself():
    for mapping in shipped().values():
        rules = [rule.model_dump(exclude_none=True) for rule in mapping.rules]
        assert compiled_own(*rules, prefixes=mapping.prefixes).candidates


def test_a_sender_of_our_envelope_is_taken_as_it_is():
    lookup = compiled([shipped()["prfaas"]])
    sent = reading("link_egress_bits", 8e9, labels={"link": "east-west"})
    (series,) = map_readings([sent], {"cluster": "east"}, lookup, State()).mapped
    assert series.labels == (("cluster", "east"), ("link", "east-west"))
    assert series.points[0].value == 8e9
