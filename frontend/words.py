"""The words that every page uses for stages, forms, provenance and the states of a job."""

from __future__ import annotations

from collections.abc import Iterable

STAGES = {"prfaas": "PrfaaS compute", "link": "Link", "pd_p": "PD-P", "pd_d": "PD-D"}

FORMS = {
    "exact": "exact: each stage is limited by its mean work, E[T_prefill] and E[S_kv]",
    "paper": "paper: each stage is limited by the work of one representative length, as in arXiv 2604.15039",
}

PROVENANCE = {
    "measured": "measured on a running system",
    "published": "printed in a publication",
    "inferred": "worked out from published results, not printed anywhere",
    "estimated": "found or estimated by this program",
    "user": "set by a user",
}

UNLOADED = "no queueing, no time on the link"
"""What the unloaded TTFT leaves out."""

LOADED = (
    "queue + prefill + the part of the transfer that prefill does not overlap, with link contention + wait for a "
    "decode slot + first decode step"
)
"""What TTFT under load is made of."""
LOADED_ERROR = (
    "against event-by-event simulation of the case study within 2 % up to 80 % load and within 5 % up to 93 %"
)
"""How far the approximation is off, as measured."""

STATES = {
    "queued": "waits for a worker",
    "running": "is being computed",
    "succeeded": "has its result",
    "failed": "ended with an error",
    "cancelled": "was cancelled",
    "lost": "was given up: its worker died more than once",
}

COUNTED = {
    "import_trace": "kB",
    "break_even": "points",
    **dict.fromkeys(("simulate", "replication", "study", "side_by_side", "replay"), "requests"),
}
"""What the progress of a kind of job counts, where it is not steps."""


def bound_by(binding: Iterable[str]) -> str:
    """The binding constraint in words: `PrfaaS compute and PD-P`."""
    return listed([STAGES[stage] if stage != "link" else "the link" for stage in binding])


def listed(names: list[str]) -> str:
    """`one`, `one and two`, `one, two and three`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


ROUTES = {"local": "prefilled locally", "remote": "prefilled by PrfaaS"}
"""Where a request's prompt was worked through."""
