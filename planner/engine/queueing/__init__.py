"""Waiting for one of several servers, and how long a request takes that waits and is then served.

Everything here is of a queue in its steady state, first come first served, that nobody leaves.
"""

from planner.engine.queueing.arrival import departure_scv, thinned_scv
from planner.engine.queueing.bursts import waiting_in_bursts
from planner.engine.queueing.erlang import erlang_b, erlang_c
from planner.engine.queueing.passage import Way, mean_passage, passage_quantiles, share_passed
from planner.engine.queueing.service import Moments, Sampled, Service
from planner.engine.queueing.wait import Wait, allen_cunneen, wait_probability, waiting

__all__ = [
    "Moments",
    "Sampled",
    "Service",
    "Wait",
    "Way",
    "allen_cunneen",
    "departure_scv",
    "erlang_b",
    "erlang_c",
    "mean_passage",
    "passage_quantiles",
    "share_passed",
    "thinned_scv",
    "wait_probability",
    "waiting",
    "waiting_in_bursts",
]
