"""A profile fitted anew from runs: looked at first, and stored beside the old one, or as its next revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner import store
from planner.accuracy.against_profile import lines
from planner.accuracy.comparing import fitting
from planner.accuracy.lines import summaries, summarised
from planner.documents.errors import refuse
from planner.documents.provenance import nearest
from planner.engine.profile import left_out
from planner.entries import check
from planner.entries.measurement import Measurement, Run
from planner.entries.profile import Profile
from planner.importers.profiles.document import profile as profile_of
from planner.importers.profiles.points import LOADED
from planner.importers.profiles.rows import Results, Row
from planner.models import Entry, Revision

type Document = dict[str, Any]
FITTED = ("prefill", "prefill_cached", "decode")
"""Parts of a profile that come from runs; a new revision keeps the others."""


@dataclass(frozen=True, slots=True)
class Refit:
    """A profile as it would be stored, and how well the old and the new one stand for the runs."""

    document: Document
    before: Document | None
    """Errors of the profile that was compared with; None where there is none."""
    after: Document
    left_out: Document | None
    """Errors at inner lengths when the curve is drawn without them: what to expect between lengths."""
    notes: tuple[str, ...]


def preview(entry: Entry, profile: Entry | None) -> Refit:
    """The profile that the runs give; nothing is stored. Raises DocumentError where they give none."""
    runs = Measurement.model_validate(entry.document)
    document, notes = _fitted(entry, runs)
    fitted = Profile.model_validate(document)
    before = summaries(list(lines(runs, Profile.model_validate(profile.document)))) if profile else None
    return Refit(
        document=document,
        before=before,
        after=summaries(list(lines(runs, fitted))),
        left_out=summarised(left_out(fitted.prefill.tokens, fitted.prefill.seconds).tolist()),
        notes=notes,
    )


def _fitted(entry: Entry, runs: Measurement) -> tuple[Document, tuple[str, ...]]:
    """The document, by the importers' rules: only requests that were alone are points of T_prefill."""
    if runs.gpus_per_instance is None:
        raise refuse("gpus_per_instance", None, "is not known of these runs, and a profile is of one kind of instance")
    _require_lengths(runs)
    origin = nearest(entry.document, "rows") or {"kind": "user"}
    results = Results(
        format=f"measurements/{entry.name}, revision {entry.revision}",
        rows=[_row(at, run) for at, run in enumerate(runs.rows, 1) if _time(run) is not None],
        engine=runs.engine,
        precision=runs.precision,
        provenance=origin["kind"],
    )
    subject = {"model": runs.model, "hardware": runs.hardware, "gpus_per_instance": str(runs.gpus_per_instance)}
    choices = {**subject, "name": _free_name(entry.name), LOADED: "no"}
    source = origin.get("source") or "no source given"
    document, points, _ = profile_of(results, source, choices)
    notes = (*_waited(runs), *(note for note in points.notes if LOADED not in note))
    document |= {"title": f"Fitted from {entry.title or entry.name}"[:2000], "notes": "\n".join(notes)[:2000]}
    check("profiles", document)
    return document, notes


def _is_point(run: Run) -> bool:
    """Whether its TTFT is T_prefill: of a request that was alone."""
    return run.concurrency == 1 and _time(run) is not None


def _require_lengths(runs: Measurement) -> None:
    found = {run.input_tokens for run in runs.rows if _is_point(run) and not run.cached_tokens}
    if len(found) < 2:
        why = "with one request in flight, and a profile needs two: at a higher concurrency TTFT has waiting in it"
        raise refuse("rows", len(found), f"lengths were measured {why}; measure at concurrency 1")


def _waited(runs: Measurement) -> tuple[str, ...]:
    crowded = sum(not _is_point(run) for run in runs.rows)
    told = f"{crowded} of {len(runs.rows)} runs had other requests in flight, or no TTFT, and give no prefill times"
    return (told,) if crowded else ()


def _time(run: Run) -> float | None:
    """The mean TTFT, or else the median."""
    return run.ttft_p50_s if run.ttft_mean_s is None else run.ttft_mean_s


def _row(at: int, run: Run) -> Row:
    return Row(
        place=f"run {at}",
        input_tokens=run.input_tokens,
        ttft_s=_time(run) or 0.0,
        tpot_s=run.tpot_s,
        output_tokens=run.output_tokens,
        concurrency=run.concurrency,
        requests=None if run.requests is None else int(run.requests),
        cached_tokens=run.cached_tokens,
        requested_rate_rps=run.rate_rps,
        alone=run.concurrency == 1,
    )


def _free_name(name: str) -> str:
    """`NAME-refit`, or with a number behind it where that is taken."""
    base = f"{name[:90]}-refit"
    names = (base if at == 1 else f"{base}-{at}" for at in range(1, 10_000))
    return next(each for each in names if store.named("profiles", each) is None)


# --- storing ------------------------------------------------------------------------------------------------------


def store_new(entry: Entry, name: str, *, by: int | None = None) -> Entry:
    """Stores the fitted profile under a name of its own. Raises DocumentError, also where the name is taken."""
    document, _ = _fitted(entry, Measurement.model_validate(entry.document))
    return store.create("profiles", {**document, "name": name}, by=by, change=Revision.Change.IMPORTED)


def store_revision(entry: Entry, profile: Entry, *, revision: int, by: int | None = None) -> Entry:
    """Makes it the next revision of a profile of the same thing, which keeps its name and what runs do not say.

    Raises DocumentError on a profile of another thing, and Conflict where it was changed since `revision`.
    """
    if profile.name not in [each.name for each in fitting(entry)]:
        raise refuse("profile", profile.name, "is of another model, chip or number of GPUs than the runs")
    document, _ = _fitted(entry, Measurement.model_validate(entry.document))
    return store.update(profile, _merged(profile.document, document), revision=revision, by=by)


def _merged(old: Mapping[str, Any], new: Document) -> Document:
    parts = [part for part in FITTED if part in new]
    origins = {path: each for path, each in old.get("provenance", {}).items() if path.split(".")[0] not in parts}
    return {
        **old,
        **{part: new[part] for part in (*parts, "engine", "precision")},
        "notes": new["notes"],
        "provenance": {**origins, **_origins(new, parts)},
    }


def _origins(document: Document, parts: Sequence[str]) -> Document:
    return {part: document["provenance"][part] for part in parts}
