"""Addresses under /api/v1/live/."""

from django.urls import URLPattern, URLResolver, path

from monitoring.api.live import HistoryView, SnapshotView, TicksView
from monitoring.api.mappings import MappingsView, MappingView
from monitoring.api.quarantine import QuarantinedView, QuarantineView
from monitoring.api.query import ExportView, QueryView, SeriesView
from monitoring.api.recording import RecordingView
from monitoring.api.sources import SourcesView, SourceView, TokensView, TokenView
from monitoring.api.targets import PullsView, PullTestView, PullView, TargetsView, TargetTestView, TargetView
from monitoring.api.watches import EnteredView, WatchesView, WatchView

urlpatterns: list[URLPattern | URLResolver] = [
    path("sources/", SourcesView.as_view(), name="live-sources-list"),
    path("sources/<slug:name>/", SourceView.as_view(), name="live-source"),
    path("sources/<slug:name>/tokens/", TokensView.as_view(), name="live-tokens"),
    path("sources/<slug:name>/tokens/<int:token_id>/", TokenView.as_view(), name="live-token"),
    path("sources/<slug:name>/quarantine/", QuarantineView.as_view(), name="live-quarantine"),
    path("sources/<slug:name>/quarantine/<int:frame_id>/", QuarantinedView.as_view(), name="live-quarantined"),
    path("targets/", TargetsView.as_view(), name="live-targets-list"),
    path("targets/<slug:name>/", TargetView.as_view(), name="live-target"),
    path("targets/<slug:name>/test/", TargetTestView.as_view(), name="live-target-test"),
    path("pulls/", PullsView.as_view(), name="live-pulls-list"),
    path("pulls/<slug:name>/", PullView.as_view(), name="live-pull"),
    path("pulls/<slug:name>/test/", PullTestView.as_view(), name="live-pull-test"),
    path("mappings/", MappingsView.as_view(), name="live-mappings-list"),
    path("mappings/<slug:name>/", MappingView.as_view(), name="live-mapping-text"),
    path("series/", SeriesView.as_view(), name="live-series"),
    path("query/", QueryView.as_view(), name="live-query"),
    path("export/", ExportView.as_view(), name="live-export"),
    path("snapshot/", SnapshotView.as_view(), name="live-snapshot"),
    path("ticks/", TicksView.as_view(), name="live-ticks"),
    path("watches/", WatchesView.as_view(), name="live-watches-list"),
    path("watches/<slug:name>/", WatchView.as_view(), name="live-watch"),
    path("watches/<slug:name>/entered/", EnteredView.as_view(), name="live-watch-entered"),
    path("watches/<slug:name>/history/", HistoryView.as_view(), name="live-watch-history"),
    path("recording/", RecordingView.as_view(), name="live-recording"),
]
