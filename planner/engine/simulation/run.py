"""One replication of an experiment, from its first request to its last. Imports Numba: never in a web process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from planner.engine.simulation.histogram import CELLS
from planner.engine.simulation.kernel import advance
from planner.engine.simulation.replication import PARTS, Mark, Replication, growth
from planner.engine.simulation.requests import Batch, Requests
from planner.engine.simulation.settings import Experiment
from planner.engine.simulation.state import MOST_SLOTS, Plan, State, enlarged, new_state, plan_of

MOST_A_BATCH = 8192

type Progress = Callable[[int], None]
type Stop = Callable[[], bool]


class Stopped(Exception):
    """The replication was asked to stop: nothing went wrong."""


class Simulation:
    """A system and the requests that are still to come."""

    def __init__(self, experiment: Experiment, seed: SeedSequence, record: bool = False) -> None:
        """Empty at time 0; with `record`, what each request met is kept."""
        self.plan: Plan = plan_of(experiment)
        self.state: State = new_state(self.plan, CELLS, experiment.requests if record else 0)
        self.state.clock["counted_from"] = experiment.uncounted
        self._requests = Requests(experiment, seed)

    @property
    def clock(self) -> Any:
        """The clock, its fields by name."""
        return self.state.clock[0]

    def arrive(self, count: int) -> bool:
        """Lets so many more requests arrive; False if more are in the system than anybody needs to see."""
        self.clock["taken"] = 0
        return self._advance(self._requests.next(count), draining=False)

    def mark(self) -> Mark:
        """The running totals as they are now."""
        clock = self.clock
        return Mark(
            now_s=float(clock["now_s"]),
            areas=self.state.places["area"].copy(),
            sent_bits=float(clock["sent_bits"]),
            possible_bits=float(clock["possible_bits"]),
            completed=int(clock["completed"]),
            arrived=int(clock["number"]),
        )

    def drain(self) -> None:
        """Lets everything finish that can, without new requests."""
        self.clock["tick_s"] = np.inf
        self._advance(Batch(*np.zeros((len(Batch._fields), 0))), draining=True)

    def _advance(self, batch: Batch, draining: bool) -> bool:
        while not advance(self.plan, self.state, batch, draining):
            if self.state.slots.size >= MOST_SLOTS:
                return False
            self.state = enlarged(self.state)
        return True


def replicate(
    experiment: Experiment,
    seed: int,
    index: int = 0,
    *,
    record: bool = False,
    on_progress: Progress | None = None,
    should_stop: Stop | None = None,
) -> Replication:
    """Replication `index` of those that a seed has: the same two give the same bits, wherever they are run.

    `on_progress` is told how many requests have arrived. Raises Stopped where `should_stop` says so.
    """
    simulation = Simulation(experiment, SeedSequence(seed, spawn_key=(index,)), record)
    marks, full = [simulation.mark()], False
    for counts in _parts(experiment):
        full = full or not _arrived(simulation, counts, on_progress, should_stop)
        marks.append(simulation.mark())
    if not full:
        simulation.drain()
    # what came before the warm-up's end does not count, unless there was no more
    marks = marks[1:] if marks[-1].now_s > marks[1].now_s else marks
    return _counted(simulation, index, marks, full)


def _arrived(simulation: Simulation, counts: list[int], on_progress: Progress | None, should_stop: Stop | None) -> bool:
    """Lets batches arrive, one after another; False where one was too many."""
    for count in counts:
        if should_stop is not None and should_stop():
            raise Stopped
        if not simulation.arrive(count):
            return False
        if on_progress is not None:
            on_progress(int(simulation.clock["number"]))
    return True


def _counted(simulation: Simulation, index: int, marks: list[Mark], full: bool) -> Replication:
    plan, state, clock = simulation.plan, simulation.state, simulation.clock
    first, last = marks[0], marks[-1]
    window_s = last.now_s - first.now_s
    return Replication(
        index=index,
        window_s=window_s,
        arrived=last.arrived - first.arrived,
        completed=last.completed - first.completed,
        mean_at=(last.areas - first.areas) / window_s,
        growth_rps=growth(marks),
        sent_bits=last.sent_bits - first.sent_bits,
        possible_bits=last.possible_bits - first.possible_bits,
        sums=state.sums.copy(),
        histograms=state.histograms.copy(),
        series=state.series[state.series["windows"] > 0],
        bin_s=float(clock["windows_a_bin"]) * plan.window_s,
        window_bin_s=plan.window_s,
        unfinished=int(clock["unfinished"]),
        overflowed=full,
        record=state.record,
    )


def _parts(experiment: Experiment) -> Iterator[list[int]]:
    """Requests by part, the warm-up first, each in batches."""
    edges = np.linspace(experiment.uncounted, experiment.requests, PARTS + 1).astype(np.int64)
    for size in (experiment.uncounted, *np.diff(edges).tolist()):
        whole, rest = divmod(size, MOST_A_BATCH)
        yield [MOST_A_BATCH] * whole + [rest] * (rest > 0)
