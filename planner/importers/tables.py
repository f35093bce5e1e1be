"""Comma-separated tables with a header, and numbers in them; every error names the line and the column."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from planner.documents.errors import DocumentError, FieldError, refuse, shown

DELIMITERS = ",;\t"
WIDEST = 1000
"""Columns."""
LARGEST = 1e21
"""No figure of anybody's is larger (nanoseconds since 1970 are 2e18), and products of three stay finite."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row below the header: its line in the file, and its cells by the header's names as they stand there."""

    line: int
    cells: dict[str, str]

    def place(self, column: str) -> str:
        """How an error names a cell."""
        return f"line {self.line}, {column}"

    def number(self, column: str, lowest: float = -math.inf) -> float | None:
        """The number in a cell, None where it is empty. Raises DocumentError."""
        return number(self.cells[column], self.place(column), lowest)


def rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Every row of a table of numbered lines, with the line on which it ends; blank ones come as empty lists.

    What stands between the cells is the comma, semicolon or tab that is most frequent in the first line.
    Raises DocumentError.
    """
    numbered = iter(lines)
    start, first = next(numbered, (1, ""))
    # csv needs the line breaks: without them a quoted cell over two lines loses its own
    texts = chain([first + "\n"], (text + "\n" for _, text in numbered))
    reader = csv.reader(texts, delimiter=max(DELIMITERS, key=first.count), strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            place = f"line {start + max(reader.line_num, 1) - 1}"
            raise refuse(place, None, f"is no row of a table: {problem}") from problem
        line = start + reader.line_num - 1
        if len(row) > WIDEST:
            raise refuse(f"line {line}", None, f"has {len(row)} columns; at most {WIDEST} are read")
        cells = [cell.strip() for cell in row]
        yield line, cells if any(cells) else []


def records(header: Sequence[str], below: Iterable[tuple[int, list[str]]]) -> Iterator[Record]:
    """The rows below a header, blank ones left out. Raises DocumentError on a row of another width."""
    for line, cells in below:
        if not cells:
            continue
        if len(cells) != len(header):
            raise refuse(f"line {line}", None, f"has {len(cells)} cells where the header has {len(header)}")
        yield Record(line, dict(zip(header, cells, strict=True)))


def number(text: str, place: str, lowest: float = -math.inf) -> float | None:
    """The number that a cell holds, None where it is empty. Raises DocumentError naming the place."""
    if not text:
        return None
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text, re.ASCII):
        raise refuse(place, text, _why_no_number(text))
    value = float(text)
    if not math.isfinite(value):
        raise refuse(place, text, "must be a finite number")
    if abs(value) > LARGEST:
        raise refuse(place, text, f"must be at most {LARGEST:g}")
    if value < lowest:
        raise refuse(place, text, f"must be at least {lowest:g}")
    return value


def _why_no_number(text: str) -> str:
    if re.fullmatch(r"[-+]?\d{1,3}([,' _\u00a0]\d{3})+(\.\d+)?", text):
        return "has thousands separators or a decimal comma; write 1234.5"
    if re.fullmatch(r"[-+]?[\d.]*,\d+", text):
        return "has a decimal comma; write 1234.5"
    if text.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return "must be a finite number"
    return "must be a number, as 1234.5"


def plain(name: str) -> str:
    """A column's name without case, brackets, blanks and signs: `TTFT (ms)` is ttft_ms."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def checked_header(line: int, header: Sequence[str]) -> list[str]:
    """The names of columns, once each. Raises DocumentError where one is empty or stands twice."""
    found = [
        FieldError(
            f"line {line}, column {place}", name or None, "is the name of two columns" if name else "has no name"
        )
        for place, name in enumerate(header, 1)
        if not name or plain(name) in {plain(other) for other in header[: place - 1]}
    ]
    if found:
        raise DocumentError(found)
    return list(header)


def quoted(names: Iterable[str], most: int = 20) -> str:
    """Names in a message, the first of them where there are many."""
    listed = list(names)
    return ", ".join(shown(name) for name in listed[:most]) + (", …" if len(listed) > most else "")


def slug(text: str) -> str:
    """A name for a catalogue entry made from somebody's words: small letters, digits and dashes, 100 at most."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100].strip("-")
