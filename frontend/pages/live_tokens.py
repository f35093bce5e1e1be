"""Tokens on the pages of those who have them, sources and hooks: one is shown once, and revoked after a question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from monitoring import tokens
from monitoring.models import Hook, Source

PAGES: dict[type, str] = {Source: "live-source-page", Hook: "live-hook-page"}
"""Where each is shown."""


def shown(secret: str = "") -> dict[str, Any]:
    """What the page of a source or a hook needs to know of tokens; `secret` is that of a new one."""
    return {"secret": secret, "most_tokens": tokens.MOST_AT_ONCE}


def made[Owner: (Source, Hook)](
    request: HttpRequest, owner: Owner, page: Callable[[HttpRequest, Owner, str], HttpResponse]
) -> HttpResponse:
    """`page` with a new token, which no other page will ever show."""
    try:
        _, secret = tokens.create(owner)
    except tokens.TooMany as problem:
        messages.error(request, f"{problem}.")
        return redirect(PAGES[type(owner)], owner.name)
    return page(request, owner, secret)


def revoked(request: HttpRequest, owner: Source | Hook, token_id: int) -> HttpResponse:
    """Asks first."""
    token = get_object_or_404(owner.tokens, pk=token_id)
    page = PAGES[type(owner)]
    if request.method == "POST":
        tokens.revoke(token)
        messages.success(request, f"The token {token.hint}… is revoked.")
        return redirect(page, owner.name)
    return render(request, "live/revoke.html", {"token": token, "owner": owner, "page": page})
