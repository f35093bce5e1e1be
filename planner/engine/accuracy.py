"""How far predictions are from measurements: relative errors, and what many of them say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array


@dataclass(frozen=True, slots=True)
class Summary:
    """Several relative errors, each predicted over measured less one."""

    count: int
    bias: float
    """Mean, with its sign: positive where predictions are too high."""
    rms: float
    """Root mean square: what is left when errors of both signs do not cancel."""
    largest: float
    """The largest, without its sign."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The errors at lengths of one doubling, lower <= length < upper, in tokens."""

    lower: float
    upper: float
    summary: Summary


def relative_errors(predicted: ArrayLike, measured: ArrayLike) -> Array:
    """Predicted over measured, less one, of two quantities in the same unit, shaped as the two together.

    Raises ValueError where either is not positive and finite: relative to nothing there is no error.
    """
    ours, theirs = (np.asarray(each, dtype=float) for each in (predicted, measured))
    for name, values in (("predicted", ours), ("measured", theirs)):
        wrong = ~(np.isfinite(values) & (values > 0))
        if np.any(wrong):
            raise ValueError(f"{name} must be positive and finite, got {values[wrong].flat[0]:g}")
    errors: Array = ours / theirs - 1.0
    return errors


def errors_of_bounds(lower: ArrayLike, upper: ArrayLike, measured: ArrayLike) -> Array:
    """The same where theory gives an interval: 0 inside it, outside how far its nearer end is from the measurement.

    Negative where the measurement lies above the interval, positive where it lies below.
    Raises ValueError as `relative_errors`, and where a lower end lies above the upper one.
    """
    low, high = relative_errors(lower, measured), relative_errors(upper, measured)
    if np.any(low > high):
        raise ValueError("the lower bound must not lie above the upper one")
    nearest: Array = np.maximum(low, 0.0) + np.minimum(high, 0.0)
    return nearest


def one_after_another(t_prefill: ArrayLike, requests: ArrayLike) -> tuple[Array, Array]:
    """TTFT in seconds of the first and of the last of so many prompts of T_prefill each that come at once.

    One instance prefills them one after another, or together in the same time: the first is there after one
    T_prefill at the earliest, the last after all of them. Raises ValueError on less than one request.
    """
    alone, together = np.asarray(t_prefill, dtype=float), np.asarray(requests, dtype=float)
    if np.any(~(together >= 1)):
        raise ValueError(f"there must be at least one request, got {np.min(together):g}")
    last: Array = alone * together
    return alone + 0.0 * together, last


def summary(errors: Sequence[float] | Array) -> Summary | None:
    """Count, bias, RMS and the largest of relative errors; None of none."""
    each = np.asarray(errors, dtype=float)
    if not each.size:
        return None
    rms = float(np.sqrt(np.mean(each**2)))
    return Summary(int(each.size), float(each.mean()), rms, float(np.abs(each).max()))


def by_length(lengths: Sequence[float] | Array, errors: Sequence[float] | Array) -> list[Bin]:
    """The errors by the doubling that their length in tokens lies in, from the shortest; empty ones are left out.

    Raises ValueError on unequal counts, and on lengths that are not positive.
    """
    at, each = np.asarray(lengths, dtype=float), np.asarray(errors, dtype=float)
    if at.shape != each.shape:
        raise ValueError(f"needs as many errors as lengths, got {each.size} errors for {at.size} lengths")
    if np.any(~(at > 0)):
        raise ValueError(f"lengths must be positive, got {np.min(at):g}")
    _, doublings = np.frexp(at)
    found = ((int(power), summary(each[doublings == power])) for power in np.unique(doublings))
    return [Bin(2.0 ** (power - 1), 2.0**power, of) for power, of in found if of]
