"""Quotes: for each choice of chips and link the purchase that carries the most for a budget, ranked.

A purchase is judged at a rate. Where its TTFT under load breaks the SLO there, the greatest rate at which it keeps it
counts instead, of that purchase or of one that offloads more or fewer requests for the same budget; where none keeps
the SLO at any rate, the choice is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from planner import __version__, evaluation, scenario
from planner.documents.errors import refuse
from planner.engine import equal_cost, slo
from planner.engine.curves import Array
from planner.engine.latency import Circumstances, LoadedTtft, Passages
from planner.engine.least_cost import Bought
from planner.engine.options import ROUNDING, Space, loads
from planner.engine.purchasing import Purchase
from planner.engine.slo import Promise
from planner.engine.throughput import Throughput, evaluate
from planner.procurement import build, filled, result
from planner.procurement.bill import bill
from planner.procurement.quotes_asked import Posed
from planner.scenario import Scenario
from planner.scenario.references import Catalogue

MOST_COMBINATIONS = 24
THRESHOLDS = 16
"""Values of t that are tried where there is an SLO, in equal shares of the requests."""
STEPS = (1 / 32, 1 / 64, 1 / 128, 1 / 256, 1 / 512)
"""Then of the requests that stay below t, so much more and less than at the best yet."""
HALVINGS = 14
"""Of the rates between none and the one at which a purchase is judged."""
SLOWEST = 1e-6
"""As a share of that rate: as good as no load at all."""
AIMED_AT = 1 - 1e-4
"""Of the SLO: the TTFT that a quote shows is read from tables, which err by less than the rest."""

type Document = dict[str, Any]
type Carried = tuple[Bought, Throughput]
"""A purchase by its places among all options, and what it carries."""
type Combination = tuple[int | None, int, int | None]
"""Places of the PrfaaS chip, the PD chip and the link among the options."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A purchase, its limit, the rate at which it keeps what is asked for, and the one that it was to carry."""

    bought: Bought
    limit: Throughput
    rate_rps: float
    judged_rps: float


@dataclass(frozen=True, slots=True)
class Quote:
    """A purchase that may be offered: what it carries, at which rate it is quoted, and its scenario and bill there.

    `id` is the same for the same purchase from the same inputs at the same rate; its scenario is named after it.
    """

    id: str
    purchase: Purchase
    rate_rps: float
    judged_rps: float
    scenario: Scenario
    bill: Document


@dataclass(frozen=True, slots=True)
class Ranking:
    """Quotes, the best first, and what is not offered, each with its reason."""

    quotes: tuple[Quote, ...]
    refused: tuple[Document, ...]


def ranking(posed: Posed, catalogue: Catalogue) -> Ranking:
    """Every combination of the options, quoted or refused. Raises DocumentError where there are too many."""
    space = build.space(posed.asked)
    found: list[Quote] = []
    refused: list[Document] = []
    for chosen in _combinations(space):
        best = best_of(space, chosen, posed.wanted.budget)
        kept = best and _within_slo(posed, space, chosen, best)
        if kept:
            found.append(_quote(posed, space, kept, catalogue))
        else:
            refused.append(_refused(space, chosen) | (_broken(posed, space, chosen, best) if best else {}))
    return Ranking(tuple(sorted(found, key=lambda quote: _standing(posed, quote))), tuple(refused))


def _standing(posed: Posed, quote: Quote) -> tuple[float, float, str]:
    totals = quote.bill["totals"]
    if posed.wanted.order == "rate":
        return -quote.rate_rps, totals["usd_per_h"], quote.id
    return totals["usd_per_million_tokens"], -quote.rate_rps, quote.id


def _combinations(space: Space) -> list[Combination]:
    pds = range(len(space.pd))
    alone: list[Combination] = [(None, pd, None) for pd in pds]
    beside: list[Combination] = list(product(range(len(space.prfaas)), pds, range(len(space.links))))
    if len(alone) + len(beside) > MOST_COMBINATIONS:
        said = (
            f"makes {len(alone) + len(beside)} combinations with the chips; at most {MOST_COMBINATIONS} are compared "
            "at once: name fewer links, or chips by hardware="
        )
        raise refuse("link", None, said)
    return alone + beside


def best_of(space: Space, chosen: Combination, budget_usd_per_h: float) -> Carried | None:
    """The purchase of one combination that carries the most for the budget, by its places in `space`; None if none.

    With a PrfaaS chip in it some requests are prefilled there, even where the budget carries more without.
    """
    narrow = _narrow(space, chosen)
    found = equal_cost.best(narrow, budget_usd_per_h)
    if found and (chosen[0] is None or found.bought.prfaas is not None):
        return _placed(found.bought, chosen), found.limit
    return None if chosen[0] is None else _at_thresholds(space, chosen, budget_usd_per_h, loads(narrow).thresholds)


def _narrow(space: Space, chosen: Combination) -> Space:
    """The space of one combination alone."""
    prfaas, pd, link = chosen
    return replace(
        space,
        prfaas=() if prfaas is None else (space.prfaas[prfaas],),
        links=() if link is None else (space.links[link],),
        pd=(space.pd[pd],),
    )


def _placed(bought: Bought, chosen: Combination) -> Bought:
    prfaas, pd, link = chosen
    return replace(bought, prfaas=prfaas, pd=pd, link=link)


def _at_thresholds(space: Space, chosen: Combination, budget_usd_per_h: float, thresholds: Array) -> Carried | None:
    """Of the purchases that offload at one of these thresholds, the one that carries the most; None if none does."""
    narrow = _narrow(space, chosen)
    offloading = thresholds[loads(narrow, thresholds).link_bits > 0]
    if not offloading.size:
        return None
    found = equal_cost.dearest(narrow, loads(narrow, offloading), budget_usd_per_h, whole=True)
    if found is None:
        return None
    bought = found[1].bought
    return _placed(bought, chosen), evaluate(equal_cost.deployment(narrow, bought, budget_usd_per_h), space.form)


def _refused(space: Space, chosen: Combination) -> Document:
    prfaas, pd, link = chosen
    return {
        "prfaas": None if prfaas is None else space.prfaas[prfaas].name,
        "pd": space.pd[pd].name,
        "link": None if link is None else space.links[link].name,
        "reason": "the budget pays for no deployment of these",
        **dict.fromkeys(("lambda_max_rps", "judged_rps", "ttft_s", "least_ttft_s")),
    }


# --- within the SLO ----------------------------------------------------------------------------------------------


def _within_slo(posed: Posed, space: Space, chosen: Combination, best: Carried) -> Kept | None:
    """The purchase of a combination that carries the most within the SLO, up to the rate that is asked for."""
    if posed.wanted.slo is None:
        return _judged(posed, best)
    kept = _better(posed, space, None, [best, *_others(posed, space, chosen)])
    for step in STEPS:
        if kept is None or chosen[0] is None:
            break
        kept = _better(posed, space, kept, _around_it(posed, space, chosen, kept, step))
    return kept


def _better(posed: Posed, space: Space, kept: Kept | None, carried: Iterable[Carried]) -> Kept | None:
    """The best within the SLO of the purchases given and the one that was the best before them."""
    tried = [_judged(posed, each) for each in carried]
    for asked in sorted(tried, key=lambda asked: -asked.rate_rps):
        rate_rps = _greatest_keeping(posed, space, asked, kept.rate_rps if kept else asked.rate_rps * SLOWEST)
        if rate_rps is not None and (kept is None or rate_rps > kept.rate_rps):
            kept = replace(asked, rate_rps=rate_rps)
    return kept


def _around_it(posed: Posed, space: Space, chosen: Combination, kept: Kept, step: float) -> Iterator[Carried]:
    """The purchases where so much more or less of the requests stay below t, and the same instances there."""
    narrow = _narrow(space, chosen)
    share = float(space.lengths.between(0.0, kept.bought.threshold_tokens))
    for moved in (share - step, share + step):
        if 0 <= moved < 1:
            threshold = float(space.lengths.quantile(moved)) if moved else 0.0
            found = _at_thresholds(space, chosen, posed.wanted.budget, np.array([threshold]))
            if found is not None:
                yield found
            bought = replace(kept.bought, threshold_tokens=threshold, prfaas=0, pd=0, link=0)
            limit = evaluate(equal_cost.deployment(narrow, bought, posed.wanted.budget), space.form)
            if limit.offload_fraction > 0:
                yield _placed(bought, chosen), limit


def _judged(posed: Posed, carried: Carried) -> Kept:
    bought, limit = carried
    judged_rps = posed.wanted.judged_rps(limit.lambda_max_rps)
    return Kept(bought, limit, min(judged_rps, limit.lambda_max_rps), judged_rps)


def _others(posed: Posed, space: Space, chosen: Combination) -> Iterator[Carried]:
    """The purchases that carry the most at each of some thresholds; none without PrfaaS."""
    if chosen[0] is None:
        return
    shares = np.linspace(0.0, 1.0, THRESHOLDS, endpoint=False)
    for threshold in np.unique(np.append(0.0, space.lengths.quantile(shares[1:]))):
        found = _at_thresholds(space, chosen, posed.wanted.budget, np.array([threshold]))
        if found is not None:
            yield found


def _greatest_keeping(posed: Posed, space: Space, asked: Kept, least_rps: float) -> float | None:
    """The rate itself where TTFT keeps the SLO at it, or else the greatest below that does; None if not the least.

    TTFT rises with the rate, so that halving finds it.
    """

    def kept(rate_rps: float) -> bool:
        return _keeps(posed, space, asked.bought, rate_rps)

    if asked.rate_rps < least_rps or not kept(least_rps):
        return None
    if kept(asked.rate_rps):
        return asked.rate_rps
    low, high = least_rps, asked.rate_rps
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low


def _keeps(posed: Posed, space: Space, bought: Bought, rate_rps: float) -> bool:
    """Whether enough of the requests have their first token in time."""
    passages = Passages(equal_cost.deployment(space, bought), rate_rps, _around(posed, space, bought))
    serving = (bought.prfaas_instances, bought.prefill_instances, bought.decode_instances)
    return passages.share_within(serving, (posed.wanted.slo or 0.0) * AIMED_AT) >= posed.wanted.percentile / 100


def _around(posed: Posed, space: Space, bought: Bought) -> Circumstances:
    rtt_s = 0.0 if bought.link is None else posed.rtt_s[space.links[bought.link].name]
    return replace(build.circumstances(posed.asked), rtt_s=rtt_s)


def _ttft(posed: Posed, space: Space, bought: Bought, rate_rps: float) -> LoadedTtft:
    return slo.ttft(space, bought, rate_rps, _around(posed, space, bought))


def _broken(posed: Posed, space: Space, chosen: Combination, best: Carried) -> Document:
    """Why a combination is refused: TTFT breaks the SLO even when nobody waits."""
    asked, promise = _judged(posed, best), Promise(posed.wanted.slo or 0.0, posed.wanted.percentile / 100)
    tried = [best[0], *(bought for bought, _ in _others(posed, space, chosen))]
    slowest_rps = asked.rate_rps * SLOWEST
    least_s = min(promise.of(_ttft(posed, space, bought, slowest_rps)) for bought in tried)
    said = f"P{posed.wanted.percentile} TTFT is {least_s:.3g} s at least, without any queue, and "
    return {
        "reason": f"{said}{posed.wanted.slo:g} s are asked for",
        "lambda_max_rps": asked.limit.lambda_max_rps,
        "judged_rps": asked.judged_rps,
        "ttft_s": evaluation.number(promise.of(_ttft(posed, space, asked.bought, asked.rate_rps))),
        "least_ttft_s": least_s,
    }


# --- one quote ---------------------------------------------------------------------------------------------------


def _quote(posed: Posed, space: Space, kept: Kept, catalogue: Catalogue) -> Quote:
    bought, limit, rate_rps = kept.bought, kept.limit, kept.rate_rps
    cost = equal_cost.cost(space, bought, limit.egress_bps * rate_rps / limit.lambda_max_rps)
    says_little = posed.wanted.form == "paper" or rate_rps >= result.FULL * limit.lambda_max_rps
    ttft = None if says_little else _ttft(posed, space, bought, rate_rps)
    id_, made = _scenario(posed, space, bought, rate_rps)
    billed = bill(made, catalogue, prices=posed.prices, form=posed.wanted.form, rate_rps=rate_rps)
    return Quote(id_, Purchase(bought, limit, cost, ttft), rate_rps, kept.judged_rps, made, billed)


def _scenario(posed: Posed, space: Space, bought: Bought, rate_rps: float) -> tuple[str, Scenario]:
    """The purchase as a scenario that can be stored, named after the digest of what it is, which comes first."""
    made = filled.scenario_of(posed.asked, space, bought).document()
    for link in made["links"]:
        link["rtt_s"] = posed.rtt_s[link["name"]] or None
    told = json.dumps([made, rate_rps, posed.wanted.form], sort_keys=True)
    id_ = hashlib.sha256(told.encode()).hexdigest()[:16]
    return id_, scenario.parse(made | {"name": f"quote-{id_}", "title": f"Quote for {posed.wanted.budget:g} USD/h"})


# --- documents ---------------------------------------------------------------------------------------------------


def head(posed: Posed, found: Ranking) -> Document:
    """What is said of all quotes together."""
    asked = posed.asked
    return {
        "asked": posed.wanted.model_dump() | {"model": asked.scenario.parsed.model.name, "load": posed.wanted.share},
        "quoted": len(found.quotes),
        "refused": list(found.refused),
        "left_out": list(posed.left_out),
        "notes": list(posed.notes),
        "version": __version__,
    }


def documents(posed: Posed, found: Ranking) -> Iterator[Document]:
    """The quotes by rank, SI units and USD."""
    space = build.space(posed.asked)
    for rank, quote in enumerate(found.quotes, start=1):
        purchase = result.purchase_document(posed.asked, space, quote.purchase, quote.rate_rps)
        del purchase["bought"]  # places among options, which mean nothing outside
        yield {
            "id": quote.id,
            "rank": rank,
            "rate_rps": quote.rate_rps,
            "judged_rps": quote.judged_rps,
            "is_slowed": quote.rate_rps < quote.judged_rps * (1 - ROUNDING),
            **purchase,
            **{part: quote.bill[part] for part in ("totals", "evidence")},
            "scenario_document": quote.scenario.document(),
        }
