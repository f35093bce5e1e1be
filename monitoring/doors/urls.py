"""Addresses that agents push to, or read from: their protocols fix the paths."""

from django.urls import URLPattern, path

from monitoring.doors.http import otlp_metrics, prometheus_write, websocket_only
from monitoring.doors.metrics import metrics

urlpatterns: list[URLPattern] = [
    path("metrics", metrics, name="metrics"),
    path("v1/metrics", otlp_metrics, name="otlp-metrics"),
    path("api/v1/write", prometheus_write, name="prometheus-write"),
    path("ws/ingest/", websocket_only),
    path("ws/live/", websocket_only),
]
