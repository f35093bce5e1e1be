"""What the commands that simulate share: running replications in this process."""

from __future__ import annotations

from planner.engine.simulation import Replication
from planner.engine.simulation.work import replicated
from planner.simulating import document


def make_ready(asked: document.Asked) -> None:
    """Has everything compiled, which is not counted when the speed is."""
    replicated(document.warm_up(asked), _unheard)


def replications(asked: document.Asked) -> list[Replication]:
    """All of them, one after another, in this process."""
    return [replicated(document.part(asked, index), _unheard) for index in range(asked.run.replications)]


def _unheard(done: int, total: int, message: str) -> None: ...
