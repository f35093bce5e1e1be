"""The token in a request's headers."""

from __future__ import annotations

import base64
import binascii

LONGEST = 200
"""Characters; what is longer is none of our tokens."""


def of_headers(authorization: str) -> str | None:
    """The token of `Authorization: Bearer TOKEN`, or the password of `Basic` whatever the user; else None."""
    scheme, _, given = authorization.strip().partition(" ")
    given = given.strip()
    found = {"bearer": given, "basic": _password(given)}.get(scheme.lower())
    return found if found and len(found) <= LONGEST else None


def _password(given: str) -> str | None:
    try:
        _, separator, password = base64.b64decode(given, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return password if separator else None
