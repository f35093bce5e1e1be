"""Files of any encoding and compression as text, in bounded memory. What a file is, its bytes say, not its name."""

from __future__ import annotations

import codecs
import json
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from planner.documents.errors import refuse

LONGEST_LINE = 4 * 2**20
"""Bytes of a line. The longest real one is a request of 10 million tokens with its block hashes: 2 MiB."""
LARGEST = 64 * 2**30
"""Bytes of a file once it is expanded."""
EXPANSION, FREE = 300, 256 * 2**20
"""A compressed file may grow to so many times its size; the first 256 MiB are free. Real logs grow 3 to 50 times."""
LARGEST_JSON = 64 * 2**20

BLOCK = 2**20
_FED = 2**11
"""Compressed bytes given to zstd at once: they can become 64 MiB (a block of 128 KiB takes four bytes)."""
_GZIP, _ZSTD = b"\x1f\x8b", (b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18")
_OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "ZIP", b"PAR1": "Parquet", b"\x04\x22\x4d\x18": "LZ4"}

type OnBytes = Callable[[int], None]
"""Told how many bytes of the file, as it lies on the disk, have been read."""


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines as UTF-8, each ended by one newline; `line` is the number of the first of them, from 1."""

    line: int
    data: bytes


class _Broken(ValueError):
    """Something wrong with the bytes; whoever counts lines says where."""


# --- lines -------------------------------------------------------------------------------------------------------


def blocks(path: Path, on_bytes: OnBytes | None = None, longest: int = LONGEST_LINE) -> Iterator[Block]:
    """The file's lines, about a megabyte at a time, with line breaks of every kind made newlines.

    Raises DocumentError on a file that is missing, empty, cut short, no text, or that expands without reason.
    """
    line, carry = 1, b""
    pieces = _gathered(_utf8(_expanded(path, on_bytes)))
    while True:
        try:
            piece = next(pieces, None)
        except _Broken as problem:
            raise refuse(f"line {line}", None, str(problem)) from problem
        if piece is None:
            break
        block, carry = _whole_lines(line, carry, piece, longest)
        if block:
            yield Block(line, block)
            line += block.count(b"\n")
    if carry:
        yield Block(line, carry.replace(b"\r", b"\n").removesuffix(b"\n") + b"\n")
    elif line == 1:
        raise refuse(path.name, None, "is empty")


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Small pieces as one; none is empty. What came before something broken still comes."""
    waiting: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            waiting.append(piece)
            size += len(piece)
            if size >= BLOCK:
                yield b"".join(waiting)
                waiting, size = [], 0
    except _Broken:
        if size:
            yield b"".join(waiting)
        raise
    if size:
        yield b"".join(waiting)


def _whole_lines(line: int, carry: bytes, piece: bytes, longest: int) -> tuple[bytes, bytes]:
    """The lines that are complete now, and what begins the next one. Raises DocumentError."""
    # a carriage return at the end waits: the newline that belongs to it may come with the next piece
    if b"\r" in piece or carry.endswith(b"\r"):
        held = piece.endswith(b"\r")
        ahead = carry.endswith(b"\r")
        piece = (b"\r" if ahead else b"") + (piece[:-1] if held else piece)
        piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + (b"\r" if held else b"")
        carry = carry[:-1] if ahead else carry
    if b"\0" in piece:
        at = line + piece.count(b"\n", 0, piece.index(b"\0"))
        raise refuse(f"line {at}", None, "has a NUL byte: this is no text file")
    cut = piece.rfind(b"\n") + 1
    if len(carry) + (piece.find(b"\n") if cut else len(piece)) > longest:
        raise refuse(f"line {line}", None, f"is longer than {longest / 2**20:g} MiB")
    return (carry + piece[:cut], piece[cut:]) if cut else (b"", carry + piece)


def lines(path: Path, on_bytes: OnBytes | None = None, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
    """Every line with its number, without its line break. Raises DocumentError as `blocks` does."""
    for block in blocks(path, on_bytes, longest):
        texts = block.data.decode().split("\n")
        texts.pop()
        yield from enumerate(texts, block.line)


def text(path: Path, limit: int = LARGEST_JSON) -> str:
    """A whole file of at most `limit` bytes, with newlines. Raises DocumentError as `blocks` does."""
    found: list[bytes] = []
    size = 0
    for block in blocks(path, longest=limit + 1):  # a whole document may be one line
        size += len(block.data)
        if size > limit + 1:  # the newline that the last line may not have had
            raise refuse(path.name, None, f"is larger than {limit / 2**20:g} MiB")
        found.append(block.data)
    return b"".join(found).decode()


# --- JSON --------------------------------------------------------------------------------------------------------


def json_document(path: Path, limit: int = LARGEST_JSON) -> Any:
    """The value of a JSON file; NaN and Infinity are floats, as in real files. Raises DocumentError."""
    return json_value(text(path, limit), path.name)


def json_value(source: str, name: str, line: int | None = None) -> Any:
    """The value of a JSON text from the file `name`, or from one line of it. Raises DocumentError.

    Repeated keys are refused: nobody can know which of the two is meant.
    """
    place = name if line is None else f"line {line}"
    try:
        value = json.loads(source, object_pairs_hook=_once)
        if "\\ud" in source.lower():  # only so can half of a surrogate pair come in
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError as problem:
        raise refuse(place, None, "has broken Unicode: half of a surrogate pair") from problem
    except json.JSONDecodeError as problem:
        at = problem.lineno if line is None else line
        raise refuse(f"line {at}", None, f"is no JSON at column {problem.colno}: {problem.msg}") from problem
    except RecursionError as problem:
        raise refuse(place, None, "is nested too deep") from problem
    except _Twice as problem:
        raise refuse(place, None, f"has the key {problem.args[0]!r} twice in one table") from problem
    except ValueError as problem:  # Python converts no number of more than 4,300 digits
        raise refuse(place, None, "has a number of thousands of digits") from problem


class _Twice(ValueError):
    """A key that stands twice in a table."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        raise _Twice(next(key for key, _ in pairs if key in seen or seen.add(key))[:80])  # type: ignore[func-returns-value] # add gives None
    return table


# --- encodings ---------------------------------------------------------------------------------------------------


_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def _utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same text as UTF-8 without a byte order mark. Raises _Broken with the offset of what is not text."""
    first = next(pieces, b"")
    while len(first) < 4 and (more := next(pieces, b"")):  # a mark may come in parts
        first += more
    if first.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise _Broken("the file is UTF-32; save it as UTF-8")
    mark = next((mark for mark in _MARKS if first.startswith(mark)), b"")
    encoding = _MARKS.get(mark, "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)()
    offset = len(mark)
    for piece in chain((first[offset:],), pieces, (b"",)):
        pending = decoder.getstate()[0]
        if encoding == "utf-8" and piece and not pending and piece.isascii():
            yield piece
        else:
            yield from _decoded(decoder, encoding, piece, offset - len(pending))
        offset += len(piece)


def _decoded(decoder: codecs.IncrementalDecoder, encoding: str, piece: bytes, offset: int) -> Iterator[bytes]:
    """A piece of text, an empty one for the end; what is right before a mistake comes before the mistake is raised."""
    try:
        yield decoder.decode(piece, final=not piece).encode()
    except UnicodeDecodeError as problem:
        yield problem.object[: problem.start].decode(encoding).encode()
        what = "UTF-8 (nor UTF-16 with a byte order mark)" if encoding == "utf-8" else "UTF-16"
        raise _Broken(f"is not {what} at byte {offset + problem.start:,}; save the file as UTF-8") from problem


# --- compression -------------------------------------------------------------------------------------------------


def _expanded(path: Path, on_bytes: OnBytes | None) -> Iterator[bytes]:
    """The file's bytes, no longer compressed. Raises DocumentError, _Broken."""
    with _opened(path) as file:
        magic = file.read(6)
        file.seek(0)
        for start, kind in _OTHERS.items():
            if magic.startswith(start):
                raise refuse(path.name, None, f"is a {kind} file; plain text, gzip and zstd are read")
        raw = _Raw(file, on_bytes)
        if magic.startswith(_GZIP):
            yield from _guarded(path, raw, _gunzipped(raw))
        elif magic.startswith(_ZSTD):
            yield from _guarded(path, raw, _unzstd(raw))
        else:
            yield from _guarded(path, raw, iter(raw.read, b""))


def _opened(path: Path) -> BinaryIO:
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            return path.open("rb")
    except OSError as problem:
        raise refuse(path.name, None, f"cannot be read: {(problem.strerror or 'unknown').lower()}") from problem
    raise refuse(path.name, None, "is a directory, not a file" if stat.S_ISDIR(mode) else "is no regular file")


class _Raw:
    """Bytes from the disk, counted."""

    def __init__(self, file: BinaryIO, on_bytes: OnBytes | None) -> None:
        self._file, self._on_bytes = file, on_bytes
        self.count = 0

    def read(self) -> bytes:
        """The next block, b"" at the end."""
        try:
            piece = self._file.read(BLOCK)
        except OSError as problem:
            raise _Broken(f"cannot be read: {(problem.strerror or 'unreadable').lower()}") from problem
        self.count += len(piece)
        if self._on_bytes and piece:
            self._on_bytes(self.count)
        return piece


def _guarded(path: Path, raw: _Raw, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces as long as they are in proportion to what they were made of. Raises DocumentError."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > LARGEST:
            raise refuse(path.name, None, f"is larger than {LARGEST // 2**30} GiB")
        if size > FREE and size > EXPANSION * raw.count:
            raise refuse(path.name, None, f"expands to more than {EXPANSION} times its size: taken for a zip bomb")
        yield piece


def _gunzipped(raw: _Raw) -> Iterator[bytes]:
    """The members of a gzip file, one after the other. Raises _Broken."""
    waiting = raw.read()
    while waiting:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                piece = member.decompress(waiting, BLOCK)
            except zlib.error as problem:
                raise _Broken(f"the gzip data are broken here ({problem})") from problem
            if piece:
                yield piece
            waiting = member.unconsumed_tail
            if not member.eof and not waiting and len(piece) < BLOCK:
                waiting = raw.read()
                if not waiting:
                    raise _Broken("the gzip file ends here, in the middle: it is cut short")
        # tape drives and some tools pad with zeros
        waiting = (member.unused_data or raw.read()).lstrip(b"\0")


def _unzstd(raw: _Raw) -> Iterator[bytes]:
    """The frames of a zstd file, one after the other. Raises _Broken."""
    waiting = raw.read()
    while waiting:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if not waiting and not (waiting := raw.read()):
                raise _Broken("the zstd file ends here, in the middle: it is cut short")
            try:
                piece = frame.decompress(waiting[:_FED])
            except zstandard.ZstdError as problem:
                raise _Broken(f"the zstd data are broken here ({problem})") from problem
            waiting = waiting[_FED:]
            yield from (piece[start : start + BLOCK] for start in range(0, len(piece), BLOCK))
        waiting = frame.unused_data + waiting or raw.read()
