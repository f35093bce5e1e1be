"""Predictions beside measurements as pages write them: people's units, signed errors in percent, and their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frontend import comparison, figures
from planner.accuracy import paper
from planner.accuracy.lines import Line
from planner.documents.fields import PROVENANCE_KINDS

type Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """A measured quantity as pages name it: its unit, how much of the stored one that is, and what predicts it."""

    label: str
    unit: str
    scale: float
    formula: str


_TTFT = "T_prefill at the run's length; of b requests in flight from T_prefill, alone, to b · T_prefill, all before it"
QUANTITIES: Mapping[str, Words] = {
    "ttft_mean_s": Words("TTFT, mean", "s", 1.0, _TTFT),
    "ttft_p50_s": Words("TTFT, P50", "s", 1.0, _TTFT),
    "ttft_p90_s": Words("TTFT, P90", "s", 1.0, _TTFT),
    "ttft_p99_s": Words("TTFT, P99", "s", 1.0, _TTFT),
    "tpot_s": Words("TPOT", "ms", 1e-3, "one decode step of the profile at this batch and context"),
    "throughput_rps": Words("Throughput", "req/s", 1.0, "min(rate that was sent, Λ_max of the scenario)"),
    "egress_bps": Words("Egress", "Gbps", 1e9, "Λ_max · p · E[S_kv | L > t] of the scenario, at the rate served"),
}
PLACES = {
    "within": "within bounds",
    "above": "above: predicted too low",
    "below": "below: predicted too high",
}


def signed(error: float | None) -> str:
    """A relative error in percent with its sign; one decimal, none where it is beyond a hundred."""
    if error is None:
        return figures.NONE
    text = f"{error * 100:+,.0f}" if abs(error) >= 1 else f"{round(error * 100, 1) + 0.0:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def significant(value: float) -> str:
    """Four significant digits without an exponent."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


# --- one figure ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """A measured figure beside its prediction, written."""

    line: Line
    words: Words
    measured: str
    predicted: str
    error: str
    place: str


def shown(line: Line) -> Shown:
    """A line as a table has it."""
    words = QUANTITIES[line.quantity]
    bounds = [significant(bound / words.scale) for bound in (line.lower, line.upper) if bound is not None]
    return Shown(
        line=line,
        words=words,
        measured=significant(line.measured / words.scale),
        predicted=" – ".join(dict.fromkeys(bounds)),
        error=signed(line.error),
        place=PLACES.get(line.place, ""),
    )


def summarised(rows: Sequence[Document]) -> list[dict[str, Any]]:
    """Summaries with the quantity in words and their errors written."""
    return [{**row, "words": QUANTITIES[row["quantity"]], **errors(row)} for row in rows]


def errors(summary: Document) -> dict[str, str]:
    """Bias, RMS and the largest of a summary, in percent."""
    return {
        "bias_text": signed(summary["bias"]),
        "rms_text": figures.rounded(summary["rms"] * 100, 1),
        "largest_text": figures.rounded(summary["largest"] * 100, 1),
    }


# --- the case study -----------------------------------------------------------------------------------------------

_WRITTEN = {quantity.path: quantity for quantity in comparison.QUANTITIES}


def table_6() -> list[dict[str, Any]]:
    """Every figure of table 6 that the paper prints, ours beside it in both forms."""
    by_form = {form["form"]: form["figures"] for form in paper.case_study()["forms"]}
    return [_figure(*pair) for pair in zip(by_form["paper"], by_form["exact"], strict=True)]


def _figure(in_paper_form: Document, in_exact_form: Document) -> dict[str, Any]:
    quantity = _WRITTEN[in_paper_form["path"]]
    return {
        "title": in_paper_form["title"],
        "quantity": quantity,
        "published": comparison.as_printed(quantity, in_paper_form["published"]),
        "rounding": f"{in_paper_form['rounding'] * 100:.2g}",
        "is_solved_from": in_paper_form["is_solved_from"],
        "cells": [
            {"ours": quantity.write(each["ours"]), "error": signed(each["error"]), "kind": each["provenance"],
             "source": f"computed, {form} form: {quantity.formula}"}
            for form, each in (("paper", in_paper_form), ("exact", in_exact_form))
        ],
    }  # fmt: skip


def _weakest(form: Document) -> str:
    kinds: list[str] = [each["provenance"] for each in form["figures"]]
    return max(kinds, key=PROVENANCE_KINDS.index)


def case_study_summaries() -> list[dict[str, Any]]:
    """Bias and RMS by form, of all figures and of those that nothing of ours was solved from."""
    return [
        {"form": form["form"], "which": which, "count": form[key]["count"], "kind": _weakest(form), **errors(form[key])}
        for form in paper.case_study()["forms"]
        for key, which in (("summary", "all figures"), ("independent", "figures that nothing of ours was solved from"))
    ]
