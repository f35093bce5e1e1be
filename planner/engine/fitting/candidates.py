"""Every family side by side, the best first, in the form that documents have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.fitting.families import gamma, log_normal, pareto
from planner.engine.fitting.mixtures import mixture
from planner.engine.fitting.record import Fitted, Sample, ks_distance, log_likelihood, sample
from planner.engine.lengths import Mixture, TruncatedGamma, TruncatedLogNormal, TruncatedPareto
from planner.engine.lengths.empirical import Counts

LARGE_KS = 0.05
PER_PART = 10
"""Distinct lengths that a mixture needs for each of its parts."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family at its most likely parameters, in the form that documents have them."""

    parameters: dict[str, Any]
    distribution: Fitted
    free_parameters: int
    log_likelihood: float
    aic: float
    bic: float
    ks_distance: float

    @property
    def warning(self) -> str | None:
        """What to do where no number of this distribution should be trusted."""
        if self.ks_distance <= LARGE_KS:
            return None
        share = f"{self.ks_distance:.1%}"
        return f"up to {share} of requests lie on the wrong side of some length: keep the empirical lengths"


def report(
    lengths: ArrayLike, counts: Counts | None = None, bounds: tuple[float, float] | None = None
) -> list[Candidate]:
    """Every family that the record allows, fitted, the best by BIC first.

    Left out are a Pareto where lengths do not thin out from the shortest on, and mixtures of few distinct lengths.
    Raises ValueError as `sample`.
    """
    given = sample(lengths, counts, bounds)
    return sorted((candidate(given, fitted) for fitted in _fits(given)), key=lambda found: found.bic)


def _fits(given: Sample) -> Iterator[Fitted]:
    yield log_normal(given)
    yield gamma(given)
    power = pareto(given)
    if power:
        yield power
    distinct = 1 + np.count_nonzero(np.diff(given.record.samples))
    for parts in (2, 3):
        if distinct >= PER_PART * parts:
            yield mixture(given, parts)


def candidate(given: Sample, fitted: Fitted) -> Candidate:
    """A fit with its likelihood, information criteria and KS distance."""
    parameters = document(fitted)
    free = free_parameters(fitted)
    likelihood = log_likelihood(fitted, given)
    return Candidate(
        parameters=parameters,
        distribution=fitted,
        free_parameters=free,
        log_likelihood=likelihood,
        aic=2 * free - 2 * likelihood,
        bic=free * float(np.log(given.record.total)) - 2 * likelihood,
        ks_distance=ks_distance(fitted, given.record.samples, given.record.requests),
    )


def document(fitted: Fitted) -> dict[str, Any]:
    """The parameters as a document of `input_tokens` has them."""
    match fitted:
        case TruncatedLogNormal(mu=mu, sigma=sigma):
            own: dict[str, Any] = {"distribution": "truncated_log_normal", "mu": mu, "sigma": sigma}
        case TruncatedGamma(shape=shape, scale=scale):
            own = {"distribution": "gamma", "shape": shape, "scale": scale}
        case TruncatedPareto(alpha=alpha):
            own = {"distribution": "pareto", "alpha": alpha}
        case Mixture(weights=weights, parts=parts):
            components = [{**document(part), "weight": weight} for part, weight in zip(parts, weights, strict=True)]
            return {"distribution": "mixture", "components": components}
        case _:
            raise TypeError(f"{type(fitted).__name__} is no family that is fitted")
    return {**own, "min": fitted.shortest, "max": fitted.longest}


def free_parameters(fitted: Fitted) -> int:
    """Parameters that were fitted; the bounds are not among them."""
    match fitted:
        case TruncatedPareto():
            return 1
        case Mixture(parts=parts):
            return sum(free_parameters(part) + 1 for part in parts) - 1
        case _:
            return 2
