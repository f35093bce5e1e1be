"""The answer to a question of equal or of least cost, as people read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from frontend import figures, words
from planner import evaluation, scenario
from planner.documents.errors import DocumentError
from planner.procurement.schema import Promise, Reserve

type Document = dict[str, Any]

GIVEN = "as given"
COLUMNS = {"best": "best", "without_prfaas": "best without PrfaaS"}
PARTS = {
    "prfaas": ("PrfaaS", "prfaas", "N_prfaas · GPUs · USD/GPU-hour"),
    "prefill": ("PD prefill", "pd_p", "N_p · GPUs · USD/GPU-hour"),
    "decode": ("PD decode", "pd_d", "N_d · GPUs · USD/GPU-hour"),
    "link_time": ("Link, by time", "link", "USD/month · 12 / 8766 h"),
    "link_volume": ("Link, by volume", "link", "egress · USD/GB"),
}
"""Parts of a cost: name, stage and formula."""

PERCENTILES = {"mean": "mean", "p50": "P50", "p90": "P90", "p99": "P99"}
WAITS = {"prfaas": "PrfaaS", "link": "the link", "pd_p": "PD prefill", "pd_d": "a decode slot"}
"""What requests wait for, by stage."""


@dataclass(frozen=True, slots=True)
class Row:
    """A quantity of each deployment."""

    label: str
    unit: str
    formula: str
    cells: tuple[str, ...]
    stage: str = ""
    emphasis: bool = False
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """A part's cost in each deployment: USD an hour, and its share in percent."""

    title: str
    stage: str
    formula: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Deployments side by side: what they are and carry, and what each part of them costs."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    shares: tuple[Share, ...]
    totals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page shows of a result."""

    headline: str
    compared: Compared
    bound: str
    has_reserve: bool
    promise: str
    is_loaded: bool
    """Whether TTFT under load is known of any."""
    chart: Document


def answer(result: Document, question: Document) -> Answer:
    """The page of a result; where nothing was found, of what carries the most at any price."""
    found = {place: result[place] for place in ("best", "without_prfaas") if result.get(place)}
    columns = {COLUMNS[place]: each for place, each in found.items()}
    if result.get("most"):
        columns["the most at any price"] = result["most"]
    columns[GIVEN] = given(result, question)
    return Answer(
        headline=headline(result),
        compared=compared(columns, _promised(question)),
        bound=_bound(result),
        has_reserve=Reserve.model_validate(question.get("reserve") or {}) != Reserve(),
        promise=_promise(question),
        is_loaded=any(_loaded(each) for each in columns.values()),
        chart={
            "parts": {part: title for part, (title, _, _) in PARTS.items()},
            "deployments": [{"title": title, **each["cost"]} for title, each in columns.items()],
        },
    )


def compared(columns: Mapping[str, Document], promise: Promise | None = None) -> Compared:
    """Deployments by what they are called, in the shape of purchases."""
    deployments = tuple(columns.values())
    return Compared(
        columns=tuple(columns),
        rows=(*_rows(deployments), *_loaded_rows(deployments, promise)),
        shares=tuple(_share(part, deployments) for part in PARTS),
        totals=tuple(figures.usd(each["cost"]["usd_per_h"]) for each in deployments),
    )


def headline(result: Document) -> str:
    """The sentence that a buyer takes away; the refusal where there is nothing to buy."""
    best = result["best"]
    if not best:
        return str(result["refusal"])
    carries = f"carries {figures.rate(best['lambda_max_rps'])} req/s for {figures.usd(best['cost']['usd_per_h'])} USD/h"
    return f"{fleet(best)} {carries}{_against(result)}"


def fleet(purchase: Document) -> str:
    """Instances and threshold in words: `5 × (8 h200) PrfaaS + 1 prefill + 5 decode × (8 h20), t = 9,753 tokens`."""
    remote, pd = purchase["prfaas"], purchase["pd"]
    local = f"{_count(pd['prefill_instances'])} prefill + {_count(pd['decode_instances'])} decode × {_chips(pd)}"
    if not remote:
        return local
    prfaas = f"{_count(remote['instances'])} × {_chips(remote)} PrfaaS"
    return f"{prfaas} + {local}, t = {figures.tokens(purchase['threshold_tokens'])} tokens"


def _against(result: Document) -> str:
    if not result["best"]["prfaas"]:
        return ": PrfaaS does not pay here."
    gain = result["gain"]
    if gain is None:
        return "; without PrfaaS nothing does."
    if result["problem"] == "least_cost":
        return f": the best without PrfaaS costs {figures.ratio(gain)} times as much."
    return f": {figures.ratio(gain)} times the best without PrfaaS."


def _bound(result: Document) -> str:
    """How far whole instances are from fractions of them, which nothing can beat."""
    bound, distance = result["bound"], result["distance_to_bound"]
    if bound is None or distance is None:
        return ""
    limit = f"{figures.usd(bound)} USD/h" if result["problem"] == "least_cost" else f"{figures.rate(bound)} req/s"
    than = "less" if result["problem"] == "least_cost" else "more"
    return f"With fractions of instances it would be {limit}, {figures.percent(distance)} % {than}: no purchase can be."


def given(result: Document, question: Document) -> Document:
    """The scenario as it is, in the shape of a purchase; what the rules no longer let be evaluated stays open."""
    try:
        known: Document = evaluation.evaluate(scenario.parse(question["scenario"]), result["form"])
    except DocumentError:
        known = {}
    clusters = {cluster["role"]: cluster for cluster in question["scenario"]["clusters"]}
    links = question["scenario"].get("links") or []
    return {
        "prfaas": _cluster(clusters.get("prfaas")),
        "pd": _cluster(clusters["pd"]),
        "link": links[0]["name"] if links else None,
        "threshold_tokens": known.get("threshold_tokens"),
        "binding": known.get("binding", []),
        "offload_fraction": known.get("offload_fraction"),
        "ttft_unloaded_s": known.get("ttft_unloaded_s", {}),
        **{field: result["given"][field] for field in ("lambda_max_rps", "egress_bps", "cost")},
    }


def _cluster(cluster: Document | None) -> Document | None:
    return cluster | {"hardware": cluster["hardware"]["name"]} if cluster else None


def _rows(deployments: tuple[Document, ...]) -> tuple[Row, ...]:
    def row(label: str, unit: str, formula: str, read: Callable[[Document], str], **more: Any) -> Row:
        return Row(label, unit, formula, tuple(read(each) for each in deployments), **more)

    def ttft(part: str) -> Callable[[Document], str]:
        return lambda each: figures.seconds(each["ttft_unloaded_s"].get(part))

    per_million = "Prefill and link by tokens in, decode by tokens out, at the rate that is carried"
    return (
        row("PrfaaS", "instances", "N_prfaas", _prfaas, stage="prfaas", is_text=True),
        row("Link", "", "", lambda each: (each["prfaas"] and each["link"]) or figures.NONE, stage="link", is_text=True),
        row("PD prefill", "instances", "N_p", lambda each: _pd(each, "prefill"), stage="pd_p", is_text=True),
        row("PD decode", "instances", "N_d", lambda each: _pd(each, "decode"), stage="pd_d", is_text=True),
        row("Threshold t", "tokens", "Longer requests are prefilled remotely",
            lambda each: figures.tokens(each["threshold_tokens"])),
        row("Λ_max", "req/s", "min over the stages (eq. 6), within the reserve",
            lambda each: figures.rate(each["lambda_max_rps"]), emphasis=True),
        row("Bound by", "", "", lambda each: words.bound_by(each["binding"]) or figures.NONE, is_text=True),
        row("Offloaded requests, p", "%", "P(L > t)", lambda each: figures.percent(each["offload_fraction"])),
        row("Egress", "Gbps", "Λ_max · p · S_kv of offloaded requests",
            lambda each: figures.gbps(each["egress_bps"]), stage="link"),
        row("TTFT, mean, unloaded", "s", f"mean of T_prefill: {words.UNLOADED}", ttft("mean")),
        row("TTFT, P90, unloaded", "s", f"percentile of T_prefill: {words.UNLOADED}", ttft("p90")),
        row("Cost", "USD/h", "sum of the parts", lambda each: figures.usd(each["cost"]["usd_per_h"]), emphasis=True),
        row("Cost of input tokens", "USD/million", per_million,
            lambda each: figures.price(each["cost"]["usd_per_million_input_tokens"])),
        row("Cost of output tokens", "USD/million", per_million,
            lambda each: figures.price(each["cost"]["usd_per_million_output_tokens"])),
    )  # fmt: skip


def _loaded(purchase: Document) -> Document:
    """TTFT under load; empty where it was not asked for."""
    return purchase.get("ttft_loaded_s") or {}


def _loaded_rows(deployments: tuple[Document, ...], promise: Promise | None) -> tuple[Row, ...]:
    """TTFT under load and what of it is waiting; none where it is not known of any deployment."""
    if not any(_loaded(each) for each in deployments):
        return ()
    formula = f"approximation: {words.LOADED}; {words.LOADED_ERROR}"
    unit = "s, approximation"
    promised = f"p{promise.percentile}" if promise else ""
    found = [
        Row(
            f"TTFT, {title}, under load", unit, formula,
            tuple(figures.seconds(_loaded(each).get(part)) for each in deployments), emphasis=part == promised,
        )
        for part, title in PERCENTILES.items()
    ]  # fmt: skip
    waits = [
        Row(
            f"Mean wait for {what}", unit, f"approximation, part of TTFT under load; {words.LOADED_ERROR}",
            tuple(figures.seconds(_loaded(each).get("waits_s", {}).get(stage)) for each in deployments), stage=stage,
        )
        for stage, what in WAITS.items()
    ]  # fmt: skip
    return (*found, *waits)


def _promised(question: Document) -> Promise | None:
    return Promise.model_validate(question["promise"]) if question.get("promise") else None


def _promise(question: Document) -> str:
    promise = _promised(question)
    return f"Promised: P{promise.percentile} of TTFT under load of at most {promise.ttft_s:g} s." if promise else ""


def _share(part: str, deployments: tuple[Document, ...]) -> Share:
    costs = [each["cost"] for each in deployments]
    cells = tuple((figures.usd(cost["parts_usd_per_h"][part]), figures.percent(cost["shares"][part])) for cost in costs)
    return Share(*PARTS[part], cells)


def _prfaas(purchase: Document) -> str:
    remote = purchase["prfaas"]
    return f"{_count(remote['instances'])} × {_chips(remote)}" if remote else figures.NONE


def _pd(purchase: Document, role: str) -> str:
    return f"{_count(purchase['pd'][f'{role}_instances'])} × {_chips(purchase['pd'])}"


def _chips(instances: Document) -> str:
    return f"({instances['gpus_per_instance']} {instances['hardware']})"


def _count(instances: float | None) -> str:
    return figures.NONE if instances is None else f"{instances:g}"
