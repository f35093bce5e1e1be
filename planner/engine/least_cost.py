"""The cheapest deployment that carries a given rate.

At a given Λ nothing is left to weigh but chips, link and threshold: the work of either side fixes N_prfaas, N_p and
N_d, and what crosses fixes what the link must carry. The cheapest PrfaaS chip and the cheapest link of a threshold do
not depend on each other, nor on the PD chip. So one pass over thresholds searches all counts and splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.engine.cost import volume_usd_per_h
from planner.engine.curves import Array
from planner.engine.options import ROUNDING, Loads, PdOption, PrfaasOption, Space


@dataclass(frozen=True, slots=True)
class Bought:
    """What to buy and how to run it; options by their place in the space, None where no request leaves."""

    prfaas: int | None
    link: int | None
    pd: int
    prfaas_instances: float
    prefill_instances: float
    decode_instances: float
    threshold_tokens: float


@dataclass(frozen=True, slots=True)
class Priced:
    """A purchase, and what it costs in USD an hour at the rate that it was asked for."""

    bought: Bought
    usd_per_h: float


@dataclass(frozen=True, slots=True)
class _Needs:
    """Instances and USD an hour that a rate needs, for every option (rows) and threshold (columns).

    USD are infinite where there are not as many instances, or the link is too narrow; `n_d` is one for each PD option.
    """

    n_prfaas: Array
    n_p: Array
    n_d: Array
    prfaas_usd: Array
    link_usd: Array
    pd_usd: Array


def cheapest(space: Space, loads: Loads, rate_rps: float, whole: bool = True) -> Priced | None:
    """The cheapest purchase that carries the rate, in whole instances or in fractions; None where there is none.

    Among equal costs the highest threshold wins (the fewest requests leave), then the option named first.
    """
    needs = _needs(space, loads, rate_rps, whole)
    costs = needs.pd_usd.min(axis=0) + needs.prfaas_usd.min(axis=0) + needs.link_usd.min(axis=0)
    least = float(costs.min())
    if not np.isfinite(least):
        return None
    return Priced(_bought(loads, needs, int(np.flatnonzero(costs == least)[-1])), least)


def all_cheapest(space: Space, loads: Loads, rate_rps: float) -> list[Priced]:
    """Every purchase of whole instances that carries the rate at the least cost, one for each counts and options.

    Of those at several thresholds the highest is told.
    """
    needs = _needs(space, loads, rate_rps, True)
    costs = needs.pd_usd.min(axis=0) + needs.prfaas_usd.min(axis=0) + needs.link_usd.min(axis=0)
    least = float(costs.min())
    if not np.isfinite(least):
        return []
    found = [_bought(loads, needs, int(at)) for at in np.flatnonzero(costs <= least * (1 + ROUNDING))]
    kinds = {replace(bought, threshold_tokens=0.0): bought for bought in found}
    return [Priced(bought, least) for bought in kinds.values()]


def _bought(loads: Loads, needs: _Needs, at: int) -> Bought:
    """The purchase at a threshold, by its place."""
    pd, leaves = int(needs.pd_usd[:, at].argmin()), loads.link_bits[at] > 0
    prfaas = int(needs.prfaas_usd[:, at].argmin()) if leaves else None
    return Bought(
        prfaas=prfaas,
        link=int(needs.link_usd[:, at].argmin()) if leaves else None,
        pd=pd,
        prfaas_instances=0.0 if prfaas is None else float(needs.n_prfaas[prfaas, at]),
        prefill_instances=float(needs.n_p[pd, at]),
        decode_instances=float(needs.n_d[pd]),
        threshold_tokens=float(loads.thresholds[at]),
    )


def _needs(space: Space, loads: Loads, rate_rps: float, whole: bool) -> _Needs:
    n_prfaas = space.reserve.instances(rate_rps * loads.prfaas_s, whole)
    n_p = space.reserve.instances(rate_rps * loads.pd_p_s, whole)
    n_d = space.reserve.instances(np.array([rate_rps / option.decode.instance_rps for option in space.pd]), whole)
    return _Needs(
        n_prfaas=n_prfaas,
        n_p=n_p,
        n_d=n_d,
        prfaas_usd=_or_nothing(_paid(n_prfaas, space.prfaas), loads),
        link_usd=_or_nothing(_link_usd(space, rate_rps * loads.link_bits), loads),
        pd_usd=_paid(n_p + n_d[:, np.newaxis], space.pd),
    )


def _paid(counts: Array, options: Sequence[PrfaasOption | PdOption]) -> Array:
    most = np.array([option.most for option in options]).reshape(-1, 1)
    usd_per_h = np.array([option.usd_per_h for option in options]).reshape(-1, 1)
    paid: Array = np.where(counts <= most, counts * usd_per_h, np.inf)
    return paid


def _link_usd(space: Space, bits_per_s: Array) -> Array:
    """A link costs nothing where nothing crosses: then there is none."""
    costs = [
        np.where(
            bits_per_s <= space.link_bps(option) * (1 + ROUNDING),
            np.where(bits_per_s > 0, option.rate.usd_per_h, 0.0) + volume_usd_per_h(option.rate, bits_per_s),
            np.inf,
        )
        for option in space.links
    ]
    return np.array(costs).reshape(-1, bits_per_s.size)


def _or_nothing(costs: Array, loads: Loads) -> Array:
    """The costs, and those of buying nothing, which are 0 at thresholds that no request passes."""
    nothing = np.where(loads.link_bits > 0, np.inf, 0.0)
    return np.vstack([costs, nothing])
