"""What lists show and sort by: a few numbers of an entry, computed whenever its document changes. SI units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.engine import lengths
from planner.entries.measurement import Measurement
from planner.entries.model import Model
from planner.entries.price import Price
from planner.entries.profile import Profile
from planner.entries.traffic import Traffic

AT_TOKENS = 32768.0
"""The length at which lists compare models and profiles."""
type Facts = dict[str, Any]


def of(kind: str, document: Mapping[str, Any]) -> Facts:
    """The facts of a checked document; a kind that has none beyond its fields gives none."""
    compute = COMPUTED.get(kind)
    return compute(document) if compute else {}


def _model(document: Mapping[str, Any]) -> Facts:
    model = Model.model_validate(document)
    sizes: Facts = {"s_kv_bytes": float(model.s_kv()(AT_TOKENS))}
    if model.layers:
        cache = model.cache()
        sizes["block_level_bytes_per_token"] = float(cache.bytes_per_token(model.kv_dtype))
        sizes["request_level_bytes"] = float(cache.request_level_bytes(AT_TOKENS, model.kv_dtype))
    return sizes


def _profile(document: Mapping[str, Any]) -> Facts:
    profile = Profile.model_validate(document)
    seconds = float(profile.prefill.curve()(AT_TOKENS))
    return {"t_prefill_s": seconds, "prefill_tokens_per_s": AT_TOKENS / seconds}


def _traffic(document: Mapping[str, Any]) -> Facts:
    traffic = Traffic.model_validate(document)
    given = traffic.input_tokens.lengths()
    return {
        "mean_input_tokens": lengths.mean(given),
        "p50_input_tokens": float(given.quantile(0.5)),
        "mean_output_tokens": float(traffic.mean_output_tokens()),
    }


def _price(document: Mapping[str, Any]) -> Facts:
    price = Price.model_validate(document)
    return {} if price.usd_per_gpu_hour is None else {"usd_per_gpu_hour": price.usd_per_gpu_hour}


def _measurement(document: Mapping[str, Any]) -> Facts:
    runs = Measurement.model_validate(document).rows
    lengths_tokens = [run.input_tokens for run in runs]
    return {"runs": len(runs), "shortest_tokens": min(lengths_tokens), "longest_tokens": max(lengths_tokens)}


COMPUTED: Mapping[str, Callable[[Mapping[str, Any]], Facts]] = {
    "models": _model,
    "profiles": _profile,
    "traffic": _traffic,
    "prices": _price,
    "measurements": _measurement,
}
