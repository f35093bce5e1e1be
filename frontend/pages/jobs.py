"""All jobs, the newest first."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner.models import Job

PER_PAGE = 25


@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    pages = Paginator(Job.objects.filter(parent=None).defer("input", "result"), PER_PAGE)
    return render(request, "jobs.html", {"page": pages.get_page(request.GET.get("page"))})
