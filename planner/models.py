"""What is stored."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models


class Job(models.Model):
    """One piece of work with its frozen input, its progress and its outcome: the only truth about it.

    The broker only carries a hint that a row waits; see `planner.jobs` for the changes of state.
    """

    class Kind(models.TextChoices):
        OPTIMIZE = "optimize"

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
