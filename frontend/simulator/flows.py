"""What a simulation carries, sends, spares and loses, beside what the steady state says of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from frontend import figures, words
from planner.management import possible
from planner.simulating.document import Asked

type Document = dict[str, Any]
type Estimate = Mapping[str, float | None]
type Write = Callable[[float | None], str]

PERCENTILES = {"mean": "mean", "p50": "P50", "p90": "P90", "p99": "P99"}


@dataclass(frozen=True, slots=True)
class Row:
    """A quantity: as it was simulated, and as others have it."""

    label: str
    formula: str
    cells: tuple[str, ...]
    unit: str = ""
    stage: str = ""


def interval(
    estimate: Estimate | None, write: Write, unit: str = "", least: float = 0.0, most: float = math.inf
) -> str:
    """A mean with its 95 % confidence interval: `7.34 s [7.10, 7.57]`; of bounds that cannot be, what can."""
    if estimate is None:
        return figures.NONE
    mean, low, high = (possible.within(estimate[name], least, most) for name in ("mean", "low", "high"))
    bounds = "" if low is None or high is None else f" [{write(low)}, {write(high)}]"
    return f"{write(mean)}{unit}{bounds}"


def share(estimate: Estimate | None, unit: str = "") -> str:
    """A share of a whole, in percent."""
    return interval(estimate, figures.percent, unit, most=1.0)


def flows(result: Document, asked: Asked) -> Iterator[Row]:
    """What is offloaded, what crosses and what is carried; then what there is only of something that is on."""
    steady = result["steady"]
    yield _row("Offloaded requests, p", "P(L > t), or q of all", result["offload_fraction"], figures.percent, "%",
        steady["offload_fraction"])  # fmt: skip
    yield _row("Egress", "rate · p · S_kv of offloaded requests", result["egress_bps"], figures.gbps, "Gbps",
        steady_egress_bps(result), "link")  # fmt: skip
    yield _row("Throughput", "requests that leave the system; in steady state as many as arrive, up to Λ_max",
        result["throughput_rps"], figures.rate, "req/s", carried_rps(result))  # fmt: skip
    yield from _goodput(result.get("goodput"))
    yield from _tpot(result.get("tpot_s"), asked)
    for route, times in result.get("tpot_by_route_s", {}).items():
        formula = f"mean time between the tokens of a request that was {words.ROUTES[route]}"
        yield _row(f"TPOT, mean, {words.ROUTES[route]}", formula, times["mean"], _ms, "ms", None, "pd_d")
    yield from _of_caches(result, asked)
    yield from _of_tcp(result)
    yield from _of_faults(result, asked)


def _row(
    label: str, formula: str, estimate: Estimate | None, write: Write, unit: str, steady: float | None = None,
    stage: str = "",
) -> Row:  # fmt: skip
    most = 1.0 if unit.startswith("%") else math.inf
    return Row(label, formula, (interval(estimate, write, most=most), write(steady)), unit, stage)


def carried_rps(result: Document) -> float:
    """What the formulas carry of what arrives: all of it up to Λ_max."""
    most: float | None = result["steady"]["lambda_max_rps"]
    return float(result["rate_rps"]) if most is None else min(float(result["rate_rps"]), most)


def steady_egress_bps(result: Document) -> float | None:
    """What crosses in steady state of what is carried."""
    offered: float | None = result["steady"]["egress_bps"]
    return None if offered is None else offered * carried_rps(result) / float(result["rate_rps"])


def _goodput(kept: Document | None) -> Iterator[Row]:
    """Of a promise on TTFT, which steady-state formulas know nothing of."""
    if kept:
        within = f"first token within {kept['ttft_within_s']:g} s of arrival"
        yield _row("Promise kept", within, kept["share"], figures.percent, "% of requests")
        yield _row("Goodput", f"requests a second: {within}", kept["rate_rps"], figures.rate, "req/s")


def _tpot(times: Document | None, asked: Asked) -> Iterator[Row]:
    """Each percentile of decode by iteration; by request it is one number."""
    if not times:
        return
    step_s = asked.experiment.deployment.decode.step_s
    if not asked.run.decode.iterations:
        yield _row("TPOT", "the scenario's step, of every request: decode by request", times["mean"], _ms, "ms", step_s)
        return
    for name, title in PERCENTILES.items():
        formula = (
            "mean time between the tokens of a request, waiting for the batch included; beside the scenario's step"
        )
        yield _row(f"TPOT, {title}", formula, times[name], _ms, "ms", step_s, "pd_d")


def _ms(value: float | None) -> str:
    return figures.seconds(None if value is None else 1000 * value)


def _of_caches(result: Document, asked: Asked) -> Iterator[Row]:
    if asked.run.caches is None:
        return
    yield _row("Spared by prefix caches", "tokens of prompts that were cached where they were prefilled",
        result.get("cached_fraction"), figures.percent, "% of prompt tokens")  # fmt: skip
    if asked.run.caches.copies:
        yield _row("Copied prefixes", "from one cluster's cache to the other's, beside the egress of KVCaches",
            result.get("copied_bps"), figures.gbps, "Gbps", stage="link")  # fmt: skip


def _of_tcp(result: Document) -> Iterator[Row]:
    again = result.get("resent_fraction")
    if possible.is_worth_telling(again):
        yield _row("Retransmitted", "sent once more, by Mathis' formula", again, _fine, "% of what crossed",
            stage="link")  # fmt: skip


def _fine(value: float | None) -> str:
    """A small share, in percent."""
    return figures.NONE if value is None else figures.rounded(100 * value, 3)


def _of_faults(result: Document, asked: Asked) -> Iterator[Row]:
    if asked.experiment.faults:
        yield _row("Restarted requests", "lost their work to a fault, and were prefilled once more at least",
            result.get("restarted_fraction"), _fine, "% of requests")  # fmt: skip
    if asked.run.roles:
        yield _row("Changes of role", "PD instances that changed over, in a replication", result.get("conversions"),
            _count, "times")  # fmt: skip


def _count(value: float | None) -> str:
    return figures.NONE if value is None else figures.rounded(value, 1)
