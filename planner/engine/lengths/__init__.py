"""Distributions of prompt length L in tokens, and their conditional moments above and below a threshold t."""

from planner.engine.lengths.bucketed import Bucketed
from planner.engine.lengths.correlated import CorrelatedOutput
from planner.engine.lengths.distribution import (
    LengthDistribution,
    Quantity,
    conditional,
    equal_ratios,
    mean,
    mean_above,
    mean_below,
    offload_fraction,
    running_sums,
)
from planner.engine.lengths.empirical import Empirical
from planner.engine.lengths.gamma import TruncatedGamma
from planner.engine.lengths.incremental import LEAST_TOKENS, uncached
from planner.engine.lengths.joint import Drawn, JointLengths
from planner.engine.lengths.log_normal import TruncatedLogNormal, normal_between
from planner.engine.lengths.mixture import Mixture
from planner.engine.lengths.pareto import TruncatedPareto
from planner.engine.lengths.smooth import Smooth

__all__ = [
    "LEAST_TOKENS",
    "Bucketed",
    "CorrelatedOutput",
    "Drawn",
    "Empirical",
    "JointLengths",
    "LengthDistribution",
    "Mixture",
    "Quantity",
    "Smooth",
    "TruncatedGamma",
    "TruncatedLogNormal",
    "TruncatedPareto",
    "conditional",
    "equal_ratios",
    "mean",
    "mean_above",
    "mean_below",
    "normal_between",
    "offload_fraction",
    "running_sums",
    "uncached",
]
