"""What replications say together: means with 95 % confidence intervals. Numba is not needed for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from planner.engine.curves import Array
from planner.engine.simulation.histogram import percentile, share_within
from planner.engine.simulation.layout import (
    BIN,
    BUSY_PD_P,
    BUSY_PRFAAS,
    LOCAL,
    PD_D,
    REMOTE,
    TAIL,
    UP_PD_D,
    UP_PD_P,
    UP_PRFAAS,
    WAIT_PD_D,
    WAIT_PD_P,
    WAIT_PRFAAS,
)
from planner.engine.simulation.replication import Replication, in_system
from planner.engine.simulation.settings import Experiment
from planner.engine.throughput import Stage

CONFIDENCE = 0.95
GROWING = 0.005
"""Share of the arriving requests that stays in the system, in half of the replications, where it is not stable, if
that is more than chance."""
STEEPEST = 1.5
"""Of what fills up within a run, over its time: the steepest slope through its means, if it fills half-way through."""
PAST = 0.8
"""Of the most that was in the system: below it, queues that come down have come down."""
WAITING = {Stage.PD_P: WAIT_PD_P, Stage.PRFAAS: WAIT_PRFAAS, Stage.LINK: TAIL, Stage.PD_D: WAIT_PD_D}
JOINED = {"least_bits": np.minimum, "most_bits": np.maximum}
"""How bins become one; all else is added up."""
ROUTES = {"local": LOCAL, "remote": REMOTE}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over replications and its 95 % confidence interval by Student's t; None of one replication alone."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """Mean and percentiles of a time, in seconds; the percentiles are read off a histogram, to within 0.5 %."""

    mean: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate


@dataclass(frozen=True, slots=True)
class Waits:
    """Of the requests that pass a stage."""

    mean_s: Estimate
    share: Estimate | None
    """Of those that waited at all; None where that is not counted."""


@dataclass(frozen=True, slots=True)
class Goodput:
    """Requests that keep a promise on TTFT."""

    within_s: float
    share: Estimate
    rate_rps: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Over time from 0, averaged over the replications that came so far; each array of shape (bins,)."""

    bin_s: float
    egress_bps: Array
    egress_min_bps: Array
    """Of windows within a bin, the least and the greatest of any replication."""
    egress_max_bps: Array
    threshold_tokens: Array
    in_system: Array
    """Requests, as windows end."""
    waiting: Array
    """Of these, those that wait: for an instance, for the rest of their KVCache to be across, for decode."""
    resent_fraction: Array
    capacity_bps: Array
    """What could have crossed."""
    prfaas_instances: Array
    """That were there as windows ended, and so for the others."""
    prefill_instances: Array
    decode_instances: Array


@dataclass(frozen=True, slots=True)
class Report:
    """What a deployment does at a rate. Where it is not stable, times grow with the number of requests."""

    replications: int
    requests: int
    """Counted, of all replications."""
    rate_rps: Estimate
    """As it came out."""
    throughput_rps: Estimate
    ttft_s: Times | None
    ttft_by_route_s: dict[str, Times]
    waits: dict[Stage, Waits]
    """The link's is from the end of a prefill until its KVCache is across: the tail of the transfer."""
    utilisation: dict[Stage, Estimate]
    tpot_s: Times | None
    """Mean time between the tokens of a request; None of decode by request, whose step says it, and of no requests."""
    tpot_by_route_s: dict[str, Times]
    offload_fraction: Estimate
    egress_bps: Estimate
    resent_fraction: Estimate | None
    """Of what crossed, what was sent once more; None where nothing crossed."""
    cached_fraction: Estimate | None
    """Of the tokens of prompts, those that a prefix cache spared; None without one."""
    copied_bps: Estimate
    """Of prefixes from one cluster's cache to the other's, in either direction."""
    restarted_fraction: Estimate
    """Requests that lost their work to a fault, and were prefilled once more at least."""
    conversions: Estimate
    """Instances that changed their role in a replication."""
    growth_rps: Estimate
    """Requests a second that stay in the system."""
    growth_by_stage_rps: dict[Stage, Estimate]
    stable: bool
    """Whether the queues do not grow, or did and were coming down again when the last request came."""
    recovering: bool
    """Whether they were still coming down then."""
    unfinished: int
    """Requests that nothing could ever finish."""
    series: Series


def estimate(values: Sequence[float] | Array) -> Estimate:
    """Of one value from each replication, one at least."""
    each = np.asarray(values, dtype=float)
    mean = float(each.mean())
    if each.size == 1:
        return Estimate(mean)
    half = float(stdtrit(each.size - 1, (1 + CONFIDENCE) / 2) * each.std(ddof=1) / math.sqrt(each.size))
    return Estimate(mean, mean - half, mean + half)


def report(experiment: Experiment, runs: Sequence[Replication]) -> Report:
    """Puts replications together; their order does not matter. Raises ValueError of none."""
    if not runs:
        raise ValueError("needs at least one replication")
    runs = sorted(runs, key=lambda run: run.index)
    grows = [in_system(run.growth_rps) for run in runs]
    beyond = np.array(grows) - [_filling(experiment, run) for run in runs]
    growing, series = bool(np.median(beyond) > _by_chance(experiment, runs)), _series(runs)
    recovering = growing and is_recovering(series.in_system)
    unfinished = sum(run.unfinished for run in runs)
    return Report(
        replications=len(runs),
        requests=sum(run.arrived for run in runs),
        rate_rps=estimate([run.arrived / run.window_s for run in runs]),
        throughput_rps=estimate([run.completed / run.window_s for run in runs]),
        ttft_s=_times(runs, [LOCAL, REMOTE]),
        tpot_s=_tpot(runs, [LOCAL, REMOTE]),
        tpot_by_route_s={name: found for name, route in ROUTES.items() if (found := _tpot(runs, [route]))},
        ttft_by_route_s={name: found for name, route in ROUTES.items() if (found := _times(runs, [route]))},
        waits=_waits(runs),
        utilisation=_utilisation(runs),
        offload_fraction=_ratio(runs, lambda run: (run.sums["requests"][REMOTE], run.sums["requests"].sum()))
        or Estimate(0.0),
        egress_bps=estimate([run.sent_bits.sum() / run.window_s for run in runs]),
        resent_fraction=_ratio(runs, lambda run: (run.resent_bits.sum(), run.sent_bits.sum())),
        cached_fraction=_ratio(runs, lambda run: (run.sums["cached_tokens"].sum(), run.sums["prompt_tokens"].sum())),
        copied_bps=estimate([run.copied_bits / run.end_s for run in runs]),
        restarted_fraction=_ratio(runs, lambda run: (run.sums["restarted"].sum(), run.sums["requests"].sum()))
        or Estimate(0.0),
        conversions=estimate([run.conversions for run in runs]),
        growth_rps=estimate(grows),
        growth_by_stage_rps={
            stage: estimate([run.growth_rps[place] for run in runs]) for stage, place in _stages(experiment).items()
        },
        stable=not unfinished and (recovering or not growing),
        recovering=recovering and not unfinished,
        unfinished=unfinished,
        series=series,
    )


def goodput(runs: Sequence[Replication], within_s: float) -> Goodput | None:
    """Of the requests whose first token came within so many seconds, these to within 0.5 %; None of no requests."""
    counted = [run for run in sorted(runs, key=lambda run: run.index) if run.histograms.any()]
    if not counted:
        return None
    shares = np.array([share_within(run.histograms.sum(axis=0), within_s) for run in counted])
    rates_rps = [run.histograms.sum() / run.window_s for run in counted]
    return Goodput(within_s, estimate(shares), estimate(shares * rates_rps))


def is_recovering(present: Array) -> bool:
    """Whether what is in the system over time, at equal distances, has been more and is coming down at its end.

    A tenth of the time is looked at at once: the last is lower than the one before, and well below the highest.
    """
    tenth = present.size // 10
    if not tenth:
        return False
    means = np.convolve(present, np.full(tenth, 1 / tenth), mode="valid")
    last, before = means[-1], means[-1 - tenth]
    return bool(last < before and last < PAST * means.max())


def _by_chance(experiment: Experiment, runs: Sequence[Replication]) -> float:
    """Requests a second by which a stable system may seem to grow: a share of those that arrive, or what as many as
    these scatter by, three standard deviations of them, in a run too short to show more."""
    dispersion = max(experiment.arrivals.index_of_dispersion(experiment.rate_rps), 1.0)
    scatter = 3 * np.sqrt(dispersion * np.array([run.arrived for run in runs])) / [run.window_s for run in runs]
    return max(GROWING * experiment.rate_rps, float(np.median(scatter)))


def _filling(experiment: Experiment, run: Replication) -> float:
    """Requests a second by which decode only fills up, to the number that Little's law says of it: in a run that is not
    much longer than a request that is no sign of more than it can carry."""
    decode = experiment.deployment.decode
    steady = experiment.rate_rps * decode.output_tokens * decode.step_s
    return float(np.clip(run.growth_rps[PD_D], 0.0, STEEPEST * steady / run.window_s))


def _stages(experiment: Experiment) -> dict[Stage, int]:
    """Where requests wait for each stage that the deployment has."""
    away = experiment.deployment.prfaas is not None
    return {stage: at for stage, at in WAITING.items() if away or stage in (Stage.PD_P, Stage.PD_D)}


def _ratio(runs: Sequence[Replication], parts: Callable[[Replication], tuple[float, float]]) -> Estimate | None:
    """Of the replications in which there is something to divide by; None where there is none."""
    pairs = [parts(run) for run in runs]
    found = [part / whole for part, whole in pairs if whole]
    return estimate(found) if found else None


def _times(runs: Sequence[Replication], routes: list[int]) -> Times | None:
    """TTFT of some routes together; None where no request took them."""
    some = [run for run in runs if run.sums["requests"][routes].sum()]
    if not some:
        return None
    means = [run.sums["ttft_s"][routes].sum() / run.sums["requests"][routes].sum() for run in some]
    counts = [run.histograms[routes].sum(axis=0) for run in some]
    p50, p90, p99 = (estimate([percentile(count, q) for count in counts]) for q in (0.5, 0.9, 0.99))
    return Times(estimate(means), p50, p90, p99)


def _tpot(runs: Sequence[Replication], routes: list[int]) -> Times | None:
    """Of the requests of some routes that have two tokens at least; None where there are none."""
    some = [run for run in runs if run.sums["spoken"][routes].sum()]
    if not some:
        return None
    means = [run.sums["tpot_s"][routes].sum() / run.sums["spoken"][routes].sum() for run in some]
    counts = [run.tpot[routes].sum(axis=0) for run in some]
    p50, p90, p99 = (estimate([percentile(count, q) for count in counts]) for q in (0.5, 0.9, 0.99))
    return Times(estimate(means), p50, p90, p99)


def _waits(runs: Sequence[Replication]) -> dict[Stage, Waits]:
    """By stage that some request passed."""
    fields = {
        Stage.PD_P: ("prefill_wait_s", "prefill_waited", [LOCAL]),
        Stage.PRFAAS: ("prefill_wait_s", "prefill_waited", [REMOTE]),
        Stage.LINK: ("tail_s", None, [REMOTE]),
        Stage.PD_D: ("decode_wait_s", "decode_waited", [LOCAL, REMOTE]),
    }
    found = {}
    for stage, (total, waited, routes) in fields.items():
        mean = _per_request(runs, total, routes)
        if mean is not None:
            found[stage] = Waits(mean, _per_request(runs, waited, routes) if waited else None)
    return found


def _per_request(runs: Sequence[Replication], field: str, routes: list[int]) -> Estimate | None:
    return _ratio(runs, lambda run: (run.sums[field][routes].sum(), run.sums["requests"][routes].sum()))


def _utilisation(runs: Sequence[Replication]) -> dict[Stage, Estimate]:
    """Busy share of each stage that the deployment has, of what of it is up, and that has something to be busy with."""
    places = {Stage.PRFAAS: (BUSY_PRFAAS, UP_PRFAAS), Stage.PD_P: (BUSY_PD_P, UP_PD_P), Stage.PD_D: (PD_D, UP_PD_D)}
    found = {
        stage: share
        for stage, at in places.items()
        if (share := _ratio(runs, lambda run, at=at: (run.mean_at[at[0]], run.mean_at[at[1]])))  # type: ignore[misc]
    }
    link = _ratio(runs, lambda run: (run.sent_bits.sum(), run.possible_bits.sum()))
    return found | ({Stage.LINK: link} if link else {})


def _series(runs: Sequence[Replication]) -> Series:
    """Bins as wide as the widest of any replication; a replication may end before another."""
    width = max(run.bin_s for run in runs)
    each = [_widened(run, width) for run in runs]
    sums = np.zeros(max(one.size for one in each), dtype=BIN)
    sums["least_bits"] = np.inf
    for one in each:
        part = sums[: one.size]
        for name in BIN.names or ():
            joined = JOINED.get(name, np.add)
            part[name] = joined(part[name], one[name])
    windows, window_s = sums["windows"], runs[0].window_bin_s
    with np.errstate(invalid="ignore"):
        resent = np.where(sums["egress_bits"] > 0, sums["resent_bits"] / sums["egress_bits"], 0.0)
    return Series(
        bin_s=width,
        egress_bps=sums["egress_bits"] / windows / window_s,
        egress_min_bps=sums["least_bits"] / window_s,
        egress_max_bps=sums["most_bits"] / window_s,
        threshold_tokens=sums["threshold_tokens"] / windows,
        in_system=sums["in_system"] / windows,
        waiting=sums["waiting"] / windows,
        resent_fraction=resent,
        capacity_bps=sums["possible_bits"] / windows / window_s,
        prfaas_instances=sums["prfaas"] / windows,
        prefill_instances=sums["prefill"] / windows,
        decode_instances=sums["decode"] / windows,
    )


def _widened(run: Replication, bin_s: float) -> np.ndarray:
    """A replication's bins, as many of them made one as it takes."""
    many = round(bin_s / run.bin_s)
    starts = np.arange(0, run.series.size, many)
    wide = np.zeros(starts.size, dtype=BIN)
    for name in BIN.names or ():
        wide[name] = JOINED.get(name, np.add).reduceat(run.series[name], starts) if starts.size else 0.0
    return wide
