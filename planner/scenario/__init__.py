"""A scenario: one document of model, clusters, links, traffic, decode, routing and provenance."""

from planner.documents.errors import DocumentError, FieldError
from planner.scenario.document import SHIPPED, Scenario, catalogued, load, parse

__all__ = ["SHIPPED", "DocumentError", "FieldError", "Scenario", "catalogued", "load", "parse"]
