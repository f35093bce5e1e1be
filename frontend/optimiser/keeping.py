"""What was found as a scenario of its own."""

from __future__ import annotations

from typing import Any

from frontend.optimiser.answer import headline
from planner import store
from planner.models import Entry, Job

LONGEST_TITLE = 200


def default_name(job: Job) -> str:
    """What it is called unless somebody says otherwise."""
    return f"{job.scenario[:70]}-{job.kind.replace('_', '-')}"


def free_name(job: Job) -> str:
    """What it could be called where the first name is taken."""
    return f"{default_name(job)}-{str(job.pk)[:8]}"


def keep(job: Job, name: str, by: int | None) -> Entry:
    """Stores it. Raises DocumentError, also where the name is taken."""
    return store.create(store.SCENARIOS, document(job, name), by=by)


def document(job: Job, name: str) -> dict[str, Any]:
    """The scenario under a name, saying which question it answers."""
    result: dict[str, Any] = job.result or {}
    found = dict(result["scenario_document"])
    title = f"{found.get('title') or found['name']}: {job.get_kind_display()}"
    description = f"Found by the optimiser, {result['form']} form, from {job.scenario}: {headline(result)}"
    return found | {"name": name, "title": title[:LONGEST_TITLE], "description": description}
