"""What happened when: all annotations, those of a time or a kind, and the form of one."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.live_alerts.annotations import Narrowing, NoteForm, note_row
from frontend.pages.live_alerts import now_ms
from monitoring.alerts import notes
from monitoring.models import Note

PER_PAGE = 50


@require_safe
def live_annotations(request: HttpRequest) -> HttpResponse:
    """One page of them, the newest first."""
    form = Narrowing(now_ms(), request.GET)
    page = Paginator(form.found(), PER_PAGE).get_page(request.GET.get("page"))
    asked = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    context = {
        "form": form,
        "page": page,
        "rows": [note_row(each) for each in page.object_list],
        "is_narrowed": bool(asked),
        "without_page": f"?{urlencode(asked)}",
    }
    return render(request, "live/alerts/annotations.html", context, status=200 if form.is_valid() else 400)


@login_required
@require_http_methods(["GET", "POST"])
def new_live_annotation(request: HttpRequest) -> HttpResponse:
    """The form for a new one."""
    return _form(request, Note())


@login_required
@require_http_methods(["GET", "POST"])
def change_live_annotation(request: HttpRequest, note_id: int) -> HttpResponse:
    """The form for one that is there."""
    return _form(request, _changeable(note_id))


def _form(request: HttpRequest, note: Note) -> HttpResponse:
    number = note.pk
    form = NoteForm(note, now_ms(), request.POST or None)
    if request.method == "POST" and form.is_valid() and form.keep(request.user.get_username()):
        messages.success(request, f"Annotation {note.pk} is {'changed' if number else 'stored'}.")
        return redirect("live-annotations")
    return render(request, "live/alerts/annotation_form.html", {"form": form, "number": number})


@login_required
@require_POST
def end_live_annotation(request: HttpRequest, note_id: int) -> HttpResponse:
    """It goes on no longer."""
    note = _changeable(note_id)
    if note.is_open:
        at_ms = now_ms()
        notes.store(note, {"end_ms": max(at_ms, note.ts_ms)}, at_ms)
        messages.success(request, f"Annotation {note_id} ends now.")
    return redirect("live-annotations")


@login_required
@require_http_methods(["GET", "POST"])
def remove_live_annotation(request: HttpRequest, note_id: int) -> HttpResponse:
    """Asks first."""
    note = _changeable(note_id)
    if request.method == "POST":
        note.delete()
        messages.success(request, f"Annotation {note_id} is removed.")
        return redirect("live-annotations")
    return render(request, "live/alerts/annotation_remove.html", {"row": note_row(note)})


def _changeable(note_id: int) -> Note:
    """Our own alerts tell of themselves. Raises Http404."""
    note = get_object_or_404(Note, pk=note_id)
    if note.kind == Note.Kind.ALERT:
        raise Http404(f"annotation {note_id} is of an alert of ours")
    return note
