"""A simulated deployment of which time passes as far as it is told, and whose t is set from outside."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from planner.engine.controller import Rule
from planner.engine.curves import Array
from planner.engine.simulation.layout import TAIL, UP_PD_D, UP_PD_P, UP_PRFAAS, WAIT_PD_D, WAIT_PD_P, WAIT_PRFAAS
from planner.engine.simulation.replication import in_system
from planner.engine.simulation.run import LATEST_S, Simulation
from planner.engine.simulation.settings import Experiment

NEVER = math.inf
HELD = Rule(0.0, math.inf, high=NEVER, surge=NEVER, patience=NEVER, resent=NEVER, backlog=NEVER)
"""t may be anything, and nothing moves it but who sets it."""
TICK_S = 1.0
"""Every so often something happens for certain, so that what is read is of that moment."""


class Reading(NamedTuple):
    """What counters and gauges show at a moment."""

    now_s: float
    threshold_tokens: float
    arrived: int
    sent_bits: float
    resent_bits: float
    capacity_bps: float
    prfaas: float
    """Requests that wait for a PrfaaS instance; prefilled by it, and not yet across; for PD-P; for PD-D."""
    link: float
    pd_p: float
    pd_d: float
    in_system: float
    n_prfaas: float
    """Instances that are up."""
    n_p: float
    n_d: float


class System(Simulation):
    """One replication. Its requests are those of `replicate` with the same seed and index, whatever t is."""

    def __init__(self, experiment: Experiment, seed: int, index: int, threshold_tokens: float) -> None:
        """Empty at time 0, with a t that holds until another one is set."""
        held = replace(experiment, rule=HELD, window_s=TICK_S)
        super().__init__(held, SeedSequence(seed, spawn_key=(index,)), record=True)
        self.batch = self._requests.next(experiment.requests)
        self._timeline = self._laid_out(min(float(self.batch.arrival_s[-1]), LATEST_S))
        self.route_by(threshold_tokens)

    def route_by(self, threshold_tokens: float) -> None:
        """Requests that come from now on are judged by this t."""
        self.clock["threshold_tokens"] = threshold_tokens

    def pass_until(self, seconds: int) -> bool:
        """Lets time pass up to a whole second; False if more requests are in the system than anybody needs to see."""
        return self._advance(self.batch, self._timeline, draining=False, until_s=float(seconds))

    def read(self) -> Reading:
        """All counters and gauges now."""
        clock, places, ways = self.clock, self.state.places, int(self.plan.given["ways"][0])
        links, count = self.state.links[:ways], places["count"]
        return Reading(
            now_s=float(clock["now_s"]),
            threshold_tokens=float(clock["threshold_tokens"]),
            arrived=int(clock["number"]),
            sent_bits=float(links["sent_bits"].sum()),
            resent_bits=float(links["resent_bits"].sum()),
            capacity_bps=float(links["capacity_bps"].sum()),
            prfaas=float(count[WAIT_PRFAAS]),
            link=float(count[TAIL]),
            pd_p=float(count[WAIT_PD_P]),
            pd_d=float(count[WAIT_PD_D]),
            in_system=in_system(count),
            n_prfaas=float(count[UP_PRFAAS]),
            n_p=float(count[UP_PD_P]),
            n_d=float(count[UP_PD_D] / self.plan.given["max_batch"][0]),
        )

    def ttft(self) -> tuple[Array, Array]:
        """Lets all that have come finish. When each came, and its TTFT in seconds; infinite where nothing serves it."""
        arrived = int(self.clock["number"])
        self.drain()
        record = self.state.record[:arrived]
        seconds = np.where(record["done_s"] > 0, record["first_s"] - record["arrival_s"], np.inf)
        return self.batch.arrival_s[:arrived].copy(), seconds
