"""An entry's revisions: who changed what and when, each as it was, and back to it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from frontend.catalogue import details, kinds
from frontend.catalogue.changes import differences
from frontend.pages.catalogue.found import entry_or_404
from planner import store
from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.models import Entry

PER_PAGE = 20


@require_safe
def history(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    """Revisions, the newest first, each with what it changed."""
    entry = entry_or_404(kind, name)
    page = Paginator(entry.revisions.select_related("by"), PER_PAGE).get_page(request.GET.get("page"))
    shown = list(page.object_list)
    oldest = shown[-1].number if shown else 0
    before = {each.number: each.document for each in shown}
    earlier = entry.revisions.filter(number__lt=oldest).first()
    if earlier:
        before[earlier.number] = earlier.document
    rows = [
        {"revision": each, "changes": differences(before[each.number - 1], each.document) if each.number > 1 else []}
        for each in shown
    ]
    context = _context(entry, page=page, rows=rows, without_page="?")
    return render(request, "catalogue/history.html", context)


@require_safe
def revision(request: HttpRequest, kind: str, name: str, number: int) -> HttpResponse:
    """An entry as it was."""
    entry = entry_or_404(kind, name)
    found = get_object_or_404(entry.revisions.select_related("by"), number=number)
    context = _context(
        entry,
        revision=found,
        sections=details.sections(kind, found.document),
        sources=details.sources(found.document),
        yaml=files.as_yaml(store.written(Entry(kind=kind, document=found.document))),
        changes=differences(found.document, entry.document),
    )
    return render(request, "catalogue/revision.html", context)


@login_required
@require_POST
def restore_revision(request: HttpRequest, kind: str, name: str, number: int) -> HttpResponse:
    """Stores a document as it was, as a new revision."""
    entry = entry_or_404(kind, name)
    found = get_object_or_404(entry.revisions, number=number)
    given = request.POST.get("revision", "")
    read = int(given) if given.isdecimal() else entry.revision
    try:
        store.update(entry, found.document, revision=read, by=request.user.pk)
        messages.success(request, f"Revision {number} is stored again, as revision {entry.revision}.")
    except store.Conflict as problem:
        messages.error(request, f"Nothing was done: {problem}.")
    except DocumentError as problem:
        messages.error(request, f"Revision {number} can no longer be stored: {problem}.")
    return redirect("catalogue-entry", kind, name)


def _context(entry: Entry, **more: Any) -> dict[str, Any]:
    return {"kind": entry.kind, "words": kinds.WORDS[entry.kind], "entry": entry, **more}
