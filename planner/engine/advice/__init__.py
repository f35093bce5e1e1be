"""What to do with a running system: which t, which split, and why.

Pure functions over what is seen of it. Nothing here is compiled, reads a clock or draws at random: who watches calls
`advise(deployment, observed, options, remembered)` once a second and hands back what it returned, beside the advice,
to be remembered. Of the deployment its curves and decode count; lengths, link, instances and t are as observed. Keep
the deployment from call to call: what follows from its curves alone is kept with them.
"""

from planner.engine.advice.advising import advise, decide
from planner.engine.advice.drifting import Drift, Mean, Verdict, drift, observed_mean, per_request, refitted, scaled
from planner.engine.advice.terms import (
    Advice,
    Hindrance,
    Histogram,
    Interval,
    Objective,
    Observed,
    Obstacle,
    Options,
    Point,
    Queues,
    Reason,
    Remembered,
    Split,
    Ttft,
)

__all__ = [
    "Advice",
    "Drift",
    "Hindrance",
    "Histogram",
    "Interval",
    "Mean",
    "Objective",
    "Observed",
    "Obstacle",
    "Options",
    "Point",
    "Queues",
    "Reason",
    "Remembered",
    "Split",
    "Ttft",
    "Verdict",
    "advise",
    "decide",
    "drift",
    "observed_mean",
    "per_request",
    "refitted",
    "scaled",
]
