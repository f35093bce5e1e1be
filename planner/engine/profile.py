"""What a profile says between and beyond its points: the curve's quality, cached prefixes, decode steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from planner.engine.curves import Array, Curve, LogLogCurve, QuadraticFit, checked_points
from planner.engine.lengths import LengthDistribution


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """How well a curve stands for the points that were measured."""

    residuals: Array
    """Curve over point, less one, at each point."""
    falls: tuple[tuple[float, float], ...]
    """Neighbouring lengths in tokens between which the measured value falls; a prefill time that falls is noise."""
    shortest: float
    """Shortest and longest measured length in tokens; outside them the curve is extrapolated."""
    longest: float

    @property
    def largest(self) -> float:
        """The largest relative residual, without its sign."""
        return float(np.abs(self.residuals).max())

    @property
    def rms(self) -> float:
        """Root mean square of the relative residuals."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    @property
    def monotone(self) -> bool:
        """Whether no point lies below a shorter one."""
        return not self.falls


def quality(curve: Curve, lengths: Sequence[float] | Array, values: Sequence[float] | Array) -> Quality:
    """What the points (tokens; the curve's unit) say of the curve. Raises ValueError as `checked_points`."""
    x, y = checked_points(lengths, values)
    falling = np.flatnonzero(np.diff(y) < 0)
    falls = tuple((float(x[at]), float(x[at + 1])) for at in falling)
    return Quality(curve(x) / y - 1.0, falls, float(x[0]), float(x[-1]))


def left_out(lengths: Sequence[float] | Array, values: Sequence[float] | Array) -> Array:
    """How far the log-log line misses each inner point when it is drawn without it, relative, shape (n - 2,).

    A curve through every point has no residuals; this is what stands in for them.
    Raises ValueError as `LogLogCurve`.
    """
    x, y = checked_points(lengths, values)
    errors = [
        float(LogLogCurve(x[[at - 1, at + 1]], y[[at - 1, at + 1]])(x[at])) / y[at] - 1.0 for at in range(1, x.size - 1)
    ]
    return np.array(errors)


@dataclass(frozen=True, slots=True)
class Outside:
    """How much of some traffic has lengths for which a curve was not measured."""

    requests: float
    """Share of the requests, in [0, 1]."""
    tokens: float
    """Share of their tokens, in [0, 1]."""
    shortest: float
    """Shortest and longest measured length in tokens."""
    longest: float


def outside(curve: Curve, lengths: LengthDistribution, lower: float = 0.0, upper: float = math.inf) -> Outside | None:
    """What of the requests with lower < L <= upper the curve was not measured for; None where that is nothing."""
    shortest, longest = float(curve.lengths[0]), float(curve.lengths[-1])
    # Open below, and a request of exactly the shortest measured length is measured.
    cuts = np.clip([lower, np.nextafter(shortest, 0.0), longest, upper], lower, upper)
    below, above = lengths.partial_means(cuts)
    # Summed from its own end, a tail keeps its digits.
    requests, tokens = lengths.between(cuts[:-1], cuts[1:]), -np.diff(above) if lower > 0 else np.diff(below)
    if not min(requests[0] + requests[2], tokens[0] + tokens[2]) > 0:
        return None
    return Outside(_ends(requests), _ends(tokens), shortest, longest)


def _ends(parts: Array) -> float:
    """Share of the first and the last of three parts."""
    return float((parts[0] + parts[2]) / parts.sum())


def _columns(names: str, *given: Sequence[float] | Array) -> list[Array]:
    """The columns of a table of points, checked. Raises ValueError."""
    columns = [np.array(column, dtype=float) for column in given]
    if any(column.ndim != 1 or column.shape != columns[0].shape for column in columns):
        raise ValueError(f"needs as many of each of {names}, got {', '.join(str(column.size) for column in columns)}")
    for name, column in zip(names.split(", "), columns, strict=True):
        lowest = 0.0 if name == "cached" else np.nextafter(0.0, 1.0)
        wrong = ~(np.isfinite(column) & (column >= lowest))
        if np.any(wrong):
            allowed = "not negative" if name == "cached" else "positive"
            raise ValueError(f"{name} must be {allowed} and finite, got {column[wrong][0]:g}")
    return columns


def _least_squares(terms: Sequence[Array], seconds: Array, remedy: str) -> Array:
    """Coefficients, none negative, of the terms that minimise the sum of squared relative errors.

    Raises ValueError, with the remedy, where the points cannot tell the terms apart.
    """
    columns = np.stack(terms, axis=1) / seconds[:, np.newaxis]
    scale = np.linalg.norm(columns, axis=0)
    if np.any(scale == 0) or np.linalg.matrix_rank(columns / scale, tol=1e-9) < len(terms):
        raise ValueError(f"{seconds.size} points do not tell {len(terms)} coefficients apart; {remedy}")
    solution, _ = nnls(columns / scale, np.ones_like(seconds))
    solution[solution < 1e-12 * solution.max()] = 0.0  # what rounding leaves of a term that is not there
    coefficients: Array = solution / scale
    return coefficients


@dataclass(frozen=True, slots=True, eq=False, init=False)
class CachedPrefill:
    """T_prefill(n | c): seconds for n new tokens behind c cached ones, t0 + a·n + b·n·(n + 2c).

    A new token at place i attends to the c cached tokens and the i new ones up to itself: over all n,
    n·c + n·(n + 1)/2 pairs, which is n·(n + 2c)/2 but for the n/2 that `a` takes up. As
    n·(n + 2c) = (n + c)² - c², the work is that of the whole prompt less that of the cached part, and
    at c = 0 the surface is `QuadraticFit`'s t0 + a·n + b·n².
    """

    coefficients: Array
    """t0 in seconds, a in seconds a token, b in seconds a token squared; none negative."""
    residuals: Array
    """Fitted over measured, less one, at each point."""

    def __init__(
        self, new: Sequence[float] | Array, cached: Sequence[float] | Array, seconds: Sequence[float] | Array
    ) -> None:
        """Fits points of new and cached tokens and seconds, minimising squared relative errors.

        Raises ValueError on unequal counts, values out of range, and points that leave a coefficient open.
        """
        n, c, y = _columns("new, cached, seconds", new, cached, seconds)
        terms = [np.ones_like(n), n, n * (n + 2 * c)]
        solution = _least_squares(terms, y, "measure at least three points, of at least two new lengths")
        object.__setattr__(self, "coefficients", solution)
        object.__setattr__(self, "residuals", self(n, c) / y - 1.0)

    def __call__(self, new: ArrayLike, cached: ArrayLike) -> Array:
        """Seconds for `new` tokens (> 0) behind `cached` ones (>= 0), shaped as the two together."""
        n, c = np.asarray(new, dtype=float), np.asarray(cached, dtype=float)
        t0, a, b = self.coefficients
        seconds: Array = t0 + n * (a + b * (n + 2 * c))
        return seconds


@dataclass(frozen=True, slots=True, eq=False, init=False)
class DecodeSteps:
    """Seconds of one decode step, s0 + s1·batch + s2·batch·context.

    A step reads the weights once whatever the batch (s0), does the same work for each request (s1), and
    reads the KVCache of each, which grows with its context in tokens (s2).
    """

    coefficients: Array
    """s0 in seconds, s1 in seconds a request, s2 in seconds a request and token of context; none negative."""
    residuals: Array
    """Fitted over measured, less one, at each point."""

    def __init__(
        self, batch: Sequence[float] | Array, context: Sequence[float] | Array, seconds: Sequence[float] | Array
    ) -> None:
        """Fits points of requests a step, tokens of context each, and seconds, minimising squared relative errors.

        Raises ValueError on unequal counts, values out of range, and points that leave a coefficient open.
        """
        b, c, y = _columns("batch, context, seconds", batch, context, seconds)
        remedy = "measure at least three points, of at least two batches and two contexts"
        object.__setattr__(self, "coefficients", _least_squares([np.ones_like(b), b, b * c], y, remedy))
        object.__setattr__(self, "residuals", self(b, c) / y - 1.0)

    def __call__(self, batch: ArrayLike, context: ArrayLike) -> Array:
        """Seconds of a step with `batch` requests of `context` tokens each, shaped as the two together."""
        b, c = np.asarray(batch, dtype=float), np.asarray(context, dtype=float)
        s0, s1, s2 = self.coefficients
        seconds: Array = s0 + b * (s1 + s2 * c)
        return seconds


@dataclass(frozen=True, slots=True)
class LargestBatch:
    """How many requests one decode instance may hold at once, and what keeps it from holding more."""

    batch: float
    binds: Literal["slo", "memory"]
    by_slo: float
    """Requests that the SLO allows; infinite where a step does not grow with the batch."""
    by_memory: float
    """Requests that fit beside the weights; infinite where a request leaves no state."""


def largest_batch(
    steps: DecodeSteps,
    slo_tokens_per_s: float,
    context_tokens: float,
    memory_bytes: float,
    weight_bytes: float,
    kv_bytes_per_request: float,
) -> LargestBatch:
    """The largest whole batch at which every request gets `slo_tokens_per_s` and the memory of the instance suffices.

    BS_max of equation 5. `memory_bytes` and `weight_bytes` are the whole instance's; `kv_bytes_per_request`
    is S_kv at `context_tokens`. 0 where not even one request meets the SLO or fits.
    Raises ValueError on values out of range, and on weights that do not fit.
    """
    _check_positive(slo_tokens_per_s=slo_tokens_per_s, context_tokens=context_tokens, memory_bytes=memory_bytes)
    if not (weight_bytes >= 0 and kv_bytes_per_request >= 0 and math.isfinite(weight_bytes + kv_bytes_per_request)):
        given = f"{weight_bytes:g} and {kv_bytes_per_request:g}"
        raise ValueError(f"weight_bytes and kv_bytes_per_request must be finite and not negative, got {given}")
    if weight_bytes > memory_bytes:
        remedy = "take more GPUs an instance, or fewer bits a weight"
        raise ValueError(f"weights of {weight_bytes:g} bytes do not fit into {memory_bytes:g}; {remedy}")
    s0, s1, s2 = (float(part) for part in steps.coefficients)
    for_requests_s = 1.0 / slo_tokens_per_s - s0
    by_slo = 0.0 if for_requests_s < 0 else _whole(for_requests_s, s1 + s2 * context_tokens)
    by_memory = _whole(memory_bytes - weight_bytes, kv_bytes_per_request)
    return LargestBatch(min(by_slo, by_memory), "slo" if by_slo <= by_memory else "memory", by_slo, by_memory)


def _whole(available: float, each: float) -> float:
    """How often `each` goes into what is available; a rounding error below a whole number counts as that number."""
    return math.inf if each == 0 else float(np.floor(available / each * (1 + 1e-12)))


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be positive and finite, got {value:g}")


def fitted(lengths: Sequence[float] | Array, values: Sequence[float] | Array) -> QuadraticFit | None:
    """The fit t0 + a·l + b·l² beside the points; None where there are too few of them to fit.

    Raises ValueError as `checked_points`.
    """
    return QuadraticFit(lengths, values) if len(lengths) >= 3 else None
