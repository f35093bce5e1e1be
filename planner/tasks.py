"""What a Celery worker does: load, compute in a child process, save."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.exceptions import Reject

from planner import evaluation, jobs, process, uploads
from planner.engine import purchasing, search
from planner.importers.traces.collect import collect
from planner.procurement import questions

logger = logging.getLogger(__name__)

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of job is computed: `function` of the `problem` in the child, the rest in the worker."""

    problem: Callable[[Document], Any]
    function: process.Function
    result: Callable[[Document, Any, Any], Document]


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
    "import_trace": Kind(problem=uploads.trace_order, function=collect, result=uploads.store_trace),
}


@shared_task(name=jobs.TASK)  # type: ignore[untyped-decorator]
def run_job(job_id: str, attempt: int) -> None:
    if jobs.stopping.is_set():
        time.sleep(process.TICK_S)  # the consumer is about to close; do not spin until it has
        raise Reject("this worker is going down", requeue=True)
    process.make_ready()
    if claim := jobs.Claim.take(UUID(job_id), attempt):
        _work(claim)


def _work(claim: jobs.Claim) -> None:
    try:
        claim.finish(_compute(claim))
    except process.Stopped:
        claim.stopped()
    except process.ChildDied as death:
        claim.died(str(death))
    except process.ChildFailed as failure:
        claim.fail(str(failure))
    except Exception as error:
        # The last chance to say why: an accepted job either ends or says why not.
        logger.exception("Job %s", claim.job_id)
        claim.fail(f"{type(error).__name__}: {error}")


def _compute(claim: jobs.Claim) -> Document:
    job = claim.job()
    kind = KINDS[job.kind]
    problem = kind.problem(job.input)
    outcome = process.run(kind.function, problem, on_progress=claim.report, should_stop=claim.must_stop)
    return kind.result(job.input, problem, outcome)
