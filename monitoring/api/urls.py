"""Addresses under /api/v1/live/."""

from django.urls import URLPattern, URLResolver, path

from monitoring.api.alerts import AcknowledgeView, AlertsView, AlertView, RulesView, RuleView
from monitoring.api.annotations import NotesView, NoteView
from monitoring.api.hooks import (
    AlertmanagerView,
    GrafanaView,
    HooksView,
    HookTokensView,
    HookTokenView,
    HookView,
)
from monitoring.api.live import HistoryView, SnapshotView, TicksView
from monitoring.api.mappings import MappingsView, MappingView
from monitoring.api.quarantine import QuarantinedView, QuarantineView
from monitoring.api.query import ExportView, QueryView, SeriesView
from monitoring.api.receivers import ReceiversView, ReceiverTestView, ReceiverView
from monitoring.api.recommendations import RecommendationsView, RecommendationView, RouterView
from monitoring.api.recording import RecordingView
from monitoring.api.refit import RefitView
from monitoring.api.replays import ReplaysView
from monitoring.api.silences import SilencesView, SilenceView
from monitoring.api.sources import SourcesView, SourceView, TokensView, TokenView
from monitoring.api.targets import PullsView, PullTestView, PullView, TargetsView, TargetTestView, TargetView
from monitoring.api.watches import EnteredOneView, EnteredView, WatchesView, WatchView

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
    path("watches/<slug:name>/entered/<str:what>/", EnteredOneView.as_view(), name="live-watch-entered-one"),
    path("watches/<slug:name>/history/", HistoryView.as_view(), name="live-watch-history"),
    path("watches/<slug:name>/replays/", ReplaysView.as_view(), name="live-replays"),
    path("recording/", RecordingView.as_view(), name="live-recording"),
    path("watches/<slug:name>/recommendation/", RecommendationView.as_view(), name="live-recommendation"),
    path("watches/<slug:name>/recommendations/", RecommendationsView.as_view(), name="live-recommendations-list"),
    path("watches/<slug:name>/router/<slug:router>/", RouterView.as_view(), name="live-router"),
    path("watches/<slug:name>/refit/", RefitView.as_view(), name="live-refit"),
    path("alert-rules/", RulesView.as_view(), name="live-alert-rules-list"),
    path("alert-rules/<slug:name>/", RuleView.as_view(), name="live-alert-rule"),
    path("alerts/", AlertsView.as_view(), name="live-alerts-list"),
    path("alerts/<int:alert_id>/", AlertView.as_view(), name="live-alert"),
    path("alerts/<int:alert_id>/acknowledge/", AcknowledgeView.as_view(), name="live-alert-acknowledge"),
    path("silences/", SilencesView.as_view(), name="live-silences-list"),
    path("silences/<int:silence_id>/", SilenceView.as_view(), name="live-silence"),
    path("annotations/", NotesView.as_view(), name="live-annotations-list"),
    path("annotations/<int:note_id>/", NoteView.as_view(), name="live-annotation"),
    path("receivers/", ReceiversView.as_view(), name="live-receivers-list"),
    path("receivers/<slug:name>/", ReceiverView.as_view(), name="live-receiver"),
    path("receivers/<slug:name>/test/", ReceiverTestView.as_view(), name="live-receiver-test"),
    path("hooks/", HooksView.as_view(), name="live-hooks-list"),
    path("hooks/alertmanager/", AlertmanagerView.as_view(), name="live-hook-alertmanager"),
    path("hooks/grafana/", GrafanaView.as_view(), name="live-hook-grafana"),
    path("hooks/<slug:name>/", HookView.as_view(), name="live-hook"),
    path("hooks/<slug:name>/tokens/", HookTokensView.as_view(), name="live-hook-tokens"),
    path("hooks/<slug:name>/tokens/<int:token_id>/", HookTokenView.as_view(), name="live-hook-token"),
]
