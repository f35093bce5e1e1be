"""Where the figures behind a chart come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.documents.fields import PROVENANCE_KINDS
from planner.documents.provenance import nearest

type Origin = dict[str, str]
UNSTATED: Origin = {"kind": "user", "source": "no source given"}


def origin(document: Mapping[str, Any], path: str) -> Origin:
    """Kind and source at a dotted path, or of the nearest part around it; what nobody states is the user's."""
    found = nearest(document, path)
    return {"kind": found["kind"], "source": found.get("source") or UNSTATED["source"]} if found else dict(UNSTATED)


def weakest(origins: Iterable[Origin]) -> Origin:
    """The one that a number computed from several rests on."""
    return max(origins, key=lambda each: PROVENANCE_KINDS.index(each["kind"]), default=dict(UNSTATED))


def s_kv_origin(model: Mapping[str, Any]) -> Origin:
    """Of S_kv as scenarios read it: of the measured sizes where there are any, or else of the layers."""
    return origin(model, "measured" if model.get("measured") else "layers")
