"""Jobs in parts: what their parts have done so far, and one result of them all.

Parts are jobs like others: any worker takes them, a lost one is taken up again. Whoever ends a part looks whether it
was the last one; the change of the whole is one conditional UPDATE, so that of two who look one merges. Parts are
merged in their order, however many workers there were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Sum
from django.db.models.functions import Now

from planner import jobs
from planner.models import Job

State = Job.State
type Merge = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], Mapping[str, Any]]
"""The result of a whole, from its input and the results of its parts in their order."""


def tell(parent_id: UUID) -> None:
    """Note in the whole how far its parts are."""
    shards = Job.objects.filter(parent_id=parent_id)
    sums = shards.aggregate(done=Sum("done"), total=Sum("total"))
    ended = shards.filter(state=State.SUCCEEDED).count()
    news = {
        "done": sums["done"] or 0,
        "total": _expected(shards.count(), shards.exclude(total=0).count(), sums["total"] or 0),
        "message": f"{ended} of {shards.count()} parts done",
    }
    if Job.objects.filter(pk=parent_id, state=State.RUNNING).update(heartbeat_at=Now(), **news):
        jobs.notify(parent_id)


def _expected(parts: int, told: int, total: int) -> int:
    """Steps of all parts, of which those not begun are taken to have as many as the others."""
    return round(total * parts / told) if told else 0


def settle(parent_id: UUID, merge: Merge) -> None:
    """End the whole if its parts have: with their result, or with the reason why one has none."""
    rows = Job.objects.filter(parent_id=parent_id).order_by("shard")
    # Without results until there are all of them: of hundreds of parts each end would read those of all before it.
    shards = list(rows.defer("input", "result"))
    failed = next((shard for shard in shards if shard.state in (State.FAILED, State.LOST)), None)
    if failed is not None:
        if _end(parent_id, State.FAILED, error=f"Part {_number(failed)} of {len(shards)}: {failed.error}"):
            jobs.cancel(parent_id)
    elif any(shard.state == State.CANCELLED for shard in shards):
        jobs.cancel(parent_id)
    elif all(shard.state == State.SUCCEEDED for shard in shards):
        parent = Job.objects.get(pk=parent_id)
        if parent.state == State.RUNNING:
            result = merge(parent.input, [found or {} for found in rows.values_list("result", flat=True)])
            steps = sum(shard.total for shard in shards)
            _end(parent_id, State.SUCCEEDED, result=result, done=steps, total=steps)


def waiting() -> list[tuple[UUID, str]]:
    """Wholes that are still running, and their kinds: whoever ended their last part may have died before saying so."""
    return list(Job.objects.filter(jobs.IN_PARTS).values_list("pk", "kind"))


def _number(shard: Job) -> int:
    return (shard.shard or 0) + 1


def _end(parent_id: UUID, state: str, **values: Any) -> bool:
    rows = Job.objects.filter(pk=parent_id, state=State.RUNNING)
    ended = bool(rows.update(state=state, finished_at=Now(), **values))
    if ended:
        jobs.notify(parent_id)
    return ended
