"""Addresses of the pages."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

from frontend.pages.case_study import case_study
from frontend.pages.downloads import result_csv, result_json
from frontend.pages.job import job
from frontend.pages.jobs import jobs

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(pattern_name="case-study"), name="home"),
    path("case-study/", case_study, name="case-study"),
    path("jobs/", jobs, name="jobs-page"),
    path("jobs/<uuid:job_id>/", job, name="job-page"),
    path("jobs/<uuid:job_id>/result.json", result_json, name="job-result-json"),
    path("jobs/<uuid:job_id>/result.csv", result_csv, name="job-result-csv"),
    path("login/", LoginView.as_view(template_name="login.html", redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
