"""An attribution in words: what each factor is, what changes with it, and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.comparing.ends import End
from planner.comparing.hybrids import Pair
from planner.entries.link import LinkPrice
from planner.scenario.schema import Cluster

UNITS = {"lambda_max_rps": "req/s", "usd_per_million_tokens": "USD", "ttft_p90_s": "s"}
LABELS = {
    "lambda_max_rps": "Λ_max",
    "usd_per_million_tokens": "The price of a million tokens, in and out,",
    "ttft_p90_s": "TTFT P90, unloaded,",
}
TITLES = {
    "chips": "Chips",
    "fleet": "Number of instances",
    "split": "Split N_p/N_d",
    "routing": "Routing",
    "link": "Link",
    "cache": "Prefix caches",
}
PHRASES = {
    "chips": "chips",
    "fleet": "the number of instances",
    "split": "the split N_p/N_d",
    "routing": "routing",
    "link": "the link",
    "cache": "prefix caches",
}
POLICIES = {"all_remote": "all requests to PrfaaS", "all_local": "all requests stay"}
CACHES = {"own": "each side with its own cache", "best": "the better cache copied"}
GBPS = 1e9
MILLISECONDS = 1e3


def title(pair: Pair, factor: str) -> str:
    """A factor's name."""
    return "Routing by length" if factor == "routing" and _gains_lengths(pair) else TITLES[factor]


def phrase(factor: Mapping[str, Any]) -> str:
    """The same within a sentence, of a factor of the result."""
    return "routing by length" if factor["title"] == "Routing by length" else PHRASES[factor["factor"]]


def _gains_lengths(pair: Pair) -> bool:
    before, after = (end.scenario.parsed.routing.policy for end in (pair.baseline, pair.candidate))
    return after == "threshold" and before != "threshold"


# --- what changes ------------------------------------------------------------------------------------------------


def change(pair: Pair, factor: str) -> str:
    """What a factor is at the baseline and at the candidate."""
    if factor == "chips":
        return _chips(pair)
    before, after = (DESCRIBED[factor](end, pair) for end in (pair.baseline, pair.candidate))
    return f"{before} → {after}"


def _chips(pair: Pair) -> str:
    one, other = pair.baseline, pair.candidate
    places = (("PrfaaS", one.remote, other.remote), ("PD", one.local, other.local))
    said = [f"{place}: {_chip(one)} → {_chip(other)}" for place, one, other in places if one and other]
    return "; ".join(each for each in said if _differs(each)) or "the same chips, prefilling at another speed"


def _differs(told: str) -> bool:
    before, after = told.split(": ", 1)[1].split(" → ")
    return before != after


def _chip(cluster: Cluster) -> str:
    return f"{cluster.gpus_per_instance} × {cluster.hardware.title or cluster.hardware.name} an instance"


def _fleet(end: End, _: Pair) -> str:
    found = end.counts
    return f"{found.prfaas} PrfaaS and {found.pd} PD instances" if end.remote else f"{found.pd} PD instances"


def _split(end: End, _: Pair) -> str:
    return f"{end.counts.prefill}/{end.counts.decode}"


def _routing(end: End, pair: Pair) -> str:
    routing = end.scenario.parsed.routing
    if end.is_balanced:
        return "length-blind, at the share that carries the most"
    if routing.policy == "threshold":
        best = f"t = {routing.threshold_tokens:,.6g} tokens"
        return f"by length, {'at the best t' if pair.tuned else best}"
    return POLICIES.get(routing.policy, f"length-blind, {100 * (routing.remote_share or 0.0):.3g} % to PrfaaS")


def _link(end: End, _: Pair) -> str:
    link, remote = end.link, end.remote
    if link is None or remote is None:
        return "none"
    carried = link.usable_bps
    told = ["never binds" if math.isinf(carried) else f"{carried / GBPS:.4g} Gbps"]
    if remote.egress_bps is not None:
        told.append(f"{remote.egress_bps / GBPS:.4g} Gbps an instance")
    if link.rtt_s is not None:
        told.append(f"RTT {link.rtt_s * MILLISECONDS:.4g} ms")
    return ", ".join([*told, *_link_price(link.price)])


def _link_price(price: LinkPrice | None) -> list[str]:
    known = [("USD/GB", price.usd_per_gb), ("USD/month", price.usd_per_month)] if price else []
    return [f"{value:.6g} {unit}" for unit, value in known if value is not None]


def _cache(end: End, _: Pair) -> str:
    return CACHES[end.scenario.parsed.routing.prefix]


DESCRIBED: Mapping[str, Callable[[End, Pair], str]] = {
    "fleet": _fleet,
    "split": _split,
    "routing": _routing,
    "link": _link,
    "cache": _cache,
}


# --- what it comes to --------------------------------------------------------------------------------------------


def written(end: End, tuned: bool) -> str:
    """How an end is written beside what it was given as."""
    if end.apart is not None:
        return f"the same deployment, written with {end.apart} of its instances apart"
    if end.is_balanced:
        said = "the same machines behind a router that knows no lengths"
        return f"{said}, at the share that carries the most" if tuned else f"{said}, which carry the same"
    return "at its best threshold" if tuned and end.scenario.parsed.routing.policy == "threshold" else "as given"


def sentence(result: Mapping[str, Any]) -> str:
    """The whole in a sentence or two."""
    start, end, unit, metric = result["from"], result["to"], result["unit"], result["metric"]
    if result["undefined"]:
        return str(result["undefined"])
    moved = f"{LABELS[metric]} goes from {start:.4g} to {end:.4g} {unit}"
    if not result["factors"]:
        return f"{moved}: the two do not differ in anything that matters here."
    told = [f"{phrase(each)} {_points(each['share'], start, unit)}" for each in result["factors"]]
    rise = f", {signed(100 * result['total'] / start, '.1f')} %" if start else ""
    groups = [f" Scheduling ({' and '.join(each['factors'])}): {_points(each['share'], start, unit)}."
              for each in result["groups"] if len(each["factors"]) > 1]  # fmt: skip
    return f"{moved}{rise}: {', '.join(told)}.{''.join(groups)}"


def _points(share: float, start: float, unit: str) -> str:
    """In points of what the baseline has; in the metric's unit where it has nothing."""
    return f"{signed(100 * share / start, '.1f')} points" if start else f"{signed(share, '.4g')} {unit}"


def signed(value: float, digits: str) -> str:
    """A number with its sign; none before what rounds to nothing."""
    told = f"{value:+{digits}}"
    return told[1:] if float(told) == 0 else told.replace("-", "−")


def notes(pair: Pair, idle: Sequence[str], scale: str) -> list[str]:
    """Sentences that a reader of the result must know."""
    said = []
    if pair.tuned:
        said.append("Both ends and every deployment between run at the threshold or the share that carries the most.")
    elif "routing" in pair.factors and pair.candidate.scenario.parsed.routing.policy == "threshold":
        said.append("Routing by length has the candidate's threshold everywhere, which was chosen for one deployment.")
    if idle:
        advice = "" if pair.tuned else " Under `tuned` no threshold leaves requests to a side that has no instances."
        said.append(f"Nothing is carried by {', '.join(idle[:3])}{' and others' if idle[3:] else ''}.{advice}")
    if pair.candidate.apart is not None:
        said.append(f"{pair.candidate.title} is {written(pair.candidate, pair.tuned)}.")
    if {"fleet", "split"} <= set(pair.factors):
        said.append("A split on the other fleet keeps its proportion in whole instances.")
    if scale != "as_given":
        said.append(f"The deployments are compared at equal {scale}: their counts are those that were found for it.")
    return said
