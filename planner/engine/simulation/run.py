"""One replication of an experiment, from its first request to its last. Imports Numba: never in a web process."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from planner.engine.simulation.histogram import CELLS
from planner.engine.simulation.kernel import advance
from planner.engine.simulation.prompts import NO_BLOCKS
from planner.engine.simulation.replication import PARTS, Mark, Replication, growth
from planner.engine.simulation.requests import Batch, Requests
from planner.engine.simulation.settings import Experiment
from planner.engine.simulation.state import MOST_SLOTS, Plan, State, Timeline, enlarged, new_state, plan_of
from planner.engine.simulation.timeline import Events

MOST_A_BATCH = 8192
AN_HOUR_S, A_DAY_S = 3600.0, 86_400.0
LATEST_S = 1e15
"""Beyond every time that is simulated: as far as events are laid out that come to an end."""
NOBODY_COMES = Batch(*([np.zeros(0)] * 9), *([NO_BLOCKS] * 6))  # type: ignore[arg-type]

type Progress = Callable[[int], None]
type Stop = Callable[[], bool]


class Stopped(Exception):
    """The replication was asked to stop: nothing went wrong."""


class Simulation:
    """A system and the requests that are still to come."""

    def __init__(self, experiment: Experiment, seed: SeedSequence, record: bool = False) -> None:
        """Empty at time 0; with `record`, what each request met is kept."""
        self.plan: Plan = plan_of(experiment)
        self.state: State = new_state(experiment, self.plan, CELLS, experiment.requests if record else 0)
        self.state.clock["counted_from"] = experiment.uncounted
        self._requests = Requests(experiment, seed)
        self._events = Events(experiment, seed)

    @property
    def clock(self) -> Any:
        """The clock, its fields by name."""
        return self.state.clock[0]

    def arrive(self, count: int) -> bool:
        """Lets so many more requests arrive; False if more are in the system than anybody needs to see."""
        self.clock["taken"] = 0
        batch = self._requests.next(count)
        return self._advance(batch, self._laid_out(float(batch.arrival_s[-1])), draining=False)

    def mark(self) -> Mark:
        """The running totals as they are now."""
        clock, links = self.clock, self.state.links[: self.plan.given[0]["ways"]]
        return Mark(
            now_s=float(clock["now_s"]),
            areas=self.state.places["area"].copy(),
            sent_bits=links["sent_bits"].copy(),
            resent_bits=links["resent_bits"].copy(),
            possible_bits=links["possible_bits"].copy(),
            completed=int(clock["completed"]),
            arrived=int(clock["number"]),
        )

    def drain(self) -> None:
        """Lets everything finish that can, without new requests; as long again as they came for, or a day."""
        self.clock["tick_s"] = np.inf
        upto_s = float(self.clock["now_s"])
        last_s = upto_s + max(upto_s, A_DAY_S)
        while self.clock["unfinished"] and upto_s < last_s:
            # where nothing else happens by itself, it stops when requests have come to an end, or to a stand
            upto_s = upto_s + AN_HOUR_S if self.plan.given[0]["moves_roles"] or not self._events.ended else math.inf
            self._advance(NOBODY_COMES, self._laid_out(upto_s), draining=True, until_s=upto_s)

    def _laid_out(self, upto_s: float) -> Timeline:
        timeline = self._events.upto(min(upto_s, LATEST_S))
        clock = self.clock
        clock["change"] = clock["fault"] = 0
        clock["change_s"], clock["fault_s"] = timeline.change_s[0], timeline.fault_s[0]
        return timeline

    def _advance(self, batch: Batch, timeline: Timeline, draining: bool, until_s: float = math.inf) -> bool:
        while not advance(self.plan, self.state, timeline, batch, draining, until_s):
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
        resent_bits=last.resent_bits - first.resent_bits,
        possible_bits=last.possible_bits - first.possible_bits,
        end_s=last.now_s,
        copied_bits=float(clock["copied_bits"]),
        conversions=int(clock["conversions"]),
        restarts=int(clock["restarts"]),
        sums=state.sums.copy(),
        histograms=state.histograms.copy(),
        tpot=state.tpot.copy(),
        series=state.series[state.series["windows"] > 0],
        bin_s=float(clock["windows_a_bin"] * plan.given[0]["window_s"]),
        window_bin_s=float(plan.given[0]["window_s"]),
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
