"""What is watched, what was said of it by hand, and the snapshots that viewers get."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Watch(models.Model):
    """A deployment that is watched: which telemetry is of it, and the scenario whose curves describe it."""

    class Objective(models.TextChoices):
        """Which of the two recommended thresholds is followed."""

        THROUGHPUT = "throughput", "the greatest Λ_max"
        TTFT = "ttft", "the least TTFT at the present load"

    name = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200, blank=True, default="")
    scenario = models.CharField(max_length=200, blank=True, default="", help_text="Its name; none: no recommendation.")
    clusters = models.JSONField(default=list, help_text="Telemetry with one of these labels, or with none; []: of any.")
    links = models.JSONField(default=list, help_text="Names of its links; []: all that are measured.")
    headroom = models.FloatField(default=0.1, help_text="Share of each link that is kept free.")
    objective = models.CharField(max_length=20, choices=Objective.choices, default=Objective.THROUGHPUT)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


class Entered(models.Model):
    """A value that no telemetry tells, as somebody has entered it; the latest of each `what` counts."""

    watch = models.ForeignKey(Watch, on_delete=models.CASCADE, related_name="entered")
    what = models.CharField(max_length=40, help_text="threshold_tokens, or instances and a role: instances.prefill.")
    value = models.FloatField(null=True, help_text="Null: from then on nobody says anything.")
    at_ms = models.BigIntegerField()
    by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["watch", "what", "at_ms"], name="entered_latest")]

    def __str__(self) -> str:
        return f"{self.what} {'withdrawn' if self.value is None else f'= {self.value:g}'}"


class Tick(models.Model):
    """A snapshot as every viewer gets it, at whatever process; the last ten minutes are kept."""

    seq = models.BigIntegerField(primary_key=True, help_text="Rises by one, whoever leads.")
    ts_ms = models.BigIntegerField(db_index=True)
    payload = models.BinaryField(help_text="JSON of monitoring.live.messages.Snapshot.")

    def __str__(self) -> str:
        return f"{self.seq} at {self.ts_ms}"
