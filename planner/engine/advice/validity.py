"""Whether there is enough to advise on. What is absent is unknown, and never guessed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.engine.advice.loads import lengths_of
from planner.engine.advice.terms import Hindrance, Objective, Observed, Obstacle, Options
from planner.engine.curves import Array, Curve
from planner.engine.deployment import Deployment
from planner.engine.lengths import Bucketed

WANTED = {
    "egress_bps": "egress",
    "resent_share": "retransmits",
    "rate_rps": "request rate",
}


def absent(deployment: Deployment, observed: Observed, options: Options) -> Iterator[Hindrance]:
    """What must be known and is not, or is too old."""
    if deployment.prfaas is None:
        yield Hindrance(Obstacle.NO_PRFAAS, "there is no PrfaaS cluster, and so no t")
    if observed.age_s is not None and observed.age_s > options.most_age_s:
        yield Hindrance(
            Obstacle.STALE, f"the oldest reading is {observed.age_s:.0f} s old, of {options.most_age_s:g} s"
        )
    if observed.lengths is None:
        yield Hindrance(Obstacle.NO_LENGTHS, "uncached prompt lengths are not known")
    elif observed.lengths.worth < max(options.least_requests, 1.0) or not observed.lengths.total > 0:
        seen = min(observed.lengths.worth, observed.lengths.total)
        yield Hindrance(Obstacle.FEW_SAMPLES, f"{seen:.0f} lengths were seen, of {options.least_requests:g} needed")
    if observed.threshold_tokens is None:
        yield Hindrance(Obstacle.NO_THRESHOLD, "the t in force is not known")
    if missing := _uncounted(observed):
        yield Hindrance(Obstacle.NO_INSTANCES, f"instances are not known of {', '.join(missing)}")
    if observed.capacity_bps is None and observed.achieved_bps is None:
        yield Hindrance(Obstacle.NO_CAPACITY, "what the link carries is not known")
    if observed.rate_rps is None and options.objective is Objective.TTFT:
        yield Hindrance(Obstacle.NO_RATE, "the request rate is not known, and TTFT depends on it")


def _uncounted(observed: Observed) -> list[str]:
    counts = {
        "PrfaaS": observed.prfaas_instances,
        "PD-P": observed.prefill_instances,
        "PD-D": observed.decode_instances,
    }
    return [role for role, count in counts.items() if count is None]


def unmeasured(deployment: Deployment, lengths: Bucketed, options: Options) -> Iterator[Hindrance]:
    """Whether too much of the prefill work is of lengths that the profile was not measured for."""
    curves = {"PD-P": deployment.pd.t_prefill}
    if deployment.prfaas:
        curves["PrfaaS"] = deployment.prfaas.t_prefill
    for name, curve in curves.items():
        share = outside(curve, lengths)
        if share > options.most_extrapolated:
            low, high = curve.lengths[0], curve.lengths[-1]
            yield Hindrance(
                Obstacle.EXTRAPOLATED,
                f"{100 * share:.0f} % of the prefill work is of lengths outside {low:g} to {high:g} tokens, for which "
                f"{name}'s profile was measured",
            )


def outside(curve: Curve, lengths: Bucketed) -> float:
    """Share of the work, if all were prefilled there, that is of lengths outside the measured ones."""
    work = lengths.grid.means(curve) * lengths.masses
    edges = lengths.grid.edges
    inside: Array = (edges[:-1] >= curve.lengths[0] * (1 - 1e-9)) & (edges[1:] <= curve.lengths[-1] * (1 + 1e-9))
    return float(np.clip(1 - work[inside].sum() / work.sum(), 0.0, 1.0))


def lengths_seen(deployment: Deployment, observed: Observed) -> Bucketed | None:
    """The lengths, up to the profile's longest where the histogram does not say how long they are."""
    if observed.lengths is None or not observed.lengths.total > 0:
        return None
    return lengths_of(observed.lengths, float(deployment.pd.t_prefill.lengths[-1]))


def unknown(observed: Observed) -> tuple[str, ...]:
    """What the short-term rule would have liked to know."""
    names = [word for name, word in WANTED.items() if getattr(observed, name) is None]
    queues = {"link": "queue for the link", "prfaas": "queue for PrfaaS", "pd_p": "queue for PD-P"}
    return (*names, *(word for name, word in queues.items() if getattr(observed.queues, name) is None))
