"""Addresses under /api/v1/."""

from django.urls import URLPattern, URLResolver, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from planner.api.bandwidth import BandwidthView
from planner.api.catalogue import VIEW_SETS
from planner.api.charts import CHARTS, FitsView
from planner.api.evaluate import EvaluateView, WhatIfView
from planner.api.imports import ImportsView, ImportView
from planner.api.jobs import JobViewSet
from planner.api.procurement import ProcurementView
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
    path("simulations/", SimulationView.as_view(), name="simulations"),
    path("simulations/side-by-side/", SideBySideView.as_view(), name="side-by-side"),
    path("studies/", StudyView.as_view(), name="studies"),
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
