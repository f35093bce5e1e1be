"""The search itself.

For a threshold and a choice of chips and link, TTFT falls with every instance. So each role needs at least as many as
would do if the others were endless; from there, counts are tried in the order of their cost until one keeps the
promise. Choices are tried in the order of their least cost, and none that could not be cheaper is tried at all: what
the next one would cost at least is then a bound on all that were not.
"""

from __future__ import annotations

import time
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from planner.engine.curves import Array
from planner.engine.latency import Circumstances, LoadedTtft, Passages, Serving
from planner.engine.least_cost import Bought
from planner.engine.options import ROUNDING, Space, loads
from planner.engine.search import Report
from planner.engine.slo.choices import Choice, Counts, at_no_more_cost, choices, kinds, without_counts
from planner.engine.slo.promise import Kept, Promise

THRESHOLDS = 48
"""Values of t that are tried at first; as many again are tried around the best of them."""
ENDLESS = 1e9
"""Instances of a role that is not to make anybody wait."""


def cheapest_keeping(
    space: Space,
    rate_rps: float,
    promise: Promise,
    around: Circumstances,
    report: Report | None = None,
    seconds: float = np.inf,
) -> Kept:
    """The cheapest purchase for a rate under a promise, over a grid of thresholds and one around its best.

    Stops after `seconds`, with the gap that is left; the same without a limit is always the same.
    """
    search = _Search(space, rate_rps, promise, around, report, time.monotonic() + seconds)
    grid = _thresholds(space)
    found = search.among(grid, Kept(None, np.inf, np.inf, 0, 0))
    if found.bought is None or found.bought.prfaas is None:
        return found
    at = int(np.searchsorted(grid, found.bought.threshold_tokens))
    finer = np.linspace(grid[max(at - 1, 0)], min(grid[at + 1], space.lengths.longest), THRESHOLDS)
    return search.soonest(np.union1d(grid, finer), search.among(finer, found))


def least_percentile(space: Space, rate_rps: float, share: float, around: Circumstances) -> float:
    """Seconds that a share of the requests cannot be promised to stay below: with endless instances, at its best.

    Only the wait for a link is in it. Infinite where nothing carries the rate.
    """
    promise = Promise(0.0, share)
    found = [
        promise.of(Passages(without_counts(space, bought), rate_rps, around).ttft((ENDLESS, ENDLESS, ENDLESS)))
        for _, bought in kinds(space, loads(space, _thresholds(space)), rate_rps)
    ]
    return min(found, default=np.inf)


def ttft(space: Space, bought: Bought, rate_rps: float, around: Circumstances) -> LoadedTtft:
    """TTFT of a purchase at a rate, with the spare instances of each role failed."""
    counts = (bought.prfaas_instances, bought.prefill_instances, bought.decode_instances)
    return Passages(without_counts(space, bought), rate_rps, around).ttft(_serving(space, counts))


def _serving(space: Space, counts: Serving) -> Serving:
    n_prfaas, n_p, n_d = (max(count - space.reserve.spare, 0.0) for count in counts)
    return n_prfaas, n_p, n_d


def _thresholds(space: Space) -> Array:
    """From sending all away to keeping all, in equal shares of the requests."""
    if not space.prfaas:
        return np.array([np.inf])
    inner = space.lengths.quantile(np.linspace(0.0, 1.0, THRESHOLDS)[:-1])
    return np.concatenate([np.unique(np.append(0.0, inner)), [np.inf]])


class _Search:
    """The search for one rate and one promise."""

    def __init__(
        self,
        space: Space,
        rate_rps: float,
        promise: Promise,
        around: Circumstances,
        report: Report | None,
        until: float,
    ) -> None:
        self._space, self._rate_rps, self._promise, self._around = space, rate_rps, promise, around
        self._report, self._until = report, until
        self._tried = 0
        self._missed_usd = np.inf
        """What the choices for which there was no time cost at least."""

    def among(self, thresholds: Array, best: Kept) -> Kept:
        """The cheapest of what was found before and of all choices at these thresholds."""
        found = choices(self._space, loads(self._space, thresholds), self._rate_rps)
        for done, choice in enumerate(found):
            least = choice.cost(choice.fewest)
            if least >= best.usd_per_h:
                return self._kept(best, len(found) - done)
            if time.monotonic() > self._until:
                self._missed_usd = min(self._missed_usd, least)
                break
            best = self._cheaper(choice, best)
            if self._report:
                so_far = f"{best.usd_per_h:,.2f} USD/h so far" if best.bought else "none so far"
                self._report(done, len(found), so_far)
        return self._kept(best, 0)

    def _kept(self, best: Kept, pruned: int) -> Kept:
        at_least = min(best.usd_per_h, self._missed_usd)
        return replace(best, at_least_usd_per_h=at_least, tried=self._tried, pruned=best.pruned + pruned)

    def soonest(self, thresholds: Array, kept: Kept) -> Kept:
        """The purchase at the threshold with the least promised percentile: it costs no more, so it may as well."""
        if kept.bought is None:
            return kept
        grid = loads(self._space, thresholds)
        best, least = kept.bought, self._percentile(kept.bought)
        for threshold in at_no_more_cost(self._space, grid, self._rate_rps, kept.bought):
            other = replace(kept.bought, threshold_tokens=float(threshold))
            seconds = self._percentile(other)
            if seconds < least:
                best, least = other, seconds
        return replace(kept, bought=best, tried=self._tried)

    def _percentile(self, bought: Bought) -> float:
        self._tried += 1
        return self._promise.of(ttft(self._space, bought, self._rate_rps, self._around))

    def _cheaper(self, choice: Choice, best: Kept) -> Kept:
        """What was best so far, or a cheaper purchase of this choice."""
        passages = Passages(without_counts(self._space, choice.bought), self._rate_rps, self._around)
        start = self._each_alone(choice, passages)
        if start is None:
            return best
        queue, seen = [(choice.cost(start), start)], {start}
        while queue:
            usd, counts = heappop(queue)
            if usd >= best.usd_per_h:
                return best
            if self._keeps(passages, counts):
                return replace(best, bought=choice.bought_with(counts), usd_per_h=usd)
            for role in choice.roles:
                more = (counts[0] + (role == 0), counts[1] + (role == 1), counts[2] + (role == 2))
                if more not in seen and choice.allows(more):
                    seen.add(more)
                    heappush(queue, (choice.cost(more), more))
        return best

    def _each_alone(self, choice: Choice, passages: Passages) -> Counts | None:
        """For each role the fewest instances with which the promise is kept where nobody else makes anyone wait."""
        if not self._keeps(passages, (ENDLESS, ENDLESS, ENDLESS)):
            return None
        found = list(choice.fewest)
        for role in choice.roles:
            low, high = choice.fewest[role], choice.most[min(role, 1)]
            if low > high or not self._keeps(passages, _only(role, high)):
                return None
            while low < high:
                middle = (low + high) // 2
                low, high = (low, middle) if self._keeps(passages, _only(role, middle)) else (middle + 1, high)
            found[role] = high
        counts = (found[0], found[1], found[2])
        return counts if choice.allows(counts) else None

    def _keeps(self, passages: Passages, counts: Serving) -> bool:
        """Whether so many instances keep the promise."""
        self._tried += 1
        within = passages.share_within(_serving(self._space, counts), self._promise.ttft_s)
        return within >= self._promise.share - ROUNDING


def _only(role: int, count: int) -> Serving:
    counts = [ENDLESS, ENDLESS, ENDLESS]
    counts[role] = count
    return counts[0], counts[1], counts[2]
