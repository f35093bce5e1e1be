"""Write requests of agents other than Prometheus, as they build them, to signals of ours.

Neither gnmic nor Vector is in a registry that the tests reach. What is in their requests was read in their sources in
November 2026: gnmic's `pkg/outputs/prometheus_output/prometheus_common.go` (TimeSeriesFromEvent: names from paths,
labels from keys and subscription, sorted with `__name__`, one sample each, numbers also where the router sends text)
and its write client's headers; Vector's `src/sinks/prometheus/collector.rs` (buckets cumulative, with metadata).
"""

import cramjam
import pytest

from monitoring import mapping
from monitoring.mapping.compiling import compiled
from monitoring.mapping.engine import State, map_readings
from monitoring.readings import Histogram
from monitoring.sources import remote_write

TS_MS = 1_790_000_000_123
GNMIC = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}


def body(*series, metadata=()):
    """Series are their labels, sorted, and a value."""
    request = remote_write.MESSAGES["WriteRequest"]()
    for labels, value in series:
        one = request.timeseries.add()
        for name, text in sorted(labels.items()):
            one.labels.add(name=name, value=text)
        one.samples.add(timestamp=TS_MS, value=value)
    for family, kind in metadata:
        request.metadata.add(metric_family_name=family, type=kind)
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def mapped(system, readings, **labels):
    found = map_readings(readings, labels, compiled([mapping.shipped()[system]]), State())
    return {(each.signal, dict(each.labels).get("link")): each.points[0].value for each in found.mapped}


@pytest.mark.parametrize("prefix", ["", "gnmic_"])
def test_octets_of_a_router_by_gnmic_are_bits_of_the_link(prefix):
    labels = {"interface_name": "et-0/0/1", "source": "10.1.0.1:57400", "subscription_name": "interfaces"}
    counters = {"out_octets": 1000.0, "in_octets": 10.0, "out_discards": 3.0, "in_unicast_pkts": 7.0}
    series = [
        ({"__name__": f"{prefix}interfaces_interface_state_counters_{name}", **labels}, value)
        for name, value in counters.items()
    ]
    readings, rejected = remote_write.decode(body(*series), GNMIC["Content-Type"], GNMIC["Content-Encoding"])
    assert not rejected
    assert mapped("openconfig", readings) == {
        ("link_egress_bits", "et-0/0/1"): 8000.0,
        ("link_ingress_bits", "et-0/0/1"): 80.0,
        ("link_dropped_packets", "et-0/0/1"): 3.0,
    }


def test_a_histogram_by_vector_is_the_engines():
    name = "vllm:time_to_first_token_seconds"
    buckets = {"0.5": 2.0, "1": 5.0, "inf": 6.0, "+Inf": 6.0}  # its own last bucket, and the one that it adds
    series = [({"__name__": f"{name}_bucket", "le": le, "model_name": "m"}, value) for le, value in buckets.items()]
    series += [
        ({"__name__": name + part, "model_name": "m"}, value) for part, value in (("_sum", 3.5), ("_count", 6.0))
    ]
    readings, rejected = remote_write.decode(body(*series, metadata=[(name, 3)]), "application/x-protobuf")
    assert not rejected
    assert mapped("vllm", readings, role="prefill") == {
        ("engine_ttft_s", None): Histogram((0.5, 1.0), (2.0, 3.0, 1.0), 3.5)
    }
