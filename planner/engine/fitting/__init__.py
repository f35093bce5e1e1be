"""Distributions fitted to recorded lengths by maximum likelihood, and how far each is from the record.

Lengths come with counts, so that twenty million requests cost no more than their distinct lengths. Likelihoods are of
the density of a length in tokens; every family is truncated to the same range, by default that of the record.
"""

from planner.engine.fitting.candidates import Candidate, candidate, document, report
from planner.engine.fitting.families import gamma, log_normal, pareto
from planner.engine.fitting.mixtures import mixture
from planner.engine.fitting.record import Fitted, QuantilePairs, Sample, ks_distance, log_likelihood, qq, sample

__all__ = [
    "Candidate",
    "Fitted",
    "QuantilePairs",
    "Sample",
    "candidate",
    "document",
    "gamma",
    "ks_distance",
    "log_likelihood",
    "log_normal",
    "mixture",
    "pareto",
    "qq",
    "report",
    "sample",
]
