"""The problems that the optimiser answers, each with the parts that its question has."""

from __future__ import annotations

from dataclasses import dataclass

from frontend import words
from frontend.optimiser.fields import Part
from frontend.optimiser.parts.links import Links
from frontend.optimiser.parts.options import PdOptions, PrfaasOptions
from frontend.optimiser.parts.prices import Prices
from frontend.optimiser.parts.promise import Promise
from frontend.optimiser.parts.reserve import Reserve
from frontend.optimiser.parts.target import Budget, Rate, Rates
from frontend.optimiser.parts.vary import Vary


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of question, by the name that jobs have for it."""

    name: str
    title: str
    answers: str
    parts: tuple[type[Part], ...]
    forms: tuple[str, ...] = tuple(words.FORMS)
    """Of the throughput model, those in which it can be asked."""


FIRST = "case-study-prfaas-pd"
"""The scenario that a question starts from unless another one is named."""
PURCHASE = (Prices, PrfaasOptions, PdOptions, Links, Reserve)
PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            "equal_cost",
            "The most for a budget",
            "How many of which chips, with which split and threshold, carry the most for what a deployment costs now, "
            "or for any sum.",
            (Budget, *PURCHASE),
        ),
        Problem(
            "least_cost",
            "The least cost for a rate",
            "What is the cheapest that carries a peak rate, with the reserve and the TTFT that you want; or why "
            "nothing does.",
            (Rate, Promise, *PURCHASE),
        ),
        Problem(
            "front",
            "Cost, rate and TTFT",
            "Which deployments no other beats in cost, rate and TTFT under load together: what a shorter TTFT costs, "
            "at one rate after another.",
            (Rates, *PURCHASE),
            forms=("exact",),
        ),
        Problem(
            "break_even",
            "Break-even",
            "From which price, bandwidth, prompt length or KVCache size on PrfaaS no longer pays: a scenario against "
            "the best without PrfaaS for the same money.",
            (Vary, Prices),
        ),
    )
}
CLUSTERS = Problem(
    "clusters",
    "Several clusters",
    "What several PrfaaS and PD clusters on several links carry together, and with which thresholds and splits they "
    "carry the most.",
    (),
    forms=("exact",),
)
"""Its form is of rows, and not of parts."""
ALL = (*PROBLEMS.values(), CLUSTERS)
