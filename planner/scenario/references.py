"""What a scenario names of the catalogue, and the figures that take the name's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from planner.catalog import NotInCatalogue
from planner.documents.errors import refuse
from planner.documents.fields import PROVENANCE_KINDS
from planner.entries.model import Model
from planner.scenario.schema import MOST_CLUSTERS, TrafficTable

type Origins = dict[str, Any]


class Catalogue(Protocol):
    """Where names are looked up: what is shipped, or what is stored."""

    def entry(self, kind: str, name: str) -> dict[str, Any]:
        """A document of its own. Raises NotInCatalogue."""

    def profiles(self, model: str) -> Sequence[dict[str, Any]]:
        """Documents of every profile of a model."""

    def prices(self, hardware: str) -> Sequence[dict[str, Any]]:
        """Documents of every offer of a chip."""


def resolve(raw: dict[str, Any], catalogue: Catalogue) -> None:
    """Replaces names by figures in place; their provenance goes to the document's. Raises DocumentError."""
    if isinstance(raw.get("model"), str):
        _put(raw, raw, "model", "model", *_model(catalogue, raw["model"]))
    if isinstance(raw.get("traffic"), str):
        _put(raw, raw, "traffic", "traffic", *_traffic(catalogue, raw["traffic"]))
    clusters = raw.get("clusters")
    for cluster in clusters[:MOST_CLUSTERS] if isinstance(clusters, list) else []:  # more are refused
        if isinstance(cluster, dict) and isinstance(cluster.get("hardware"), str):
            path = f"clusters.{cluster.get('name')}.hardware"
            entry = _entry(catalogue, "hardware", cluster["hardware"], path)
            _put(raw, cluster, "hardware", path, {"name": entry["name"], "title": entry.get("title", "")}, {})


def _put(
    raw: dict[str, Any], holder: dict[str, Any], field: str, path: str, figures: dict[str, Any], origins: Origins
) -> None:
    holder[field] = figures
    entries = raw.setdefault("provenance", {})
    if isinstance(entries, dict):  # anything else is refused with the rest of the document
        # The figures are the catalogue's, and so are their sources, whatever stood in their place before.
        for stale in [key for key in entries if key == path or str(key).startswith(f"{path}.")]:
            del entries[stale]
        entries |= {f"{path}.{inner}": origin for inner, origin in origins.items()}


def _entry(catalogue: Catalogue, kind: str, name: str, path: str) -> dict[str, Any]:
    try:
        return catalogue.entry(kind, name)
    except NotInCatalogue as problem:
        raise refuse(path, name, f"is not in the catalogue; known: {', '.join(problem.known)}") from problem


def _model(catalogue: Catalogue, name: str) -> tuple[dict[str, Any], Origins]:
    entry = _entry(catalogue, "models", name, "model")
    figures: dict[str, Any] = {"name": entry["name"], "title": entry.get("title", "")}
    s_kv, origins = model_cache(entry)
    profiles = catalogue.profiles(name)
    if not profiles:
        raise refuse("model", name, "has no performance profile; add one, which says how fast hardware prefills it")
    for profile in profiles:
        prefill, origin = model_profile(profile)
        figures.setdefault("profiles", []).append(prefill)
        if origin:
            origins[f"profiles.{profile['name']}"] = origin
    return {**figures, "s_kv": s_kv}, origins


def model_cache(entry: Mapping[str, Any]) -> tuple[dict[str, Any], Origins]:
    """S_kv of a model entry as a scenario has it: measured where somebody measured it, or else from its layers."""
    origins = entry.get("provenance", {})
    if entry.get("measured"):
        return dict(entry["measured"]), {"s_kv": origins["measured"]} if "measured" in origins else {}
    model = Model.model_validate(entry)
    tokens, sizes = model.cache().points(model.kv_dtype, model.longest_tokens)
    under = [origin for path, origin in origins.items() if path.split(".")[0] in ("layers", "kv_dtype")]
    origin = max(under, key=lambda each: PROVENANCE_KINDS.index(each["kind"]), default=None)
    s_kv = {"tokens": tokens.tolist(), "bytes": sizes.tolist(), "interpolation": "linear"}
    return s_kv, {"s_kv": {**origin, "source": f"computed from layers: {origin['source']}"}} if origin else {}


def model_profile(entry: Mapping[str, Any]) -> tuple[dict[str, Any], Origins | None]:
    """The prefill times of a profile entry as a scenario has them, and where they come from."""
    figures = {key: entry[key] for key in ("name", "hardware", "gpus_per_instance")}
    return {**figures, "interpolation": "log_log", **entry["prefill"]}, entry.get("provenance", {}).get("prefill")


def _traffic(catalogue: Catalogue, name: str) -> tuple[dict[str, Any], Origins]:
    entry = _entry(catalogue, "traffic", name, "traffic")
    origins = entry.pop("provenance", {})
    return {key: value for key, value in entry.items() if key in TrafficTable.model_fields}, origins
