"""What a fleet carries with given thresholds and splits (equations 3-6, a stage for every cluster and link).

As in `throughput`, all rests on the mean work that an arriving request brings to a stage; here it is any request of
the whole fleet, so that what several PD clusters bring to one PrfaaS cluster or link adds up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner.engine.curves import Array, Curve
from planner.engine.deployment import require_not_negative
from planner.engine.fleet.parts import Fleet, FleetPd, require_split
from planner.engine.lengths import conditional
from planner.engine.throughput import BINDING_TOLERANCE, BITS_PER_BYTE, Form, Stage, rate

type FleetStage = tuple[Stage, str]
"""A stage of the fleet: its kind, and the name of the cluster or link."""
type Thresholds = Sequence[Sequence[float] | Array]
"""For each PD cluster one threshold in tokens a route: the route takes what is longer, up to the next threshold."""


@dataclass(frozen=True, slots=True)
class PdPoint:
    """How a PD cluster runs: thresholds, N_p/N_d, the shares of its requests that stay and that take each route
    (one more than there are thresholds), and its mean unloaded TTFT in seconds."""

    name: str
    threshold_tokens: tuple[float, ...]
    prefill_instances: float
    decode_instances: float
    shares: tuple[float, ...]
    ttft_mean_s: float


@dataclass(frozen=True, slots=True)
class FleetLimit:
    """What a fleet carries at its limit.

    `stage_lambda_rps` is the rate of *all* the fleet's requests at which each stage saturates, infinite where none
    come by. `egress_bps` is what crosses each link at Λ_max, by name.
    """

    form: Form
    lambda_max_rps: float
    pd: tuple[PdPoint, ...]
    stage_lambda_rps: dict[FleetStage, float]
    egress_bps: dict[str, float]

    @property
    def binding(self) -> tuple[FleetStage, ...]:
        """Every stage within 0.1 % of Λ_max."""
        limit = self.lambda_max_rps * (1 + BINDING_TOLERANCE)
        return tuple(stage for stage, most in self.stage_lambda_rps.items() if most <= limit)


def evaluate(
    fleet: Fleet, thresholds: Thresholds, prefill_instances: Sequence[float], form: Form = Form.EXACT
) -> FleetLimit:
    """Λ_max of a fleet with given thresholds and N_p of each PD cluster, in the order of `fleet.pd`.

    Raises ValueError on another number of either than the fleet asks for, on thresholds that are negative or fall,
    and on an N_p that the cluster does not have.
    """
    _require_point(fleet, thresholds, prefill_instances)
    demand = work(fleet, thresholds, form)
    rates = stage_rates(fleet, demand, prefill_instances)
    most = min(rates.values())
    return FleetLimit(
        form=form,
        lambda_max_rps=most,
        pd=tuple(
            _point(fleet, pd, cuts, n_p) for pd, cuts, n_p in zip(fleet.pd, thresholds, prefill_instances, strict=True)
        ),
        stage_lambda_rps=rates,
        egress_bps={link.name: most * demand[Stage.LINK, link.name] for link in fleet.links},
    )


def limit(fleet: Fleet, thresholds: Thresholds, prefill_instances: Sequence[float]) -> float:
    """Λ_max alone, in exact form and unchecked."""
    return min(stage_rates(fleet, work(fleet, thresholds), prefill_instances).values())


def stage_rates(
    fleet: Fleet, demand: Mapping[FleetStage, float], prefill_instances: Sequence[float]
) -> dict[FleetStage, float]:
    """The request rate at which each stage saturates."""
    has = capacities(fleet, prefill_instances)
    return {stage: float(rate(capacity, demand[stage])) for stage, capacity in has.items()}


def capacities(fleet: Fleet, prefill_instances: Sequence[float]) -> dict[FleetStage, float]:
    """What each stage has: instances (PrfaaS, PD-P), bit/s (link), requests a second (PD-D)."""
    found: dict[FleetStage, float] = {(Stage.PRFAAS, cluster.name): cluster.instances for cluster in fleet.prfaas}
    found |= {(Stage.LINK, link.name): link.usable_bps for link in fleet.links}
    for pd, n_p in zip(fleet.pd, prefill_instances, strict=True):
        found[Stage.PD_P, pd.name] = n_p
        found[Stage.PD_D, pd.name] = (pd.instances - n_p) * pd.decode.instance_rps
    return found


def work(fleet: Fleet, thresholds: Thresholds, form: Form = Form.EXACT) -> defaultdict[FleetStage, float]:
    """What a request that arrives anywhere brings to each stage on average: instance-seconds, bits, requests."""
    found: defaultdict[FleetStage, float] = defaultdict(float)
    for pd, cuts in zip(fleet.pd, thresholds, strict=True):
        each = pd.share * pieces(pd, curves(fleet, pd), cuts, form)
        found[Stage.PD_P, pd.name] = float(each[1, 0])
        found[Stage.PD_D, pd.name] = pd.share
        for place, route in enumerate(pd.routes):
            found[Stage.PRFAAS, route.prfaas] += float(each[2 + place, 1 + place])
            found[Stage.LINK, route.link] += BITS_PER_BYTE * float(each[0, 1 + place])
    return found


def curves(fleet: Fleet, pd: FleetPd) -> list[Curve]:
    """S_kv, T_prefill of PD-P, and T_prefill of each route."""
    return [pd.s_kv, pd.t_prefill, *(fleet.remote_curve(pd, route) for route in pd.routes)]


def pieces(pd: FleetPd, quantities: Sequence[Curve], thresholds: Sequence[float] | Array, form: Form) -> Array:
    """Mean of each curve over the requests up to the first threshold, between each two, and beyond the last, an
    arriving request of the PD cluster each: shape (curves, thresholds + 1)."""
    cuts = np.array([*thresholds, np.inf])
    if form is Form.EXACT:
        kinks = np.concatenate([curve.kinks for curve in quantities])
        return _between(*pd.lengths.partial_expectations(quantities, cuts, kinks))
    p, mean = shares(pd, thresholds), _between(*pd.lengths.partial_means(cuts))
    at = np.where(p > 0, conditional(mean, p), 1.0)
    return np.stack([p * curve(at) for curve in quantities])


def shares(pd: FleetPd, thresholds: Sequence[float] | Array) -> Array:
    """Share of the PD cluster's requests that stay local and that take each route, shape (routes + 1,)."""
    return pd.lengths.between([0.0, *thresholds], [*thresholds, np.inf])


def _between(below: Array, above: Array) -> Array:
    """Values of the pieces from sums up to and beyond each cut, the last of which is infinite."""
    rest = np.maximum(above[..., :-1] - above[..., 1:], 0.0)  # rounding may take an empty piece below nothing
    return np.concatenate([below[..., :1], rest], axis=-1)


def _point(fleet: Fleet, pd: FleetPd, thresholds: Sequence[float] | Array, n_p: float) -> PdPoint:
    seconds = pieces(pd, curves(fleet, pd)[1:], thresholds, Form.EXACT)
    return PdPoint(
        name=pd.name,
        threshold_tokens=tuple(map(float, thresholds)),
        prefill_instances=float(n_p),
        decode_instances=float(pd.instances - n_p),
        shares=tuple(map(float, shares(pd, thresholds))),
        ttft_mean_s=float(np.trace(seconds)),  # each piece on the curve of the place that it is prefilled at
    )


def _require_point(fleet: Fleet, thresholds: Thresholds, prefill_instances: Sequence[float]) -> None:
    if not len(fleet.pd) == len(thresholds) == len(prefill_instances):
        raise ValueError(f"needs thresholds and N_p for each of {len(fleet.pd)} PD clusters")
    for pd, cuts, n_p in zip(fleet.pd, thresholds, prefill_instances, strict=True):
        require_split(pd, n_p)
        if len(cuts) != len(pd.routes):
            raise ValueError(f"{pd.name} has {len(pd.routes)} routes and {len(cuts)} thresholds; it needs one a route")
        for t in cuts:
            require_not_negative(f"a threshold of {pd.name} in tokens", t)
        if any(later < earlier for earlier, later in pairwise(cuts)):
            raise ValueError(f"thresholds of {pd.name} must not fall, got {list(cuts)}")
