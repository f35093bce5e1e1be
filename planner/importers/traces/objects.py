"""Request logs with one JSON object a line: Mooncake, Qwen-Bailian, LLMServingSim, RouteSim, and others by choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from pydantic_core import from_json

from planner.documents.errors import DocumentError, refuse
from planner.engine.traces import Blocks, Chunk
from planner.engine.traces.chunk import Int64, running
from planner.importers.base import Assumption, Choices, Mapped
from planner.importers.reading import LONGEST_LINE, Block, json_value
from planner.importers.traces import cells, hashes, roles
from planner.importers.traces.batch import UNITS, Batch, Clock, Mistakes, column, identities, identity, numbered
from planner.importers.traces.cells import Wrong
from planner.importers.traces.sessions import Conversations
from planner.importers.traces.sieve import Sieve, model_column, written
from planner.importers.traces.tables import EPOCH_S

BLOCK_TOKENS = (512, 16, 32, 64, 128, 256, 1024)
TOO_MANY = "have hashes of more tokens than their prompt has: what is too much of them is not counted"
TOO_FEW = "have hashes of fewer tokens than their prompt has: the rest of it counts as found in no cache"
HASHES = "hash_ids"
FITTING = 0.99
"""Share of the requests whose hashes must be as many as their length asks for."""


@dataclass(frozen=True, slots=True)
class Known:
    """A log that has a name: by the keys that its objects have."""

    name: str
    keys: frozenset[str]
    unit: str
    block_tokens: int | None = None
    note: str = ""


NAMED = (
    Known(
        "Qwen-Bailian JSONL",
        frozenset({"chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"}),
        *("s", 16, "thoughts are cut from earlier turns, so the longest common prefix undercounts what can be reused"),
    ),
    Known("Mooncake JSONL", frozenset({"timestamp", "input_length", "output_length"}), "ms", 512),
    Known("LLMServingSim JSONL", frozenset({"input_toks", "output_toks", "arrival_time_ns"}), "ns"),
    Known("RouteSim JSONL", frozenset({"ts", "prompt_tokens", "gen_tokens", "prefix_hash"}), "ms"),
)


class _Read(NamedTuple):
    """The lines of a block: their numbers, their objects, and what is in every request."""

    lines: Sequence[int]
    rows: Sequence[Mapping[str, Any]]
    times: Int64
    inputs: Int64
    outputs: Int64


class Objects:
    """A request on every line."""

    longest_line = LONGEST_LINE

    def __init__(self, first: Block, example: Mapping[str, Any], choices: Choices) -> None:
        """`example` is the first object of the file. Raises DocumentError where it is no request."""
        found = roles.find(list(example), choices, numbered(first)[1][0])
        chosen = any(f"{role}_column" in choices for role in roles.ROLES)
        known = next((each for each in NAMED if each.keys <= example.keys() and not chosen), None)
        self.name = known.name if known else "JSONL with chosen columns"
        self._keys = (found.arrival, found.input, found.output)
        # By all of the first lines: one of them may lack what the others have, and is refused then.
        rows = _objects(first)
        names = list(dict.fromkeys(key for row in rows for key in row))
        self._hashes = HASHES if HASHES in names else None
        self._prefix = "prefix_hash" if {"prefix_hash", "prefix_len"} <= set(names) else None
        self._session = next((key for key in ("session_id", "conversation_id") if key in names), None)
        self._chats = Conversations() if {"chat_id", "parent_chat_id"} <= set(names) else None
        free = [name for name in names if name not in self._used]
        model = model_column(free)
        self._sieve = Sieve(free, [written(row[model]) for row in rows if model in row], choices)
        time = example[found.arrival]
        self._wall = isinstance(time, str)
        self._aware: bool | None = None
        asked: list[Assumption] = []
        unit = None if self._wall else found.unit
        if not self._wall and unit is None:
            usual = known.unit if known else None
            likely = roles.likely_unit(self._times(rows), usual, has_blocks=self._hashes is not None)
            asked.append(roles.unit_assumption(choices, *likely))
            unit = asked[-1].value
        self._exponent = UNITS[unit or "ns"]
        self._block_tokens = 1
        if self._hashes:
            asked.append(self._block_size(rows, choices, (known and known.block_tokens) or BLOCK_TOKENS[0]))
            self._block_tokens = int(asked[-1].value)
        self.assumptions = (*(() if known else found.assumptions), *asked, *self._sieve.assumptions)
        self.mapping = (*self._mapped("wall clock" if self._wall else str(unit)), *self._sieve.mapping)
        used = [*self._used, *self._sieve.columns]
        unused = roles.unused_notes(names, used, found, has_blocks=bool(self._hashes or self._prefix))
        self._notes = (*([known.note] if known and known.note else []), *unused)
        epoch = isinstance(time, int | float) and time * 10**self._exponent >= EPOCH_S * 10**9
        self.clock = Clock(wall=self._wall or epoch)

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Format`."""
        return (*self._notes, *self._sieve.notes)

    @property
    def _used(self) -> tuple[str, ...]:
        """Keys of which something is made."""
        chats = ("chat_id", "parent_chat_id") if self._chats else ()
        prefix = ("prefix_hash", "prefix_len") if self._prefix else ()
        return (*self._keys, *chats, *prefix, *(key for key in (self._hashes, self._session) if key))

    def _times(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """The numbers that stand for times, as they are written."""
        times = [row.get(self._keys[0]) for row in rows]
        return [_written(time) for time in times if isinstance(time, int | float) and not isinstance(time, bool)]

    def _mapped(self, unit: str) -> list[Mapped]:
        arrival, inputs, outputs = self._keys
        found = [Mapped(arrival, "arrivals", unit), Mapped(inputs, "input_tokens"), Mapped(outputs, "output_tokens")]
        if self._hashes:
            found.append(Mapped(self._hashes, "prefix", f"blocks of {self._block_tokens} tokens"))
        if self._prefix:
            found.append(Mapped("prefix_hash, prefix_len", "prefix", "the prefix is cached once it has occurred"))
        session = "chat_id, parent_chat_id" if self._chats else self._session
        return found + ([Mapped(session, "sessions")] if session else [])

    def _block_size(self, rows: Sequence[Mapping[str, Any]], choices: Choices, usual: int) -> Assumption:
        """As chosen; or the size that explains the number of hashes of nearly every request, the usual one first."""
        given = choices.get("block_tokens")
        sizes = (usual, *(size for size in BLOCK_TOKENS if size != usual))
        if given is not None:
            if not given.isdecimal() or not 1 <= int(given) <= 10**6:
                raise refuse("block_tokens", given, "must be a whole number of tokens from 1 to 1,000,000")
            return Assumption(
                "block_tokens", str(int(given)), "tokens that one hash stands for", tuple(map(str, sizes))
            )
        counts, lengths = self._hash_counts(rows)
        fits = [size for size in sizes if lengths.size and (counts == -(-lengths // size)).mean() >= FITTING]
        text = "tokens that one hash stands for: " + (
            "the number of hashes of each request agrees"
            if fits
            else "the format's; the numbers of hashes do not agree"
        )
        return Assumption("block_tokens", str(fits[0] if fits else usual), text, tuple(map(str, sizes)))

    def _hash_counts(self, rows: Sequence[Mapping[str, Any]]) -> tuple[Int64, Int64]:
        pairs = []
        for row in rows:
            try:
                pairs.append((len(row[str(self._hashes)]), _tokens(row[self._keys[1]])))
            except (ValueError, TypeError, KeyError):  # told when its line is read
                continue
        counts = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return counts[:, 0], counts[:, 1]

    # --- rows ----------------------------------------------------------------------------------------------------

    def rows(self, block: Block) -> Batch:
        """See `Format`."""
        cut = hashes.cut_out(block.data, self._hashes) if self._hashes else None
        if cut and (read := self._at_once(Block(block.line, cut[0]))):
            blocks: Blocks | None = Blocks(cut[2], running(cut[1]), self._block_tokens)
        else:
            read = self._at_once(block) or self._one_by_one(block)
            blocks = self._blocks(read.rows, read.lines)
        sessions = self._sessions(read.rows, read.lines)
        chunk = Chunk(read.times, read.inputs, read.outputs, blocks, sessions)
        batch = Batch(column(read.lines), chunk).without([self._sieve.first_reason(row) for row in read.rows])
        return replace(batch, told=_told(batch.chunk))

    def _at_once(self, block: Block) -> _Read | None:
        """The columns, where every line has each key once and a plain number for it; None otherwise."""
        texts, lines = numbered(block)
        keys = (*self._keys, self._hashes) if self._hashes else self._keys
        if any(block.data.count(f'"{key}"'.encode()) != len(texts) for key in keys):
            return None
        try:
            rows = [from_json(text) for text in texts]
            columns = [[row[key] for row in rows] for key in keys]
        except (ValueError, KeyError, TypeError):
            return None
        if not texts or any(set(map(type, each)) != {int} for each in columns[:3]):
            return None
        try:
            times, inputs, outputs = (column(each) for each in columns[:3])
        except OverflowError:
            return None
        least, most = min(each.min() for each in (times, inputs, outputs)), max(inputs.max(), outputs.max())
        if self._wall or least < 0 or most > cells.LONGEST or times.max() > cells.LATEST_NS // 10**self._exponent:
            return None
        return _Read(lines, rows, times * 10**self._exponent, inputs, outputs)

    def _one_by_one(self, block: Block) -> _Read:
        texts, lines = numbered(block)
        mistakes = Mistakes()
        rows: list[dict[str, Any]] = []
        found: list[tuple[int, int, int]] = []
        for text, line in zip(texts, lines, strict=True):
            try:
                row = json_value(text.decode(), "", line)
            except DocumentError as problem:
                mistakes.add(line, None, None, problem.errors[0].message)
                continue
            if not isinstance(row, dict):
                mistakes.add(line, None, row, "must be an object with a request's fields")
                continue
            rows.append(row)
            found.append(self._request(line, row, mistakes))
        mistakes.check()
        times, inputs, outputs = (column(each) for each in (zip(*found, strict=True) if found else [()] * 3))
        return _Read(lines, rows, times, inputs, outputs)

    def _request(self, line: int, row: Mapping[str, Any], mistakes: Mistakes) -> tuple[int, int, int]:
        if self._sieve.first_reason(row):
            return 0, 0, 0  # left out: it may lack the others
        found = []
        for key, how in zip(self._keys, (self._time, _tokens, _tokens), strict=True):
            try:
                if key not in row:
                    raise Wrong("is missing")
                found.append(how(row[key]))
            except Wrong as problem:
                mistakes.add(line, key, row.get(key), str(problem))
                found.append(0)
        return found[0], found[1], found[2]

    def _time(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise Wrong("must be a time")
        if isinstance(value, str) != self._wall:
            raise Wrong("mixes clocks: some times are texts, others numbers")
        if not isinstance(value, str):
            return cells.nanoseconds(_written(value), self._exponent)
        time, aware = cells.wall(value)
        if self._aware is not None and aware != self._aware:
            raise Wrong("mixes clocks: some times name a zone, others do not")
        self._aware = aware
        return time

    # --- prefixes and sessions -----------------------------------------------------------------------------------

    def _blocks(self, rows: Sequence[Mapping[str, Any]], lines: Sequence[int]) -> Blocks | None:
        if self._hashes:
            lists: list[Any] = []
            for row, line in zip(rows, lines, strict=True):
                each = row.get(self._hashes)
                if not isinstance(each, list) and self._sieve.first_reason(row):
                    each = []
                lists.append(each)
                if not isinstance(each, list):
                    said = (
                        "must be a list of block hashes" if self._hashes in row else "is missing; other lines have it"
                    )
                    raise refuse(f"line {line}, {self._hashes}", each, said)
            try:
                ids = identities(list(chain.from_iterable(lists)))
            except TypeError as problem:
                raise _where(lists, lines, self._hashes) from problem
            return Blocks(ids, running(column(map(len, lists))), self._block_tokens)
        for row, line in zip(rows, lines, strict=True):
            if HASHES in row:
                raise refuse(f"line {line}, {HASHES}", None, "is there, but not on the first lines: all must have it")
        return self._prefixes(rows, lines) if self._prefix else None

    def _prefixes(self, rows: Sequence[Mapping[str, Any]], lines: Sequence[int]) -> Blocks:
        """One block a request, as long as its prefix: the same text with another length is another prefix."""
        found = []
        for row, line in zip(rows, lines, strict=True):
            name, length = row.get("prefix_hash"), row.get("prefix_len")
            if name is None or not length:
                found.append((0, 0, 0))
                continue
            if not isinstance(name, str | int) or type(length) is not int or not 0 < length <= cells.LONGEST:
                raise refuse(f"line {line}, prefix_len", length, "must be a whole number of tokens with a prefix_hash")
            found.append((identity(f"{length} {name}"), length, 1))
        ids, sizes, there = np.array(found, dtype=np.int64).reshape(-1, 3).T
        kept = there == 1
        return Blocks(ids[kept], running(there), 1, sizes[kept])

    def _sessions(self, rows: Sequence[Mapping[str, Any]], lines: Sequence[int]) -> Int64 | None:
        if self._chats:
            return self._chats.sessions(rows, lines)
        if self._session is None:
            return None
        names = [row.get(self._session) for row in rows]
        try:
            # a request without a name is a session of its own
            return identities(
                [f"line {line}" if name is None else name for name, line in zip(names, lines, strict=True)]
            )
        except TypeError as problem:
            raise _where([[name] for name in names], lines, self._session) from problem


def _objects(block: Block) -> list[dict[str, Any]]:
    """The objects in some lines; what is none is told when its line is read."""
    found = []
    for text in numbered(block)[0]:
        try:
            row = from_json(text)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


def _told(chunk: Chunk) -> dict[str, int]:
    """Requests whose blocks hold a block more, or over a block less, than their prompt has tokens."""
    if chunk.blocks is None:
        return {}
    blocks = chunk.blocks
    sizes = np.full(blocks.ids.size, blocks.block_tokens) if blocks.sizes is None else blocks.sizes
    missing = chunk.input_tokens - np.diff(np.concatenate([[0], np.cumsum(sizes)])[blocks.offsets])
    few = missing > blocks.block_tokens if blocks.sizes is None else np.zeros(0)  # a prefix may be as short as it likes
    return {TOO_MANY: int((missing <= -blocks.block_tokens).sum()), TOO_FEW: int(few.sum())}


def _tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong("must be a whole number of tokens")
    return cells.tokens(_written(value))


def _written(value: float) -> str:
    """A number as a table would have it."""
    if isinstance(value, int):
        return str(value) if abs(value) < 10**30 else f"{value // abs(value) * 10**30}"
    return repr(value) if abs(value) < 1e15 or value != value else f"{value:f}"


def _where(lists: Sequence[Sequence[Any]], lines: Sequence[int], key: str) -> DocumentError:
    """Which line has the value that is neither number nor text."""
    for each, line in zip(lists, lines, strict=True):
        for value in each:
            if isinstance(value, bool) or not isinstance(value, int | str):
                return refuse(f"line {line}, {key}", value, "must be a whole number or a text")
    return refuse(f"line {lines[0]}, {key}", None, "must be whole numbers or texts")
