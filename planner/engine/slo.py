"""The cheapest deployment that carries a rate and keeps a promise on TTFT under load.

For a threshold and a choice of chips and link, TTFT falls with every instance. So each role needs at least as many as
would do if the others were endless; from there, counts are tried in the order of their cost until one keeps the
promise. Choices are tried in the order of their least cost, and none that could not be cheaper is tried at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import product

import numpy as np

from planner.engine.cost import volume_usd_per_h
from planner.engine.curves import Array
from planner.engine.deployment import Deployment, Link, PdCluster, PrfaasCluster
from planner.engine.latency import Circumstances, LoadedTtft, Passages, Serving
from planner.engine.least_cost import Bought
from planner.engine.options import ROUNDING, Loads, Space, loads
from planner.engine.search import Report

THRESHOLDS = 48
"""Values of t that are tried at first; as many again are tried around the best of them."""
ENDLESS = 1e9
"""Instances of a role that is not to make anybody wait."""

type Counts = tuple[int, int, int]
"""N_prfaas, N_p, N_d."""
type Keeps = Callable[[Serving], bool]
"""Whether so many instances keep the promise."""


@dataclass(frozen=True, slots=True)
class Promise:
    """TTFT in seconds that a share of the requests, 0.5, 0.9 or 0.99, must not exceed."""

    ttft_s: float
    share: float = 0.9

    def of(self, ttft: LoadedTtft) -> float:
        """The percentile that is promised, in seconds."""
        return {0.5: ttft.p50, 0.9: ttft.p90, 0.99: ttft.p99}[self.share]


@dataclass(frozen=True, slots=True)
class Kept:
    """The cheapest purchase that keeps a promise, and what it costs at the rate; `tried` counts evaluations.

    None where there is none. `least_s` is then the least percentile that endless instances would reach, by prefill
    and transfer alone, among the choices that do not keep the promise even so; infinite where there are none.
    """

    bought: Bought | None
    usd_per_h: float
    least_s: float
    tried: int


@dataclass(frozen=True, slots=True)
class _Choice:
    """A threshold with chips and a link, the fewest instances that are stable, and what they cost."""

    bought: Bought
    fewest: Counts
    most: tuple[int, int]
    """Of PrfaaS instances, and of PD instances altogether."""
    usd: tuple[float, float]
    """An instance an hour: PrfaaS, PD."""
    link_usd: float
    usd_per_h: float

    def cost(self, counts: Counts) -> float:
        """USD an hour with so many instances."""
        return counts[0] * self.usd[0] + (counts[1] + counts[2]) * self.usd[1] + self.link_usd


def cheapest_keeping(
    space: Space, rate_rps: float, promise: Promise, around: Circumstances, report: Report | None = None
) -> Kept:
    """The cheapest purchase for a rate under a promise, over a grid of thresholds and one around its best."""
    grid = _thresholds(space)
    found = _search(space, rate_rps, promise, around, grid, None, report)
    if found.bought is None or found.bought.prfaas is None:
        return found
    at = int(np.searchsorted(grid, found.bought.threshold_tokens))
    finer = np.linspace(grid[max(at - 1, 0)], min(grid[at + 1], space.lengths.longest), THRESHOLDS)
    kept = _search(space, rate_rps, promise, around, finer, found, report)
    return _soonest(space, rate_rps, promise, around, np.union1d(grid, finer), kept)


def _soonest(
    space: Space, rate_rps: float, promise: Promise, around: Circumstances, thresholds: Array, kept: Kept
) -> Kept:
    """The purchase at the threshold with the least promised percentile: it costs no more, so it may as well."""
    bought = kept.bought
    if bought is None or bought.prfaas is None or bought.link is None:
        return kept
    grid = loads(space, thresholds)
    busy = rate_rps * np.vstack([grid.prfaas_s[bought.prfaas], grid.pd_p_s[bought.pd]])
    needed = space.reserve.instances(busy, whole=True)
    fits = (needed[0] <= bought.prfaas_instances) & (needed[1] <= bought.prefill_instances)
    narrow = rate_rps * grid.link_bits >= space.link_bps(space.links[bought.link])
    dearer = grid.link_bits > np.interp(bought.threshold_tokens, grid.thresholds, grid.link_bits) * (1 + ROUNDING)
    paid = space.links[bought.link].rate.usd_per_byte > 0
    best, least = bought, promise.of(ttft(space, bought, rate_rps, around))
    for at in np.flatnonzero(fits & ~narrow & (grid.link_bits > 0) & ~(dearer & paid)):
        other = replace(bought, threshold_tokens=float(grid.thresholds[at]))
        seconds = promise.of(ttft(space, other, rate_rps, around))
        if seconds < least:
            best, least = other, seconds
    return replace(kept, bought=best, tried=kept.tried + thresholds.size)


def _thresholds(space: Space) -> Array:
    """From sending all away to keeping all, in equal shares of the requests."""
    if not space.prfaas:
        return np.array([np.inf])
    inner = space.lengths.quantile(np.linspace(0.0, 1.0, THRESHOLDS)[:-1])
    return np.concatenate([np.unique(np.append(0.0, inner)), [np.inf]])


def _search(
    space: Space,
    rate_rps: float,
    promise: Promise,
    around: Circumstances,
    thresholds: Array,
    best: Kept | None,
    report: Report | None,
) -> Kept:
    kept = best or Kept(None, np.inf, np.inf, 0)
    grid = loads(space, thresholds)
    possible = (_choice(space, grid, rate_rps, at, bought) for at, bought in _kinds(space, grid, rate_rps))
    choices = sorted((choice for choice in possible if choice), key=lambda choice: choice.usd_per_h)
    for done, choice in enumerate(choices):
        if choice.usd_per_h >= kept.usd_per_h:
            break
        kept = _cheaper(space, rate_rps, promise, around, choice, kept)
        if report:
            report(done, len(choices), f"{kept.usd_per_h:,.2f} USD/h so far" if kept.bought else "none so far")
    return kept


def _kinds(space: Space, grid: Loads, rate_rps: float) -> Iterator[tuple[int, Bought]]:
    """Every threshold, by its place, with every chip, and every link that carries what crosses it; without counts."""
    for at, threshold in enumerate(grid.thresholds):
        bits = rate_rps * grid.link_bits[at]
        for pd in range(len(space.pd)):
            if not bits:
                yield at, Bought(None, None, pd, 0, 0, 0, np.inf)
                continue
            wide = [place for place, link in enumerate(space.links) if space.link_bps(link) > bits]
            for remote, link in product(range(len(space.prfaas)), wide):
                yield at, Bought(remote, link, pd, 0, 0, 0, float(threshold))


def _choice(space: Space, grid: Loads, rate_rps: float, at: int, bought: Bought) -> _Choice | None:
    """The fewest instances; None where there are not as many."""
    pd = space.pd[bought.pd]
    busy = [0.0, rate_rps * grid.pd_p_s[bought.pd, at], rate_rps / pd.decode.instance_rps]
    most, usd, link_usd = (0, pd.most), (0.0, pd.usd_per_h), 0.0
    if bought.prfaas is not None and bought.link is not None:
        prfaas, link = space.prfaas[bought.prfaas], space.links[bought.link]
        busy[0] = rate_rps * grid.prfaas_s[bought.prfaas, at]
        most, usd = (prfaas.most, pd.most), (prfaas.usd_per_h, pd.usd_per_h)
        link_usd = link.rate.usd_per_h + float(volume_usd_per_h(link.rate, rate_rps * grid.link_bits[at]))
    fewest = tuple(_fewest(space, each) for each in busy)
    found = _Choice(bought, (fewest[0], fewest[1], fewest[2]), most, usd, link_usd, 0.0)
    return replace(found, usd_per_h=found.cost(found.fewest)) if _allowed(found, found.fewest) else None


def _fewest(space: Space, busy: float) -> int:
    """Instances with which a stage is planned to stay below its capacity."""
    if busy <= 0:
        return 0
    planned = int(space.reserve.instances(np.array(busy), whole=True))
    return max(planned, int(np.floor(busy)) + 1 + space.reserve.spare)


def _allowed(choice: _Choice, counts: Counts) -> bool:
    return counts[0] <= choice.most[0] and counts[1] + counts[2] <= choice.most[1]


def _cheaper(
    space: Space, rate_rps: float, promise: Promise, around: Circumstances, choice: _Choice, kept: Kept
) -> Kept:
    """What was kept so far, or a cheaper purchase of this choice."""
    tried = kept.tried
    passages = Passages(_deployment(space, choice.bought), rate_rps, around)

    def keeps(counts: Serving) -> bool:
        nonlocal tried
        tried += 1
        serving = [max(count - space.reserve.spare, 0.0) for count in counts]
        return passages.share_within((serving[0], serving[1], serving[2]), promise.ttft_s) >= promise.share - ROUNDING

    if not keeps((ENDLESS, ENDLESS, ENDLESS)):
        least_s = promise.of(passages.ttft((ENDLESS, ENDLESS, ENDLESS)))
        return replace(kept, least_s=min(kept.least_s, least_s), tried=tried)
    start = _each_alone(choice, keeps)
    if start is None:
        return replace(kept, tried=tried)
    queue, seen = [(choice.cost(start), start)], {start}
    while queue:
        usd, counts = heappop(queue)
        if usd >= kept.usd_per_h:
            break
        if keeps(counts):
            return Kept(_with(choice.bought, counts), usd, kept.least_s, tried)
        for role in _roles(choice):
            more = (counts[0] + (role == 0), counts[1] + (role == 1), counts[2] + (role == 2))
            if more not in seen and _allowed(choice, more):
                seen.add(more)
                heappush(queue, (choice.cost(more), more))
    return replace(kept, tried=tried)


def _roles(choice: _Choice) -> list[int]:
    return [role for role in range(3) if choice.fewest[role] > 0]


def _each_alone(choice: _Choice, keeps: Keeps) -> Counts | None:
    """For each role the fewest instances with which the promise is kept where nobody else makes anyone wait."""
    found = list(choice.fewest)
    for role in _roles(choice):
        low, high = choice.fewest[role], choice.most[0] if role == 0 else choice.most[1]
        if low > high or not keeps(_only(role, high)):
            return None
        while low < high:
            middle = (low + high) // 2
            if keeps(_only(role, middle)):
                high = middle
            else:
                low = middle + 1
        found[role] = high
    counts = (found[0], found[1], found[2])
    return counts if _allowed(choice, counts) else None


def _only(role: int, count: int) -> Serving:
    counts = [ENDLESS, ENDLESS, ENDLESS]
    counts[role] = count
    return counts[0], counts[1], counts[2]


def _deployment(space: Space, bought: Bought) -> Deployment:
    """A purchase without its counts."""
    pd = space.pd[bought.pd]
    prfaas = link = None
    if bought.prfaas is not None and bought.link is not None:
        prfaas = PrfaasCluster(0.0, space.prfaas[bought.prfaas].t_prefill, space.prfaas[bought.prfaas].egress_bps)
        link = Link(space.link_bps(space.links[bought.link]))
    cluster = PdCluster(0.0, 0.0, pd.t_prefill)
    return Deployment(space.lengths, space.s_kv, prfaas, link, cluster, pd.decode, bought.threshold_tokens)


def ttft(space: Space, bought: Bought, rate_rps: float, around: Circumstances) -> LoadedTtft:
    """TTFT of a purchase at a rate, with the spare instance of each role failed."""
    counts = (bought.prfaas_instances, bought.prefill_instances, bought.decode_instances)
    serving = [max(count - space.reserve.spare, 0.0) for count in counts]
    return Passages(_deployment(space, bought), rate_rps, around).ttft((serving[0], serving[1], serving[2]))


def least_percentile(space: Space, rate_rps: float, share: float, around: Circumstances) -> float:
    """Seconds that a share of the requests cannot be promised to stay below: with endless instances, at its best.

    Only the wait for a link is in it.
    """
    promise = Promise(0.0, share)
    found = [
        promise.of(Passages(_deployment(space, bought), rate_rps, around).ttft((ENDLESS, ENDLESS, ENDLESS)))
        for _, bought in _kinds(space, loads(space, _thresholds(space)), rate_rps)
    ]
    return min(found, default=np.inf)


def _with(bought: Bought, counts: Counts) -> Bought:
    n_prfaas, n_p, n_d = (float(count) for count in counts)
    return replace(bought, prfaas_instances=n_prfaas, prefill_instances=n_p, decode_instances=n_d)
