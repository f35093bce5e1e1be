"""A scenario: one document of model, clusters, links, traffic, decode, routing and provenance."""

from planner.catalog import NotInCatalogue
from planner.documents.errors import DocumentError, FieldError
from planner.scenario.document import SHIPPED, Scenario, catalogued, load, parse, table
from planner.scenario.references import Catalogue

__all__ = [
    "SHIPPED",
    "Catalogue",
    "DocumentError",
    "FieldError",
    "NotInCatalogue",
    "Scenario",
    "catalogued",
    "load",
    "parse",
    "table",
]
