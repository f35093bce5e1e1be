"""Importing a file: bring it, see what it would store and what had to be assumed, then store it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from frontend.entries import page_of
from planner import store, uploads
from planner.documents.errors import DocumentError
from planner.management.inspection import lines
from planner.models import Upload

EXAMPLES = {
    Upload.Kind.MODEL: "A Hugging Face config.json. Every architecture whose KVCache is known is read; others are "
    "refused with the keys that were not understood.",
    Upload.Kind.TRACE: "A request log: Mooncake JSONL, Azure, BurstGPT or Vidur CSV, a CSV with columns of your "
    "choice, detailed results of vLLM, SGLang or AIPerf; plain, gzip or zstd.",
    Upload.Kind.PROFILE: "Prefill times: a CSV of tokens and seconds, or results of vLLM, SGLang, AIPerf, GuideLLM, "
    "llmperf or inference-perf.",
    Upload.Kind.RUNS: "The same results, or a CSV of runs, kept as they are to hold predictions against: TTFT, TPOT, "
    "throughput and egress, at any load.",
    Upload.Kind.PRICES: "A CSV of offers: hardware, date, provider, region, kind, usd_per_gpu_hour, source.",
    Upload.Kind.CATALOGUE: "Entries or a scenario as YAML or JSON, as this site exports them.",
}

LABELS = {"kind": "What it is", "file": "File", "text": "Its text"}


@login_required
@require_http_methods(["GET", "POST"])
def import_file(request: HttpRequest) -> HttpResponse:
    """Takes a file or pasted text."""
    if request.method == "GET":
        return _form(request, {})
    kind = request.POST.get("kind", "")
    if kind not in Upload.Kind.values:
        return refused(request, "kind", f"Say what it is: one of {', '.join(Upload.Kind.values)}.")
    try:
        upload = uploads.take(kind, *_brought(request), by=request.user.pk)
    except DocumentError as problem:
        told = " ".join(error.message for error in problem.errors)
        return refused(request, "file" if request.FILES else "text", f"It {told}.")
    return redirect("import-preview", upload.pk)


def refused(request: HttpRequest, field: str, said: str, status: int = 400) -> HttpResponse:
    """The form again with what is wrong beside a field: `kind`, `file` or `text`."""
    return _form(request, {field: said}, status)


def _form(request: HttpRequest, errors: Mapping[str, str], status: int = 200) -> HttpResponse:
    kind = request.POST.get("kind") or request.GET.get("kind", "")
    context = {
        "kinds": [(value, label, EXAMPLES[Upload.Kind(value)]) for value, label in Upload.Kind.choices],
        "kind": kind if kind in Upload.Kind.values else Upload.Kind.MODEL.value,
        "errors": errors,
        "summary": [(field, LABELS[field], said) for field, said in errors.items()],
        "text": request.POST.get("text", ""),
    }
    return render(request, "imports/new.html", context, status=status)


def _brought(request: HttpRequest) -> tuple[str, Iterable[bytes]]:
    file = request.FILES.get("file")
    if file is not None:
        return file.name or "file", file.chunks()
    return "pasted text", [request.POST.get("text", "").encode()]


@login_required
@require_http_methods(["GET", "POST"])
def import_preview(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    """What storing would do with the answers that the form shows; its other button does it."""
    upload = Upload.objects.filter(pk=upload_id).first()
    if upload is None:
        raise Http404(
            "This file is no longer here: it has been stored, or it was forgotten a day after it was brought."
        )
    typed = request.GET.dict() | request.POST.dict()
    given = {field: value for field, value in typed.items() if value and field not in BESIDE}
    if request.method == "POST" and request.POST.get(DO) != READ:
        return _store(request, upload, given)
    return _show(request, upload, given)


def _show(request: HttpRequest, upload: Upload, given: dict[str, str]) -> HttpResponse:
    seen = uploads.preview(upload, given)
    context: dict[str, Any] = {
        "upload": upload,
        "seen": seen,
        "given": given,
        "single": seen.found[0].entry if len(seen.found) == 1 else None,
        "asked": list(asked(upload, seen, given)),
        "facts": list(lines(seen.facts)),
    }
    return render(request, "imports/preview.html", context)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that the file leaves open; `options` are the stored entries that can answer it."""

    field: str
    value: str
    options: tuple[str, ...] = ()


DO, READ = "do", "read"
BESIDE = (DO, "csrfmiddlewaretoken")
"""Fields of the form that are no answers."""
ABOVE = ("name", "title")
"""Fields that the page has anyway."""
OF_BENCHMARKS = (Upload.Kind.PROFILE, Upload.Kind.RUNS)
"""Of which model and hardware they are, files seldom say in our words."""
REFERENCES = {"model": "models", "hardware": "hardware"}
ANSWERS: dict[str, dict[str, tuple[str, ...]]] = {
    Upload.Kind.PROFILE: {
        "use_loaded": ("no", "yes"),
        "replace": ("no", "yes"),
        **dict.fromkeys(("concurrency", "system", "backend", "backend_version", "tp", "ep", "quant"), ()),
    },
    Upload.Kind.RUNS: {
        "replace": ("no", "yes"),
        "tokens_include_cached": ("yes", "no"),
        **dict.fromkeys(("date", "system", "backend", "backend_version", "tp", "ep", "quant"), ()),
    },
    Upload.Kind.TRACE: {
        **dict.fromkeys(("arrival_column", "input_column", "output_column"), ()),
        "timestamp_unit": ("s", "ms", "us", "ns"),
    },
    Upload.Kind.MODEL: {"replace": ("no", "yes"), "architecture": ("gqa",), "unread_keys": ("ignore",)},
}
"""What an importer may ask for in the words of a refusal, and the answers that it takes."""


def asked(upload: Upload, seen: uploads.Preview, given: dict[str, str]) -> Iterator[Asked]:
    """What the user must or may say, apart from the assumptions, which bring their own choices."""
    assumed = {each.field for each in seen.assumptions}
    wanted = [error.field or "" for error in seen.errors] + [field for field in given if field not in ABOVE]
    said = " ".join(str(error) for error in seen.errors)
    wanted += [field for field in ANSWERS.get(upload.kind, {}) if field in said]
    if upload.kind in OF_BENCHMARKS:
        wanted = ["model", "hardware", "gpus_per_instance", *wanted]
    for field in dict.fromkeys(wanted):
        if field.isidentifier() and field not in assumed and field not in ABOVE:
            kind = REFERENCES.get(field)
            options = store.STORED.names(kind) if kind else ANSWERS.get(upload.kind, {}).get(field, ())
            yield Asked(field, given.get(field, ""), options)


def _store(request: HttpRequest, upload: Upload, given: dict[str, str]) -> HttpResponse:
    try:
        if upload.kind == Upload.Kind.TRACE:
            return redirect("job-page", uploads.submit_trace(upload, given, by=request.user.pk).pk)
        stored = uploads.keep(upload, given, by=request.user.pk)
    except DocumentError:
        return _show(request, upload, given)
    except store.Conflict as problem:
        messages.error(request, str(problem))
        return redirect("jobs-page" if upload.kind == Upload.Kind.TRACE else "catalogue")
    changed = [put for put in stored if put.status != "equal"]
    count = "1 entry" if len(changed) == 1 else f"{len(changed)} entries"
    messages.success(request, f"{count} stored, {len(stored) - len(changed)} equal to what was there.")
    return redirect(page_of(stored[0].entry) if len(stored) == 1 else "catalogue")
