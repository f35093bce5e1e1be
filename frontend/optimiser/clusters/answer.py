"""What a fleet carries and how to run it, as people read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frontend import figures, words

type Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Route:
    """Where requests go that are longer than a threshold."""

    prfaas: str
    link: str
    threshold: str
    fraction: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """A PD cluster at the fleet's limit."""

    name: str
    share: str
    rate: str
    prefill: str
    decode: str
    stays: str
    ttft: str
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the fleet: at which rate of all requests it is full, and how full it is."""

    stage: str
    title: str
    name: str
    rate: str
    percent: str
    used: float
    is_binding: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A link, and what crosses it."""

    name: str
    egress: str
    usable: str
    percent: str
    used: float


@dataclass(frozen=True, slots=True)
class Paid:
    """What the GPUs of a cluster cost; `stage` gives its colour."""

    name: str
    stage: str
    hardware: str
    gpus: str
    usd_per_gpu_hour: str
    usd_per_h: str
    kind: str
    source: str


@dataclass(frozen=True, slots=True)
class Costs:
    """Of all clusters, and of the tokens that they carry together."""

    clusters: tuple[Paid, ...]
    gpus: str
    usd_per_h: str
    usd_per_million_tokens: str
    kind: str
    tokens_kind: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page shows of a result."""

    headline: str
    clusters: tuple[Cluster, ...]
    stages: tuple[Stage, ...]
    links: tuple[Link, ...]
    costs: Costs | None
    """None of a result that was computed before fleets had any."""


def answer(result: Document) -> Answer:
    """The page of a result."""
    binding = {(each["stage"], each["name"]) for each in result["binding"]}
    return Answer(
        headline(result),
        tuple(_cluster(each) for each in result["pd"]),
        tuple(_stage(each, binding) for each in result["stages"]),
        tuple(_link(each) for each in result["links"]),
        _costs(result["cost"]) if "cost" in result else None,
    )


def headline(result: Document) -> str:
    """The most that the fleet carries, and what binds."""
    bound = [f"{_title(each['stage'])} of {each['name']}" for each in result["binding"]]
    said = f"The fleet carries {figures.rate(result['lambda_max_rps'])} req/s at most"
    return f"{said}; what binds is {words.listed(bound)}." if bound else f"{said}."


def _cluster(pd: Document) -> Cluster:
    return Cluster(
        pd["name"],
        figures.percent(pd["share"]),
        figures.rate(pd["lambda_rps"]),
        f"{pd['prefill_instances']:g}",
        f"{pd['decode_instances']:g}",
        figures.percent(pd["local_fraction"]),
        figures.seconds(pd["ttft_unloaded_mean_s"]),
        tuple(
            Route(
                each["prfaas"],
                each["link"],
                figures.tokens(each["threshold_tokens"]),
                figures.percent(each["fraction"]),
            )
            for each in pd["routes"]
        ),
    )


def _stage(stage: Document, binding: set[tuple[str, str]]) -> Stage:
    used = stage["utilisation"]
    return Stage(
        stage["stage"],
        words.STAGES[stage["stage"]],
        stage["name"],
        figures.rate(stage["lambda_rps"]),
        figures.percent(used),
        used,
        (stage["stage"], stage["name"]) in binding,
    )


def _link(link: Document) -> Link:
    usable = link["usable_bps"]
    used = link["egress_bps"] / usable if usable else 0.0
    said = "unlimited" if usable is None else figures.gbps(usable)
    return Link(link["name"], figures.gbps(link["egress_bps"]), said, figures.percent(used), used)


def _costs(cost: Document) -> Costs:
    return Costs(
        tuple(_paid(each) for each in cost["clusters"]),
        figures.tokens(sum(each["gpus"] for each in cost["clusters"])),
        figures.usd(cost["usd_per_h"]),
        figures.price(cost["usd_per_million_tokens"]),
        cost["evidence"]["usd_per_h"],
        cost["evidence"]["usd_per_million_tokens"],
    )


def _paid(each: Document) -> Paid:
    return Paid(
        each["name"],
        "prfaas" if each["role"] == "prfaas" else "",
        each["hardware"],
        figures.tokens(each["gpus"]),
        figures.price(each["usd_per_gpu_hour"]),
        figures.usd(each["usd_per_h"]),
        each["kind"],
        each["source"],
    )


def _title(stage: str) -> str:
    return "the link" if stage == "link" else words.STAGES[stage]
