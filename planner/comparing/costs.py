"""What the deployments of a comparison cost: chips, power where it is paid apart, and the link."""

from __future__ import annotations

from planner.comparison import Asked
from planner.engine.cost import LinkRate
from planner.engine.priced import Prices
from planner.procurement.build import rate
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, pd_cluster
from planner.scenario.schema import Cluster

WATTS_PER_KW = 1000.0


def chip_prices(scenario: Scenario) -> Prices | None:
    """USD an hour of its instances without power, and its link's price; None where a chip has no price."""
    document = scenario.parsed
    known = {price.name: price.usd_per_gpu_hour for price in document.prices}
    if any(cluster.hardware.name not in known for cluster in document.clusters):
        return None
    usd_per_h = {each.role: known[each.hardware.name] * each.gpus_per_instance for each in document.clusters}
    link = rate(document.links[0].price) if document.links else LinkRate()
    return Prices(usd_per_h.get("prfaas", 0.0), usd_per_h["pd"], link)


def draws_w(asked: Asked, scenario: Scenario) -> Prices | None:
    """Watts of its instances at most, in the place of USD an hour; None where a chip's power is not known."""
    found = [_draw_w(asked, cluster_of_role(scenario.parsed, role)) for role in ("prfaas", "pd")]
    remote_w, local_w = found
    return None if remote_w is None or local_w is None else Prices(remote_w, local_w)


def _draw_w(asked: Asked, cluster: Cluster | None) -> float | None:
    if cluster is None:
        return 0.0
    each = asked.draw_w(cluster.hardware.name)
    return None if each is None else each * cluster.gpus_per_instance


def gpus(scenario: Scenario) -> Prices:
    """GPUs of its instances, in the place of USD an hour."""
    remote, local = cluster_of_role(scenario.parsed, "prfaas"), pd_cluster(scenario.parsed)
    return Prices(float(remote.gpus_per_instance) if remote else 0.0, float(local.gpus_per_instance))


def power_prices(asked: Asked, scenario: Scenario) -> Prices | None:
    """USD an hour of its instances' power at full draw; 0 where it is in the price of a GPU-hour, None if unknown."""
    power = asked.comparison.power
    if power is None:
        return Prices()
    drawn = draws_w(asked, scenario)
    if drawn is None:
        return None
    usd_per_wh = power.usd_per_kwh * power.pue / WATTS_PER_KW
    return Prices(drawn.prfaas_usd_per_h * usd_per_wh, drawn.pd_usd_per_h * usd_per_wh)


def prices(asked: Asked, scenario: Scenario) -> Prices | None:
    """USD an hour of its instances with their power, and its link's price; None where some of it is not known."""
    chips, power = chip_prices(scenario), power_prices(asked, scenario)
    if chips is None or power is None:
        return None
    return Prices(chips.prfaas_usd_per_h + power.prfaas_usd_per_h, chips.pd_usd_per_h + power.pd_usd_per_h, chips.link)
