"""The life of a job: submit, claim, report, finish, fail, cancel, hand back, take up again.

Every change of state is one conditional UPDATE, judged by its row count. The condition names the attempt, so a worker
that was given up for dead and comes back late changes nothing. The broker's message is only a hint: delivered twice
it does nothing, and lost it is sent again. Times are the database's, so the clocks of the machines do not matter.
"""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from celery import current_app
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from planner.models import Job

logger = logging.getLogger(__name__)

State = Job.State
IN_PARTS = Q(state=Job.State.RUNNING, pk__in=Job.objects.filter(parent__isnull=False).values("parent_id"))
"""Jobs that have been cut into parts, which other workers compute."""
TASK = "planner.run_job"
ATTEMPTS = 2
WRITE_EVERY_S = 0.25
HEARTBEAT_EVERY_S = 1.0
TELL_BROKER_AGAIN_AFTER_S = 300.0

# Set when this process goes down: no job is begun any more, and running ones are handed back.
stopping = threading.Event()


# --- from outside ------------------------------------------------------------------------------------------------


def submit(kind: str, scenario: str, document: Mapping[str, Any], created_by: int | None = None) -> Job:
    """Accept a job with its complete input; a worker hears of it when the transaction commits."""
    with transaction.atomic():
        job = Job.objects.create(
            kind=kind,
            scenario=scenario,
            form=document.get("form", ""),
            input=document,
            version=settings.VERSION,
            heartbeat_at=Now(),
            created_by_id=created_by,
        )
        transaction.on_commit(lambda: _tell_broker(job.pk, job.attempt))
    return job


def cancel(job_id: UUID) -> None:
    """A queued job is cancelled at once, a running one as soon as its worker looks; an ended one stays as it is.

    A job in parts has no worker of its own: it is cancelled at once, and its parts with it.
    """
    rows = Job.objects.filter(pk=job_id)
    idle = rows.filter(Q(state=State.QUEUED) | IN_PARTS)
    ended = _end(idle, State.CANCELLED, cancel_requested=True)
    _changed(job_id, ended or rows.filter(state=State.RUNNING).update(cancel_requested=True))
    for shard_id in Job.objects.filter(parent_id=job_id).values_list("pk", flat=True):
        cancel(shard_id)


# --- from the worker ---------------------------------------------------------------------------------------------


def in_turn() -> tuple[UUID, int] | None:
    """The queued job, and its attempt, that is next for whichever worker has been told of any; None if there is none.

    There are as many messages as queued jobs, and any of them will do for any: so a job of a hundred parts leaves room
    for one that comes later. Who has the fewest parts running is next, and of these who came first.
    """
    running = Job.objects.filter(parent=OuterRef("parent"), state=State.RUNNING).order_by()
    busy = running.values("parent").annotate(count=Count("pk")).values("count")
    queued = Job.objects.filter(state=State.QUEUED).annotate(busy=Coalesce(Subquery(busy), 0))
    return queued.order_by("busy", "created_at", "shard").values_list("pk", "attempt").first()


@dataclass(slots=True)
class Claim:
    """A worker's hold on a job in one attempt. What it writes after it has lost that hold changes nothing."""

    job_id: UUID
    attempt: int
    _news: dict[str, Any] = field(default_factory=dict)
    _written_at: float = field(default_factory=time.monotonic)

    @classmethod
    def take(cls, job_id: UUID, attempt: int) -> "Claim | None":
        """Take a queued job; None if another worker has it, or it was cancelled, or taken up again since."""
        rows = Job.objects.filter(pk=job_id, state=State.QUEUED, attempt=attempt)
        taken = rows.update(state=State.RUNNING, started_at=Now(), heartbeat_at=Now(), done=0, total=0, message="")
        return cls(job_id, attempt) if _changed(job_id, taken) else None

    def job(self) -> Job:
        return Job.objects.get(pk=self.job_id)

    def report(self, done: int, total: int, message: str) -> None:
        """Note the progress; `must_stop`, which is asked ten times a second, writes it down."""
        self._news = {"done": done, "total": total, "message": message[:200]}

    def must_stop(self) -> bool:
        """Whether to stop now: cancelled, no longer ours, or this process goes down."""
        self._write()
        return stopping.is_set() or not self._rows().filter(cancel_requested=False).exists()

    def finish(self, result: Mapping[str, Any]) -> None:
        _changed(self.job_id, _end(self._rows(), State.SUCCEEDED, result=result, **self._all_done()))

    def fail(self, error: str) -> None:
        _changed(self.job_id, _end(self._rows(), State.FAILED, error=error))

    def split(self, kind: str, parts: Sequence[Mapping[str, Any]]) -> None:
        """Cut the job into parts, each a job of its own; this worker is free then. `shards` puts them together."""
        job = self.job()
        with transaction.atomic():
            if not self._rows().update(heartbeat_at=Now(), message=f"{len(parts)} parts"):
                return
            shards = [
                Job(
                    kind=kind,
                    scenario=job.scenario,
                    form=job.form,
                    input=part,
                    version=job.version,
                    heartbeat_at=Now(),
                    created_by_id=job.created_by_id,
                    parent=job,
                    shard=index,
                )
                for index, part in enumerate(parts)
            ]
            Job.objects.bulk_create(shards)
            for shard in shards:
                transaction.on_commit(partial(_tell_broker, shard.pk, shard.attempt))
        notify(self.job_id)

    def stopped(self) -> None:
        """It stopped because it had to: it is cancelled, or handed back if it is not to blame."""
        if _cancelled(self.job_id, self._rows()):
            return
        if _changed(self.job_id, _queue(self._rows())):
            _tell_broker(self.job_id, self.attempt)

    def died(self, how: str) -> None:
        """The computing process is gone without an answer: once more, or lost."""
        _take_up_again(self._rows(), self.job_id, self.attempt, how)

    def _rows(self) -> QuerySet[Job]:
        return Job.objects.filter(pk=self.job_id, state=State.RUNNING, attempt=self.attempt)

    def _write(self) -> None:
        """Store news at most four times a second, and a sign of life where there is no news."""
        since = time.monotonic() - self._written_at
        if since < (WRITE_EVERY_S if self._news else HEARTBEAT_EVERY_S):
            return
        written = self._rows().update(heartbeat_at=Now(), **self._news)
        if self._news:
            _changed(self.job_id, written)
        self._news = {}
        self._written_at = time.monotonic()

    def _all_done(self) -> dict[str, Any]:
        # An F expression would read the row's old total, which news that is not yet written has overtaken.
        total = self._news["total"] if self._news else F("total")
        return {"done": total, "total": total}


# --- from every web process --------------------------------------------------------------------------------------


def recover() -> None:
    """At start: the broker may have forgotten what was queued, the memory broker surely has."""
    queued = Job.objects.filter(state=State.QUEUED).order_by("created_at")
    for job_id, attempt in queued.values_list("pk", "attempt"):
        if not _tell_broker(job_id, attempt):
            break


def reap() -> None:
    """Take up jobs whose worker gives no sign of life, and remind the broker of those that wait long.

    Any number of processes may do this at the same time: each change is made by exactly one of them.
    """
    _take_up_silent_jobs()
    _remind_broker()


def _take_up_silent_jobs() -> None:
    # A job in parts gives no sign of life: its parts do.
    silent = _silent(State.RUNNING, settings.JOB_HEARTBEAT_TIMEOUT_S).exclude(IN_PARTS)
    for job_id, attempt in silent.values_list("pk", "attempt"):
        rows = silent.filter(pk=job_id, attempt=attempt)
        _take_up_again(rows, job_id, attempt, "the worker that computed it gave no more sign of life")


def _remind_broker() -> None:
    waiting = _silent(State.QUEUED, TELL_BROKER_AGAIN_AFTER_S)
    for job_id, attempt in waiting.values_list("pk", "attempt"):
        ours = waiting.filter(pk=job_id).update(heartbeat_at=Now())
        if ours and not _tell_broker(job_id, attempt):
            return


# --- the changes themselves --------------------------------------------------------------------------------------


def _silent(state: str, seconds: float) -> QuerySet[Job]:
    return Job.objects.filter(state=state, heartbeat_at__lt=Now() - timedelta(seconds=seconds))


def _end(rows: QuerySet[Job], state: str, **values: Any) -> int:
    return rows.update(state=state, finished_at=Now(), **values)


def _queue(rows: QuerySet[Job], **values: Any) -> int:
    return rows.update(state=State.QUEUED, started_at=None, heartbeat_at=Now(), done=0, total=0, message="", **values)


def _cancelled(job_id: UUID, rows: QuerySet[Job]) -> bool:
    return _changed(job_id, _end(rows.filter(cancel_requested=True), State.CANCELLED))


def _take_up_again(rows: QuerySet[Job], job_id: UUID, attempt: int, how: str) -> None:
    if _cancelled(job_id, rows):
        return
    if attempt >= ATTEMPTS:
        _lose(rows, job_id, attempt, how)
    elif _changed(job_id, _queue(rows, attempt=attempt + 1)):
        logger.warning("Job %s is taken up once more: %s.", job_id, how)
        _tell_broker(job_id, attempt + 1)


def _lose(rows: QuerySet[Job], job_id: UUID, attempt: int, how: str) -> None:
    error = f"Lost after {attempt} attempts: {how}."
    if _changed(job_id, _end(rows, State.LOST, error=error)):
        logger.error("Job %s: %s", job_id, error)


def _changed(job_id: UUID, rows: int) -> bool:
    if rows:
        notify(job_id)
    return rows > 0


# --- to the broker and to the viewers ----------------------------------------------------------------------------


def _tell_broker(job_id: UUID, attempt: int) -> bool:
    """False if the broker cannot be reached; the row stays queued then, and `reap` tells it later."""
    try:
        current_app.send_task(TASK, args=[str(job_id), attempt])
    except (OSError, RedisError, BrokerError) as error:
        logger.error("The broker cannot be reached, so job %s waits until it can: %s", job_id, error)
        return False
    return True


def group(job_id: UUID) -> str:
    """Name of the channel group that hears of this job."""
    return f"job.{job_id}"


def notify(job_id: UUID) -> None:
    """Viewers then look at the row. They look every other second anyway, so a lost message does no harm."""
    layer = get_channel_layer()
    try:
        async_to_sync(layer.group_send)(group(job_id), {"type": "job.changed"})
    except (OSError, RedisError) as error:
        logger.warning("The viewers of job %s could not be told: %s", job_id, error)
