"""A value in somebody's JSON that knows where it stands, so that every error names the field."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.documents.errors import DocumentError, refuse
from planner.importers.tables import LARGEST


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its dotted path; `line` is set where every line of the file is a document of its own."""

    value: Any
    path: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        """How an error names it."""
        parts = [f"line {self.line}"] if self.line else []
        return ", ".join(parts + ([self.path] if self.path else [])) or "document"

    def wrong(self, message: str, value: Any = None) -> DocumentError:
        """The error that this value is."""
        return refuse(self.place, value, message)

    def at(self, *keys: str) -> Node:
        """What is below, key by key; a Node of None where there is nothing."""
        node = self
        for key in keys:
            inner = node.value.get(key) if isinstance(node.value, dict) else None
            node = Node(inner, f"{node.path}.{key}" if node.path else key, self.line)
        return node

    def has(self, *keys: str) -> bool:
        """Whether it is a table with all of these keys."""
        return isinstance(self.value, dict) and all(key in self.value for key in keys)

    def tables(self) -> dict[str, Node]:
        """The tables in this table, by key."""
        inner = self.value if isinstance(self.value, dict) else {}
        return {key: self.at(key) for key, value in inner.items() if isinstance(value, dict)}

    def items(self) -> Iterator[Node]:
        """The items of a list; none where it is none."""
        for index, item in enumerate(self.value if isinstance(self.value, list) else []):
            yield Node(item, f"{self.path}.{index}" if self.path else str(index), self.line)

    def text(self) -> str | None:
        """Text that is not empty, or None."""
        return self.value if isinstance(self.value, str) and self.value else None

    def maybe(self, lowest: float = 0.0) -> float | None:
        """The number, also one that is written as text; None where there is none. Raises DocumentError."""
        if self.value is None:
            return None
        return self.number(lowest)

    def number(self, lowest: float = 0.0) -> float:
        """The number, also one that is written as text. Raises DocumentError."""
        if self.value is None:
            raise self.wrong("is missing")
        try:
            value = math.nan if isinstance(self.value, bool) else float(self.value)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not (math.isfinite(value) and value >= lowest):
            raise self.wrong(f"must be a number of at least {lowest:g}", self.value)
        if value > LARGEST:
            raise self.wrong(f"must be at most {LARGEST:g}", self.value)
        return value

    def positive(self) -> float:
        """The number, which is not zero. Raises DocumentError."""
        value = self.number()
        if value == 0:
            raise self.wrong("must be greater than 0", self.value)
        return value
