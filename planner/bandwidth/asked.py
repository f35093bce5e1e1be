"""What a reader of the bandwidth wall asks for, read from the query of an address."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.documents.errors import DocumentError, FieldError
from planner.documents.plain import printable

type Query = Mapping[str, Sequence[str]]

LENGTHS = (1024.0, 8192.0, 32768.0, 131072.0)
GPUS = (512, 10_000)
HEADROOM = 0.1
MOST = {"model": 24, "profile": 24, "length": 16, "gpus": 6, "link": 12}
"""Values that each may have, so that an answer stays one that can be read."""
LENGTH = re.compile(r"(\d{1,10}(?:\.\d{1,3})?)\s*([kK]?)")
K = 1024.0


@dataclass(frozen=True, slots=True)
class Asked:
    """Names of models and profiles, lengths in tokens, GPUs of each fleet, the share of a link to be left free."""

    models: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    lengths: tuple[float, ...] = LENGTHS
    gpus: tuple[int, ...] = GPUS
    headroom: float = HEADROOM
    links: tuple[str, ...] = ()


def asked(query: Query) -> Asked:
    """What a query asks: each parameter once or often, several values also between commas.

    Raises DocumentError with every mistake.
    """
    mistakes = [
        FieldError(field, query[field][-1] if query[field] else None, f"is not asked here; allowed: {', '.join(KNOWN)}")
        for field in query
        if field not in KNOWN
    ]

    def read(field: str, of: Callable[[str], Any], standard: tuple[Any, ...]) -> tuple[Any, ...]:
        values = []
        for text in _texts(query, field):
            try:
                values.append(of(text))
            except ValueError as problem:
                mistakes.append(FieldError(field, text, str(problem)))
        if len(values) > MOST.get(field, 1):
            mistakes.append(FieldError(field, None, f"takes at most {MOST.get(field, 1)} values, got {len(values)}"))
        return tuple(dict.fromkeys(values)) or standard

    found = Asked(
        models=read("model", _name, ()),
        profiles=read("profile", _name, ()),
        lengths=tuple(sorted(read("length", _length, LENGTHS))),
        gpus=tuple(sorted(read("gpus", _gpus, GPUS))),
        headroom=read("headroom", _headroom, (HEADROOM,))[0],
        links=read("link", _name, ()),
    )
    if mistakes:
        raise DocumentError(mistakes)
    return found


KNOWN = ("model", "profile", "length", "gpus", "headroom", "link")


def _texts(query: Query, field: str) -> Iterator[str]:
    for value in query.get(field, ()):
        yield from filter(None, re.split(r"[,;\s]+", value))


def _name(text: str) -> str:
    """A name that a database can be asked for. Raises ValueError."""
    if not printable(text):
        raise ValueError("must be text without control characters and broken Unicode")
    return text


def _length(text: str) -> float:
    """Tokens; 32K is 32,768. Raises ValueError."""
    match = LENGTH.fullmatch(text)
    tokens = float(match[1]) * (K if match[2] else 1.0) if match else 0.0
    if not 1 <= tokens <= 1e9:
        raise ValueError("must be a number of tokens from 1 to 1e9, such as 32768 or 32K (K = 1024)")
    return tokens


def _gpus(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 8 and 1 <= int(text) <= 10_000_000):
        raise ValueError("must be a whole number of GPUs from 1 to 10000000")
    return int(text)


def _headroom(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise ValueError("must be a share of the link from 0 to below 1, such as 0.1")
    return share
