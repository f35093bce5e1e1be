"""A deployment with its prices: what it costs as it stands, whoever chose its counts."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine.cost import Cost, LinkRate, volume_usd_per_h
from planner.engine.deployment import Deployment

FREE = LinkRate()


@dataclass(frozen=True, slots=True)
class Prices:
    """USD an hour of one instance on either side, and what the link costs; what is free costs 0."""

    prfaas_usd_per_h: float = 0.0
    pd_usd_per_h: float = 0.0
    link: LinkRate = FREE


def cost(deployment: Deployment, prices: Prices, egress_bps: float) -> Cost:
    """USD an hour of a deployment with so many bit/s across its link; without PrfaaS it pays for no link."""
    prfaas, pd = deployment.prfaas, deployment.pd
    return Cost(
        prfaas=prfaas.instances * prices.prfaas_usd_per_h if prfaas else 0.0,
        prefill=pd.prefill_instances * prices.pd_usd_per_h,
        decode=pd.decode_instances * prices.pd_usd_per_h,
        link_time=prices.link.usd_per_h if prfaas else 0.0,
        link_volume=float(volume_usd_per_h(prices.link, egress_bps)) if prfaas else 0.0,
    )
