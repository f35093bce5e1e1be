"""What the live monitor stores: who sends, what they sent and is not yet sorted in, series, samples and rollups."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from django.db import models

from monitoring.models.secrets import Secret


class Source(models.Model):
    """Something that sends: an agent, a collector, a target that we scrape."""

    name = models.CharField(max_length=100, unique=True)
    labels = models.JSONField(default=dict, help_text="datacenter, cluster, role and the like of all that it sends.")
    systems = models.JSONField(default=list, help_text="Names of the mappings to read it by; none: found out.")
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_seen_ms = models.BigIntegerField(null=True, help_text="When something of it was committed last.")
    last_seq = models.BigIntegerField(null=True, help_text="Of the frames with a number: the last one committed.")
    skew_ms = models.BigIntegerField(null=True, help_text="Its clock less ours, smoothed.")
    accepted = models.PositiveBigIntegerField(default=0, help_text="Points.")
    rejected = models.PositiveBigIntegerField(default=0, help_text="Readings.")

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


class Token(Secret):
    """A secret by which a source is known; only its hash is kept. Two at once let one be replaced without a gap."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="tokens")

    def __str__(self) -> str:
        return f"{self.source_id}: {self.hint}…"


class OwnMapping(models.Model):
    """A mapping that somebody has put beside those that the product comes with, or in the place of one of them."""

    name = models.CharField(max_length=100, primary_key=True)
    text = models.TextField(help_text="YAML as it was typed; checked before it is stored.")
    revision = models.PositiveIntegerField(default=1, help_text="Counts the changes.")
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


class Frame(models.Model):
    """What was acknowledged and is not sorted in yet: the inbox of the one writer, in the order of its ids."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="+")
    received_ms = models.BigIntegerField()
    points = models.PositiveIntegerField()
    payload = models.BinaryField(help_text="Mapped series, or parts of histograms, see monitoring.wire.")
    is_parts = models.BooleanField(default=False, help_text="Whether they are parts of histograms.")

    def __str__(self) -> str:
        return f"{self.source_id}: {self.points} points"


class Quarantined(models.Model):
    """A frame that could not be sorted in, set aside so that it does not stop those behind it; see
    monitoring.quarantine."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="quarantined")
    received_ms = models.BigIntegerField()
    points = models.PositiveIntegerField()
    payload = models.BinaryField(help_text="As it was in its frame.")
    is_parts = models.BooleanField(default=False)
    reason = models.CharField(max_length=500, help_text="What went wrong when it was sorted in.")
    set_aside_ms = models.BigIntegerField()

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]

    def __str__(self) -> str:
        return f"{self.source_id}: {self.reason}"

    @property
    def received_at(self) -> datetime:
        """When its door took it."""
        return datetime.fromtimestamp(self.received_ms / 1000, UTC)

    @property
    def set_aside_at(self) -> datetime:
        """When it could not be sorted in."""
        return datetime.fromtimestamp(self.set_aside_ms / 1000, UTC)


class Pending(models.Model):
    """Of a source: parts of histograms whose other parts have not come yet; see monitoring.assembling."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, primary_key=True, related_name="+")
    due_ms = models.BigIntegerField(db_index=True, help_text="When some of it has waited long enough.")
    payload = models.BinaryField(help_text="See monitoring.wire.")

    def __str__(self) -> str:
        return f"{self.source_id}: due at {self.due_ms}"


class Series(models.Model):
    """One canonical signal of one source, at one place."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="series")
    signal = models.CharField(max_length=60)
    kind = models.CharField(max_length=20, help_text="counter, gauge, histogram; or of increases: delta ones.")
    labels = models.JSONField()
    bounds = models.JSONField(null=True, help_text="Upper bounds of a histogram's buckets, without +Inf.")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of all of the above.")
    wrap_bits = models.PositiveSmallIntegerField(default=0, help_text="Of a counter that begins again after so many.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["signal"], name="series_signal")]

    def __str__(self) -> str:
        return f"{self.signal}{self.labels}"


class Sample(models.Model):
    """A value as it came: of a counter the cumulative one, of a histogram the total and the counts by bucket."""

    pk = models.CompositePrimaryKey("series_id", "ts_ms")
    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    ts_ms = models.BigIntegerField()
    value = models.FloatField(null=True)
    start_ms = models.BigIntegerField(null=True, help_text="When the counter began, or the increase.")
    counts = models.BinaryField(null=True, help_text="Of a histogram: float64, little-endian.")

    def __str__(self) -> str:
        return f"{self.series_id} at {self.ts_ms}"


class Rollup(models.Model):
    """Many samples of a series as one row, for every 10 s, minute and ten minutes; see monitoring.storage.rollups."""

    pk = models.CompositePrimaryKey("series_id", "resolution_s", "bucket_ms")
    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    resolution_s = models.PositiveSmallIntegerField()
    bucket_ms = models.BigIntegerField(help_text="Where the bucket begins.")
    min = models.FloatField(null=True)
    max = models.FloatField(null=True)
    sum = models.FloatField(default=0.0)
    count = models.FloatField(default=0.0)
    last = models.FloatField(null=True)
    last_ms = models.BigIntegerField()
    span_ms = models.BigIntegerField(default=0)
    counts = models.BinaryField(null=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["resolution_s", "bucket_ms"], name="rollup_retention"),
        ]

    def __str__(self) -> str:
        return f"{self.series_id} of {self.resolution_s} s at {self.bucket_ms}"


class Lease(models.Model):
    """Who of several processes writes and recommends. Held for seconds, and renewed; see monitoring.lease."""

    name = models.CharField(max_length=40, primary_key=True)
    holder = models.CharField(max_length=64)
    epoch = models.PositiveBigIntegerField(default=0, help_text="Counts the holders.")
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.holder}"


class Fetched(models.Model):
    """What we ask ourselves, at intervals, and how it answered last; its source says of what it is."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, related_name="%(class)s")
    url = models.CharField(max_length=500)
    interval_s = models.FloatField(default=5.0)
    timeout_s = models.FloatField(default=4.0)
    bearer_token_file = models.CharField(
        max_length=100, blank=True, help_text="Its name in the credentials' directory."
    )
    up = models.BooleanField(null=True, help_text="Whether the last answer could be read; none: not asked yet.")
    last_fetched_ms = models.BigIntegerField(null=True)
    last_duration_ms = models.PositiveIntegerField(null=True)
    last_series = models.PositiveIntegerField(
        null=True, help_text="Of the last answer: series that are signals of ours."
    )
    last_error = models.CharField(max_length=500, blank=True)

    class Meta:
        abstract = True
        ordering: ClassVar[list[str]] = ["source__name"]

    def __str__(self) -> str:
        return f"{self.source_id}: {self.url}"


class Target(Fetched):
    """A page of metrics in Prometheus' text format."""


class Pull(Fetched):
    """A server that answers PromQL; `url` is what comes before `/api/v1/query`."""

    queries = models.JSONField(
        help_text="query, and signal and scale, or name and kind; see monitoring.sources.promql."
    )
