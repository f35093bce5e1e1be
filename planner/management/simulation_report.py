"""A simulation's result as lines for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from planner.management import possible, simulated_facts
from planner.management.idle import idle
from planner.management.report import STAGES, figure
from planner.simulating.document import Asked

type Estimate = dict[str, float | None]
type Estimates = dict[str, Estimate]

NAMES = (("mean", "mean"), ("p50", "P50"), ("p90", "P90"), ("p99", "P99"))


def lines(result: dict[str, Any], asked: Asked) -> str:
    """Whether it is stable, then TTFT, waits and utilisation, each with its 95 % confidence interval."""
    load = figure(result["load"], "{:.1%} of Λ_max")
    rows = [
        f"{result['scenario']}, {result['rate_rps']:.3f} req/s ({load}), {result['policy']}, "
        f"{result['replications']} replications of {result['requests'] // result['replications']:,} counted requests",
        *simulated_facts.lines(asked),
        "  stable" if result["stable"] else _line("NOT STABLE, grows by", result["growth_rps"], "{:.3f}", "req/s"),
        _line("throughput", result["throughput_rps"], "{:.3f}", "req/s"),
        *_times("TTFT", result["ttft_s"], "{:.2f}"),
        *_times("TPOT", result["tpot_s"], "{:.2f}", 1000.0, "ms"),
        *_promise(result["goodput"]),
        _line("offloaded", result["offload_fraction"], "{:.2%}"),
        _line("egress", result["egress_bps"], "{:.2f}", "Gbps", 1e-9),
        *_of_features(result),
        *_stages(result),
    ]
    if "requests_per_wall_second" in result:
        rows.append(f"  {'simulated':<18} {result['requests_per_wall_second']:,.0f} requests a second")
    rows.append(f"  {'provenance':<18} {result['provenance']} (the weakest kind used)")
    return "\n".join([*rows, *(f"  note               {note}" for note in (*result["notes"], *idle(asked)))])


def _times(what: str, times: Estimates | None, form: str, scale: float = 1.0, unit: str = "s") -> Iterator[str]:
    for key, name in NAMES if times else ():
        yield _line(f"{what} {name}", times[key], form, unit, scale)  # type: ignore[index] # none is not iterated


def _promise(kept: dict[str, Any] | None) -> Iterator[str]:
    if kept:
        yield _line(f"TTFT <= {kept['ttft_within_s']:g} s", kept["share"], "{:.2%}", "of requests")
        yield _line("goodput", kept["rate_rps"], "{:.3f}", "req/s")


def _of_features(result: dict[str, Any]) -> Iterator[str]:
    """What there is only where caches, TCP, faults or roles are simulated."""
    if result["cached_fraction"]:
        yield _line("spared by caches", result["cached_fraction"], "{:.2%}", "of prompt tokens")
    if result["copied_bps"]["mean"]:
        yield _line("copied prefixes", result["copied_bps"], "{:.3f}", "Gbps", 1e-9)
    if possible.is_worth_telling(result["resent_fraction"]):
        yield _line("sent again", result["resent_fraction"], "{:.3%}", "of what crossed")
    if possible.is_worth_telling(result["restarted_fraction"]):
        yield _line("restarted", result["restarted_fraction"], "{:.3%}", "of requests")
    if result["conversions"]["mean"]:
        yield _line("roles changed", result["conversions"], "{:.1f}", "times")


def _stages(result: dict[str, Any]) -> Iterator[str]:
    for stage, wait in result["waits_s"].items():
        name = "transfer tail" if stage == "link" else f"wait, {_short(stage)}"
        yield _line(name, wait, "{:.3f}", "s")
    for stage, busy in result["utilisation"].items():
        yield _line(f"busy, {_short(stage)}", busy, "{:.1%}")


def _short(stage: str) -> str:
    """A stage's name as far as there is room for it."""
    return STAGES[stage].removesuffix(" compute")


def _line(name: str, value: Estimate, form: str, unit: str = "", scale: float = 1.0) -> str:
    return f"  {name:<18} {_interval(value, form, scale)} {unit}".rstrip()


def _interval(value: dict[str, float | None], form: str, scale: float = 1.0) -> str:
    """A mean and its interval."""
    shown = possible.clipped(value, 1.0 if form.endswith("%}") else math.inf)
    mean, low, high = (_scaled(shown[name], scale) for name in ("mean", "low", "high"))
    bounds = "" if low is None else f"  [{form.format(low)}, {figure(high, form)}]"
    return figure(mean, form) + bounds


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale
