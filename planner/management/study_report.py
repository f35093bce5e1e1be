"""A study's result as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.management import possible, simulated_facts
from planner.management.idle import idle
from planner.management.report import DASH
from planner.simulating.studies import verdict
from planner.simulating.studies.document import Asked

TTFT = (("mean", "mean"), ("p50", "P50"), ("p90", "P90"), ("p99", "P99"))
DIFFERENCES = {
    "ttft_mean_s": ("TTFT mean", "{:+.3f} s"),
    "ttft_p90_s": ("TTFT P90", "{:+.3f} s"),
    "ttft_p99_s": ("TTFT P99", "{:+.3f} s"),
    "throughput_rps": ("throughput", "{:+.4f} req/s"),
    "goodput_rps": ("goodput", "{:+.4f} req/s"),
}
"""Those that are printed, where there are any; the document has them all."""
CARRIED = "throughput_rps"
"""Only told where there is no TTFT to tell of: what is stable carries what it is offered."""
UNITS = {"bit/s": (1e-9, "Gbps"), "of Λ_max": (100.0, "% of Λ_max")}


def lines(result: dict[str, Any], asked: Asked) -> str:
    """Each variant with its TTFT, then how they differ, then where the knee is."""
    width = max(len(_name(result, variant)) for variant in result["variants"])
    rows = [
        f"{result['scenario']}, {result['title']}, {result['replications']} replications of {result['requests']:,} "
        "requests, the same in each variant",
        *simulated_facts.lines(asked.base),
        f"  {'':<{width}}  {'req/s':>8}" + "".join(f"  {'TTFT ' + title + ', s':>24}" for _, title in TTFT)
        + f"  {'offloaded':>9}  {'egress, Gbps':>12}",
        *(_row(result, variant, width) for variant in result["variants"]),
        *_differences(result, width),
        *_knee(result),
        f"  provenance         {result['provenance']} (the weakest kind used)",
    ]  # fmt: skip
    notes = (*result["notes"], *idle(asked.base, is_rate_known=asked.baseline is not None))
    return "\n".join([*rows, *(f"  note               {note}" for note in notes)])


def _name(result: dict[str, Any], variant: dict[str, Any]) -> str:
    value = variant["value"]
    return variant["title"] if value is None else _written(result, value)


def _written(result: dict[str, Any], value: float | str) -> str:
    """A value of what is varied, in the unit that people use."""
    scale, unit = UNITS.get(result["unit"], (1.0, result["unit"]))
    text = value if isinstance(value, str) else f"{value * scale:,.6g}"
    return f"{text} {unit}".strip()


def _row(result: dict[str, Any], variant: dict[str, Any], width: int) -> str:
    times = variant["ttft_s"]
    cells = [_interval(times[key]) if times else DASH for key, _ in TTFT]
    if not variant["stable"]:
        cells[0] = "NOT STABLE"
    return (
        f"  {_name(result, variant):<{width}}  {variant['rate_rps']:>8.3f}" + "".join(f"  {cell:>24}" for cell in cells)
        + f"  {variant['offload_fraction']['mean']:>9.1%}  {variant['egress_bps']['mean'] / 1e9:>12.2f}"
    )  # fmt: skip


def _interval(value: dict[str, float | None]) -> str:
    shown = possible.clipped(value)
    bounds = "" if shown["low"] is None else f" [{shown['low']:.2f}, {shown['high']:.2f}]"
    return f"{shown['mean']:.2f}{bounds}"


def _differences(result: dict[str, Any], width: int) -> Iterator[str]:
    if result["baseline"] is None:
        return
    base = next(variant for variant in result["variants"] if variant["name"] == result["baseline"])
    yield f"  against {_name(result, base)}, replication by replication:"
    for variant in result["variants"]:
        for measure, (title, form) in DIFFERENCES.items():
            differences = variant["differences"] or {}
            found = differences.get(measure)
            if found and (measure != CARRIED or "ttft_mean_s" not in differences):
                said = _difference(found, form, variant["replications"])
                yield f"  {_name(result, variant):<{width}}  {title:<10} {said}"


def _difference(found: dict[str, Any], form: str, replications: int) -> str:
    judged = verdict.of(found)
    if judged is None:
        return f"{form.format(found['mean'])}, of one replication: it may be chance"
    written = form.split()[0]
    bounds = f"[{_signed(found['low'], written)}, {_signed(found['high'], written)}]"
    share = "" if found["share"] is None else f"  {found['share']:+.1%}"
    told = {"clear": share, "no_difference": "  no difference", "within_chance": f"  {verdict.untold(replications)}"}
    return f"{_signed(found['mean'], form)} {bounds}{told[judged]}"


def _signed(value: float, form: str) -> str:
    """What is rounded to nothing has no sign."""
    text = form.format(value)
    return text if text.split()[0].strip("+-0.") else text[1:]


def _knee(result: dict[str, Any]) -> Iterator[str]:
    knee = result["knee"]
    if knee is None:
        return
    rule = f"({knee['rule']}, {knee['ttft_p90_s']:.2f} s)"
    within = _written(result, knee["within"])
    if knee["beyond"] is None:
        yield f"  knee               beyond {within}: nothing simulated is past it {rule}"
    else:
        at = "" if knee["at"] is None else f"at {_written(result, float(f'{knee["at"]:.3g}'))}, "
        yield f"  knee               {at}between {within} and {_written(result, knee['beyond'])} {rule}"
