"""A scenario: one document of model, clusters, links, traffic, decode, routing and provenance."""

from planner.catalog import NotInCatalogue
from planner.documents.errors import DocumentError, FieldError
from planner.scenario.document import SHIPPED, Scenario, load, parse, shipped, table
from planner.scenario.references import Catalogue

__all__ = [
    "SHIPPED",
    "Catalogue",
    "DocumentError",
    "FieldError",
    "NotInCatalogue",
    "Scenario",
    "load",
    "parse",
    "shipped",
    "table",
]
