"""Lists of block hashes in JSON lines, a block of lines at once: they are most of such a file."""

from __future__ import annotations

import re

import numpy as np

from planner.engine.traces.chunk import Int64
from planner.importers.traces import cells

_LIST = re.compile(rb"\[([\d, ]+)\]")


def cut_out(data: bytes, key: str) -> tuple[bytes, Int64, Int64] | None:
    """The lines with null for the list under `key`; how many hashes each had; and all of them.

    None unless the list is the only one of each line and holds nothing but whole numbers: then a parser must look.
    """
    lines = data.count(b"\n")
    parts = _LIST.split(data)
    rest, lists = b"null".join(parts[::2]), parts[1::2]
    nulls = [f'"{key}":{blank}null'.encode() for blank in ("", " ")]
    cut = max(rest.count(null) - data.count(null) for null in nulls)
    if not lines == len(lists) == cut == data.count(b"[") == data.count(b"]"):
        return None
    text = b";".join(lists).replace(b" ", b"") + b";"
    array = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero((array == ord(",")) | (array == ord(";")))
    ids = cells.digits(array, np.append(0, ends[:-1] + 1), ends)
    last = np.flatnonzero(array[ends] == ord(";"))
    return None if ids is None else (rest, np.diff(last, prepend=-1), ids)
