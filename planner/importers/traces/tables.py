"""Request logs as tables: Azure, BurstGPT, Vidur and Splitwise, and any other whose columns are known or chosen."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.documents.errors import refuse
from planner.engine.traces import Chunk
from planner.engine.traces.chunk import Int64
from planner.importers.base import Assumption, Choices, Mapped
from planner.importers.reading import LONGEST_LINE, Block
from planner.importers.traces import cells, roles
from planner.importers.traces.batch import UNITS, Batch, Clock, Mistakes, column, identity, numbered
from planner.importers.traces.cells import Wrong
from planner.importers.traces.sieve import Sieve, model_column

DELIMITERS = ",;\t"
MOST_COLUMNS = 200
LONGEST_WORD = 200
"""Bytes of a cell that is looked at in a block: all cells of its column take as many."""
EPOCH_S = 10**8
"""Numbers of seconds from here on are dates (1973 and later)."""


@dataclass(frozen=True, slots=True)
class Known:
    """A table that has a name: by its columns, flat; `unit` where its documentation fixes one."""

    name: str
    columns: frozenset[str]
    unit: str | None = None
    note: str = ""


NAMED = (
    Known(
        "Azure LMM 2025 CSV",
        frozenset({"timestamp", "numimages", "contexttokens", "generatedtokens"}),
        note="images (NumImages) are not told apart: ContextTokens is taken as it is",
    ),
    Known("Azure CSV", frozenset({"timestamp", "contexttokens", "generatedtokens"})),
    Known("BurstGPT CSV", frozenset({"timestamp", "model", "requesttokens", "responsetokens"}), "s"),
    Known("Vidur/Splitwise CSV", frozenset({"arrivedat", "numprefilltokens", "numdecodetokens"}), "s"),
)
SESSION = ("sessionid", "conversationid", "session")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line that is not blank."""

    line: int
    names: tuple[str, ...]
    delimiter: str


def header(block: Block) -> Header:
    """The names of the columns. Raises DocumentError."""
    texts, lines = numbered(block)
    first = texts[0].decode()
    delimiter = max(DELIMITERS, key=first.count)
    names = _row(first, delimiter)
    if names is None or len(names) > MOST_COLUMNS:
        raise refuse(f"line {lines[0]}", first, f"is no header of at most {MOST_COLUMNS} columns")
    if any(cells.is_wall(name) or name.replace(".", "", 1).isdigit() for name in names):
        raise refuse(f"line {lines[0]}", first, "must name the columns: it has values instead")
    return Header(lines[0], tuple(names), delimiter)


def _row(text: str, delimiter: str) -> list[str] | None:
    """The cells of one line; None where its quotes are wrong."""
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter, strict=True))]
    except (csv.Error, StopIteration):
        return None


class Table:
    """A table of requests."""

    longest_line = LONGEST_LINE

    def __init__(self, first: Block, choices: Choices) -> None:
        """`first` begins with the header. Raises DocumentError where it is no request log."""
        self._header = header(first)
        names = self._header.names
        found = roles.find(names, choices, self._header.line)
        chosen = any(f"{role}_column" in choices for role in roles.ROLES)
        flat = {roles.flat(name) for name in names}
        known = next((each for each in NAMED if each.columns <= flat and not chosen), None)
        self.name = known.name if known else "CSV with chosen columns"
        self._places = {role: names.index(name) for role, name in _names(found).items()}
        self._session = next((place for place, name in enumerate(names) if roles.flat(name) in SESSION), None)
        self._aware: bool | None = None
        used = [*_names(found).values(), *([] if self._session is None else [names[self._session]])]
        free = [name for name in names if name not in used and names.count(name) == 1]
        example = self._first_rows(first)
        model = model_column(free)
        self._sieve = Sieve(free, [row[names.index(model)] for row in example] if model else [], choices)
        unused = roles.unused_notes(names, [*used, *self._sieve.columns], found, has_blocks=False)
        self._notes = (*([known.note] if known and known.note else []), *unused)
        sample = example[0][self._places["arrival"]]
        self._wall = cells.is_wall(sample)
        unit = None if self._wall else (known and known.unit) or found.unit
        asked: tuple[Assumption, ...] = ()
        if not self._wall and unit is None:
            asked = (roles.unit_assumption(choices, *roles.likely_unit([sample])),)
            unit = asked[0].value
        self._exponent = UNITS[unit or "ns"]
        self.assumptions = (*(() if known else found.assumptions), *asked, *self._sieve.assumptions)
        self.mapping = (*self._mapped(unit), *self._sieve.mapping)
        self.clock = Clock(wall=self._wall or _is_epoch(sample, self._exponent))

    def _mapped(self, unit: str | None) -> list[Mapped]:
        names = self._header.names
        how = "wall clock, from the first request on" if self._wall else f"{unit}"
        found = [
            Mapped(names[self._places["arrival"]], "arrivals", how),
            Mapped(names[self._places["input"]], "input_tokens"),
            Mapped(names[self._places["output"]], "output_tokens", "0 is a failed request, left out"),
        ]
        return found + ([] if self._session is None else [Mapped(names[self._session], "sessions")])

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Format`."""
        return (*self._notes, *self._sieve.notes)

    def _first_rows(self, first: Block) -> list[list[str]]:
        """Those that are as wide as the header, the first of them in any case. Raises DocumentError."""
        found = []
        for text, line in zip(*numbered(first), strict=True):
            if line > self._header.line and (row := _row(text.decode(), self._header.delimiter)):
                if len(row) == len(self._header.names):
                    found.append(row)
                elif not found:
                    raise refuse(f"line {line}", None, _width(len(row), len(self._header.names)))
        if not found:
            raise refuse(f"line {self._header.line}", None, "is a header without rows below it")
        return found

    # --- rows ----------------------------------------------------------------------------------------------------

    def rows(self, block: Block) -> Batch:
        """See `Format`."""
        below = self._header.line + 1 - block.line
        if below > 0:
            block = Block(self._header.line + 1, b"\n".join(block.data.split(b"\n", below)[below:]))
        return self._at_once(block) or self._one_by_one(block)

    def _at_once(self, block: Block) -> Batch | None:
        found = cells.split(block.data, self._header.delimiter, len(self._header.names)) if block.data else None
        whys = None if found is None else self._whys(found)
        if found is None or whys is None:
            return None
        inputs, outputs = (found.tokens(self._places[role]) for role in ("input", "output"))
        if inputs is None or outputs is None or (times := self._times(found)) is None:
            return None
        lines = np.arange(block.line, block.line + found.rows)
        sessions = None
        if self._session is not None:
            words, where = np.unique(found.words(self._session), return_inverse=True)
            named = column(identity(word) for word in words.tolist())
            sessions = np.where((words == b"")[where], -lines, named[where])
        return Batch(lines, Chunk(times, inputs, outputs, sessions=sessions)).without(whys)

    def _whys(self, found: cells.Cells) -> Sequence[str] | None:
        """Why each row is left out, empty where it is not; None where a cell is too long to look at it so."""
        whys = np.full(found.rows, "", dtype=object)
        for name in self._sieve.columns:
            place = self._header.names.index(name)
            if (found.ends[:, place] - found.starts[:, place]).max(initial=0) > LONGEST_WORD:
                return None
            words, where = np.unique(found.words(place), return_inverse=True)
            reasons = np.array([self._sieve.reason(name, word.decode()) for word in words.tolist()], dtype=object)
            whys = np.where(whys == "", reasons[where], whys)
        return whys.tolist()

    def _times(self, found: cells.Cells) -> Int64 | None:
        if not self._wall:
            return found.nanoseconds(self._places["arrival"], self._exponent)
        read = found.wall(self._places["arrival"])
        if read is None or (self._aware is not None and read[1] != self._aware):
            return None
        self._aware = read[1]
        return read[0]

    def _one_by_one(self, block: Block) -> Batch:
        mistakes, left_out = Mistakes(), Counter[str]()
        found: list[tuple[int, int, int, int, int]] = []
        for text, line in zip(*numbered(block), strict=True):
            row = _row(text.decode(), self._header.delimiter)
            if row is None:
                mistakes.add(line, None, None, "has a quotation mark that is not closed on the line, or is misplaced")
            elif len(row) != len(self._header.names):
                mistakes.add(line, None, None, _width(len(row), len(self._header.names)))
            elif why := self._sieve.first_reason(dict(zip(self._header.names, row, strict=True))):
                left_out[why] += 1  # its other cells may be empty
            else:
                found.append(self._request(line, row, mistakes))
        mistakes.check()
        lines, times, inputs, outputs, sessions = (
            column(each) for each in (zip(*found, strict=True) if found else [()] * 5)
        )
        chunk = Chunk(times, inputs, outputs, sessions=None if self._session is None else sessions)
        return Batch(lines, chunk, left_out)

    def _request(self, line: int, row: Sequence[str], mistakes: Mistakes) -> tuple[int, int, int, int, int]:
        def read[T](role: str, how: Callable[[str], T], otherwise: T) -> T:
            place = self._places[role]
            try:
                return how(row[place])
            except Wrong as problem:
                mistakes.add(line, self._header.names[place], row[place], str(problem))
                return otherwise

        session = 0 if self._session is None else identity(row[self._session]) if row[self._session] else -line
        time = read("arrival", self._time, 0)
        return line, time, read("input", cells.tokens, 1), read("output", cells.tokens, 1), session

    def _time(self, text: str) -> int:
        if cells.is_wall(text) != self._wall:
            raise Wrong("mixes clocks: some rows have dates, others numbers")
        if not self._wall:
            return cells.nanoseconds(text, self._exponent)
        time, aware = cells.wall(text)
        if self._aware is not None and aware != self._aware:
            raise Wrong("mixes clocks: some rows name a time zone, others do not")
        self._aware = aware
        return time


def _names(found: roles.Roles) -> dict[str, str]:
    return {"arrival": found.arrival, "input": found.input, "output": found.output}


def _width(cells_there: int, columns: int) -> str:
    return f"has {cells_there} cells where the header has {columns}"


def _is_epoch(sample: str, exponent: int) -> bool:
    try:
        return cells.nanoseconds(sample, exponent) >= EPOCH_S * 10**9
    except Wrong:
        return False  # the row will say so
