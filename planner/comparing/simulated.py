"""A comparison under load: its deployments simulated side by side by one job, found again by what it has simulated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from planner import catalog, jobs
from planner.comparing.metrics import Better
from planner.comparison import Asked
from planner.models import Job
from planner.simulating import side_by_side

OWN_LOAD = 0.85
"""Share of its own Λ_max at which each deployment is simulated, where nothing else is asked for."""
REQUESTS, REPLICATIONS = 50_000, 8
DECISIONS = ("name", "title", "description", "prices", "provenance", "free")
"""What a simulation does not depend on."""


@dataclass(frozen=True, slots=True)
class Row:
    """A simulated metric, by its path in a simulation's result."""

    key: str
    label: str
    unit: str
    better: Better
    formula: str
    path: tuple[str, ...]


ROWS = (
    *(
        Row(f"simulated_ttft_{name}_s", f"TTFT, {label}", "s", "less",
            "arrival to first token, in simulation: with queues, transfers and the wait for a decode slot",
            ("ttft_s", name))
        for name, label in (("mean", "mean"), ("p50", "P50"), ("p90", "P90"), ("p99", "P99"))
    ),
    Row("simulated_throughput_rps", "Throughput", "req/s", "", "requests that were done a second", ("throughput_rps",)),
    Row("simulated_egress_bps", "Egress", "bit/s", "", "bits that crossed the link a second", ("egress_bps",)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a job has simulated of a comparison."""

    job: Job
    result: dict[str, Any]

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One a scenario, in their order."""
        return list(self.result["runs"])

    @property
    def title(self) -> str:
        """How loaded the deployments were."""
        run = self.job.input["side_by_side"]["runs"][0]
        at = f"{run['rate_rps']:.4g} req/s" if run.get("rate_rps") else f"{100 * run['load']:.3g} % of its own Λ_max"
        # A comparison is always simulated with decode by request; a TTFT says by which of the two it is.
        return f"Simulated, each at {at}, decode by request"

    def value(self, at: int, row: Row) -> dict[str, Any]:
        """Mean and interval of a metric of the scenario at a place; none where its queues grow without end."""
        found: Any = self.runs[at]
        for part in row.path:
            found = found.get(part) if isinstance(found, Mapping) else None
        bounds = found if isinstance(found, Mapping) else {"mean": None, "low": None, "high": None}
        kind = str(self.runs[at]["provenance"]) if bounds["mean"] is not None else ""
        return {"value": bounds["mean"], "low": bounds["low"], "high": bounds["high"], "kind": kind}

    def document(self) -> dict[str, Any]:
        """The job, and how it simulated."""
        first = self.runs[0]
        return {
            "job": str(self.job.pk),
            "title": self.title,
            "replications": first["replications"],
            "requests": first["requests"],
            "seed": first["seed"],
            "stable": [run["stable"] for run in self.runs],
            "rate_rps": [run["rate_rps"] for run in self.runs],
            "load": [run["load"] for run in self.runs],
            "version": self.job.version,
        }


def digest(asked: Asked) -> str:
    """The same for deployments that a simulation cannot tell apart: prices and titles do not matter to it."""
    each = [{key: value for key, value in one.raw.items() if key not in DECISIONS} for one in asked.scenarios]
    text = json.dumps(each, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def submit(asked: Asked, settings: Mapping[str, Any], by: int | None) -> Job:
    """The job that simulates the deployments, each with the same settings: load or rate_rps, requests, replications.

    Raises DocumentError, with paths like `runs.0.load`.
    """
    given = {"requests": REQUESTS, "replications": REPLICATIONS, **settings}
    if not {"load", "rate_rps"} & set(given):
        given["load"] = OWN_LOAD
    runs = [{"scenario": each.document(), **given} for each in asked.scenarios]
    # Documents are complete: they name nothing that would have to be looked up.
    posed = side_by_side.parse({"runs": runs}, catalog.SHIPPED)
    frozen = {**posed.frozen(), "comparison": digest(asked)}
    return jobs.submit(Job.Kind.SIDE_BY_SIDE, posed.names, frozen, by)


def newest(asked: Asked) -> Simulation | None:
    """What the newest job that was done has simulated of the same deployments."""
    job = _same(asked).filter(state=Job.State.SUCCEEDED).first()
    return Simulation(job, job.result) if job and job.result else None


def running(asked: Asked) -> Job | None:
    """The newest job that is to simulate the same deployments and is not done yet."""
    return _same(asked).exclude(state__in=Job.ENDED).defer("input", "result").first()


def _same(asked: Asked) -> QuerySet[Job]:
    return Job.objects.filter(kind=Job.Kind.SIDE_BY_SIDE, input__comparison=digest(asked))
