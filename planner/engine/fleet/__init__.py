"""The fixed fleet: several PrfaaS clusters, PD clusters and links, what they carry, and how to run them best."""

from planner.engine.fleet.limits import FleetLimit, FleetStage, PdPoint, evaluate
from planner.engine.fleet.parts import Fleet, FleetLink, FleetPd, FleetPrfaas, Route
from planner.engine.fleet.search import best, best_of

__all__ = [
    "Fleet",
    "FleetLimit",
    "FleetLink",
    "FleetPd",
    "FleetPrfaas",
    "FleetStage",
    "PdPoint",
    "Route",
    "best",
    "best_of",
    "evaluate",
]
