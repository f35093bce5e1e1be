"""What a Celery worker does: load, compute in a child process, save."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.exceptions import Reject

from planner import evaluation, jobs, process, shards, uploads
from planner.documents.errors import DocumentError
from planner.engine import fleet, front, purchasing, search
from planner.engine.simulation.work import replicated
from planner.fleet import document as fleets
from planner.fleet import result as fleet_result
from planner.importers.traces.collect import collect
from planner.models import Job
from planner.procurement import questions
from planner.simulating import document as simulations
from planner.simulating import plain, side_by_side
from planner.simulating import result as simulation_result
from planner.simulating.replays import document as replays
from planner.simulating.replays import result as replay_result
from planner.simulating.studies import document as studies
from planner.simulating.studies import result as study_result

logger = logging.getLogger(__name__)

Document = Mapping[str, Any]
TELL_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of job is computed: `function` of the `problem` in the child, the rest in the worker."""

    problem: Callable[[Document], Any]
    function: process.Function
    result: Callable[[Document, Any, Any], Document]


@dataclass(frozen=True, slots=True)
class InParts:
    """A kind that is cut into jobs of another kind: `parts` are their inputs, `merge` makes one result of theirs."""

    part: str
    parts: Callable[[Document], Sequence[Document]]
    merge: shards.Merge


KINDS: Mapping[str, Kind] = {
    "optimize": Kind(
        problem=lambda given: evaluation.optimization_problem(given["scenario"], given["form"], given["map"]),
        function=search.solve,
        result=lambda given, problem, outcome: evaluation.optimization_result(given["scenario"], problem, outcome),
    ),
    **dict.fromkeys(
        ("equal_cost", "least_cost", "break_even"),
        Kind(
            problem=lambda given: questions.problem(questions.loaded(given["question"])),
            function=purchasing.solve,
            result=lambda given, posed, answer: questions.answered(questions.loaded(given["question"]), posed, answer),
        ),
    ),
    "clusters": Kind(
        problem=lambda given: fleets.build(fleets.loaded(given["fleet"])),
        function=fleet.best_of,
        result=lambda given, asked, limit: fleet_result.document(fleets.loaded(given["fleet"]), limit),
    ),
    "replication": Kind(
        problem=lambda given: simulations.part(simulations.loaded(given["simulation"]), given["index"]),
        function=replicated,
        result=lambda given, part, replication: plain.as_json(replication),
    ),
    "front_shard": Kind(
        problem=lambda given: questions.shard(questions.loaded(given["question"]), given["rate_rps"]),
        function=front.at_rate,
        result=lambda given, posed, found: questions.shard_answered(questions.loaded(given["question"]), posed, found),
    ),
    "import_trace": Kind(problem=uploads.trace_order, function=collect, result=uploads.store_trace),
}

IN_PARTS: Mapping[str, InParts] = {
    "front": InParts(
        part="front_shard",
        parts=lambda given: questions.shards(questions.loaded(given["question"])),
        merge=lambda given, parts: questions.merged(questions.loaded(given["question"]), parts),
    ),
    "simulate": InParts(
        part="replication",
        parts=lambda given: simulations.parts(simulations.loaded(given["simulation"])),
        merge=lambda given, parts: simulation_result.document(
            simulations.loaded(given["simulation"]), [plain.from_json(part) for part in parts]
        ),
    ),
    "study": InParts(
        part="replication",
        parts=lambda given: studies.parts(studies.loaded(given["study"])),
        merge=lambda given, parts: study_result.merged(studies.loaded(given["study"]), parts),
    ),
    "replay": InParts(
        part="replication",
        parts=lambda given: replays.parts(replays.loaded(given["replay"])),
        merge=lambda given, parts: replay_result.merged(replays.loaded(given["replay"]), parts),
    ),
    "side_by_side": InParts(
        part="replication",
        parts=lambda given: side_by_side.parts(side_by_side.loaded(given["side_by_side"])),
        merge=lambda given, parts: side_by_side.merged(side_by_side.loaded(given["side_by_side"]), parts),
    ),
}


@shared_task(name=jobs.TASK)  # type: ignore[untyped-decorator]
def run_job(job_id: str, attempt: int) -> None:
    if jobs.stopping.is_set():
        time.sleep(process.TICK_S)  # the consumer is about to close; do not spin until it has
        raise Reject("this worker is going down", requeue=True)
    process.make_ready()
    # A message is worth one job, whichever: where another worker was quicker with the one whose turn it is, the next.
    while job := jobs.in_turn():
        if claim := jobs.Claim.take(*job):
            _work(claim)
            return


def settle() -> None:
    """Ends jobs in parts whose last part ended without anybody saying so. Any number of processes may do this."""
    for job_id, kind in shards.waiting():
        shards.settle(job_id, IN_PARTS[kind].merge)


def _work(claim: jobs.Claim) -> None:
    job = claim.job()
    try:
        if in_parts := IN_PARTS.get(job.kind):
            claim.split(in_parts.part, in_parts.parts(job.input))
        else:
            claim.finish(_compute(claim, job))
    except process.Stopped:
        claim.stopped()
    except process.ChildDied as death:
        claim.died(str(death))
    except (process.ChildFailed, DocumentError) as failure:
        claim.fail(str(failure))
    except Exception as error:
        # The last chance to say why: an accepted job either ends or says why not.
        logger.exception("Job %s", claim.job_id)
        claim.fail(f"{type(error).__name__}: {error}")
    if job.parent is not None:
        shards.tell(job.parent.pk)
        shards.settle(job.parent.pk, IN_PARTS[job.parent.kind].merge)


def _compute(claim: jobs.Claim, job: Job) -> Document:
    kind = KINDS[job.kind]
    problem = kind.problem(job.input)
    whole = Whole(job.parent_id) if job.parent_id else None

    def must_stop() -> bool:
        if whole:
            whole.tell()
        return claim.must_stop()

    outcome = process.run(kind.function, problem, on_progress=claim.report, should_stop=must_stop)
    return kind.result(job.input, problem, outcome)


class Whole:
    """The job that a part belongs to, which hears of it twice a second at most."""

    def __init__(self, job_id: UUID) -> None:
        self._job_id, self._told_at = job_id, 0.0

    def tell(self) -> None:
        if time.monotonic() - self._told_at >= TELL_EVERY_S:
            self._told_at = time.monotonic()
            shards.tell(self._job_id)
