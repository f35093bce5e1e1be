"""What happens to links and instances in one replication, laid out piece by piece for the event loop."""

from __future__ import annotations

import numpy as np
from numpy.random import SeedSequence

from planner.engine.simulation.faults import Faults, Place
from planner.engine.simulation.layout import ENDLESS_BPS, UP_PD_D, UP_PD_P, UP_PRFAAS
from planner.engine.simulation.settings import Experiment
from planner.engine.simulation.state import Timeline, nominal_bps
from planner.engine.simulation.weather import Weather

PLACES = np.array([{Place.PRFAAS: UP_PRFAAS, Place.PD_P: UP_PD_P, Place.PD_D: UP_PD_D}[place] for place in Place])


class Events:
    """Changes of what links carry, and of which instances are up."""

    def __init__(self, experiment: Experiment, seed: SeedSequence) -> None:
        """The same seed gives the same events, whatever the requests do. Raises ValueError as `Faults.check`."""
        paths = experiment.transport.paths
        seeds = seed.spawn(len(paths) + 1)
        self._links = [
            (path.weather or Weather()).stream(bps, child)
            for path, bps, child in zip(paths, nominal_bps(experiment), seeds, strict=False)
        ]
        n_prfaas, n_p, n_d = (int(count) for count in experiment.instances)
        there = {Place.PRFAAS: n_prfaas, Place.PD_P: n_p, Place.PD_D: n_d}
        self._faults = (experiment.faults or Faults()).schedule(there, seeds[-1])

    @property
    def ended(self) -> bool:
        """Whether nothing comes any more."""
        return self._faults.ended and all(link.ended for link in self._links)

    def upto(self, time_s: float) -> Timeline:
        """What was not given out before, up to a time."""
        found = [link.upto(time_s) for link in self._links]
        times = np.concatenate([times_s for times_s, _ in found])
        order = np.argsort(times, kind="stable")
        links = np.repeat(np.arange(len(found)), [times_s.size for times_s, _ in found])
        bps = np.minimum(np.concatenate([each for _, each in found]), ENDLESS_BPS)
        faults = self._faults.upto(time_s)
        return Timeline(
            change_s=np.append(times[order], np.inf),
            change_link=links[order],
            change_bps=bps[order],
            fault_s=np.append(faults["time_s"], np.inf),
            fault_place=PLACES[faults["place"]],
            fault_change=faults["change"].astype(np.int64),
            fault_draw=faults["draw"].copy(),
        )
