"""Addresses under /api/v1/."""

from django.urls import URLPattern, URLResolver, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from planner.api.accuracy import AccuracyTableView, AccuracyView, MeasurementTableView, MeasurementView, RefitView
from planner.api.attribution import AttributionView
from planner.api.bandwidth import BandwidthView
from planner.api.bom import BillView
from planner.api.catalogue import VIEW_SETS
from planner.api.charts import CHARTS, FitsView
from planner.api.compare import CompareView, SimulateComparisonView
from planner.api.evaluate import EvaluateView, WhatIfView
from planner.api.imports import ImportsView, ImportView
from planner.api.jobs import JobViewSet
from planner.api.procurement import ProcurementView
from planner.api.quotes import QuoteBillView, QuotesView
from planner.api.sensitivity import GrowthView, HeatMapView, SensitivityView, UncertaintyView
from planner.api.side_by_side import SideBySideView
from planner.api.simulations import SimulationView
from planner.api.studies import StudyView
from planner.api.unknown import NoSuchAddress

router = SimpleRouter()
router.register("jobs", JobViewSet, basename="job")
for kind, view_set in VIEW_SETS.items():
    router.register(kind, view_set, basename=kind)

urlpatterns: list[URLPattern | URLResolver] = [
    path("evaluate/", EvaluateView.as_view(), name="evaluate"),
    path("whatif/", WhatIfView.as_view(), name="whatif"),
    path("bandwidth/", BandwidthView.as_view(), name="bandwidth"),
    path("procurement/", ProcurementView.as_view(), name="procurement"),
    path("compare/", CompareView.as_view(), name="compare-table"),
    path("compare/attribution/", AttributionView.as_view(), name="compare-attribution"),
    path("compare/sensitivity/", SensitivityView.as_view(), name="compare-sensitivity"),
    path("compare/heat-map/", HeatMapView.as_view(), name="compare-heat-map"),
    path("compare/uncertainty/", UncertaintyView.as_view(), name="compare-uncertainty"),
    path("compare/growth/", GrowthView.as_view(), name="compare-growth"),
    path("compare/simulation/", SimulateComparisonView.as_view(), name="compare-simulation"),
    path("simulations/", SimulationView.as_view(), name="simulations"),
    path("simulations/side-by-side/", SideBySideView.as_view(), name="side-by-side"),
    path("studies/", StudyView.as_view(), name="studies"),
    # With a slash at the end or without: a script need not follow a redirect.
    re_path(r"^scenarios/(?P<name>[A-Za-z0-9_-]+)/bom/?$", BillView.as_view(), name="scenario-bom"),
    re_path(r"^quotes/?$", QuotesView.as_view(), name="quotes"),
    re_path(r"^quotes/(?P<quote_id>[0-9a-f]{16})/bom/?$", QuoteBillView.as_view(), name="quote-bom"),
    path("accuracy/", AccuracyView.as_view(), name="accuracy-summary"),
    path("accuracy.csv", AccuracyTableView.as_view(), name="accuracy-csv"),
    path("measurements/<slug:name>/accuracy/", MeasurementView.as_view(), name="measurement-accuracy"),
    path("measurements/<slug:name>/accuracy.csv", MeasurementTableView.as_view(), name="measurement-accuracy-csv"),
    path("measurements/<slug:name>/refit/", RefitView.as_view(), name="measurement-refit"),
    path("imports/", ImportsView.as_view(), name="imports"),
    path("imports/<uuid:upload_id>/", ImportView.as_view(), name="import"),
    *(path(f"{kind}/<slug:name>/charts/", view.as_view(), name=f"{kind}-charts") for kind, view in CHARTS.items()),
    path("traffic/<slug:name>/fits/", FitsView.as_view(), name="traffic-fits"),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="api-docs"),
    *router.urls,
    # Only with a slash at the end: without one Django redirects to the address that has it.
    re_path(r"^(?:.*/)?$", NoSuchAddress.as_view()),
]
