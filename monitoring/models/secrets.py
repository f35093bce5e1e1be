"""What is kept of a secret by which somebody who tells us something is known."""

from typing import ClassVar

from django.db import models


class Secret(models.Model):
    """Only its hash is kept."""

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret.")
    hint = models.CharField(max_length=8, help_text="How it begins, by which people tell it from another.")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        ordering: ClassVar[list[str]] = ["created_at"]
