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
from frontend.pages.live_alert_rules import (
    change_live_alert_rule,
    end_live_silence,
    live_alert_rules,
    live_silences,
    new_live_alert_rule,
    new_live_silence,
    remove_live_alert_rule,
    switch_live_alert_rule,
)
from frontend.pages.live_alerts import acknowledge_live_alert, live_alert, live_alerts
from frontend.pages.live_annotations import (
    change_live_annotation,
    end_live_annotation,
    live_annotations,
    new_live_annotation,
    remove_live_annotation,
)
from frontend.pages.live_hooks import (
    live_hook,
    live_hooks,
    new_live_hook,
    new_live_hook_token,
    remove_live_hook,
    revoke_live_hook_token,
    switch_live_hook,
)
from frontend.pages.live_mapping import change_live_mapping, live_mapping, remove_live_mapping
from frontend.pages.live_receivers import (
    change_live_receiver,
    live_receiver,
    live_receivers,
    new_live_receiver,
    remove_live_receiver,
    test_live_receiver,
)
from frontend.pages.live_replay import live_replay
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
    path("live/replay/", live_replay, name="live-replay"),
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
    path("live/alerts/", live_alerts, name="live-alerts"),
    path("live/alerts/<int:alert_id>/", live_alert, name="live-alert-page"),
    path("live/alerts/<int:alert_id>/acknowledge/", acknowledge_live_alert, name="acknowledge-live-alert"),
    path("live/alerts/rules/", live_alert_rules, name="live-alert-rules"),
    path("live/alerts/rules/new/", new_live_alert_rule, name="new-live-alert-rule"),
    path("live/alerts/rules/<slug:name>/", change_live_alert_rule, name="change-live-alert-rule"),
    path("live/alerts/rules/<slug:name>/switch/", switch_live_alert_rule, name="switch-live-alert-rule"),
    path("live/alerts/rules/<slug:name>/remove/", remove_live_alert_rule, name="remove-live-alert-rule"),
    path("live/alerts/silences/", live_silences, name="live-silences"),
    path("live/alerts/silences/new/", new_live_silence, name="new-live-silence"),
    path("live/alerts/silences/<int:silence_id>/end/", end_live_silence, name="end-live-silence"),
    path("live/alerts/receivers/", live_receivers, name="live-receivers"),
    path("live/alerts/receivers/new/", new_live_receiver, name="new-live-receiver"),
    path("live/alerts/receivers/<slug:name>/", live_receiver, name="live-receiver-page"),
    path("live/alerts/receivers/<slug:name>/change/", change_live_receiver, name="change-live-receiver"),
    path("live/alerts/receivers/<slug:name>/test/", test_live_receiver, name="test-live-receiver"),
    path("live/alerts/receivers/<slug:name>/remove/", remove_live_receiver, name="remove-live-receiver"),
    path("live/alerts/annotations/", live_annotations, name="live-annotations"),
    path("live/alerts/annotations/new/", new_live_annotation, name="new-live-annotation"),
    path("live/alerts/annotations/<int:note_id>/", change_live_annotation, name="change-live-annotation"),
    path("live/alerts/annotations/<int:note_id>/end/", end_live_annotation, name="end-live-annotation"),
    path("live/alerts/annotations/<int:note_id>/remove/", remove_live_annotation, name="remove-live-annotation"),
    path("live/alerts/hooks/", live_hooks, name="live-hooks"),
    path("live/alerts/hooks/new/", new_live_hook, name="new-live-hook"),
    path("live/alerts/hooks/<slug:name>/", live_hook, name="live-hook-page"),
    path("live/alerts/hooks/<slug:name>/switch/", switch_live_hook, name="switch-live-hook"),
    path("live/alerts/hooks/<slug:name>/tokens/", new_live_hook_token, name="new-live-hook-token"),
    path(
        "live/alerts/hooks/<slug:name>/tokens/<int:token_id>/revoke/",
        revoke_live_hook_token,
        name="revoke-live-hook-token",
    ),
    path("live/alerts/hooks/<slug:name>/remove/", remove_live_hook, name="remove-live-hook"),
    path("live/mapping/", live_mapping, name="live-mapping"),
    path("live/mapping/<slug:name>/", change_live_mapping, name="change-live-mapping"),
    path("live/mapping/<slug:name>/remove/", remove_live_mapping, name="remove-live-mapping"),
    path("catalogue/import/", import_file, name="import-page"),
    path("catalogue/import/<uuid:upload_id>/", import_preview, name="import-preview"),
    path("catalogue/", include("frontend.pages.catalogue.urls")),
    path("login/", LoginView.as_view(template_name="login.html", redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
