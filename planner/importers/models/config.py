"""A config while it is read: every figure asked for by its key, checked, and written down with what it became."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.documents.errors import DocumentError, refuse
from planner.importers.base import Assumption, Choices, Mapped
from planner.importers.models.keys import Key, changes_the_cache

LONGEST_LIST = 20_000


@dataclass(slots=True)
class Log:
    """What reading leaves behind, beside the layers."""

    choices: Choices
    mapping: list[Mapped] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)

    def assume(self, name: str, value: str, text: str, choices: Sequence[str] = ()) -> None:
        """Shows an assumption; once, however often its figure is asked for."""
        if all(each.field != name for each in self.assumptions):
            self.assumptions.append(Assumption(name, value, text, tuple(choices)))

    def choose(self, name: str, default: str, text: str, allowed: Sequence[str]) -> str:
        """What the user chose, or the default; either is shown as an assumption. Raises DocumentError."""
        self.answered.add(name)
        value = self.choices.get(name, default)
        if value not in allowed:
            raise refuse(name, value, f"must be one of {', '.join(allowed)}")
        self.assume(name, value, text, allowed)
        return value


class Config:
    """One table of a config file, found at `path` in it; `defaults` are what its class leaves out of files."""

    def __init__(
        self, table: Mapping[str, Any], path: str, log: Log, defaults: Mapping[str, int] | None = None
    ) -> None:
        self.table, self.path, self.log = table, path, log
        self.defaults: Mapping[str, int] = defaults or {}
        self._read: set[str] = set()

    def place(self, name: str) -> str:
        """The dotted path of a key of this table."""
        return f"{self.path}.{name}" if self.path else name

    def seen(self, *keys: Key) -> None:
        """These may stand there and say nothing of the layers that there are."""
        self._read.update(name for key in keys for name in key.names)

    def raw(self, name: str) -> Any:
        """The value as it stands there, None where it does not."""
        self._read.add(name)
        return self.table.get(name)

    def took(self, name: str, ours: str, how: str = "") -> None:
        """Writes down what a key became."""
        mapped = Mapped(self.place(name), ours, how)
        if mapped not in self.log.mapping:
            self.log.mapping.append(mapped)

    def maybe(self, key: Key, how: str = "", usual: int | None = None, why: str = "") -> int | None:
        """A whole number, None where it is absent or null. Raises DocumentError on anything else.

        `usual` is taken, and shown as an assumption that says `why`, where neither the file nor its class has one.
        """
        self._read.update(key.names)
        said = [name for name in key.names if self.table.get(name) is not None]
        if said:
            if key.agree:
                self._check_agree(said)
            self.took(said[0], key.ours, how)
            return whole(self.place(said[0]), self.table[said[0]], key.lowest, key.highest)
        return self._left_open(key, usual, why)

    def _check_agree(self, names: Sequence[str]) -> None:
        """Raises DocumentError where one figure stands there under two names with two values."""
        first, *others = names
        for name in others:
            if self.table[name] != self.table[first]:
                message = f"contradicts {self.place(first)}, {plain(str(self.table[first]), 40)}: one of them is wrong"
                raise refuse(self.place(name), self.table[name], message)

    def whole(self, key: Key, how: str = "") -> int:
        """A whole number that has to be there. Raises DocumentError naming the key."""
        value = self.maybe(key, how)
        if value is None:
            raise self.missing(key.names[0])
        return value

    def missing(self, *names: str) -> DocumentError:
        """The refusal of a file without any of these keys."""
        where = f" in {self.path}" if self.path else ""
        also = f" (or {', '.join(names[1:])})" if names[1:] else ""
        return refuse(names[0], None, f"is missing{where}{also}: it says what the layers keep, and nothing is guessed")

    def _left_open(self, key: Key, usual: int | None, why: str) -> int | None:
        """What somebody said, or what the class takes, or the usual figure; shown as an assumption."""
        name = key.names[0]
        default = None if name in self.table else self.defaults.get(name)
        if default is not None:
            usual, why = default, self._left_out(name)
        if name in self.log.choices:
            self.log.answered.add(name)
            text = self.log.choices[name]
            if usual is None or text != str(usual):
                return self._said(key, text)
        if usual is not None:
            self.log.assume(name, str(usual), why)
        return usual

    def _said(self, key: Key, text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else text
        self.log.assume(key.names[0], text, "the file leaves it out, and somebody said it")
        return whole(key.names[0], value, key.lowest, key.highest)

    def _left_out(self, name: str) -> str:
        return f"the file leaves {self.place(name)} out: what its class in transformers then takes"

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false. Raises DocumentError."""
        value = self.raw(name)
        if value is None and name in self.defaults:
            usual = str(bool(self.defaults[name])).lower()
            return self.log.choose(name, usual, self._left_out(name), ("true", "false")) == "true"
        if value is None:
            return default
        if not isinstance(value, bool):
            raise refuse(self.place(name), value, "must be true or false")
        return value

    def text(self, name: str) -> str:
        """Text, empty where it is absent. Raises DocumentError."""
        value = self.raw(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise refuse(self.place(name), value, "must be text")
        return value

    def items(self, name: str) -> list[Any] | None:
        """A list, None where it is absent, null or empty. Raises DocumentError."""
        value = self.raw(name)
        if value is None or value == []:
            return None
        if not isinstance(value, list):
            raise refuse(self.place(name), value, "must be a list")
        if len(value) > LONGEST_LIST:
            raise refuse(self.place(name), None, f"has {len(value):,} entries; at most {LONGEST_LIST:,} are read")
        return value

    def numbers(self, name: str, lowest: int = 0, highest: int = 1_000_000) -> list[int] | None:
        """A list of whole numbers. Raises DocumentError."""
        items = self.items(name)
        return items and [whole(f"{self.place(name)}.{at}", item, lowest, highest) for at, item in enumerate(items)]

    def inside(self, name: str) -> Config | None:
        """The table at a key, None where it is absent, null or empty. Raises DocumentError."""
        value = self.raw(name)
        if value is None or value == {}:
            return None
        if not isinstance(value, dict):
            raise refuse(self.place(name), value, "must be a table")
        return Config(value, self.place(name), self.log)

    def unread(self) -> list[str]:
        """Keys that nobody asked for although they may change what layers keep."""
        return [
            self.place(name)
            for name, value in self.table.items()
            if name not in self._read and changes_the_cache(name, value)
        ]


def whole(place: str, value: Any, lowest: int, highest: int) -> int:
    """A whole number within bounds. Raises DocumentError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(place, value, "must be a whole number")
    if not lowest <= value <= highest:
        raise refuse(place, value, f"must be from {lowest:,} to {highest:,}")
    return value


def plain(text: str, most: int = 200) -> str:
    """Text that may be stored and shown, whatever was in the file."""
    return "".join(char if char.isprintable() else "?" for char in text[:most])


def named(places: Sequence[str], most: int = 20) -> str:
    """Keys in a message, the first of them where there are many."""
    return ", ".join(plain(place, 60) for place in places[:most]) + (", …" if len(places) > most else "")
