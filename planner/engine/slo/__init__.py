"""The cheapest deployment that carries a rate and keeps a promise on TTFT under load."""

from planner.engine.slo.promise import Kept, Promise
from planner.engine.slo.search import THRESHOLDS, cheapest_keeping, least_percentile, ttft

__all__ = ["THRESHOLDS", "Kept", "Promise", "cheapest_keeping", "least_percentile", "ttft"]
