"""What the what-if panel may change in a scenario."""

from __future__ import annotations

from typing import Any

from planner.scenario import Scenario
from planner.scenario.build import pd_cluster


def _bandwidth(link: dict[str, Any]) -> dict[str, Any]:
    """What the link was seen to carry, where somebody has seen it: the result uses that and not the nominal figure."""
    field = "bandwidth_bps" if link.get("achieved_bps") is None else "achieved_bps"
    return {"path": f"links.{link['name']}.{field}", "value": link[field]}


def choices(asked: Scenario, published: dict[str, Any] | None = None) -> dict[str, Any]:
    """Each control's place in the document and what it holds now; `published` is what to hold the result against."""
    document = asked.document()
    cluster = pd_cluster(asked.parsed)
    link = document["links"][0] if document.get("links") else None
    lengths = asked.parsed.traffic.input_tokens.lengths()
    has_threshold = document["routing"]["policy"] == "threshold"
    return {
        "name": asked.name,
        "title": document.get("title") or asked.name,
        "threshold": {
            "path": "routing.threshold_tokens",
            "value": document["routing"]["threshold_tokens"],
            "range": [lengths.shortest, lengths.longest],
        } if has_threshold else None,
        "split": {
            "prefill_path": f"clusters.{cluster.name}.prefill_instances",
            "decode_path": f"clusters.{cluster.name}.decode_instances",
            "value": cluster.prefill_instances,
            "instances": cluster.instances,
        },
        "bandwidth": _bandwidth(link) if link else None,
        "published": published,
    }  # fmt: skip
