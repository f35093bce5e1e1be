"""The published case study: every figure that the paper prints beside ours, in both forms, and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from planner import catalog, evaluation, scenario
from planner.accuracy.lines import summarised
from planner.engine import accuracy
from planner.engine.throughput import BITS_PER_BYTE, Form
from planner.entries.model import Model
from planner.entries.profile import Profile

type Document = dict[str, Any]
type Figure = tuple[str, float]

FIGURES: tuple[Figure, ...] = (
    ("ttft_unloaded_s.mean", 0.005),
    ("ttft_unloaded_s.p90", 0.005),
    ("theta_rps.prfaas", 0.005),
    ("theta_rps.pd_p", 0.005),
    ("theta_rps.pd_d", 0.005),
    ("lambda_max_rps", 0.005),
    ("ratio", 0.005),
    ("offload_fraction", 0.0005),
    ("egress_bps", 0.5e9),
)
"""Where each figure of table 6 stands in a result, and by how much its rounding may be off: half of its last digit."""
RESTS_ON = {"ratio": "lambda_max_rps"}


@cache
def case_study() -> Document:
    """Table 6 ours against published in each form, and tables 3 and 5 in themselves; relative errors, SI units."""
    published = catalog.published()
    return {
        "source": published["source"],
        "forms": [_form(form.value, published) for form in Form],
        "table_5": _table_5(published["prefill_table"]),
        "table_3": _table_3(published["kv_throughput"]),
    }


def _form(form: str, published: Document) -> Document:
    results = {name: evaluation.evaluate(scenario.load(name), form) for name in scenario.SHIPPED}
    baseline = results[published["baseline"]]["lambda_max_rps"]
    found = [
        figure
        for name, result in results.items()
        for figure in _figures(name, {**result, "ratio": result["lambda_max_rps"] / baseline}, published)
    ]
    free = [each for each in found if not each["is_solved_from"]]
    return {
        "form": form,
        "figures": found,
        "summary": summarised([each["error"] for each in found]),
        "independent": summarised([each["error"] for each in free]),
    }


def _figures(name: str, result: Document, published: Document) -> Iterator[Document]:
    """Every figure that the paper prints of a deployment; the baseline's ratio to itself is none."""
    printed = published["scenarios"][name]
    for path, rounding in FIGURES:
        theirs, ours = _at(printed, path), _at(result, path)
        if theirs is None or ours is None or (path == "ratio" and name == published["baseline"]):
            continue
        yield {
            "scenario": name,
            "title": printed["title"],
            "path": path,
            "ours": ours,
            "published": theirs,
            "error": float(accuracy.relative_errors(ours, theirs)),
            "rounding": rounding / theirs,
            "is_solved_from": path in published["solved_from"][name],
            "provenance": _rests_on(result, path),
        }


def _at(document: Mapping[str, Any], path: str) -> float | None:
    value: Any = document
    for part in path.split("."):
        value = value[part]
    return None if value is None else float(value)


def _rests_on(result: Document, path: str) -> str:
    root, *rest = path.split(".")
    if root == "theta_rps":
        return str(result["evidence"]["stages"][rest[0]])
    return str(result["evidence"][RESTS_ON.get(root, root)])


# --- tables in themselves ----------------------------------------------------------------------------------------


def _table_5(table: Document) -> Document:
    profile = catalog.entry("profiles", table["profile"])
    rows = list(_rates(table["model"], profile, table["tokens"], table["bps"]))
    return {"source": table["source"], "rows": rows, "summary": summarised([row["error"] for row in rows])}


def _table_3(table: Document) -> Document:
    """Profiles of these models were derived from the printed rates: they agree by construction, but for rounding."""
    rows = [
        {"title": model["title"], **row}
        for model in table["models"]
        for row in _rates(model["entry"], _profile_of(model["entry"], table), table["tokens"], model["bps"])
    ]
    return {"source": table["source"], "rows": rows, "summary": summarised([row["error"] for row in rows])}


def _profile_of(model: str, table: Document) -> Document:
    alike = (each for each in catalog.SHIPPED.profiles(model) if each["hardware"] == table["hardware"])
    return next(each for each in alike if each["gpus_per_instance"] == table["gpus_per_instance"])


def _rates(model: str, profile: Document, tokens: Sequence[float], printed: Sequence[float]) -> Iterator[Document]:
    """Φ_kv = S_kv / T_prefill (eq. 1) at each printed length."""
    entry = Model.model_validate(catalog.entry("models", model))
    s_kv, t_prefill = entry.s_kv(), Profile.model_validate(profile).prefill.curve()
    for length, bps in zip(tokens, printed, strict=True):
        size, seconds = float(s_kv(length)), float(t_prefill(length))
        ours = BITS_PER_BYTE * size / seconds
        yield {
            "model": model,
            "profile": profile["name"],
            "input_tokens": length,
            "s_kv_bytes": size,
            "t_prefill_s": seconds,
            "ours": ours,
            "published": bps,
            "error": float(accuracy.relative_errors(ours, bps)),
            "provenance": profile["provenance"]["prefill"]["kind"],
        }
