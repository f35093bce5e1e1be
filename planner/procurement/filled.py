"""The scenario with what was found in the place of what it has, ready to be stored, evaluated and simulated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from planner import __version__, scenario
from planner.engine.least_cost import Bought
from planner.engine.options import Space
from planner.procurement import build
from planner.procurement.document import Asked
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, pd_cluster

REMOTE = "prfaas"


def scenario_of(asked: Asked, space: Space, bought: Bought) -> Scenario:
    """The question's scenario with a purchase in it; its figures keep their sources, the purchase names this search."""
    document = asked.scenario.document()
    held = cluster_of_role(asked.scenario.parsed, "prfaas")
    remote, local = held.name if held else REMOTE, pd_cluster(asked.scenario.parsed).name
    kept = {
        path: origin
        for path, origin in document.get("provenance", {}).items()
        if path.split(".")[0] not in ("clusters", "links", "routing", "free")
    }
    clusters = [_pd(asked, space, bought, local)]
    links: list[dict[str, Any]] = []
    if bought.prfaas is not None:
        profile = space.prfaas[bought.prfaas].name
        sends = build.choices(asked)[0][bought.prfaas].egress_bps
        cluster = _cluster(asked, profile, remote, "prfaas", int(bought.prfaas_instances))
        clusters.insert(0, cluster | ({"egress_bps": sends} if sends else {}))
        links = [_link(asked, bought, remote, local)]
    found = {
        "kind": "estimated",
        "source": f"found by {asked.question.problem}, {asked.question.form} form, {__version__}",
    }
    document |= {
        "clusters": clusters,
        "links": links,
        "routing": _routing(bought),
        "free": _free(bought, local),
        "prices": [price.model_dump() for price in asked.question.prices],
        "decode": _decode(asked, bought),
    }
    prices = {path: origin for path, origin in asked.raw.get("provenance", {}).items() if path.startswith("prices.")}
    document["description"] = found["source"].capitalize()
    document["provenance"] = {
        **kept,
        **prices,
        **{f"clusters.{cluster['name']}": found for cluster in clusters},
        **{f"links.{link['name']}": _origin_of_link(asked, link["name"]) for link in links},
        "routing": found,
        **_origin_of_decode(asked, bought),
    }
    return scenario.parse(document)


def _cluster(asked: Asked, profile: str, name: str, role: str, instances: int) -> dict[str, Any]:
    found = build.named(asked.scenario, profile)
    titles = {cluster.hardware.name: cluster.hardware.title for cluster in asked.scenario.parsed.clusters}
    return {
        "name": name,
        "role": role,
        "hardware": {"name": found.hardware, "title": titles.get(found.hardware, "")},
        "gpus_per_instance": found.gpus_per_instance,
        "instances": instances,
    }


def _pd(asked: Asked, space: Space, bought: Bought, name: str) -> dict[str, Any]:
    n_p, n_d = int(bought.prefill_instances), int(bought.decode_instances)
    cluster = _cluster(asked, space.pd[bought.pd].name, name, "pd", n_p + n_d)
    return cluster | {"prefill_instances": n_p, "decode_instances": n_d}


def _link(asked: Asked, bought: Bought, remote: str, local: str) -> dict[str, Any]:
    choice = build.choices(asked)[2][bought.link or 0]
    rtt_s = next((link.rtt_s for link in asked.scenario.parsed.links if link.name == choice.name), None)
    bandwidth = "unlimited" if math.isinf(choice.bandwidth_bps) else choice.bandwidth_bps * choice.lines
    achieved = None if choice.achieved_bps is None else choice.achieved_bps * choice.lines
    price = choice.price and choice.price.model_dump()
    if price and price["usd_per_month"] is not None:
        price["usd_per_month"] *= choice.lines
    figures = {
        "name": choice.name,
        "bandwidth_bps": bandwidth,
        "achieved_bps": achieved,
        "price": price,
        "rtt_s": rtt_s,
    }
    return {**figures, "from": remote, "to": local}


def _origin_of_link(asked: Asked, name: str) -> dict[str, str]:
    """Of the question, or of the scenario's own link."""
    if asked.question.links is not None:
        return asked.provenance(f"links.{name}")
    return asked.scenario.provenance(f"links.{name}")


def _origin_of_decode(asked: Asked, bought: Bought) -> dict[str, dict[str, str]]:
    """Of the question where it says how the bought instance decodes; else the scenario's own stays."""
    if build.choices(asked)[1][bought.pd].decode is None:
        return {}
    return {"decode": asked.provenance(f"pd.{bought.pd}.decode")}


def _routing(bought: Bought) -> dict[str, Any]:
    if bought.prfaas is None:
        return {"policy": "all_local", "threshold_tokens": None}
    return {"policy": "threshold", "threshold_tokens": bought.threshold_tokens}


def _free(bought: Bought, local: str) -> list[str]:
    split = [f"clusters.{local}.prefill_instances", f"clusters.{local}.decode_instances"]
    return ["routing.threshold_tokens", *split] if bought.prfaas is not None else split


def _decode(asked: Asked, bought: Bought) -> dict[str, Any]:
    given = build.choices(asked)[1][bought.pd].decode or asked.scenario.parsed.decode
    return given.model_dump()


def as_json(bought: Bought) -> dict[str, Any]:
    """A purchase as plain values, from which `from_json` makes it again."""
    t = bought.threshold_tokens
    return asdict(bought) | {"threshold_tokens": t if math.isfinite(t) else None}


def from_json(plain: Mapping[str, Any]) -> Bought:
    """The purchase that `as_json` wrote down."""
    t = plain["threshold_tokens"]
    return Bought(**{**plain, "threshold_tokens": math.inf if t is None else t})
