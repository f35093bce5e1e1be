"""Secrets by which sources and hooks are known: made, replaced without a gap, taken back. Only hashes are kept."""

from __future__ import annotations

import hashlib
import secrets
from typing import overload

from django.db import transaction

from monitoring.models import Hook, HookToken, Source, Token
from monitoring.models.secrets import Secret

BYTES = 32
HINT = 6
MOST_AT_ONCE = 2
"""Of a source or a hook: the one in use, and the one that takes its place."""


class TooMany(ValueError):
    """There are as many tokens as there may be: one must be revoked first."""


def digest(secret: str) -> str:
    """As it is kept. Its 256 random bits need no salt, and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@overload
def create(owner: Source) -> tuple[Token, str]: ...
@overload
def create(owner: Hook) -> tuple[HookToken, str]: ...
def create(owner: Source | Hook) -> tuple[Token | HookToken, str]:
    """A new token and its secret, which nobody can see again. Raises TooMany."""
    secret = secrets.token_urlsafe(BYTES)
    with transaction.atomic():
        type(owner).objects.select_for_update().get(pk=owner.pk)  # two at the same time count one another
        if owner.tokens.count() >= MOST_AT_ONCE:
            raise TooMany(f"{owner} has {MOST_AT_ONCE} tokens already: revoke one of them first")
        return owner.tokens.create(digest=digest(secret), hint=secret[:HINT]), secret


def revoke(token: Secret) -> None:
    """From now on nothing is taken with it; connections that were opened with it end within seconds."""
    token.delete()
