"""Who writes: one of several processes, by a row that it renews. The database's clock judges, so that no two differ."""

from __future__ import annotations

import os
import socket
import uuid
from datetime import timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from monitoring.models import Lease

WRITER = "writer"
HELD_FOR = timedelta(seconds=6)
RENEWED_EVERY_S = 2.0
ASKED_EVERY_S = 1.0
"""By who does not hold it: another one has taken over at most so long after it ran out."""
REQUIRED = "SELECT 1 FROM monitoring_lease WHERE name = %s AND holder = %s AND epoch = %s"
SHARED = {"postgresql": " FOR SHARE"}


class Lost(Exception):
    """Somebody else holds the lease now: what was being done must not be."""


class Holder:
    """This process, as it asks for the lease, renews it and gives it up."""

    def __init__(self, name: str = WRITER) -> None:
        self.name = name
        self.holder = f"{socket.gethostname()[:30]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.epoch: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether it was ours when we last asked."""
        return self.epoch is not None

    def take(self) -> bool:
        """Renews the lease, or takes it where it ran out; whether it is ours."""
        ours = Lease.objects.filter(name=self.name, holder=self.holder, epoch=self.epoch or 0)
        if self.epoch is not None and ours.update(expires_at=Now() + HELD_FOR):
            return True
        self.epoch = None
        if self._take_over() or self._make():
            self.epoch = Lease.objects.values_list("epoch", flat=True).get(name=self.name)
        return self.is_held

    def _take_over(self) -> bool:
        ended = Lease.objects.filter(name=self.name, expires_at__lt=Now())
        return ended.update(holder=self.holder, epoch=F("epoch") + 1, expires_at=Now() + HELD_FOR) == 1

    def _make(self) -> bool:
        if Lease.objects.filter(name=self.name).exists():
            return False
        try:
            with transaction.atomic():
                Lease.objects.create(name=self.name, holder=self.holder, epoch=1, expires_at=Now() + HELD_FOR)
        except IntegrityError:  # another process was quicker
            return False
        return True

    def require(self) -> None:
        """Within a transaction: that the lease is still ours, and nobody takes it before the end. Raises Lost."""
        with connection.cursor() as cursor:
            # shared, so that of our own transactions none waits for another; on SQLite the transaction itself is alone
            cursor.execute(REQUIRED + SHARED.get(connection.vendor, ""), [self.name, self.holder, self.epoch or 0])
            is_held = cursor.fetchone() is not None
        if not is_held:
            self.epoch = None
            raise Lost(f"{self.holder} no longer holds {self.name}")

    def give_up(self) -> None:
        """Lets another process take it at once."""
        if self.epoch is not None:
            Lease.objects.filter(name=self.name, holder=self.holder).update(expires_at=Now() - HELD_FOR)
            self.epoch = None
