"""Addresses under /api/v1/live/."""

from django.urls import URLPattern, URLResolver, path

from monitoring.api.query import ExportView, QueryView, SeriesView

urlpatterns: list[URLPattern | URLResolver] = [
    path("series/", SeriesView.as_view(), name="live-series"),
    path("query/", QueryView.as_view(), name="live-query"),
    path("export/", ExportView.as_view(), name="live-export"),
]
