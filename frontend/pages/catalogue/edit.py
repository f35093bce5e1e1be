"""Adding and changing an entry: what was typed is kept, mistakes stand beside their input, nobody is overwritten."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from frontend import words
from frontend.catalogue import inputs, kinds, origins
from frontend.catalogue.changes import differences
from frontend.catalogue.form import EntryForm, texts_of
from frontend.catalogue.origins import Origin
from frontend.catalogue.schema import leaves, nodes
from frontend.pages.catalogue.found import entry_or_404
from planner import store
from planner.documents.errors import DocumentError, FieldError
from planner.documents.fields import PROVENANCE_KINDS
from planner.models import Entry, Revision

SOURCE = "source"
"""The key of the input for where the figures come from."""
NEW_NAMES = ("new",)
"""Names whose page would stand at the address of another."""


@dataclass(slots=True)
class Conflict:
    """What others have changed since the entry was read."""

    revisions: list[Revision]
    changes: list[Any]


@dataclass(slots=True)
class Edit:
    """A form on its way: the entry that it changes, if there is one yet, and what is to be said about it."""

    kind: str
    form: EntryForm
    origin: Origin
    entry: Entry | None = None
    applies_to_all: bool = False
    conflict: Conflict | None = None
    notes: dict[str, str] = field(default_factory=dict)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, kind: str) -> HttpResponse:
    """The empty form, and storing what it was filled with."""
    kinds.require(kind)
    if request.method != "POST":
        form = EntryForm.of(kind, {})
        form.texts |= {key: str(value) for key, value in request.GET.items() if key in form.texts}
        return _page(request, Edit(kind, form, Origin("user", "")))
    edit = Edit(kind, EntryForm.typed(kind, {}, request.POST), _origin(request))
    document = _document(edit)
    if document.get("name") in NEW_NAMES:
        edit.form.refuse([FieldError("name", document["name"], "is an address of its own; choose another")])
    try:
        _require_readable(edit, document)
        entry = store.create(kind, document, by=request.user.pk)
    except DocumentError as problem:
        return _refused(request, edit, problem)
    messages.success(request, f"Stored {entry.title or entry.name}.")
    return redirect("catalogue-entry", kind, entry.name)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    """The form of an entry, and storing its changes in the place of the revision that was read."""
    entry = entry_or_404(kind, name)
    if request.method != "POST":
        return _page(request, Edit(kind, EntryForm.of(kind, store.written(entry)), Origin("user", ""), entry))
    read = _revision(request, entry)
    base = entry.revisions.filter(number=read).first()
    form = EntryForm.typed(kind, dict(base.document if base else entry.document), request.POST)
    change = Edit(kind, form, _origin(request), entry, request.POST.get("applies") == "all")
    if read != entry.revision:
        return _conflict(request, change, read)
    document = _document(change)
    if document == form.base and not form.errors:
        messages.info(request, "Nothing was changed.")
        return redirect("catalogue-entry", kind, name)
    try:
        _require_readable(change, document)
        store.update(entry, document, revision=read, by=request.user.pk)
    except DocumentError as problem:
        return _refused(request, change, problem)
    except store.Conflict:
        entry.refresh_from_db()
        return _conflict(request, change, read)
    messages.success(request, f"Stored as revision {entry.revision}.")
    return redirect("catalogue-entry", kind, name)


def _revision(request: HttpRequest, entry: Entry) -> int:
    given = request.POST.get("revision", "")
    return int(given) if given.isdecimal() and len(given) < 10 else entry.revision


def _origin(request: HttpRequest) -> Origin:
    kind = request.POST.get("source_kind", "user")
    source = request.POST.get(SOURCE, "").replace("\r\n", "\n").strip()
    return Origin(kind if kind in PROVENANCE_KINDS else "user", source)


def _document(edit: Edit) -> dict[str, Any]:
    """What was typed, with the given origin for the figures that it changes."""
    document = edit.form.document()
    figures = origins.every(document) if edit.applies_to_all else origins.changed(edit.form.base, document)
    return origins.assigned(document, figures, edit.origin)


def _require_readable(edit: Edit, document: dict[str, Any]) -> None:
    """Tells what stands for no value together with what is wrong with the rest. Raises DocumentError."""
    if edit.form.errors:
        store.checked(edit.kind, document)
        raise DocumentError([])


def _refused(request: HttpRequest, edit: Edit, problem: DocumentError) -> HttpResponse:
    of_source = [error for error in problem.errors if (error.field or "").startswith("provenance.")]
    edit.form.refuse(error for error in problem.errors if error not in of_source)
    for error in of_source[:1]:
        edit.form.errors[SOURCE] = [error.message]
    return _page(request, edit)


def _conflict(request: HttpRequest, edit: Edit, read: int) -> HttpResponse:
    """Their changes with what was typed on top: storing again stores both; where both differ it says so."""
    entry, typed = edit.entry, edit.form.touched()
    assert entry is not None  # noqa: S101 - only an entry that is there can have been changed
    theirs, before = texts_of(edit.kind, entry.document), texts_of(edit.kind, edit.form.base)
    edit.notes = {
        key: f"also changed by somebody else, to: {theirs[key] or 'nothing'}"
        for key in typed
        if theirs[key] != before[key] and theirs[key] != typed[key]
    }
    since = list(entry.revisions.filter(number__gt=read).select_related("by"))
    edit.conflict = Conflict(since, differences(edit.form.base, entry.document))
    edit.form = EntryForm(edit.kind, dict(entry.document), theirs | typed)
    return _page(request, edit)


def _page(request: HttpRequest, edit: Edit) -> HttpResponse:
    context = {
        "kind": edit.kind,
        "words": kinds.WORDS[edit.kind],
        "entry": edit.entry,
        "edit": edit,
        "drawn": inputs.drawn(edit.form, store.STORED.names, edit.notes, is_new=edit.entry is None),
        "summary": _summary(edit.form),
        "source_errors": edit.form.errors.get(SOURCE, []),
        "provenance_kinds": words.PROVENANCE,
    }
    # A form that comes back is no failure to the browser, which would log one: 200, as Django's own forms.
    return render(request, "catalogue/form.html", context)


def _summary(form: EntryForm) -> list[dict[str, str]]:
    """Every mistake with the address of its input, in the order of the page."""
    known = {leaf.key: leaf for leaf in leaves(nodes(form.kind))}
    found = []
    for key in [*known, SOURCE, ""]:
        leaf = known.get(key)
        name = "Source" if key == SOURCE else _name(leaf.path) if leaf else ""
        anchor = f"#f-{key}" if key else ""
        found += [{"address": anchor, "name": name, "message": message} for message in form.errors.get(key, [])]
    return found


def _name(path: str) -> str:
    return ", ".join(kinds.label(".".join(path.split(".")[: size + 1])) for size in range(path.count(".") + 1))
