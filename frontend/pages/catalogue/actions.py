"""What is done to an entry as a whole: copied, archived, offered again, deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from frontend.catalogue import kinds
from frontend.pages.catalogue.found import entry_or_404
from planner import seeding, store
from planner.documents.errors import DocumentError
from planner.models import Entry

type Change = Callable[..., Entry]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def clone(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    """Asks for the name of the copy, and makes it."""
    entry = entry_or_404(kind, name)
    wanted = request.POST.get("name", f"{name}-copy").strip()
    errors: list[str] = []
    if request.method == "POST":
        try:
            copy = store.clone(entry, wanted, by=request.user.pk)
        except DocumentError as problem:
            errors = [error.message for error in problem.errors]
        else:
            messages.success(request, f"Copied from {entry.name}. Change what is different.")
            return redirect("catalogue-edit", kind, copy.name)
    return render(request, "catalogue/clone.html", _context(entry, wanted=wanted, errors=errors))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    """Says what would be lost, and deletes what nothing uses."""
    entry = entry_or_404(kind, name)
    if request.method == "POST":
        try:
            store.delete(entry)
        except store.InUse as problem:
            messages.error(request, f"Not deleted: {name} {problem}. It can be archived.")
        else:
            back = " It ships with the product: the list brings it back." if entry.origin == "shipped" else ""
            messages.success(request, f"Deleted {name} with its history.{back}")
            return redirect("catalogue-list", kind)
    context = _context(entry, users=store.users(entry), revisions=entry.revisions.count())
    return render(request, "catalogue/delete.html", context)


@login_required
@require_POST
def archive(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    """Offers it no more."""
    return _changed(request, kind, name, store.archive, "Archived: it is offered no more; what uses it goes on.")


@login_required
@require_POST
def restore(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    """Offers it again; a shipped one that was deleted is stored again."""
    kinds.require(kind)
    if store.named(kind, name) is None:
        return _brought_back(request, kind, name)
    return _changed(request, kind, name, store.restore, "Restored: it is offered again.")


def _brought_back(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    try:
        entry = seeding.bring_back(kind, name)
    except DocumentError as problem:
        messages.error(request, f"Not brought back: {problem}.")
        return redirect("catalogue-list", kind)
    if entry is None:
        raise Http404(f"no {kind} entry of this name was deleted")
    messages.success(request, f"Brought back {name}, as it ships.")
    return redirect("catalogue-entry", kind, name)


def _changed(request: HttpRequest, kind: str, name: str, change: Change, said: str) -> HttpResponse:
    entry = entry_or_404(kind, name)
    given = request.POST.get("revision", "")
    try:
        change(entry, revision=int(given) if given.isdecimal() else entry.revision, by=request.user.pk)
        messages.success(request, said)
    except store.Conflict as problem:
        messages.error(request, f"Nothing was done: {problem}.")
    return redirect("catalogue-entry", kind, name)


def _context(entry: Entry, **more: Any) -> dict[str, Any]:
    return {"kind": entry.kind, "words": kinds.WORDS[entry.kind], "entry": entry, **more}
