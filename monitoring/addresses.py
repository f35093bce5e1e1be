"""Addresses that we ask or send to: what is one, and which of them nobody may make us ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from monitoring.sources.fetching import is_withheld

LONGEST = 500
URL = re.compile(r"[!-~]+")


def mistakes(url: Any, example: str, secret: str) -> Iterator[str]:
    """What is wrong with an address; `secret` is the field in which a password belongs."""
    if not isinstance(url, str) or not URL.fullmatch(url) or len(url) > LONGEST:
        yield f"must be an address of up to {LONGEST} characters, as {example}"
        return
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as problem:
        yield f"is no address: {problem}"
        return
    if parts.scheme not in ("http", "https") or not host or port == 0:
        yield f"must begin with http:// or https:// and a host, got {url[:100]!r}"
    elif (message := _forbidden(parts, host, secret)) is not None:
        yield message


def _forbidden(parts: SplitResult, host: str, secret: str) -> str | None:
    if parts.username is not None or parts.password is not None:
        return f"must not have a user or password, which would be stored: give a {secret}"
    if parts.fragment:
        return "must not have a part after #"
    try:
        withheld = is_withheld(host)
    except ValueError:  # a name, which is looked up each time
        return None
    if withheld and not settings.SCRAPE_LINK_LOCAL:
        return f"{host} is a link-local or a cloud's metadata address, which is not asked"
    return None
