"""Secrets by which sources are known: made, replaced without a gap, taken back. Only their hashes are kept."""

from __future__ import annotations

import hashlib
import secrets

from django.db import transaction

from monitoring.models import Source, Token

BYTES = 32
HINT = 6
MOST_AT_ONCE = 2
"""Of a source: the one in use, and the one that takes its place."""


class TooMany(ValueError):
    """A source has as many tokens as it may have: one must be revoked first."""


def digest(secret: str) -> str:
    """As it is kept. Its 256 random bits need no salt, and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def create(source: Source) -> tuple[Token, str]:
    """A new token and its secret, which nobody can see again. Raises TooMany."""
    secret = secrets.token_urlsafe(BYTES)
    with transaction.atomic():
        Source.objects.select_for_update().get(pk=source.pk)  # two at the same time count one another
        if source.tokens.count() >= MOST_AT_ONCE:
            raise TooMany(f"{source} has {MOST_AT_ONCE} tokens already: revoke one of them first")
        return Token.objects.create(source=source, digest=digest(secret), hint=secret[:HINT]), secret


def revoke(token: Token) -> None:
    """From now on nothing is taken with it; connections that were opened with it end within seconds."""
    token.delete()
