"""The case study under load: its deployments at one share of their own capacity and at one common rate, with arrivals
as they come and in bursts; and the job that has simulated them as they are stored now."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from planner import catalog, jobs, scenario, store
from planner.models import Entry, Job
from planner.scenario import SHIPPED
from planner.scenario.document import override
from planner.simulating import side_by_side
from planner.simulating.side_by_side import Asked

logger = logging.getLogger(__name__)

OWN_LOAD = 0.85
"""Of each deployment's own Λ_max, exact form."""
COMMON_RPS = 1.7
"""Which all of the deployments can carry."""
OFFERED: tuple[dict[str, float], ...] = ({"load": OWN_LOAD}, {"rate_rps": COMMON_RPS})
BURST_CV = 4.0
ARRIVALS: tuple[dict[str, Any], ...] = ({"process": "poisson"}, {"process": "renewal", "cv": BURST_CV})
LATEST = 20
"""Jobs that are looked through for one of the scenarios as they were before."""


@dataclass(frozen=True, slots=True)
class Case:
    """One of the simulations: which deployment, how loaded, and how requests arrive."""

    scenario: str
    is_common: bool
    """Whether it is offered the common rate."""
    cv: float
    """Of the times between arrivals."""


CASES = tuple(
    Case(name, "rate_rps" in offered, arrivals.get("cv", 1.0))
    for offered, arrivals, name in product(OFFERED, ARRIVALS, SHIPPED)
)
"""In the order of the runs."""


# --- what is simulated -------------------------------------------------------------------------------------------


def now() -> Asked:
    """The simulations of the scenarios as they are stored. Raises DocumentError where one cannot be simulated."""
    stored = {entry.name: entry.document for entry in _entries()}
    return _of([stored.get(name) or scenario.load(name).document() for name in SHIPPED])


def _entries() -> QuerySet[Entry]:
    return store.entries(store.SCENARIOS, archived=None).filter(name__in=SHIPPED)


def _of(scenarios: Sequence[dict[str, Any]]) -> Asked:
    """The simulations of three documents, in the order of SHIPPED."""
    return _cached(
        json.dumps(scenarios, sort_keys=True), settings.CASE_STUDY_REQUESTS, settings.CASE_STUDY_REPLICATIONS
    )


@lru_cache(maxsize=4)
def _cached(scenarios: str, requests: int, replications: int) -> Asked:
    runs = [
        {"scenario": _arriving(document, arrivals), **offered, "requests": requests, "replications": replications}
        for offered, arrivals, document in product(OFFERED, ARRIVALS, json.loads(scenarios))
    ]
    # Stored documents are complete: they name nothing that would have to be looked up.
    return side_by_side.parse({"runs": runs}, catalog.SHIPPED)


def _arriving(document: dict[str, Any], arrivals: dict[str, Any]) -> dict[str, Any]:
    """The scenario with other arrivals, if they are others."""
    changed: dict[str, Any] = json.loads(json.dumps(document))
    if changed["traffic"].get("arrivals") != arrivals:
        override(changed, "traffic.arrivals", arrivals, {"kind": "user", "source": "varied in the case study"})
    return changed


# --- the job -----------------------------------------------------------------------------------------------------


def done(asked: Asked) -> Job | None:
    """The newest job that has simulated the same, by this version, without its result."""
    return _same(asked).filter(state=Job.State.SUCCEEDED).defer("input", "result").first()


def newest(asked: Asked) -> Job | None:
    """The newest job that was to simulate the same, whatever became of it."""
    return _same(asked).defer("input", "result").first()


def before() -> Job | None:
    """The newest job that has simulated the scenarios as they were, or did so by another version."""
    of_same_names = _jobs().filter(state=Job.State.SUCCEEDED, scenario=", ".join(SHIPPED))
    return next((job for job in of_same_names.defer("result")[:LATEST] if _is_ours(job)), None)


def submit(by: int | None = None) -> Job:
    """The job that simulates the scenarios as they are stored: a new one, unless one does or has done.

    Raises DocumentError.
    """
    with transaction.atomic():
        _wait_for_turn()
        asked = now()
        known = _same(asked).filter(state__in=(Job.State.QUEUED, Job.State.RUNNING, Job.State.SUCCEEDED)).first()
        return known or jobs.submit(Job.Kind.SIDE_BY_SIDE, asked.names, asked.frozen(), by)


def submit_first() -> None:
    """At the start of an installation in which nothing was ever simulated side by side. Any number of processes may do
    this: one of them submits."""
    try:
        with transaction.atomic():
            _wait_for_turn()
            if not _jobs().exists():
                submit()
    except scenario.DocumentError as refused:
        logger.warning("The case study cannot be simulated: %s", refused)


def _wait_for_turn() -> None:
    """Until nobody else submits: SQLite has one writer, PostgreSQL locks the rows."""
    list(_entries().order_by("name").select_for_update())


def _jobs() -> QuerySet[Job]:
    return Job.objects.filter(kind=Job.Kind.SIDE_BY_SIDE)


def _same(asked: Asked) -> QuerySet[Job]:
    return _jobs().filter(version=settings.VERSION, input__digest=asked.digest)


def _is_ours(job: Job) -> bool:
    """Whether its scenarios, loaded as these are, make its input: others may put the same scenarios side by side."""
    runs = job.input["side_by_side"]["runs"]
    if len(runs) != len(CASES):
        return False
    try:
        same = _of([run["scenario"] for run in runs[: len(SHIPPED)]])
        return same.digest == str(job.input["digest"])
    except scenario.DocumentError:
        return False
