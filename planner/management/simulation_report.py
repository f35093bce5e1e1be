"""A simulation's result as lines for a terminal."""

from __future__ import annotations

from typing import Any

from planner.management.report import STAGES, figure

NAMES = (("mean", "mean"), ("p50", "P50"), ("p90", "P90"), ("p99", "P99"))


def lines(result: dict[str, Any]) -> str:
    """Whether it is stable, then TTFT, waits and utilisation, each with its 95 % confidence interval."""
    load = figure(result["load"], "{:.1%} of Λ_max")
    rows = [
        f"{result['scenario']}, {result['rate_rps']:.3f} req/s ({load}), {result['policy']}, "
        f"{result['replications']} replications of {result['requests'] // result['replications']:,} counted requests",
        f"  {'stable' if result['stable'] else 'NOT STABLE'}",
        f"  {'throughput':<18} {_interval(result['throughput_rps'], '{:.3f}')} req/s",
    ]
    for key, name in NAMES:
        if result["ttft_s"]:
            rows.append(f"  {'TTFT ' + name:<18} {_interval(result['ttft_s'][key], '{:.2f}')} s")
    if kept := result["goodput"]:
        title = f"TTFT <= {kept['ttft_within_s']:g} s"
        rows.append(f"  {title:<18} {_interval(kept['share'], '{:.2%}')} of requests")
        rows.append(f"  {'goodput':<18} {_interval(kept['rate_rps'], '{:.3f}')} req/s")
    rows.append(f"  {'offloaded':<18} {_interval(result['offload_fraction'], '{:.2%}')}")
    rows.append(f"  {'egress':<18} {_interval(result['egress_bps'], '{:.2f}', 1e-9)} Gbps")
    for stage, wait in result["waits_s"].items():
        name = "transfer tail" if stage == "link" else f"wait, {STAGES[stage]}"
        rows.append(f"  {name:<18} {_interval(wait, '{:.3f}')} s")
    for stage, busy in result["utilisation"].items():
        rows.append(f"  {'busy, ' + STAGES[stage]:<18} {_interval(busy, '{:.1%}')}")
    if "requests_per_wall_second" in result:
        rows.append(f"  {'simulated':<18} {result['requests_per_wall_second']:,.0f} requests a second")
    rows.append(f"  {'provenance':<18} {result['provenance']} (the weakest kind used)")
    return "\n".join([*rows, *(f"  note               {note}" for note in result["notes"])])


def _interval(value: dict[str, float | None], form: str, scale: float = 1.0) -> str:
    """A mean and its interval."""
    mean, low, high = (_scaled(value[name], scale) for name in ("mean", "low", "high"))
    bounds = "" if low is None else f"  [{form.format(low)}, {figure(high, form)}]"
    return figure(mean, form) + bounds


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale
