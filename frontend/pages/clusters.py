"""Several PrfaaS and PD clusters: the form of rows, each of which can be added and taken away."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from frontend.optimiser.clusters import rows
from frontend.optimiser.clusters.form import ClustersForm, scenarios
from frontend.optimiser.problems import ALL, CLUSTERS, FIRST
from planner.documents.errors import DocumentError
from planner.models import Job


@require_http_methods(["GET", "POST"])
def clusters(request: HttpRequest) -> HttpResponse:
    """The form; a valid question becomes a job."""
    typed = request.POST if request.method == "POST" else request.GET
    known = dict(scenarios())
    name = typed.get("scenario") or (FIRST if FIRST in known else next(iter(known), ""))
    if not name:
        return render(request, "optimiser/empty.html", {"asked": CLUSTERS})
    try:
        called, given = _given(typed, name)
    except DocumentError as refused:
        return render(request, "optimiser/refused.html", {"name": name, "errors": refused.errors}, status=404)
    more, less = typed.get("add", ""), typed.get("remove", "")
    is_asked = request.method == "POST" and not more and not less
    form = ClustersForm(called, rows.without(rows.with_one_more(given, more), less), is_asked=is_asked)
    if is_asked:
        if not request.user.is_authenticated:
            return redirect_to_login(
                f"{reverse('optimiser-clusters')}?{urlencode({'name': called, **rows.flat(given)})}"
            )
        if form.is_valid() and (job := form.submit(by=request.user.pk)):
            return redirect("job-page", job.pk)
    context = {
        "asked": CLUSTERS,
        "form": form,
        "problems": ALL,
        "scenario": name,
        "grown": more,
        "shrunk": less.rpartition("-")[0],
    }
    return render(request, "optimiser/clusters.html", context)


def _given(typed: QueryDict, scenario: str) -> tuple[str, rows.Rows]:
    """What the fleet is called and its rows: as sent, as a job has them, or a scenario's. Raises DocumentError."""
    sent = rows.sent(typed)
    if any(sent.values()):
        return typed.get("name", ""), sent
    try:
        job_id = UUID(typed.get("job", ""))
    except ValueError:
        return "fleet", rows.of_scenario(scenario)
    fleet = get_object_or_404(Job, pk=job_id, kind=Job.Kind.CLUSTERS).input["fleet"]
    return fleet.get("name", "fleet"), rows.of_fleet(fleet)
