"""A number of a result by its dotted path, and the kind of evidence that it rests on."""

from __future__ import annotations

from typing import Any

SAME_AS = {"ratio": "lambda_max_rps", "link_utilisation": "egress_bps"}


def at(document: dict[str, Any], path: str) -> float | None:
    """The number at a dotted path of a result document."""
    *parts, last = path.split(".")
    for part in parts:
        document = document[part]
    value: float | None = document[last]
    return value


def kind(result: dict[str, Any], path: str) -> str:
    """The weakest kind under the number at a dotted path of a result document; empty for a stage not used."""
    root, *rest = path.split(".")
    known = result["evidence"]
    if root == "theta_rps":
        return known["stages"].get(rest[0]) or ""
    return str(known[SAME_AS.get(root, root)])
