"""What was found as a scenario of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frontend.optimiser import front
from frontend.optimiser.answer import fleet, headline
from planner import store
from planner.models import Entry, Job
from planner.procurement import questions

LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Found:
    """A scenario that a job found; `name` is what it is called unless somebody says otherwise, `point` its place."""

    job: Job
    name: str
    title: str
    said: str
    point: int | None = None

    @property
    def free_name(self) -> str:
        """What it could be called where the first name is taken."""
        return f"{self.name}-{str(self.job.pk)[:8]}"


def found(job: Job, point: str | None) -> Found | None:
    """What a job found, of a front the point that was chosen; None where there is nothing."""
    result: dict[str, Any] = job.result or {}
    name = f"{job.scenario[:70]}-{job.kind.replace('_', '-')}"
    if job.kind != Job.Kind.FRONT:
        return Found(job, name, job.get_kind_display(), headline(result)) if _document(result) else None
    at = front.place(result, point)
    if at is None:
        return None
    title = front.title(result, at)
    return Found(job, f"{name}-{at + 1}", title, f"{fleet(result['points'][at])}: {title}.", at)


def keep(what: Found, name: str, by: int | None) -> Entry:
    """Stores it. Raises DocumentError, also where the name is taken."""
    return store.create(store.SCENARIOS, document(what, name), by=by)


def document(what: Found, name: str) -> dict[str, Any]:
    """The scenario under a name, saying which question it answers."""
    result: Mapping[str, Any] = what.job.result or {}
    scenario = _document(result) if what.point is None else _of_point(what.job, result["points"][what.point])
    title = f"{scenario.get('title') or scenario['name']}: {what.title}"
    said = f"Found by the optimiser, {result['form']} form, from {what.job.scenario}: {what.said}"
    description = f"{said} {result.get('reserve', '')}".strip()
    return scenario | {"name": name, "title": title[:LONGEST_TITLE], "description": description}


def _document(result: Mapping[str, Any]) -> dict[str, Any]:
    return dict(result.get("scenario_document") or {})


def _of_point(job: Job, point: Mapping[str, Any]) -> dict[str, Any]:
    asked = questions.loaded(job.input["question"])
    scenario: dict[str, Any] = questions.point_scenario(asked, point).document()
    return scenario
