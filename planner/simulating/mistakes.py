"""What is wrong with a simulation that each of its fields alone does not show."""

from __future__ import annotations

from collections.abc import Iterator

from planner.documents.errors import FieldError
from planner.simulating.schema import Run


def mistakes(run: Run) -> Iterator[FieldError]:
    """Each with the field that is to be changed."""
    if (run.rate_rps is None) == (run.load is None):
        given = None if run.load is None else run.load
        yield FieldError("load", given, "needs either load, a share of Λ_max, or rate_rps; not both")
    if run.brown_out and run.brown_out.end_s <= run.brown_out.begin_s:
        yield FieldError("brown_out.end_s", run.brown_out.end_s, f"must be after {run.brown_out.begin_s:g} s")
    if run.paths and abs(sum(path.share for path in run.paths) - 1) > 1e-9:
        total = sum(path.share for path in run.paths)
        yield FieldError("paths", total, "must have shares of the link that sum to 1")
    if run.caches and run.prompts is None:
        yield FieldError("caches", None, "needs prompts: without them no two requests begin alike")
    if run.threshold_track and run.policy != "as_given":
        yield FieldError("threshold_track", None, f"needs policy as_given: with {run.policy}, t is not as recorded")
    yield from _of_prefill(run)
    yield from _of_the_rest(run)


def _of_prefill(run: Run) -> Iterator[FieldError]:
    prefill = run.prefill
    if run.order == "shortest" and prefill.choice != "shared":
        yield FieldError(
            "prefill.choice", prefill.choice, "needs order fcfs: the shortest first has one queue for all instances"
        )
    if prefill.ageing and run.order != "shortest":
        yield FieldError("prefill.ageing", prefill.ageing, "needs order shortest")
    if prefill.chunk_tokens and prefill.batch_tokens:
        yield FieldError("prefill.batch_tokens", prefill.batch_tokens, "must be 0 where prompts take turns in chunks")
    if prefill.chunk_tokens and run.order == "shortest":
        yield FieldError("prefill.chunk_tokens", prefill.chunk_tokens, "takes turns: needs order fcfs")
    if run.caches and prefill.batch_tokens:
        yield FieldError("prefill.batch_tokens", prefill.batch_tokens, "must be 0 with prefix caches")


def _of_the_rest(run: Run) -> Iterator[FieldError]:
    decode, roles = run.decode, run.roles
    if not decode.iterations:
        for name in ("base_s", "request_s", "token_s"):
            if value := getattr(decode, name):
                yield FieldError(f"decode.{name}", value, "needs decode.iterations: else a step is the scenario's")
    if roles and not 0 < roles.room <= roles.high:
        yield FieldError("roles.room", roles.room, f"must be above 0 and at most roles.high, {roles.high:g}")
