"""Addresses of the pages."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from frontend.pages.accuracy import accuracy, measurement_accuracy, refit_measurement
from frontend.pages.bandwidth_wall import bandwidth_wall
from frontend.pages.case_study import case_study, simulate_under_load
from frontend.pages.clusters import clusters
from frontend.pages.compare import (
    archive_comparison,
    comparison,
    comparison_file,
    comparison_report,
    comparison_scenario,
    comparison_step,
    comparison_table,
    comparisons,
    save_comparison,
    simulate_comparison,
)
from frontend.pages.downloads import result_csv, result_json
from frontend.pages.front import front_points
from frontend.pages.imports import import_file, import_preview
from frontend.pages.job import job
from frontend.pages.jobs import jobs
from frontend.pages.live import live
from frontend.pages.live_mapping import change_live_mapping, live_mapping, remove_live_mapping
from frontend.pages.live_sources import (
    change_live_source,
    live_source,
    live_sources,
    manage_quarantine,
    new_live_source,
    new_live_token,
    revoke_live_token,
    switch_live_source,
)
from frontend.pages.live_targets import (
    change_live_target,
    live_targets,
    new_live_target,
    remove_live_target,
    test_live_target,
)
from frontend.pages.optimiser import keep_scenario, optimiser, optimiser_question
from frontend.pages.scenarios import archive_scenario, new_scenario, scenario, scenario_file, scenarios
from frontend.pages.simulator import replications, simulate
from frontend.pages.study import variants

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(pattern_name="case-study"), name="home"),
    path("case-study/", case_study, name="case-study"),
    path("case-study/under-load/", simulate_under_load, name="case-study-under-load"),
    path("bandwidth-wall/", bandwidth_wall, name="bandwidth-wall"),
    path("accuracy/", accuracy, name="accuracy"),
    path("accuracy/<slug:name>/", measurement_accuracy, name="accuracy-measurement"),
    path("accuracy/<slug:name>/refit/", refit_measurement, name="accuracy-refit"),
    path("jobs/", jobs, name="jobs-page"),
    path("jobs/<uuid:job_id>/", job, name="job-page"),
    path("jobs/<uuid:job_id>/result.json", result_json, name="job-result-json"),
    path("jobs/<uuid:job_id>/result.csv", result_csv, name="job-result-csv"),
    path("jobs/<uuid:job_id>/points.json", front_points, name="job-points"),
    path("jobs/<uuid:job_id>/scenario/", keep_scenario, name="job-scenario"),
    path("optimiser/", optimiser, name="optimiser"),
    path("optimiser/clusters/", clusters, name="optimiser-clusters"),
    path("optimiser/<slug:problem>/", optimiser_question, name="optimiser-question"),
    path("jobs/<uuid:job_id>/replications.json", replications, name="job-replications"),
    path("jobs/<uuid:job_id>/variants.json", variants, name="job-variants"),
    path("simulate/", simulate, name="simulate"),
    path("compare/", comparisons, name="comparisons"),
    path("compare/<slug:name>/", comparison, name="comparison"),
    path("compare/<slug:name>/table/", comparison_table, name="comparison-table"),
    path("compare/<slug:name>/report/", comparison_report, name="comparison-report"),
    path("compare/<slug:name>/save/", save_comparison, name="save-comparison"),
    path("compare/<slug:name>/archive/", archive_comparison, name="archive-comparison"),
    path("compare/<slug:name>/simulate/", simulate_comparison, name="simulate-comparison"),
    path("compare/<slug:name>/step/", comparison_step, name="comparison-step"),
    path("compare/<slug:name>/scenarios/<slug:scenario>/", comparison_scenario, name="comparison-scenario"),
    re_path(r"^compare/(?P<name>[-\w]+)\.(?P<ending>csv|json)$", comparison_file, name="comparison-file"),
    path("scenarios/", scenarios, name="scenarios-page"),
    path("scenarios/new/", new_scenario, name="new-scenario"),
    path("scenarios/<slug:name>/", scenario, name="scenario-page"),
    path("scenarios/<slug:name>/archive/", archive_scenario, name="archive-scenario"),
    re_path(r"^scenarios/(?P<name>[-\w]+)\.(?P<ending>yaml|json)$", scenario_file, name="scenario-file"),
    path("live/", live, name="live"),
    path("live/sources/", live_sources, name="live-sources"),
    path("live/sources/new/", new_live_source, name="new-live-source"),
    path("live/sources/<slug:name>/", live_source, name="live-source-page"),
    path("live/sources/<slug:name>/change/", change_live_source, name="change-live-source"),
    path("live/sources/<slug:name>/switch/", switch_live_source, name="switch-live-source"),
    path("live/sources/<slug:name>/tokens/", new_live_token, name="new-live-token"),
    path("live/sources/<slug:name>/tokens/<int:token_id>/revoke/", revoke_live_token, name="revoke-live-token"),
    path("live/sources/<slug:name>/quarantine/", manage_quarantine, name="manage-quarantine"),
    path("live/targets/", live_targets, name="live-targets"),
    path("live/targets/new/", new_live_target, {"kind": "target"}, name="new-live-target"),
    path("live/targets/<slug:name>/", change_live_target, {"kind": "target"}, name="change-live-target"),
    path("live/targets/<slug:name>/test/", test_live_target, {"kind": "target"}, name="test-live-target"),
    path("live/targets/<slug:name>/remove/", remove_live_target, {"kind": "target"}, name="remove-live-target"),
    path("live/pulls/new/", new_live_target, {"kind": "pull"}, name="new-live-pull"),
    path("live/pulls/<slug:name>/", change_live_target, {"kind": "pull"}, name="change-live-pull"),
    path("live/pulls/<slug:name>/test/", test_live_target, {"kind": "pull"}, name="test-live-pull"),
    path("live/pulls/<slug:name>/remove/", remove_live_target, {"kind": "pull"}, name="remove-live-pull"),
    path("live/mapping/", live_mapping, name="live-mapping"),
    path("live/mapping/<slug:name>/", change_live_mapping, name="change-live-mapping"),
    path("live/mapping/<slug:name>/remove/", remove_live_mapping, name="remove-live-mapping"),
    path("catalogue/import/", import_file, name="import-page"),
    path("catalogue/import/<uuid:upload_id>/", import_preview, name="import-preview"),
    path("catalogue/", include("frontend.pages.catalogue.urls")),
    path("login/", LoginView.as_view(template_name="login.html", redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
