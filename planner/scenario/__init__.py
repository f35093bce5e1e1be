"""A scenario: one document of model, clusters, links, traffic, decode, routing and provenance."""

from planner.scenario.document import SHIPPED, Scenario, catalogued, load, parse
from planner.scenario.errors import FieldError, ScenarioError

__all__ = ["SHIPPED", "FieldError", "Scenario", "ScenarioError", "catalogued", "load", "parse"]
