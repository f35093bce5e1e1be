"""An optimisation's result: what was given beside what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from frontend import evidence, figures, words

type Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    unit: str
    given: str
    found: str
    change: str
    formula: str
    given_kind: str
    found_kind: str
    stage: str = ""
    emphasis: bool = False


def rows(result: Document, document: Document) -> list[Row]:
    """The table given against optimum; `document` is the scenario as it was given."""
    given = result["given"]
    documents = (document, result["scenario_document"])

    def row(label: str, unit: str, path: str, write: Callable[[float | None], str], formula: str, **more: Any) -> Row:
        before, after = evidence.at(given, path), evidence.at(result, path)
        of_given = evidence.kind(given, path) if before is not None else ""
        of_found = evidence.kind(result, path) if after is not None else ""
        change = figures.difference(after, before)
        return Row(label, unit, write(before), write(after), change, formula, of_given, of_found, **more)

    return [
        row("Λ_max", "req/s", "lambda_max_rps", figures.rate, "min over the stages (eq. 6)", emphasis=True),
        Row("Bound by", "", words.bound_by(given["binding"]), words.bound_by(result["binding"]), "", "", "", ""),
        _routing(given, result, documents),
        _split(given, result, documents),
        row("Θ_prfaas", "req/s", "theta_rps.prfaas", figures.rate, "eq. 3", stage="prfaas"),
        row("Θ_pd-p", "req/s", "theta_rps.pd_p", figures.rate, "eq. 4", stage="pd_p"),
        row("Θ_pd-d", "req/s", "theta_rps.pd_d", figures.rate, "eq. 5", stage="pd_d"),
        row("Offloaded requests, p", "%", "offload_fraction", figures.percent, "P(L > t), or q of all"),
        row("Egress", "Gbps", "egress_bps", figures.gbps, "Λ_max · p · S_kv of offloaded requests", stage="link"),
        row("Link used", "%", "link_utilisation", figures.percent, "egress / usable bandwidth", stage="link"),
        row(
            "TTFT, mean, unloaded", "s", "ttft_unloaded_s.mean", figures.seconds, f"mean of T_prefill: {words.UNLOADED}"
        ),
        row(
            "TTFT, P90, unloaded",
            "s",
            "ttft_unloaded_s.p90",
            figures.seconds,
            f"percentile of T_prefill: {words.UNLOADED}",
        ),
        row(
            "TTFT, P99, unloaded",
            "s",
            "ttft_unloaded_s.p99",
            figures.seconds,
            f"percentile of T_prefill: {words.UNLOADED}",
        ),
    ]


def gain(result: Document) -> str:
    """Λ_max found over Λ_max given, in percent."""
    return figures.difference(result["lambda_max_rps"], result["given"]["lambda_max_rps"])


def _routing(given: Document, result: Document, documents: tuple[Document, Document]) -> Row:
    """The threshold, or the share of all requests that goes to PrfaaS, of which older results know nothing."""
    before, after = given.get("remote_share"), result.get("remote_share")
    if before is None or after is None:
        return _threshold(given, result, documents)
    kinds, change = _kinds(documents, "routing.remote_share"), figures.difference(after, before)
    formula = "Share of all requests that goes to PrfaaS whatever their lengths; found where the stages meet"
    return Row("Remote share q", "%", figures.percent(before), figures.percent(after), change, formula, *kinds)


def _threshold(given: Document, result: Document, documents: tuple[Document, Document]) -> Row:
    before, after = given["threshold_tokens"], result["threshold_tokens"]
    kinds = _kinds(documents, "routing.threshold_tokens") if after is not None else ("", "")
    formula = "Longer requests are prefilled remotely; found where the stages meet (eq. 7)"
    change = figures.difference(after, before)
    return Row("Threshold t", "tokens", figures.tokens(before), figures.tokens(after), change, formula, *kinds)


def _split(given: Document, result: Document, documents: tuple[Document, Document]) -> Row:
    cluster = next(each["name"] for each in documents[0]["clusters"] if each["role"] == "pd")
    kinds = _kinds(documents, f"clusters.{cluster}.prefill_instances")
    formula = "Instances by role (eq. 8)"
    return Row("N_prfaas / N_p / N_d", "instances", _instances(given), _instances(result), "", formula, *kinds)


def _kinds(documents: tuple[Document, Document], path: str) -> tuple[str, str]:
    given, found = documents
    return _kind(given, path), _kind(found, path)


def _kind(document: Document, path: str) -> str:
    """The kind of evidence of a figure in a stored document: its own entry's, or that of the nearest part around it."""
    entries = document.get("provenance") or {}
    parts = path.split(".")
    around = (entries.get(".".join(parts[:size])) for size in range(len(parts), 0, -1))
    return next((str(entry["kind"]) for entry in around if entry), "user")


def _instances(document: Document) -> str:
    return " / ".join(figures.tokens(document["instances"][role]) for role in ("prfaas", "prefill", "decode"))
