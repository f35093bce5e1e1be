"""The closed loop: a simulated system of which what is advised is done. Imports Numba: never in a web process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.engine.advice import Observed, Options, Remembered, decide
from planner.engine.closed_loop.course import SECOND, Course
from planner.engine.closed_loop.system import Reading, System
from planner.engine.closed_loop.telemetry import Loop, Telemetry
from planner.engine.deployment import Deployment
from planner.engine.simulation.settings import Experiment
from planner.engine.simulation.state import nominal_bps

type Decide = Callable[[Deployment, Observed, Options, Remembered], tuple[float | None, Remembered]]


def follow(
    experiment: Experiment,
    loop: Loop | None,
    seconds: int,
    seed: int,
    index: int = 0,
    *,
    threshold_tokens: float | None = None,
    rule: Decide = decide,
) -> Course:
    """Replication `index` of those that a seed has, for so long; without a loop, t stays as it is.

    t begins at `threshold_tokens`, or else at the deployment's. The requests are the same whatever the loop: two
    courses of the same seed and index have common random numbers. What has come by then is served to its end.

    Raises ValueError where the experiment's requests do not last so long.
    """
    first = experiment.deployment.threshold_tokens if threshold_tokens is None else threshold_tokens
    system = System(experiment, seed, index, first)
    if not system.batch.arrival_s[-1] >= seconds:
        raise ValueError(f"{experiment.requests} requests are over before {seconds} s: take more of them")
    told = Telemetry(loop or Loop(), sum(nominal_bps(experiment)), system.batch.tokens)
    course, remembered = np.zeros(seconds, SECOND), Remembered()
    for second in range(1, seconds + 1):
        if not system.pass_until(second):
            return Course(course[: second - 1], *(np.zeros(0),) * 2, overflowed=True)
        reading = system.read()
        course[second - 1] = _kept(reading)
        if loop is None:
            continue
        told.take(reading)
        seen = told.observed(float(second)) if second % loop.every_s == 0 else None
        if seen is not None:
            t, remembered = rule(experiment.deployment, seen, loop.options, remembered)
            if t is not None:
                system.route_by(t)
    return Course(course, *system.ttft(), overflowed=False)


def _kept(reading: Reading) -> tuple[float, ...]:
    return tuple(float(getattr(reading, name)) for name in SECOND.names or ())
