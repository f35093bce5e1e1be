"""Imported by whoever has children that simulate: they then have the machine code that is kept from earlier days,
instead of loading it each for itself, which takes longer than most simulations. Where none is kept, importing does
nothing: the first child that simulates compiles it."""

from __future__ import annotations

import contextlib
import math

from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, Deployment, PdCluster
from planner.engine.lengths import Empirical
from planner.engine.simulation.compilation import is_kept
from planner.engine.simulation.kernel import advance
from planner.engine.simulation.run import replicate
from planner.engine.simulation.settings import Experiment

_CURVE = LogLogCurve([1.0, 2.0], [1.0, 1.0])
_SMALLEST = Deployment(
    Empirical([1.0]), _CURVE, None, None, PdCluster(1.0, 1.0, _CURVE), Decode(1, 1.0, 1.0), threshold_tokens=math.inf
)

if is_kept(advance):
    with contextlib.suppress(Exception):  # what is wrong with it is told by the job that needs it
        replicate(Experiment(_SMALLEST, 0.1, requests=1), 0)
