"""What a replay needs of the planner: the document of a scenario, stored, shipped or in a file, its experiment, and the
job that simulates a recorded window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import DatabaseError

from planner import jobs, scenario, store
from planner.documents.errors import DocumentError, FieldError, refuse
from planner.models import Job
from planner.simulating import document
from planner.simulating.document import Asked
from planner.simulating.replays import document as replays

__all__ = ["Asked", "DocumentError", "FieldError", "asked", "refuse", "replay_job", "scenario_document"]


def scenario_document(name_or_path: str) -> dict[str, Any]:
    """The complete document of a stored scenario, or else of a shipped one or a file. Raises DocumentError."""
    try:
        entry = store.named(store.SCENARIOS, name_or_path)
    except DatabaseError:  # no table yet
        entry = None
    if entry is not None:
        return store.scenario_of(entry).document()
    return scenario.load(name_or_path, None, store.StoredOrShipped()).document()


def asked(simulation: Mapping[str, Any]) -> Asked:
    """The checked simulation of a document, with its experiment. Raises DocumentError."""
    return document.parse(simulation, store.StoredOrShipped())


def replay_job(replay: Mapping[str, Any], by: int | None = None) -> Job:
    """The job that simulates a recorded window as it was and with other policies. Raises DocumentError."""
    found = replays.parse(replay, store.StoredOrShipped())
    return jobs.submit(Job.Kind.REPLAY, found.base.scenario.name, found.frozen(), by)
