"""The rows of a comparison: each with its unit, its formula, what it rests on, and whether more of it is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from planner.comparing.facts import Facts, weaker
from planner.engine.cost import HOURS_PER_MONTH, per_million

type Better = Literal["more", "less", ""]

CARRIES, UNLOADED, ACROSS, COSTS, SIZE = "What it carries", "TTFT without queues", "Across the link", "Cost", "Size"


@dataclass(frozen=True, slots=True)
class Metric:
    """One row. `value` is in the SI unit, None where there is none; `kind` is the evidence under it."""

    key: str
    label: str
    unit: str
    group: str
    better: Better
    formula: str
    value: Callable[[Facts], float | None]
    kind: Callable[[Facts], str]
    stage: str = ""
    emphasis: bool = False


def _at(*path: str) -> Callable[[Facts], float | None]:
    """The number at a place of the result; None for what the deployment does not have."""

    def read(known: Facts) -> float | None:
        found: Any = known.result
        for part in path:
            found = found[part] if isinstance(found, Mapping) else None
        return None if found is None else float(found)

    return read


def _evidence(name: str) -> Callable[[Facts], str]:
    return lambda known: str(known.result["evidence"][name])


def _stage(name: str) -> Callable[[Facts], str]:
    return lambda known: known.result["evidence"]["stages"].get(name) or ""


def _across(path: str) -> Callable[[Facts], float | None]:
    """Of what crosses the link; None where nothing can."""
    return lambda known: _at(path)(known) if known.result["stages"]["link"] else None


def _part(name: str) -> Callable[[Facts], float | None]:
    return lambda known: None if known.chips is None else float(getattr(known.chips, name))


def _per_million(known: Facts) -> float | None:
    usd = known.usd_per_h
    if usd is None:
        return None
    return per_million(usd, known.lambda_max_rps * (known.input_tokens + known.output_tokens))


def _per_million_input(known: Facts) -> float | None:
    if known.chips is None or known.power is None:
        return None
    usd = known.chips.input_usd_per_h + known.power.input_usd_per_h
    return per_million(usd, known.lambda_max_rps * known.input_tokens)


def _per_million_output(known: Facts) -> float | None:
    if known.chips is None or known.power is None:
        return None
    return per_million(known.chips.decode + known.power.decode, known.lambda_max_rps * known.output_tokens)


def _month(known: Facts) -> float | None:
    return None if known.usd_per_h is None else known.usd_per_h * HOURS_PER_MONTH


def _price(known: Facts) -> str:
    return known.price_kind


def _paid(known: Facts) -> str:
    return known.paid_kind


def _paid_and_rate(known: Facts) -> str:
    return weaker(known.paid_kind, str(known.result["evidence"]["lambda_max_rps"]))


def _power_price(known: Facts) -> str:
    return known.electricity_kind if known.power and known.power.usd_per_h else ""


def _link_price(known: Facts) -> str:
    links = known.scenario.parsed.links
    priced = any(link.price is not None for link in links)
    return known.price_kind if priced else ""


PREFILL = "prefill alone, no queueing, no time on the link"
METRICS = (
    Metric("lambda_max_rps", "Λ_max", "req/s", CARRIES, "more", "min(Θ_prfaas / p, Θ_pd-p / (1 − p), Θ_pd-d) (eq. 6)",
           _at("lambda_max_rps"), _evidence("lambda_max_rps"), emphasis=True),
    Metric("theta_prfaas_rps", "Θ_prfaas", "req/s", CARRIES, "",
           "min(N_prfaas / T_prefill, B_link / S_kv) of offloaded requests (eq. 3)",
           _at("theta_rps", "prfaas"), _stage("prfaas"), "prfaas"),
    Metric("theta_pd_p_rps", "Θ_pd-p", "req/s", CARRIES, "", "N_p / T_prefill of local requests (eq. 4)",
           _at("theta_rps", "pd_p"), _stage("pd_p"), "pd_p"),
    Metric("theta_pd_d_rps", "Θ_pd-d", "req/s", CARRIES, "", "N_d · BS_max / (T_decode · L_out) (eq. 5)",
           _at("theta_rps", "pd_d"), _stage("pd_d"), "pd_d"),
    Metric("ttft_mean_s", "TTFT, mean, unloaded", "s", UNLOADED, "less",
           f"p · E[T_prfaas | L > t] + (1 − p) · E[T_pd-p | L ≤ t]: {PREFILL}",
           _at("ttft_unloaded_s", "mean"), _evidence("ttft_unloaded_s")),
    Metric("ttft_p50_s", "TTFT, P50, unloaded", "s", UNLOADED, "less",
           f"50th percentile of T_prefill over all requests: {PREFILL}",
           _at("ttft_unloaded_s", "p50"), _evidence("ttft_unloaded_s")),
    Metric("ttft_p90_s", "TTFT, P90, unloaded", "s", UNLOADED, "less",
           f"90th percentile of T_prefill over all requests: {PREFILL}",
           _at("ttft_unloaded_s", "p90"), _evidence("ttft_unloaded_s")),
    Metric("ttft_p99_s", "TTFT, P99, unloaded", "s", UNLOADED, "less",
           f"99th percentile of T_prefill over all requests: {PREFILL}",
           _at("ttft_unloaded_s", "p99"), _evidence("ttft_unloaded_s")),
    Metric("offload_fraction", "Offloaded requests, p", "1", ACROSS, "", "P(L > t)",
           _across("offload_fraction"), _evidence("offload_fraction"), "link"),
    Metric("egress_bps", "Egress at Λ_max", "bit/s", ACROSS, "", "Λ_max · p · S_kv of offloaded requests",
           _across("egress_bps"), _evidence("egress_bps"), "link"),
    Metric("link_utilisation", "Link used at Λ_max", "1", ACROSS, "", "egress / usable bandwidth",
           _at("link_utilisation"), _evidence("egress_bps"), "link"),
    Metric("usd_per_million_tokens", "A million tokens, in and out", "USD", COSTS, "less",
           "cost an hour / (Λ_max · (E[L_in] + E[L_out]) · 3600 s) · 10^6",
           _per_million, _paid_and_rate, emphasis=True),
    Metric("usd_per_million_input_tokens", "A million input tokens", "USD", COSTS, "less",
           "prefill on either side, its power and the link / (Λ_max · E[L_in] · 3600 s) · 10^6",
           _per_million_input, _paid_and_rate),
    Metric("usd_per_million_output_tokens", "A million output tokens", "USD", COSTS, "less",
           "decode and its power / (Λ_max · E[L_out] · 3600 s) · 10^6", _per_million_output, _paid_and_rate),
    Metric("usd_per_h", "All of it, an hour", "USD/h", COSTS, "less", "GPUs + power + link, at Λ_max",
           lambda known: known.usd_per_h, _paid, emphasis=True),
    Metric("prfaas_usd_per_h", "GPUs of PrfaaS", "USD/h", COSTS, "",
           "N_prfaas · GPUs an instance · price of a GPU-hour",
           _part("prfaas"), _price, "prfaas"),
    Metric("prefill_usd_per_h", "GPUs of PD-P", "USD/h", COSTS, "", "N_p · GPUs an instance · price of a GPU-hour",
           _part("prefill"), _price, "pd_p"),
    Metric("decode_usd_per_h", "GPUs of PD-D", "USD/h", COSTS, "", "N_d · GPUs an instance · price of a GPU-hour",
           _part("decode"), _price, "pd_d"),
    Metric("power_usd_per_h", "Power", "USD/h", COSTS, "",
           "GPUs · TDP · PUE · price of a kWh; 0 where electricity is in the price of a GPU-hour",
           lambda known: None if known.power is None else known.power.usd_per_h, _power_price),
    Metric("link_time_usd_per_h", "Link, by time", "USD/h", COSTS, "", "price a month / 730.5 h",
           _part("link_time"), _link_price, "link"),
    Metric("link_volume_usd_per_h", "Link, by volume", "USD/h", COSTS, "", "egress at Λ_max · price a GB",
           _part("link_volume"), _link_price, "link"),
    Metric("usd_per_month", "All of it, a month", "USD/month", COSTS, "less", "cost an hour · 730.5 h", _month, _paid),
    Metric("gpus", "GPUs", "GPUs", SIZE, "", "instances · GPUs an instance", lambda known: known.gpus, lambda _: ""),
    Metric("power_w", "Power of the GPUs at most", "W", SIZE, "less", "GPUs · TDP of the chip",
           lambda known: known.drawn_w, lambda known: known.power_kind),
)  # fmt: skip
