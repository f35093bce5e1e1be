"""What is stored."""

import uuid
from pathlib import Path
from typing import ClassVar

from django.conf import settings
from django.db import models


class Job(models.Model):
    """One piece of work with its frozen input, its progress and its outcome: the only truth about it.

    The broker only carries a hint that a row waits; see `planner.jobs` for the changes of state.
    """

    class Kind(models.TextChoices):
        OPTIMIZE = "optimize"
        EQUAL_COST = "equal_cost", "the most for a budget"
        LEAST_COST = "least_cost", "the least cost for a rate"
        BREAK_EVEN = "break_even", "break-even"
        CLUSTERS = "clusters", "several clusters"
        SIMULATE = "simulate"
        REPLICATION = "replication", "one replication of a simulation"
        STUDY = "study", "sweep or ablation"
        SIDE_BY_SIDE = "side_by_side", "simulations side by side"
        REPLAY = "replay", "replay of a recorded window"
        FRONT = "front", "cost, rate and TTFT"
        FRONT_SHARD = "front_shard", "one rate of a front"
        IMPORT_TRACE = "import_trace", "import a trace"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"
        LOST = "lost"

    ENDED: ClassVar[frozenset[str]] = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.LOST})

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=32, choices=Kind)
    scenario = models.CharField(max_length=200, help_text="Name of the scenario.")
    form = models.CharField(max_length=16, help_text="exact: mean work; paper: representative length.")

    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    done = models.PositiveBigIntegerField(default=0, help_text="Steps done in this attempt.")
    total = models.PositiveBigIntegerField(default=0, help_text="Steps in all; 0 until known.")
    message = models.CharField(max_length=200, blank=True, default="", help_text="What it is doing now.")
    attempt = models.PositiveSmallIntegerField(
        default=1,
        help_text="1, or 2 where the first one was cut short. Every change names it, which fences off a late worker.",
    )
    cancel_requested = models.BooleanField(default=False)

    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="shards",
        help_text="What it is a part of.",
    )
    shard = models.PositiveIntegerField(null=True, blank=True, help_text="Its place among the parts.")

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(
        null=True, blank=True, help_text="Running: last sign of life. Queued: when the broker was last told."
    )

    input = models.JSONField(help_text="All that the result depends on, as it was when the job was accepted.")
    version = models.CharField(max_length=32, help_text="Version of the code that accepted it.")
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(null=True, blank=True)  # noqa: DJ001 - null says "no error", as in the API

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "id"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "heartbeat_at"], name="job_reaper"),
            models.Index(fields=["-created_at", "id"], name="job_newest_first"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.scenario}: {self.state}"

    @property
    def is_ended(self) -> bool:
        return self.state in self.ENDED


class Entry(models.Model):
    """One thing of the catalogue, or one scenario: its document, and how it came to be what it is.

    See `planner.store` for every change. The document is checked before it is stored, never after.
    """

    class Origin(models.TextChoices):
        SHIPPED = "shipped"
        USER = "user"

    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=100, help_text="Its address; it stays when everything else changes.")
    title = models.CharField(max_length=2000, blank=True, default="")
    document = models.JSONField()
    facts = models.JSONField(
        default=dict, help_text="What lists sort by: computed from the document whenever it changes."
    )
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.USER)
    revision = models.PositiveIntegerField(
        default=1, help_text="Counts the changes; a writer names the one it has read."
    )
    archived = models.BooleanField(default=False, help_text="Kept for what uses it, and offered no more.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["kind", "name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["kind", "name"], name="entry_address"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["kind", "archived", "name"], name="entry_lists"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Revision(models.Model):
    """An entry as it was: one row a change, none ever altered."""

    class Change(models.TextChoices):
        CREATED = "created"
        IMPORTED = "imported"
        EDITED = "edited"
        ARCHIVED = "archived"
        RESTORED = "restored"

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    change = models.CharField(max_length=10, choices=Change)
    document = models.JSONField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["entry", "number"], name="revision_number"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} revision {self.number}: {self.change}"


class Deleted(models.Model):
    """A shipped entry that somebody deleted: it is not stored again until somebody asks for it."""

    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=100)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["kind", "name"], name="deleted_address"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Trace(models.Model):
    """A recorded trace, stored once however many traffic entries use it: found by what it holds."""

    digest = models.CharField(max_length=64, primary_key=True, help_text="SHA-256 of its chunks.")
    rows = models.PositiveBigIntegerField()
    statistics = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.rows} requests, {self.digest[:12]}"


class TraceChunk(models.Model):
    """A run of a trace's requests, encoded by `planner.engine.trace`."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="chunks")
    index = models.PositiveIntegerField()
    rows = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering: ClassVar[list[str]] = ["index"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["trace", "index"], name="trace_chunk"),
        ]

    def __str__(self) -> str:
        return f"{self.trace_id[:12]} chunk {self.index}"


class Upload(models.Model):
    """A file that somebody brought to be imported: kept until it is stored or a day old."""

    class Kind(models.TextChoices):
        MODEL = "model", "Hugging Face config"
        TRACE = "trace", "request trace"
        PROFILE = "profile", "benchmark result"
        RUNS = "runs", "benchmark runs to compare with"
        PRICES = "prices", "price list"
        CATALOGUE = "catalogue", "catalogue or scenario"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=200, help_text="What the file was called.")
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    job = models.ForeignKey(
        Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", help_text="What stores it."
    )

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def path(self) -> Path:
        """Where its bytes are, under its own name: importers say where a figure comes from by it."""
        return Path(settings.DATA_DIR) / "uploads" / str(self.pk) / self.name
