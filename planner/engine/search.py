"""The threshold t and the split N_p/N_d that carry the most (equations 7-8), by exhaustive search and exact crossing.

Λ_remote(t) = min(Θ_prfaas, link)/p rises with t, Λ_local(t) = Θ_pd-p/(1-p) falls, decode is level. In exact form
the best t is therefore their crossing, or a plateau where decode binds; in paper form a curve may turn, so that
a grid over all thresholds finds the cell and root finding the point in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from planner.engine.blind import best_shares
from planner.engine.curves import Array
from planner.engine.deployment import Deployment, Link
from planner.engine.lengths import LengthDistribution, TruncatedLogNormal
from planner.engine.throughput import Form, Stage, Work, lambda_max, stage_rates, work, work_by_share

GRID = 10_000
EQUAL = 1e-9
"""Relative difference below which two rates count as equal."""

type Report = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best operating point found: where to cut, how to split, what it carries, and its mean unloaded TTFT."""

    threshold_tokens: float
    prefill_instances: float
    decode_instances: float
    lambda_max_rps: float
    ttft_mean_s: float
    remote_share: float | None = None
    """Of the requests, whatever their lengths; None: the threshold cuts."""


@dataclass(frozen=True, slots=True)
class MapAxes:
    """Values over which Λ_max is mapped: bandwidths in bit/s and sigmas of the log-normal length.

    None stands for an axis that the deployment does not have: it is kept as given.
    """

    bandwidths_bps: tuple[float, ...] | None
    sigmas: tuple[float, ...] | None

    @property
    def cells(self) -> int:
        """How many (bandwidth, sigma) pairs there are."""
        return len(self.bandwidths_bps or (None,)) * len(self.sigmas or (None,))


@dataclass(frozen=True, slots=True)
class Problem:
    """A deployment, what may vary in it, and the map to draw beside the answer.

    A threshold varies where the deployment has no remote share, and a share where it has one.
    """

    deployment: Deployment
    form: Form
    free_threshold: bool
    free_split: bool
    axes: MapAxes | None = None
    free_share: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError where what is to vary is not there."""
        is_blind = self.deployment.remote_share is not None
        if self.free_threshold and is_blind:
            raise ValueError("under a remote share there is no threshold that could vary")
        if self.free_share and not is_blind:
            raise ValueError("without a remote share there is none that could vary")


@dataclass(frozen=True, slots=True)
class Searched:
    """Thresholds to try, and the work that each brings to every stage."""

    thresholds: Array
    demand: Work
    ttft_s: Array
    """Mean unloaded TTFT at each, in exact form."""
    free_share: bool = False
    """Whether the remote share is to be found, for which there is a closed form and no grid."""


@dataclass(frozen=True, slots=True)
class LambdaMap:
    """Λ_max in req/s and the best t in tokens, each of shape (bandwidths, sigmas, splits)."""

    prefill_instances: Array
    lambda_max_rps: Array
    threshold_tokens: Array


@dataclass(frozen=True, slots=True)
class Solution:
    """The optimum, and the map where one was asked for."""

    best: Optimum
    map: LambdaMap | None


def threshold_grid(lengths: LengthDistribution, count: int = GRID) -> Array:
    """0 (all remote), then at most `count` thresholds over the range of lengths; the last keeps all local."""
    return np.concatenate([[0.0], lengths.thresholds(count)])


def splits(deployment: Deployment) -> Array:
    """Every N_p from none to all instances of the PD cluster, in whole instances."""
    total = deployment.pd.prefill_instances + deployment.pd.decode_instances
    return np.arange(np.floor(total) + 1.0)


def surface(deployment: Deployment, demand: Work, prefill_instances: ArrayLike) -> Array:
    """Λ_max in req/s for every threshold of `demand` and every N_p: shape (thresholds, splits).

    The PD cluster keeps its number of instances; what does not prefill decodes.
    """
    n_p = np.asarray(prefill_instances, dtype=float)
    n_d = deployment.pd.prefill_instances + deployment.pd.decode_instances - n_p
    rates = stage_rates(deployment.split(1.0, 0.0), demand)  # PD-P's rate for one instance
    remote = _remote(rates)
    # An idle PD-P stage has an infinite rate for one instance, and keeps it for none.
    with np.errstate(invalid="ignore", over="ignore"):
        busy = np.isfinite(rates[Stage.PD_P])[:, np.newaxis]
        local = np.where(busy, np.multiply.outer(rates[Stage.PD_P], n_p), np.inf)
    np.minimum(local, remote[:, np.newaxis], out=local)
    np.minimum(local, n_d * deployment.decode.instance_rps, out=local)
    return local


def _remote(rates: dict[Stage, Array]) -> Array:
    """Λ at which the remote side saturates: PrfaaS compute or the link, whichever is slower."""
    endless = np.full_like(rates[Stage.PD_P], np.inf)
    return np.minimum(rates.get(Stage.PRFAAS, endless), rates.get(Stage.LINK, endless))


def best(problem: Problem) -> Optimum:
    """The operating point with the greatest Λ_max within what `problem` leaves free.

    Among equal Λ_max the lower mean unloaded TTFT wins, then the lower t.
    """
    grid = searched(problem)
    return fairest(best_by_split(problem.deployment, grid, promising(problem, grid), problem.form))


def promising(problem: Problem, grid: Searched) -> Array:
    """The N_p that may hold the optimum: the others cannot reach what the grid has already shown.

    In exact form Λ_remote rises with t and Λ_local falls, so that between two thresholds of the grid Λ_max is at most
    the remote rate of the upper one and the local rate of the lower one. The paper form promises no such thing.
    """
    n_p = choices(problem)
    if problem.form is not Form.EXACT or grid.thresholds.size == 1:
        return n_p
    demand = grid.demand
    shifted = replace(demand, prfaas_s=demand.prfaas_s[1:], link_bits=demand.link_bits[1:], pd_p_s=demand.pd_p_s[:-1])
    reached = surface(problem.deployment, demand, n_p).max()
    kept: Array = n_p[surface(problem.deployment, shifted, n_p).max(axis=0) >= reached * (1 - EQUAL)]
    return kept


def choices(problem: Problem) -> Array:
    """The N_p to try."""
    deployment = problem.deployment
    return splits(deployment) if problem.free_split else np.array([deployment.pd.prefill_instances])


def searched(problem: Problem) -> Searched:
    """The thresholds to try, with the work that each brings."""
    deployment = problem.deployment
    free = problem.free_threshold
    thresholds = threshold_grid(deployment.lengths) if free else np.array([deployment.threshold_tokens])
    return tried(deployment, thresholds, problem.form, problem.free_share)


def tried(deployment: Deployment, thresholds: Array, form: Form, free_share: bool = False) -> Searched:
    """Thresholds with the work that each brings."""
    demand, exact = _works(deployment, thresholds, form)
    return Searched(thresholds, demand, exact.ttft_s, free_share)


def _works(deployment: Deployment, thresholds: Array, form: Form) -> tuple[Work, Work]:
    """In a form, and in exact form for TTFT."""
    demand = work(deployment, thresholds, form)
    return demand, demand if form is Form.EXACT else work(deployment, thresholds, Form.EXACT)


def best_by_split(deployment: Deployment, grid: Searched, prefill_instances: Array, form: Form) -> list[Optimum]:
    """The best point of every split: the grid's cell, then the exact crossing in it, or the best remote share."""
    if grid.free_share:
        return _at_best_shares(deployment, prefill_instances, form)
    values = surface(deployment, grid.demand, prefill_instances)
    splits = [deployment.split(float(n_p), _instances(deployment) - float(n_p)) for n_p in prefill_instances]
    return [
        _fairest_point(split, refine(split, grid, column, form), form)
        for split, column in zip(splits, values.T, strict=True)
    ]


def _at_best_shares(deployment: Deployment, prefill_instances: Array, form: Form) -> list[Optimum]:
    shares, every = best_shares(deployment, prefill_instances, form), np.arange(prefill_instances.size)
    demand, exact = (work_by_share(deployment, shares, each) for each in (form, Form.EXACT))
    values = surface(deployment, demand, prefill_instances)[every, every]
    return [
        Optimum(np.inf, float(n_p), _instances(deployment) - float(n_p), float(value), float(ttft), float(share))
        for n_p, value, ttft, share in zip(prefill_instances, values, exact.ttft_s, shares, strict=True)
    ]


def refine(deployment: Deployment, grid: Searched, values: Array, form: Form) -> Array:
    """Thresholds that may be the best for a split, given Λ_max on the grid: the fairest of the grid and the exact
    crossings (eq. 7, and the ends of a plateau under decode) in the cells around its best."""
    top = np.flatnonzero(values >= values.max() * (1 - EQUAL))
    first, last, end = int(top[0]), int(top[-1]), values.size - 1
    cells = np.array([(max(first - 1, 0), first), (first, min(first + 1, end)), (last, min(last + 1, end))])
    rates = stage_rates(deployment, grid.demand)
    crossings = [
        _crossing(deployment, gap, (low, high), form)
        for gap in (_balance, _remote_slack)
        for low, high in grid.thresholds[np.unique(cells[_may_cross(gap(rates)[cells])], axis=0)]
    ]
    fairest_of_grid = top[_fairest(values[top], grid.ttft_s[top], grid.thresholds[top])]
    return np.array([grid.thresholds[fairest_of_grid], *(t for t in crossings if t is not None)])


def _may_cross(ends: Array) -> NDArray[np.bool_]:
    """Whether a gap's sign is not the same at both ends of a cell, shape (cells, 2). What is nearer to an end than
    rounding is as good at that end."""
    with np.errstate(invalid="ignore", over="ignore"):
        return ~(ends.prod(axis=1) > 0)


def crossing(deployment: Deployment, form: Form = Form.EXACT) -> float | None:
    """The t at which the remote and the local side saturate together, Θ_prfaas/p = Θ_pd-p/(1-p) (eq. 7).

    None where they do not: one side is empty, or dead.
    """
    return _crossing(deployment, _balance, (deployment.lengths.shortest, deployment.lengths.longest), form)


type Gap = Callable[[dict[Stage, Array]], Array]
"""By rates, the difference of two sides' seconds a request."""


def _crossing(deployment: Deployment, gap: Gap, cell: tuple[float, float], form: Form) -> float | None:
    """Root of `gap` over the thresholds of a cell, to the last digits; None without a change of sign."""

    def at(threshold: float) -> float:
        return float(gap(stage_rates(deployment, work(deployment, threshold, form))))

    low, high = cell
    if low == high:
        return None
    ends = at(low), at(high)
    if not np.all(np.isfinite(ends)) or ends[0] * ends[1] > 0:
        return None
    root: float = brentq(at, low, high, xtol=1e-9, rtol=1e-14)
    return root


def _balance(rates: dict[Stage, Array]) -> Array:
    """Seconds a request costs the remote side, less those it costs PD-P: the inverse rates never overflow."""
    return _less(_remote(rates), rates[Stage.PD_P])


def _remote_slack(rates: dict[Stage, Array]) -> Array:
    """Seconds a request costs the remote side, less those it costs decode: zero at the low end of a plateau."""
    return _less(_remote(rates), rates[Stage.PD_D])


def _less(rate_rps: Array, other_rps: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        difference: Array = 1.0 / rate_rps - 1.0 / other_rps
    return difference


def _instances(deployment: Deployment) -> float:
    return deployment.pd.prefill_instances + deployment.pd.decode_instances


def _fairest_point(deployment: Deployment, thresholds: Array, form: Form) -> Optimum:
    """The fairest of the deployment at each of `thresholds`."""
    demand, exact = _works(deployment, thresholds, form)
    values = lambda_max(stage_rates(deployment, demand))
    best = _fairest(values, exact.ttft_s, thresholds)
    n_p, n_d = deployment.pd.prefill_instances, deployment.pd.decode_instances
    t, value, ttft_s = (float(each[best]) for each in (thresholds, values, exact.ttft_s))
    return Optimum(t, float(n_p), float(n_d), value, ttft_s, deployment.remote_share)


def _fairest(lambda_max_rps: Array, ttft_s: Array, thresholds: Array) -> int:
    """Which has the greatest Λ_max; among equals the lower mean TTFT, then the lower t."""
    tied = np.flatnonzero(lambda_max_rps >= lambda_max_rps.max() * (1 - EQUAL))
    equal = tied[ttft_s[tied] <= ttft_s[tied].min() * (1 + EQUAL)]
    return int(equal[np.argmin(thresholds[equal])])


def fairest(optima: list[Optimum]) -> Optimum:
    """The greatest Λ_max; among equals the lower mean TTFT, then the lower t."""
    figures = [(each.lambda_max_rps, each.ttft_mean_s, each.threshold_tokens) for each in optima]
    return optima[_fairest(*np.array(figures).T)]


def solve(problem: Problem, report: Report) -> Solution:
    """The optimum, then the map. `report(done, total, message)` after the optimum and each cell of the map."""
    cells = problem.axes.cells if problem.axes else 0
    report(0, cells + 1, "searching every threshold and split")
    found = best(problem)
    report(1, cells + 1, f"best: Λ_max {found.lambda_max_rps:.4g} req/s")
    if problem.axes is None:
        return Solution(found, None)
    return Solution(found, lambda_map(problem, problem.axes, lambda done: report(done + 1, cells + 1, "mapping Λ_max")))


def lambda_map(problem: Problem, axes: MapAxes, done: Callable[[int], None]) -> LambdaMap:
    """Λ_max at the best t over bandwidth × sigma × split; every cell is solved to the exact crossing."""
    bandwidths: tuple[float | None, ...] = axes.bandwidths_bps or (None,)
    sigmas: tuple[float | None, ...] = axes.sigmas or (None,)
    n_p = choices(problem)
    rates = np.empty((len(bandwidths), len(sigmas), n_p.size))
    thresholds = np.empty_like(rates)
    for j, sigma in enumerate(sigmas):
        deployment = _with_sigma(problem.deployment, sigma)
        grid = searched(replace(problem, deployment=deployment))  # the work does not depend on the link
        for i, bandwidth in enumerate(bandwidths):
            optima = best_by_split(_with_bandwidth(deployment, bandwidth), grid, n_p, problem.form)
            rates[i, j] = [optimum.lambda_max_rps for optimum in optima]
            thresholds[i, j] = [optimum.threshold_tokens for optimum in optima]
            done(j * len(bandwidths) + i + 1)
    return LambdaMap(n_p, rates, thresholds)


def _with_sigma(deployment: Deployment, sigma: float | None) -> Deployment:
    if sigma is None or not isinstance(deployment.lengths, TruncatedLogNormal):
        return deployment
    given = deployment.lengths
    return replace(deployment, lengths=TruncatedLogNormal(given.mu, sigma, given.shortest, given.longest))


def _with_bandwidth(deployment: Deployment, bandwidth_bps: float | None) -> Deployment:
    return deployment if bandwidth_bps is None else replace(deployment, link=Link(bandwidth_bps))
