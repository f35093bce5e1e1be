"""The kinds of the catalogue in words: what each is, and how its fields are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import Http404

from planner.entries import KINDS


@dataclass(frozen=True, slots=True)
class Words:
    """A kind as pages name it."""

    title: str
    one: str
    purpose: str
    empty: str


WORDS: Mapping[str, Words] = {
    "hardware": Words(
        "Hardware", "hardware",
        "Chips: what each computes, holds and moves, and how many share a node.",
        "Add the chip that you have or might rent; prices and profiles refer to it by name.",
    ),
    "models": Words(
        "Models", "model",
        "Language models: groups of layers, or measured sizes, from which S_kv follows at every length.",
        "Import a config.json, or add a model with sizes that somebody measured.",
    ),
    "profiles": Words(
        "Profiles", "profile",
        "How fast one instance serves a model: prefill time by length, decode steps, largest batch.",
        "Add a model and its hardware first, then import a benchmark or type the points that you measured.",
    ),
    "traffic": Words(
        "Traffic", "traffic",
        "What arrives: lengths of prompts and answers, arrivals over time, reuse of prefixes.",
        "Import a request log or trace, or describe the lengths by a distribution.",
    ),
    "links": Words(
        "Links", "link",
        "Ways between datacenters: bandwidth, round-trip time, loss, and what they cost.",
        "Add the line or peering between the two places that you plan for.",
    ),
    "prices": Words(
        "Prices", "price",
        "Dated offers for a GPU-hour or a purchase, so that a cost can be computed as of any day.",
        "Add the hardware first, then import a price list or type an offer.",
    ),
    "measurements": Words(
        "Measurements", "measurement",
        "Benchmark runs that predictions are held against: TTFT, TPOT, throughput and egress, a line a run.",
        "Import what a benchmark wrote, or a CSV of your runs.",
    ),
}  # fmt: skip

LABELS: Mapping[str, str] = {
    "name": "Name", "title": "Title", "notes": "Notes", "vendor": "Vendor", "engine": "Engine",
    "precision": "Precision", "model": "Model", "hardware": "Hardware",
    "gpus_per_instance": "GPUs an instance", "gpus_per_node": "GPUs a node",
    "dense_flops": "Dense compute", "memory_bytes": "Memory", "memory_bytes_per_s": "Memory bandwidth", "tdp_w": "TDP",
    "nic_bps": "Network a GPU", "scale_up_bytes_per_s": "Scale-up fabric a GPU", "bf16": "BF16", "fp8": "FP8",
    "fp4": "FP4", "int8": "INT8", "bandwidth_bps": "Bandwidth, nominal", "achieved_bps": "Bandwidth, achieved",
    "rtt_s": "Round-trip time", "loss": "Packet loss", "connections": "Connections", "window_bytes": "Receive window",
    "background": "Background use",
    "price": "Price", "usd_per_gb": "By volume", "usd_per_month": "By time", "date": "Day of the offer",
    "provider": "Provider", "region": "Region", "kind": "Kind", "usd_per_gpu_hour": "Rent", "purchase": "Purchase",
    "usd_per_gpu": "Price of a GPU", "amortisation_years": "Written off over", "usd_per_kwh": "Power",
    "pue": "PUE", "prefill": "Prefill times", "prefill_cached": "Prefill behind a cached prefix",
    "decode": "Decode steps", "max_batch": "Largest batch", "weight_bytes": "Weights",
    "measured": "Measured S_kv", "tokens": "Tokens",
    "seconds": "Seconds", "bytes": "Size", "interpolation": "Between the points", "mean_share": "Mean share",
    "new_tokens": "New tokens", "cached_tokens": "Cached tokens", "batch": "Batch", "context_tokens": "Context",
    "total_parameters": "Parameters", "active_parameters": "Active parameters", "max_position_tokens": "Longest prompt",
    "kv_dtype": "KV dtype", "block_tokens": "Block", "layers": "Layers", "input_tokens": "Input lengths",
    "output_tokens": "Output lengths", "arrivals": "Arrivals", "prefix": "Prefix reuse", "mu": "μ", "sigma": "σ",
    "min": "Shortest", "max": "Longest", "cv": "Coefficient of variation", "token_hit_ratio": "Token hit ratio",
    "hit_ratio": "Hit ratio", "samples": "Lengths", "counts": "Counts", "uncached": "Uncached tokens", "alpha": "α",
    "rows": "Runs", "concurrency": "In flight", "requests": "Requests", "ttft_mean_s": "TTFT, mean",
    "ttft_p50_s": "TTFT, P50", "ttft_p90_s": "TTFT, P90", "ttft_p99_s": "TTFT, P99", "tpot_s": "TPOT",
    "throughput_rps": "Throughput", "egress_bps": "Egress",
    "rate_rps": "Rate", "interval_s": "Interval", "peak_hour": "Peak",
}  # fmt: skip
"""What is not here is its name with spaces."""

HELP: Mapping[str, str] = {
    "name": "Its address: letters, digits, - and _. It stays when everything else changes.",
    "background": "Share of the bandwidth that others use.",
    "bandwidth_bps": "A number, or the word unlimited.",
    "hardware.dense_flops": "Dense, of one chip; empty where it has none, or nobody says.",
    "hardware.nic_bps": "Scale-out network of one chip, one direction.",
    "hardware.scale_up_bytes_per_s": "Between the chips of a node, of one chip, one direction.",
    "profiles.prefill": "Of one instance, nothing cached. One point a line: tokens, seconds.",
    "profiles.prefill_cached": "One point a line: new tokens, cached tokens, seconds.",
    "profiles.decode": "One step a line: batch, context in tokens (- where nobody says), seconds.",
    "profiles.weight_bytes": "Of the whole instance; what is left of its memory holds KVCache.",
    "profiles.max_batch": "Requests that one decode instance holds at once, where measured or chosen.",
    "profiles.engine": "Name and version, as SGLang 0.5.9.",
    "profiles.precision": "Of weights and KVCache, as fp8 weights, bf16 KV.",
    "prices.date": "YYYY-MM-DD; empty where nobody says.",
    "prices.usd_per_gpu_hour": "Where it is rented.",
    "prices.purchase": "Where kind is purchase: written off in equal parts, and powered.",
    "links.connections": "TCP connections that one transfer goes over.",
    "links.window_bytes": "What each connection may have under way.",
    "links.price": "10⁹ bytes a GB.",
    "models.measured": "One point a line: tokens, MiB. Scenarios use it where it is there, or else the layers.",
    "models.layers": "One item for each group of layers that are alike; S_kv is computed from them.",
    "models.block_tokens": "Block-level KVCache is kept in whole blocks; 1 is without rounding.",
    "models.max_position_tokens": "Tokens that the model takes.",
    "measurements.model": "As the catalogue calls it, where it has it.",
    "measurements.date": "YYYY-MM-DD, the last day of the runs; empty where nobody says.",
    "measurements.rows": "One run a line, - where nobody says; at least one measured figure each.",
    "traffic.input_tokens": "Whole prompts; what of them is cached is said below.",
    "traffic.rate_rps": "To be served, if known.",
    "traffic.trace": "Digest of the stored trace that the figures were computed from.",
    "traffic.arrivals": "Does not change steady-state throughput; it does change waiting.",
}
"""By kind and path, or by name alone."""


def require(kind: str) -> Words:
    """The words of a kind. Raises Http404."""
    if kind not in KINDS:
        raise Http404(f"There is no kind {kind}.")
    return WORDS[kind]


def label(path: str) -> str:
    """A field in words."""
    last = path.rsplit(".", 1)[-1]
    return LABELS.get(last, last.replace("_", " ").capitalize())


def help_of(kind: str, path: str) -> str:
    """A sentence on what to type, or nothing."""
    return HELP.get(f"{kind}.{path}", HELP.get(path, ""))
