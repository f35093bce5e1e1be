"""Sessions told by naming the request before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.documents.errors import refuse
from planner.engine.traces.chunk import Int64
from planner.importers.traces.batch import column, identity

REMEMBERED = 1_000_000
"""Requests that may still get a next turn; the oldest are forgotten, and their next turn begins a session."""


class Conversations:
    """Chains of `chat_id` and `parent_chat_id` (-1 begins one)."""

    def __init__(self) -> None:
        self._root: dict[int | str, int] = {}

    def sessions(self, rows: Sequence[Mapping[str, Any]], lines: Sequence[int]) -> Int64:
        """The number of each request's session. Raises DocumentError on an id that is neither number nor text."""
        return column(self._session(row, line) for row, line in zip(rows, lines, strict=True))

    def _session(self, row: Mapping[str, Any], line: int) -> int:
        chat, parent = row.get("chat_id"), row.get("parent_chat_id")
        for key, value in (("chat_id", chat), ("parent_chat_id", parent)):
            if isinstance(value, bool) or not isinstance(value, int | str):
                raise refuse(f"line {line}, {key}", value, "must be a number or a text")
        root = self._root.get(parent, identity(str(chat)))  # type: ignore[arg-type] # checked just above
        self._root[chat] = root  # type: ignore[index] # as above
        if len(self._root) > REMEMBERED:
            del self._root[next(iter(self._root))]
        return root
