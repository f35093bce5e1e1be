"""Addresses under /api/v1/."""

from django.urls import URLPattern, URLResolver
from rest_framework.routers import SimpleRouter

from planner.api.jobs import JobViewSet

router = SimpleRouter()
router.register("jobs", JobViewSet, basename="job")

urlpatterns: list[URLPattern | URLResolver] = [*router.urls]
