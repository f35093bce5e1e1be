"""Addresses that agents push to: their protocols fix the paths."""

from django.urls import URLPattern, path

from monitoring.doors.http import otlp_metrics, prometheus_write

urlpatterns: list[URLPattern] = [
    path("v1/metrics", otlp_metrics, name="otlp-metrics"),
    path("api/v1/write", prometheus_write, name="prometheus-write"),
]
