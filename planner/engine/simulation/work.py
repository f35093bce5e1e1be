"""A replication as a job's child computes it; Numba is loaded there, and only there."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine.search import Report
from planner.engine.simulation.replication import Replication
from planner.engine.simulation.settings import Experiment


@dataclass(frozen=True, slots=True)
class Part:
    """One replication of an experiment."""

    experiment: Experiment
    seed: int
    index: int


def replicated(part: Part, tell: Report) -> Replication:
    """The replication; `tell(done, total, message)` counts its requests."""
    total = part.experiment.requests
    tell(0, total, "preparing")
    from planner.engine.simulation.run import replicate  # compiles, or loads what was compiled before

    return replicate(
        part.experiment, part.seed, part.index, on_progress=lambda done: tell(min(done, total), total, "simulating")
    )
