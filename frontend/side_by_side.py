"""Simulations side by side, as people read them: a row for each, and as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from frontend import figures
from frontend.simulator.flows import PERCENTILES, interval

type Document = Mapping[str, Any]

BOUNDS = ("mean", "low", "high")
RATES = ("throughput_rps", "offload_fraction", "egress_bps")


@dataclass(frozen=True, slots=True)
class Cell:
    """A number as it is written, with the kind of evidence that it rests on; none where somebody chose it."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One simulation."""

    title: str
    arrivals: str
    policy: str
    decoding: str
    """How decode was simulated."""
    offered: tuple[Cell, Cell]
    """Requests a second, and their share of Λ_max."""
    ttft: tuple[Cell, ...]
    """By PERCENTILES; empty where there is none, for the reason `without`."""
    without: str
    unloaded: tuple[Cell, Cell]
    """Mean and P90 of TTFT by the formulas."""


@dataclass(frozen=True, slots=True)
class Table:
    """What the page of a job shows."""

    rows: tuple[Row, ...]
    bounds: str
    """What stands beside the unit where there are intervals."""
    percentiles: tuple[str, ...] = tuple(PERCENTILES.values())


def table(result: Document, asked: Document) -> Table:
    """All simulations of a job, from its result and its input."""
    pairs = zip(result["runs"], asked["side_by_side"]["runs"], strict=True)
    has_intervals = any(run["replications"] > 1 for run in result["runs"])
    return Table(tuple(row(run, given) for run, given in pairs), " [95 %]" if has_intervals else "")


def row(run: Document, given: Document, title: str = "") -> Row:
    """One simulation, from its result and as it was asked for."""
    kind, chosen = run["provenance"], given.get("load") is None
    times, unloaded = run["ttft_s"] or {}, run["steady"]["ttft_unloaded_s"]
    return Row(
        title=title or run["scenario"],
        arrivals=arrivals(given),
        policy=run["policy"].replace("_", " "),
        decoding=decoding(run),
        offered=(
            Cell(figures.rate(run["rate_rps"]), "" if chosen else kind),
            Cell(figures.percent(run["load"]), kind if chosen and run["load"] is not None else ""),
        ),
        ttft=tuple(Cell(interval(times[name], figures.seconds), kind) for name in PERCENTILES if times),
        without="no request was counted" if run["stable"] else "not stable",
        unloaded=(Cell(figures.seconds(unloaded["mean"]), kind), Cell(figures.seconds(unloaded["p90"]), kind)),
    )


def arrivals(given: Document) -> str:
    """How the requests of a simulation arrive: `Poisson`, `CV 4`, or the name of the process."""
    process: Document = given["scenario"]["traffic"].get("arrivals") or {"process": "poisson"}
    if process["process"] == "poisson":
        return "Poisson"
    return f"CV {process['cv']:g}" if process["process"] == "renewal" else str(process["process"])


def decoding(run: Document) -> str:
    """How decode was simulated, from a result: who reads a TTFT must know it."""
    return str(run.get("decode", "by_request")).replace("_", " ")


def lines(result: Document, asked: Document) -> Iterator[list[Any]]:
    """The table as a file: a line of headings, then one for each simulation, in SI units; empty where there is
    nothing."""
    yield [
        "scenario", "arrivals", "policy", "decode", "rate_rps", "load", "lambda_max_rps", "stable",
        *(f"ttft_{name}_s_{bound}" for name in PERCENTILES for bound in BOUNDS),
        *(f"ttft_unloaded_{name}_s" for name in PERCENTILES),
        *(f"{name}_{bound}" for name in RATES for bound in BOUNDS),
        "replications", "requests", "seed",
    ]  # fmt: skip
    for run, given in zip(result["runs"], asked["side_by_side"]["runs"], strict=True):
        times, steady = run["ttft_s"] or {}, run["steady"]
        yield [
            run["scenario"], arrivals(given), run["policy"], run.get("decode", "by_request"), run["rate_rps"],
            run["load"], steady["lambda_max_rps"], run["stable"],
            *(times.get(name, {}).get(bound) for name in PERCENTILES for bound in BOUNDS),
            *(steady["ttft_unloaded_s"][name] for name in PERCENTILES),
            *(run[name][bound] for name in RATES for bound in BOUNDS),
            run["replications"], run["requests"], run["seed"],
        ]  # fmt: skip
