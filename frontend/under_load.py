"""The case study under load, as its page shows it: where its figures are to be had, and what they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings

from frontend import figures, side_by_side, words
from frontend.side_by_side import Row
from frontend.simulator.flows import PERCENTILES
from planner import catalog
from planner.documents.errors import DocumentError, FieldError
from planner.models import Job
from planner.scenario import SHIPPED
from planner.simulating import under_load
from planner.simulating.under_load import BURST_CV, CASES, COMMON_RPS, OWN_LOAD, Case

type Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """The simulations of one load."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """The table, and the sentence that a reader takes away."""

    sentence: str
    groups: tuple[Group, ...]
    requests: int
    replications: int
    decoding: str
    half_step_ms: str
    """What decode by iteration would add to the mean: a request that comes waits for the end of a step."""
    percentiles: tuple[str, ...] = tuple(PERCENTILES.values())
    burst_cv: float = BURST_CV


@dataclass(frozen=True, slots=True)
class Section:
    """What the page says of the case study under load."""

    job: Job | None = None
    """Whose figures are shown."""
    shown: Shown | None = None
    running: Job | None = None
    ended: Job | None = None
    """The last attempt, where it has no result."""
    is_edited: bool = False
    """Whether the figures are of scenarios that were edited since."""
    is_older: bool = False
    """Whether another version of the product has simulated them."""
    refused: tuple[FieldError, ...] = ()
    """Why the scenarios cannot be simulated as they are now."""

    @property
    def replications(self) -> int:
        """Of all simulations of a new job."""
        return len(CASES) * int(settings.CASE_STUDY_REPLICATIONS)

    @property
    def requests(self) -> int:
        """Of each replication of a new job."""
        return int(settings.CASE_STUDY_REQUESTS)

    @property
    def can_simulate(self) -> bool:
        """Whether there is something to simulate that nobody has simulated or simulates."""
        outdated = self.job is None or self.is_edited or self.is_older
        return outdated and self.running is None and not self.refused


def section() -> Section:
    """The figures of the scenarios as they are stored, or else those of before, and what becomes of a new job."""
    try:
        asked = under_load.now()
    except DocumentError as refused:
        return _before(refused=refused.errors)
    if job := under_load.done(asked):
        return Section(job, _shown(job.pk))
    last = under_load.newest(asked)
    if last is None:
        return _before(asked.digest)
    return _before(asked.digest, **{"ended" if last.is_ended else "running": last})


def _before(digest: str = "", **more: Any) -> Section:
    """With the figures of before, if there are any."""
    job = under_load.before()
    if job is None:
        return Section(**more)
    is_edited, is_older = job.input["digest"] != digest, job.version != settings.VERSION
    return Section(job, _shown(job.pk), is_edited=is_edited, is_older=is_older, **more)


@lru_cache(maxsize=4)
def _shown(job_id: UUID) -> Shown:
    """Of a job that has its result, which does not change any more."""
    job = Job.objects.get(pk=job_id)
    return shown(job.result or {}, job.input)


def shown(result: Document, asked: Document) -> Shown:
    """The table of a result."""
    given = asked["side_by_side"]["runs"]
    rows = [
        side_by_side.row(run, of, _title(case.scenario))
        for case, run, of in zip(CASES, result["runs"], given, strict=True)
    ]
    by_load = {
        f"each at {figures.share(OWN_LOAD)} % of its own Λ_max": False,
        f"all at {COMMON_RPS:g} req/s": True,
    }
    groups = (
        Group(title, tuple(row for case, row in zip(CASES, rows, strict=True) if case.is_common is is_common))
        for title, is_common in by_load.items()
    )
    return Shown(
        sentence(result["runs"]),
        tuple(groups),
        given[0]["requests"],
        given[0]["replications"],
        side_by_side.decoding(result["runs"][0]),
        figures.rounded(1000 * given[0]["scenario"]["decode"]["step_s"] / 2, 1),
    )


def _title(name: str) -> str:
    return str(catalog.published()["scenarios"][name]["title"])


# --- the sentence that a reader takes away -----------------------------------------------------------------------


def sentence(runs: Sequence[Document]) -> str:
    """P90 of TTFT at the common rate, as requests come and in bursts, and which deployment has the shortest."""
    steady, bursts = _p90s(runs, 1.0), _p90s(runs, BURST_CV)
    one = words.listed([f"{_written(times)} with {_title(name)}" for name, times in steady.items()])
    other = words.listed([_written(times) for times in bursts.values()])
    return (
        f"At the same {COMMON_RPS:g} req/s, P90 of TTFT is {one}; with bursts (CV {BURST_CV:g}) it is {other}: "
        f"{_verdict(_shortest(steady), _shortest(bursts))}."
    )


def _p90s(runs: Sequence[Document], cv: float) -> dict[str, Document | None]:
    """By scenario, at the common rate; None where the load is not stable."""
    wanted = {Case(name, True, cv): name for name in SHIPPED}
    found = {wanted[case]: run["ttft_s"] for case, run in zip(CASES, runs, strict=True) if case in wanted}
    return {name: times["p90"] if times else None for name, times in found.items()}


def _written(p90: Document | None) -> str:
    return "not stable" if p90 is None else f"{figures.seconds(p90['mean'])} s"


def _shortest(p90s: Mapping[str, Document | None]) -> str:
    """The scenario whose P90 is below all others, its interval too; empty where there is none."""
    stable = sorted((p90["mean"], p90["high"], name) for name, p90 in p90s.items() if p90)
    if not stable or stable[0][1] is None:
        return ""
    _, most, name = stable[0]
    return name if all(p90["low"] > most for other, p90 in p90s.items() if p90 and other != name) else ""


def _verdict(steady: str, bursts: str) -> str:
    if steady == bursts:
        return f"{_title(steady)} has the shortest both times" if steady else "none is the shortest beyond chance"
    first, then = (_title(name) if name else "none beyond chance" for name in (steady, bursts))
    return f"the shortest has {first} at first, and {then} in bursts"
