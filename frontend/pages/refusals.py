"""What was refused before any page saw it, and what is not there: in our words, as pages like the others."""

from __future__ import annotations

import re

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render

from frontend.pages import imports
from planner.documents.errors import FieldError

UNSAID = re.compile(r"No \w+ matches the given query\.")
"""What the framework says of a row that is not there."""
ANY = "It could not be read as a form. Go back, reload the page and try again."


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that the framework does not take: the import's form again, or else a page that says why."""
    field, said = _why(exception)
    status = 413 if isinstance(exception, RequestDataTooBig) else 400
    match = request.resolver_match
    if match and match.view_name == "import-page" and request.user.is_authenticated:
        return imports.refused(request, field, said, status)
    if match and match.route.startswith("api/"):
        return JsonResponse({"errors": [FieldError(None, None, said).as_json()]}, status=status)
    return render(request, "400.html", {"said": said}, status=status)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Nothing is at this address; why, where a page says so."""
    said = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    return render(request, "404.html", {"said": "" if UNSAID.fullmatch(said) else said}, status=404)


def _why(exception: Exception) -> tuple[str, str]:
    """The field of an import that it is about, and what is wrong."""
    if isinstance(exception, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20
        return "text", f"It is longer than the {most} MiB that are taken as text: bring it as a file."
    if isinstance(exception, TooManyFieldsSent):
        return (
            "kind",
            f"More than {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields were sent; no form here has so many.",
        )
    if isinstance(exception, TooManyFilesSent):
        return "file", "More files were sent than can be taken at once: bring one."
    if isinstance(exception, MultiPartParserError) and "header" in str(exception):
        return "file", "Its name is too long: call it something of at most 255 characters."
    return "kind", ANY
