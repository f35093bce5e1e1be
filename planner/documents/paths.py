"""Dotted paths into a document; items of a list are found by their `name`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

LONGEST_NAME = 100
"""Characters of a part of a path that is told; no name has more."""
MOST_NAMED = 1000
"""Items of a list that are looked through for a name; no list of named items has more."""
MOST_KNOWN = 20
"""Names that are offered in the place of an unknown one."""


class NoSuchPath(KeyError):
    """A path that leads nowhere; `known` has what could have stood there."""

    def __init__(self, path: str, known: Sequence[str]) -> None:
        super().__init__(path)
        self.path, self.known = path, list(known)


def step(container: Any, key: str, path: str) -> Any:
    """What `key` leads to from a table or a list of named items. Raises NoSuchPath."""
    if isinstance(container, dict) and key in container:
        return container[key]
    if isinstance(container, list):
        for item in islice(container, MOST_NAMED):
            if isinstance(item, dict) and item.get("name") == key:
                return item
    raise NoSuchPath(path, known(container))


def known(container: Any) -> list[str]:
    """What a path may go on with from here; no more than the first names."""
    names: Iterator[Any] = iter(())
    if isinstance(container, dict):
        names = iter(container)
    elif isinstance(container, list):
        named = (item for item in islice(container, MOST_NAMED) if isinstance(item, dict) and "name" in item)
        names = (item["name"] for item in named)
    return [cut(str(name), LONGEST_NAME) for name in islice(names, MOST_KNOWN)]


def cut(text: str, most: int) -> str:
    """The text, or its beginning where it has more than so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def get(document: Any, path: str) -> Any:
    """The value at a path. Raises NoSuchPath."""
    for key in path.split("."):
        document = step(document, key, path)
    return document


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Sets the field at a path in place; the table that holds it must be there. Raises NoSuchPath."""
    *parents, last = path.split(".")
    holder: Any = document
    for key in parents:
        holder = step(holder, key, path)
    if not isinstance(holder, dict):
        raise NoSuchPath(path, known(holder))
    holder[last] = value


def named(document: Any, loc: Sequence[str | int], missing: bool) -> str:
    """A validator's location as a path: list indices by name, and without the tags of unions.

    `missing` says that the last part names a field which is not there.
    """
    parts: list[str] = []
    for position, key in enumerate(loc):
        if isinstance(document, list) and isinstance(key, int) and key < len(document):
            document = document[key]
            name = document.get("name") if isinstance(document, dict) else None
            parts.append(cut(name, LONGEST_NAME) if isinstance(name, str) else str(key))
        elif isinstance(document, dict) and key in document:
            document = document[key]
            parts.append(str(key))
        elif missing and position == len(loc) - 1:
            parts.append(str(key))
    return ".".join(parts)


def figures(value: Any, path: str = "") -> Iterator[str]:
    """Paths of every number under `value`; a list of plain numbers, or of tables without names, is one figure."""
    if isinstance(value, bool) or value is None:
        return
    if (
        value == "unlimited"
        or isinstance(value, int | float)
        or (isinstance(value, list) and value and isinstance(value[0], int | float))
    ):
        yield path
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from figures(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        tables = [item for item in value if isinstance(item, Mapping)]
        if any("name" not in item for item in tables):
            yield path
        for item in tables:
            if "name" in item:
                yield from figures(item, f"{path}.{item['name']}")
