"""The canonical signals: what all systems' metrics are mapped to. One concept, one name, one unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type Kind = Literal["counter", "gauge", "histogram"]

PLACE = ("datacenter", "cluster", "role", "instance", "model")
"""Labels that any signal may have, beside its source: where it was measured, and of what."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A quantity. A counter's unit is that of its value; its rate is a second's worth of it."""

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    """Beside PLACE."""


_ALL = (
    # --- links
    Signal("link_egress_bits", "counter", "bit", "Bits sent into the link.", ("link",)),
    Signal("link_ingress_bits", "counter", "bit", "Bits received from the link.", ("link",)),
    Signal("link_capacity_bps", "gauge", "bit/s", "What the link carries at most.", ("link",)),
    Signal("link_rtt_s", "gauge", "s", "Round-trip time.", ("link",)),
    Signal("link_dropped_packets", "counter", "packet", "Packets that were to be sent and were dropped.", ("link",)),
    Signal("link_error_packets", "counter", "packet", "Packets that could not be sent for errors.", ("link",)),
    Signal("retransmitted_segments", "counter", "segment", "TCP segments, or RDMA packets, sent again.", ("link",)),
    Signal("sent_segments", "counter", "segment", "TCP segments sent, those sent again among them.", ("link",)),
    # --- requests
    Signal("requests", "counter", "request", "Requests by where they are prefilled: local or remote.", ("route",)),
    Signal("failed_requests", "counter", "request", "Requests that failed.", ("route",)),
    Signal("uncached_tokens", "histogram", "token", "Uncached prompt length of a request.", ("route",)),
    Signal("prompt_tokens", "histogram", "token", "Prompt length of a request.", ("route",)),
    Signal("input_tokens", "counter", "token", "Prompt tokens.", ("route",)),
    Signal("cached_tokens", "counter", "token", "Prompt tokens that a prefix cache had.", ("route",)),
    Signal("output_tokens", "counter", "token", "Tokens generated.", ("route",)),
    Signal("ttft_s", "histogram", "s", "Time to first token, as the caller sees it.", ("route",)),
    Signal("engine_ttft_s", "histogram", "s", "Time to first token of one engine alone.", ("route",)),
    Signal("tpot_s", "histogram", "s", "Time between tokens.", ("route",)),
    Signal("prefill_s", "histogram", "s", "Time that a prompt was prefilled.", ("route",)),
    # --- queues and instances
    Signal("queued_requests", "gauge", "request", "Requests that wait, for compute or the link.", ("stage", "bound")),
    Signal("running_requests", "gauge", "request", "Requests being worked on.", ("stage",)),
    Signal("instances", "gauge", "instance", "Instances that are up.", ()),
    Signal("busy_instances", "gauge", "instance", "Instances that are working.", ()),
    Signal("busy_s", "counter", "s", "Time spent working; its rate is how many instances are busy.", ()),
    Signal("utilisation", "gauge", "1", "Busy share of the instances.", ()),
    Signal("kv_cache_utilisation", "gauge", "1", "Share of the KVCache memory that is in use.", ()),
    Signal("threshold_tokens", "gauge", "token", "The routing threshold t that is in force.", ()),
    # --- what we recommend, as we have recorded it
    Signal("recommended_threshold_tokens", "gauge", "token", "The threshold t that was recommended.", ("watch",)),
    Signal("recommended_instances", "gauge", "instance", "Instances of a role that were recommended.", ("watch",)),
    Signal("lambda_max_rps", "gauge", "request/s", "The most that the deployment sustains as it is.", ("watch",)),
    # --- transfers of KVCache
    Signal("kv_transfer_bytes", "counter", "byte", "KVCache sent to other instances.", ("link",)),
    Signal("kv_transfer_s", "histogram", "s", "Time that a KVCache took to be sent.", ("link",)),
    Signal("failed_kv_transfers", "counter", "transfer", "Transfers of KVCache that failed.", ("link",)),
    # --- the sources themselves
    Signal("up", "gauge", "1", "Whether the last scrape of the source succeeded: 1 or 0.", ()),
    Signal("scrape_s", "gauge", "s", "How long the last scrape of the source took.", ()),
)  # fmt: skip
SIGNALS = {signal.name: signal for signal in _ALL}
"""By name."""
OURS = ("recommended_threshold_tokens", "recommended_instances", "lambda_max_rps")
"""What we recommend, and record ourselves."""
TOLD = {name: signal for name, signal in SIGNALS.items() if name not in OURS}
"""What others may tell."""
FROM_ROLE: dict[str, dict[str, str]] = {
    "route": {"prfaas": "remote", "prefill": "local"},
    "stage": {"prfaas": "prefill", "prefill": "prefill", "decode": "decode"},
}
"""Labels that follow from the role, where the metric does not have them."""
VALUES: dict[str, tuple[str, ...]] = {
    "role": ("prfaas", "prefill", "decode", "router"),
    "route": ("remote", "local"),
    "stage": ("prefill", "transfer", "decode"),
    "bound": ("compute", "link"),
}
"""What a label may say; others are names."""
