"""Requests as they come out of a file, and what every format of file must offer."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from planner.documents.errors import DocumentError, FieldError
from planner.engine.traces import Chunk
from planner.engine.traces.chunk import Int64
from planner.importers.base import Assumption, Mapped
from planner.importers.reading import Block

MOST_ERRORS = 20
UNITS = {"s": 9, "ms": 6, "us": 3, "ns": 0}
"""Units of time, by the power of ten of nanoseconds that each is."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Requests in the file's order; `chunk.arrival_ns` is by the file's own clock, `lines` where each stands."""

    lines: Int64
    chunk: Chunk
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Requests that are not in it, by the reason."""
    told: Mapping[str, int] = field(default_factory=dict)
    """Requests that are in it and contradict themselves, by how."""

    def without(self, whys: Sequence[str]) -> Batch:
        """Without the requests for which there is a reason; each has one, which is empty for those that stay."""
        kept = np.flatnonzero([not why for why in whys])
        if kept.size == self.chunk.rows:
            return self
        found = Counter(why for why in whys if why)
        return Batch(self.lines[kept], self.chunk.take(kept), {**self.left_out, **found}, self.told)

    def counted(self) -> Batch:
        """Without the requests that have no input or no output: they failed, or asked for nothing."""
        inputs, outputs = self.chunk.input_tokens > 0, self.chunk.output_tokens > 0
        kept = np.flatnonzero(inputs & outputs)
        if kept.size == self.chunk.rows:
            return self
        empty = {
            "without output tokens: failed or cancelled": int((inputs & ~outputs).sum()),
            "without input tokens": int((~inputs).sum()),
        }
        return Batch(self.lines[kept], self.chunk.take(kept), {**self.left_out, **empty}, self.told)


class Format(Protocol):
    """A kind of file, already told apart from the others."""

    @property
    def name(self) -> str:
        """How it is called."""

    @property
    def mapping(self) -> tuple[Mapped, ...]:
        """What of it became what of ours."""

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What it does not say."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of it."""

    @property
    def clock(self) -> Clock:
        """What its times are."""

    @property
    def longest_line(self) -> int:
        """Bytes that a line may have."""

    def rows(self, block: Block) -> Batch:
        """The requests in some of its lines. Raises DocumentError with the first mistakes, by line and column."""


@dataclass(frozen=True, slots=True)
class Clock:
    """`wall`: dates, or seconds since 1970. Where requests have no times, they may have a duration together."""

    wall: bool = False
    known: bool = True
    duration_s: float | None = None


class Mistakes:
    """Errors by line, as many as somebody would read."""

    def __init__(self) -> None:
        self._found: list[FieldError] = []

    def add(self, line: int, column: str | None, value: Any, message: str) -> None:
        """One more. Raises DocumentError when there are enough."""
        self._found.append(FieldError(f"line {line}, {column}" if column else f"line {line}", value, message))
        if len(self._found) >= MOST_ERRORS:
            raise DocumentError(self._found)

    def check(self) -> None:
        """Raises DocumentError if there are any."""
        if self._found:
            raise DocumentError(self._found)


def numbered(block: Block) -> tuple[Sequence[bytes], Sequence[int]]:
    """The lines of a block that are not blank, and their numbers."""
    texts = block.data.split(b"\n")
    texts.pop()
    if not any(not text or text.isspace() for text in texts):
        return texts, range(block.line, block.line + len(texts))
    kept = [(text, line) for line, text in enumerate(texts, block.line) if text and not text.isspace()]
    return [text for text, _ in kept], [line for _, line in kept]


def column(values: Iterable[int]) -> Int64:
    """Whole numbers as a column. Raises OverflowError beyond 64 bits."""
    return np.array(list(values), dtype=np.int64)


def identity(value: str | bytes) -> int:
    """A number that stands for a text: the same for the same, and for others by no chance that matters."""
    data = value.encode() if isinstance(value, str) else value
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


def identities(values: Sequence[Any]) -> Int64:
    """A number for each number or text; equal ones have the same. Raises TypeError on anything else."""
    kinds = set(map(type, values))
    if not kinds <= {int, str}:
        raise TypeError("must be whole numbers or texts")
    if kinds <= {int}:
        try:
            return column(values)
        except OverflowError:  # hashes of 64 bits without a sign, or longer ones
            pass
    known = {value: _identity(value) for value in set(values)}
    return column(known[value] for value in values)


def _identity(value: int | str) -> int:
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else identity(str(value))
