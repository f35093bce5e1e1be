"""Moments and percentiles of a traffic's lengths."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine import lengths
from planner.engine.lengths import LengthDistribution
from planner.entries.traffic import CorrelatedOutput, Lengths, Traffic
from planner.models import Entry

PERCENTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Row:
    """One distribution of lengths in tokens."""

    label: str
    mean: float
    percentiles: list[float | None]
    formula: str


def rows(entry: Entry) -> list[Row]:
    """Inputs, what the prefix cache leaves of them, and outputs."""
    traffic = Traffic.model_validate(entry.document)
    prompts = traffic.input_tokens.lengths()
    found = [_row("Input", prompts, "whole prompts")]
    if traffic.prefix.reuse != "none":
        found.append(_row("Uncached input", traffic.incremental_lengths(), "what the prefix cache leaves to prefill"))
    if isinstance(traffic.output_tokens, Lengths):
        found.append(_row("Output", traffic.output_tokens.lengths(), "generated tokens"))
    else:
        fixed = not isinstance(traffic.output_tokens, CorrelatedOutput)
        told = "every request the same" if fixed else "mean over the inputs that it depends on"
        mean = float(traffic.mean_output_tokens())
        found.append(Row("Output", mean, [mean if fixed else None] * len(PERCENTILES), told))
    return found


def _row(label: str, distribution: LengthDistribution, formula: str) -> Row:
    percentiles: list[float | None] = [float(distribution.quantile(share)) for share in PERCENTILES]
    return Row(label, lengths.mean(distribution), percentiles, formula)
