"""What a threshold and a split would bring on the lengths that are seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from planner.engine.advice.loads import Loads
from planner.engine.advice.optimum import Capacity, best_threshold
from planner.engine.advice.terms import Options, Point, Ttft
from planner.engine.deployment import Deployment, Link
from planner.engine.latency import Passages, Serving
from planner.engine.throughput import BINDING_TOLERANCE, Stage

TRIED = 9
"""Thresholds at which TTFT is looked at first, ..."""
REFINED = 6
"""... and then by golden section around the best of them."""
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The system as it is seen: its lengths, what there is of each stage, and what the link carries."""

    deployment: Deployment
    """The curves and decode; and the lengths that are seen, for TTFT."""
    options: Options
    loads: Loads
    there: Capacity
    """The link less its headroom."""
    link_bps: float
    """All of it."""
    rate_rps: float | None
    ttfts: dict[tuple[float, float], Ttft] = field(default_factory=dict)
    """Those that were computed before, by t and N_p."""

    @property
    def serving(self) -> Serving:
        """Instances of the present split."""
        return self.there.prfaas, self.there.pd_p, self.there.pd_d

    def split(self, prefill_instances: float) -> Scene:
        """The same with another N_p/N_d."""
        return replace(self, there=self.there.split(prefill_instances))

    def work(self, threshold_tokens: float) -> dict[Stage, float]:
        """Of an arriving request at each stage: instance-seconds, and bits; of decode, places of instances."""
        at, t = self.loads, threshold_tokens
        return {
            Stage.PRFAAS: at.at(at.remote_s.mean, t),
            Stage.LINK: at.at(at.bits.mean, t),
            Stage.PD_P: at.at(at.local_s.mean, t),
            Stage.PD_D: 1.0 / self.there.decode_rps,
        }


def point(scene: Scene, threshold_tokens: float, with_ttft: bool = True) -> Point:
    """What a t brings at the scene's split."""
    there, work = scene.there, scene.work(threshold_tokens)
    has = {Stage.PRFAAS: there.prfaas, Stage.LINK: there.link_bps, Stage.PD_P: there.pd_p, Stage.PD_D: there.pd_d}
    rates = {stage: _rate(has[stage], each) for stage, each in work.items()}
    most = min(rates.values())
    full = has | {Stage.LINK: scene.link_bps}
    rate = scene.rate_rps
    return Point(
        threshold_tokens=threshold_tokens,
        prefill_instances=there.pd_p,
        decode_instances=there.pd_d,
        lambda_max_rps=most,
        binding=tuple(stage for stage, limit in rates.items() if limit <= most * (1 + BINDING_TOLERANCE)),
        offload_fraction=scene.loads.at(scene.loads.offload_fraction, threshold_tokens),
        utilisation=None if rate is None else {stage: _busy(rate * work[stage], full[stage]) for stage in work},
        egress_bps=None if rate is None else min(rate, most) * work[Stage.LINK],
        ttft=ttft(scene, threshold_tokens) if with_ttft and rate else None,
    )


def _rate(capacity: float, work: float) -> float:
    return capacity / work if work > 0 else np.inf


def _busy(work: float, capacity: float) -> float:
    if work <= 0:
        return 0.0
    return work / capacity if capacity > 0 else np.inf


def best_point(scene: Scene, with_ttft: bool = True) -> Point:
    """The greatest Λ_max at the scene's split."""
    return point(scene, best_threshold(scene.loads, scene.there), with_ttft)


def ttft(scene: Scene, threshold_tokens: float) -> Ttft:
    """TTFT at the present rate, by the engine's approximation; computed once for each t and split."""
    key = (threshold_tokens, scene.there.pd_p)
    found = scene.ttfts.get(key)
    if found is None:
        at = _passages(scene, threshold_tokens).ttft(scene.serving)
        found = scene.ttfts[key] = Ttft(at.mean, at.p50, at.p90, at.p99)
    return found


def _passages(scene: Scene, threshold_tokens: float) -> Passages:
    deployed = replace(scene.deployment, threshold_tokens=threshold_tokens, link=Link(scene.link_bps))
    return Passages(deployed, scene.rate_rps or 0.0, scene.options.circumstances)


def quickest_threshold(scene: Scene) -> float | None:
    """The t with the least TTFT (its mean, or the options' percentile) at the present rate.

    None where no t carries the rate. TTFT is taken to have one valley between the thresholds that do.
    """
    share = scene.options.ttft_percentile

    def seconds(logarithm: float) -> float:
        t = float(np.exp(logarithm))
        if share is None:
            return _passages(scene, t).mean(scene.serving)
        return float(_passages(scene, t).percentile(scene.serving, share))

    span = _stable(scene)
    if span is None:
        return None
    tried = np.log(scene.loads.lengths.quantile(np.linspace(*span, TRIED)))
    found = [seconds(each) for each in tried]
    at = int(np.argmin(found))
    if not np.isfinite(found[at]):
        return None
    low, high = float(tried[max(at - 1, 0)]), float(tried[min(at + 1, TRIED - 1)])
    refined, least = _golden(seconds, low, high)
    return float(np.exp(refined if least < found[at] else tried[at]))


def _stable(scene: Scene) -> tuple[float, float] | None:
    """Shares of requests up to the least and the greatest t at which no queue grows without end."""
    rate, loads, (n, n_p, n_d) = scene.rate_rps or 0.0, scene.loads, scene.serving
    if rate >= n_d * scene.there.decode_rps:
        return None
    carried = ((rate * loads.local_s.mean < n_p) | (loads.local_s.mean == 0)) & (
        (rate * loads.remote_s.mean < n) & (rate * loads.bits.mean < scene.link_bps) | (loads.offload_fraction == 0)
    )
    at = np.flatnonzero(carried)
    if not at.size:
        return None
    return float(loads.lengths.up_to[at[0]]), float(loads.lengths.up_to[at[-1]])


def _golden(of: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Where a function with one valley is least, and how much that is, by golden section."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = of(a), of(b)
    for _ in range(REFINED):
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = of(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = of(b)
    return (a, at_a) if at_a < at_b else (b, at_b)
