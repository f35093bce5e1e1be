"""Files that people bring: taken in whole or not at all, looked at, stored when they say so, and forgotten."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from planner import exchange, jobs, recorded, store
from planner.catalog import files
from planner.documents.errors import DocumentError, FieldError, refuse
from planner.entries import KINDS, check, check_naming
from planner.entries.base import Entry
from planner.importers import measurements, models, prices, profiles, traces
from planner.importers.base import Assumption, Choices, Imported, Mapped
from planner.importers.tables import slug
from planner.importers.traces.collect import Collected, Order
from planner.models import Job, Revision, Upload

KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Preview:
    """What an upload would store, and how it was read; with errors it would store nothing."""

    found: tuple[store.Put, ...] = ()
    mapping: tuple[Mapped, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    errors: tuple[FieldError, ...] = ()
    is_whole: bool = True
    """Whether the file was read to its end for this."""


# --- taking in ---------------------------------------------------------------------------------------------------


def take(kind: str, name: str, chunks: Iterable[bytes], *, by: int | None = None) -> Upload:
    """Keeps a file. Raises DocumentError on one that is empty or larger than an installation takes."""
    forget_old()
    upload = Upload(kind=kind, name=_safe(name), created_by_id=by, size=0)
    upload.path.parent.mkdir(mode=0o700, parents=True)
    try:
        upload.size = _written(upload.path, chunks)
        upload.save()
    except BaseException:
        shutil.rmtree(upload.path.parent)
        raise
    return upload


def _safe(name: str) -> str:
    """A file's name that is one in any directory."""
    kept = "".join(letter if letter.isalnum() or letter in "._- " else "-" for letter in Path(name).name)
    return kept.strip(". ")[-100:] or "pasted text"


def _written(path: Path, chunks: Iterable[bytes]) -> int:
    size = 0
    with path.open("xb") as kept:
        for chunk in chunks:
            size += len(chunk)
            if size > settings.UPLOAD_MAX_BYTES:
                raise refuse("file", None, f"is larger than {settings.UPLOAD_MAX_BYTES / 1e9:g} GB")
            kept.write(chunk)
    if not size:
        raise refuse("file", None, "is empty")
    return size


def forget(upload: Upload) -> None:
    """Removes the file and its row."""
    shutil.rmtree(upload.path.parent, ignore_errors=True)
    upload.delete()


def forget_old() -> None:
    """Removes what nobody has stored for a day."""
    for upload in Upload.objects.filter(created_at__lt=timezone.now() - KEPT):
        forget(upload)


# --- looking -----------------------------------------------------------------------------------------------------


def preview(upload: Upload, choices: Choices) -> Preview:
    """What storing would do with these answers to the importer's assumptions."""
    try:
        if upload.kind == Upload.Kind.TRACE and upload.size > settings.PREVIEW_MAX_BYTES:
            return _glimpse(upload, choices)
        imported = read(upload, choices)
    except DocumentError as problem:
        return Preview(errors=problem.errors)
    first = imported[0]
    shown = Preview(mapping=first.mapping, assumptions=first.assumptions, notes=first.notes, facts=first.facts)
    try:
        tried = _tried(imported)
        return replace(shown, found=tuple(tried.put), notes=(*shown.notes, *tried.notes))
    except DocumentError as problem:
        return replace(shown, errors=problem.errors)


def _glimpse(upload: Upload, choices: Choices) -> Preview:
    """What the beginning of a trace shows that would take too long to read while somebody waits for a page."""
    reader = traces.open_trace(upload.path, _without_names(choices))
    note = (
        f"Only the beginning of {upload.size / 1e6:,.0f} MB was read for this page; storing reads all of it, as a job."
    )
    return Preview(mapping=reader.mapping, assumptions=reader.assumptions, notes=(note, *reader.notes), is_whole=False)


def _tried(imported: list[Imported]) -> exchange.Taken:
    """Stores them and takes it back: the only way to know that entries which name one another can be stored."""
    with transaction.atomic():
        taken = exchange.take((each.kind, each.document) for each in imported)
        transaction.set_rollback(True)
    return taken


def read(upload: Upload, choices: Choices) -> list[Imported]:
    """The entries that the file holds. Raises DocumentError."""
    match upload.kind:
        case Upload.Kind.MODEL:
            return [_named(models.read(upload.path, _without_names(choices)), upload, choices)]
        case Upload.Kind.PROFILE:
            return [_named(profiles.read(upload.path, _without_names(choices)), upload, choices)]
        case Upload.Kind.RUNS:
            return [_named(measurements.read(upload.path, _without_names(choices)), upload, choices)]
        case Upload.Kind.TRACE:
            return [_named(traces.read(upload.path, _without_names(choices)), upload, choices)]
        case Upload.Kind.PRICES:
            chips = {chip.name: chip.document for chip in store.entries("hardware").order_by("name")}
            return prices.read_many(upload.path, choices, chips)
        case _:
            return list(_catalogue(upload.path))


NAMES = ("name", "title", "replace")
"""Answers that are about the entry and not for the importer."""
ENDINGS = re.compile(r"([._-]config)?(\.(json|jsonl|csv|txt|log|ya?ml|gz|zst))*$", re.IGNORECASE)


def _without_names(choices: Choices) -> Choices:
    return {field: value for field, value in choices.items() if field not in NAMES}


def _named(imported: Imported, upload: Upload, choices: Choices) -> Imported:
    """Under the name that the user chose, or else the best that is known."""
    document = {**imported.document, "name": choices.get("name") or _best_name(imported, upload)}
    if store.named(imported.kind, document["name"]):
        _require_replacing(imported.kind, document["name"], choices)
    if choices.get("title"):
        document["title"] = choices["title"]
    return replace(imported, document=document)


def _require_replacing(kind: str, name: str, choices: Choices) -> None:
    """Raises DocumentError where a name is taken; traffic is recorded, and what was recorded is not replaced."""
    if kind == "traffic":
        raise refuse("name", name, "is taken among traffic; choose another name")
    if choices.get("replace") != "yes":
        raise refuse("name", name, f"is taken among {kind}; choose another name, or say replace = yes")


ANY_FILE = re.compile(
    r"((aiperf|benchmarks?|checkpoint|config(uration)?|data|export|file|genai|imported|lifecycle|log|metrics|model|output|"
    r"pasted|per|perf|profiles?|requests?|results?|stage|summary|text|trace|\d+)(-|$))*"
)
"""Names that say nothing of what is in a file, as tools give them: `config`, `profile-export-aiperf`, `results-2`."""


def _best_name(imported: Imported, upload: Upload) -> str:
    """What the model calls itself, or else the file's name, or where that says nothing what the entry is about."""
    own, about = "", imported.document["name"]
    if imported.kind == "models":
        title = imported.document["title"]
        stated = "" if title == imported.facts["architecture"] else title
        own = slug(re.split(r"[/\\]", stated.rstrip("/\\"))[-1])
        about = slug(imported.facts["model_type"] or title)
    file = name_of(upload)
    return next((name for name in (own, file) if not ANY_FILE.fullmatch(name)), about or file)


def name_of(upload: Upload) -> str:
    """A name in the catalogue made of the file's, without its endings."""
    stem = ENDINGS.sub("", upload.name)
    return slug(stem)[:100] or "imported"


def _catalogue(path: Path) -> Iterable[Imported]:
    try:
        document = files.read(path)
    except files.Unreadable as problem:
        raise refuse(None, None, str(problem).removeprefix(f"{path}: ")) from problem
    if "clusters" in document:
        yield Imported(store.SCENARIOS, document)
        return
    if "name" in document and "schema_version" not in document:
        yield Imported(_only_kind(document), document)
        return
    for kind, entry in exchange.entries(document):
        yield Imported(kind, entry if isinstance(entry, dict) else {"name": str(entry)})


def _only_kind(document: dict[str, Any]) -> str:
    """The kind of a lone entry, of which only one schema has the fields. Raises DocumentError where none takes it."""
    if document.keys() <= Entry.model_fields.keys():
        said = "says nothing of its kind: give it the fields of one, or list it under schema_version: 1 and its kind"
        raise refuse(None, None, f"{said} ({', '.join(KINDS)})")
    refusals = []
    for kind in KINDS:
        try:
            check(kind, document)
        except DocumentError as problem:
            refusals.append(problem)
        else:
            return kind
    raise min(refusals, key=lambda problem: len(problem.errors))


# --- traces, which are read as jobs ------------------------------------------------------------------------------


def submit_trace(upload: Upload, choices: Choices, *, by: int | None = None) -> Job:
    """Starts reading a trace to its end. Raises DocumentError on a bad beginning or name, and Conflict as `_claim`."""
    given = {**choices, "name": choices.get("name") or name_of(upload)}
    check_naming(given["name"], given.get("title", ""))
    traces.open_trace(upload.path, _without_names(given))
    if store.named("traffic", given["name"]):
        _require_replacing("traffic", given["name"], given)
    document = {"upload": str(upload.pk), "file": upload.name, "choices": given, "by": by}
    with transaction.atomic():
        job = jobs.submit(Job.Kind.IMPORT_TRACE, upload.name, document, created_by=by)
        _claim(upload, job)
    return job


def _claim(upload: Upload, job: Job) -> None:
    """Makes the job the one that stores the file. Raises Conflict while another one does or has done so."""
    holder = upload.job
    is_free = holder is None or (holder.is_ended and holder.state != Job.State.SUCCEEDED)
    rows = Upload.objects.filter(pk=upload.pk, job=holder)
    if not is_free or not rows.update(job=job):
        raise store.Conflict(f"{upload.name} is being stored already; see its job")


def trace_order(document: Mapping[str, Any]) -> Order:
    """What the child process of such a job is told; its spool is empty, whatever an earlier attempt has left."""
    upload = Upload.objects.get(pk=document["upload"])
    spool = upload.path.parent / "chunks of it"
    shutil.rmtree(spool, ignore_errors=True)
    spool.mkdir()
    return Order(upload.path, _without_names(document["choices"]), spool)


def store_trace(document: Mapping[str, Any], order: Order, collected: Collected) -> dict[str, Any]:
    """Stores the requests and the entry that describes them, or neither; what the job's page shows of it."""
    upload = Upload.objects.get(pk=document["upload"])
    imported = _named(collected.imported, upload, document["choices"])
    with transaction.atomic():
        recorded.keep(collected.digest, sum(collected.rows), imported.facts, collected.chunks())
        entry = store.create(
            imported.kind,
            {**imported.document, "trace": collected.digest},
            by=document["by"],
            change=Revision.Change.IMPORTED,
        )
    forget(upload)
    return {
        "entry": {"kind": entry.kind, "name": entry.name},
        "trace": collected.digest,
        "facts": imported.facts,
        "notes": list(imported.notes),
        "assumptions": [asdict(each) for each in imported.assumptions],
    }


# --- storing -----------------------------------------------------------------------------------------------------


def keep(upload: Upload, choices: Choices, *, by: int | None = None) -> list[store.Put]:
    """Stores what the preview showed, all or nothing, and forgets the file.

    Raises DocumentError, and Conflict where somebody else has stored it meanwhile.
    """
    found = [(each.kind, each.document) for each in read(upload, choices)]
    with transaction.atomic():
        claimed, _ = Upload.objects.filter(pk=upload.pk).delete()
        if not claimed:
            raise store.Conflict(f"{upload.name} was stored by somebody else meanwhile")
        taken = exchange.take(found, by=by)
    forget(upload)
    return taken.put
