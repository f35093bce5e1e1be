"""What was recommended, when, and from which inputs: kept so that nobody has to remember it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Recommendation(models.Model):
    """A recommendation as it stood from then on, until the next of its watch; never changed afterwards."""

    # by its name, so that the log outlives what it is of
    watch = models.CharField(max_length=100, help_text="Name of the watch, as it was then.")
    at_ms = models.BigIntegerField()
    reason = models.CharField(max_length=40, help_text="A code; see docs/recommendation.md.")
    sentence = models.TextField()
    is_valid = models.BooleanField(help_text="Whether anything was recommended.")
    problems = models.JSONField(default=list, help_text="code and text of each thing that is missing.")
    current = models.JSONField(help_text="t, instances and what follows from them, as they were; null: not known.")
    recommended = models.JSONField(help_text="The same, as recommended; {} while nothing was.")
    inputs = models.JSONField(help_text="All numbers that it rests on, the scenario's revision and the code version.")
    carried = models.JSONField(default=dict, help_text="What the rule remembers, so that another process goes on.")

    class Meta:
        ordering: ClassVar[list[str]] = ["-at_ms", "-pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["watch", "-at_ms"], name="recommendation_latest"),
            models.Index(fields=["at_ms"], name="recommendation_retention"),
        ]

    def __str__(self) -> str:
        return f"{self.watch} at {self.at_ms}: {self.reason}"
