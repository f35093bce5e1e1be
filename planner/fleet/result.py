"""From the engine's answer to a result document."""

from __future__ import annotations

from typing import Any

from planner import __version__, evaluation
from planner.documents.fields import PROVENANCE_KINDS
from planner.engine import fleet as engine
from planner.fleet.costs import FREE_LINKS, cost
from planner.fleet.document import Fleet


def document(given: Fleet, limit: engine.FleetLimit) -> dict[str, Any]:
    """What the fleet carries at its best, cluster by cluster and link by link; null where there is no number."""
    kinds = [evaluation.evaluate(each)["provenance"] for each in given.scenarios]
    weakest = max(kinds, key=PROVENANCE_KINDS.index)
    costs = cost(given, limit.lambda_max_rps, weakest)
    unpriced = [
        f"Nobody says what a GPU-hour of {chip} costs, so that the fleet has no cost." for chip in costs["missing"]
    ]
    links = {link.name: link.usable_bps for link in given.parsed.links}
    return {
        "problem": "clusters",
        "scenario": given.parsed.name,
        "form": limit.form.value,
        "lambda_max_rps": limit.lambda_max_rps,
        "binding": [{"stage": stage.value, "name": name} for stage, name in limit.binding],
        "stages": [
            {
                "stage": stage.value,
                "name": name,
                "lambda_rps": evaluation.number(rate),
                "utilisation": limit.lambda_max_rps / rate if rate > 0 else 1.0,
            }
            for (stage, name), rate in limit.stage_lambda_rps.items()
        ],
        "pd": [_pd_document(given, point, limit.lambda_max_rps) for point in limit.pd],
        "links": [
            {"name": name, "egress_bps": bits, "usable_bps": evaluation.number(links[name])}
            for name, bits in limit.egress_bps.items()
        ],
        "provenance": weakest,
        "cost": costs,
        "notes": ["TTFT is unloaded: prefill alone, no queueing, no time on the link.", FREE_LINKS, *unpriced],
        "version": __version__,
    }


def _pd_document(given: Fleet, point: engine.PdPoint, rate_rps: float) -> dict[str, Any]:
    pd = next(each for each in given.parsed.pd if each.name == point.name)
    stays, *leaves = point.shares
    return {
        "name": point.name,
        "share": pd.share,
        "lambda_rps": rate_rps * pd.share,
        "prefill_instances": point.prefill_instances,
        "decode_instances": point.decode_instances,
        "local_fraction": stays,
        "routes": [
            {"prfaas": route.prfaas, "link": route.link, "threshold_tokens": evaluation.number(t), "fraction": fraction}
            for route, t, fraction in zip(pd.routes, point.threshold_tokens, leaves, strict=True)
        ],
        "ttft_unloaded_mean_s": point.ttft_mean_s,
    }
