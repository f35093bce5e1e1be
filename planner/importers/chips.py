"""Which chip of the catalogue somebody means, who calls it otherwise: `NVIDIA H200 SXM` is h200."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from planner.documents.errors import DocumentError, FieldError, shown
from planner.importers.base import Assumption, Choices
from planner.importers.tables import slug

type Known = Mapping[str, Mapping[str, Any]]
"""Documents of hardware by name."""
CHOICE = "hardware:"
"""What a choice begins with that says which chip a name of the file stands for."""
COMMON = frozenset(
    {"gpu", "gpus", "accelerator", "tensor", "core", "edition", "sxm", "sxm4", "sxm5", "sxm6", "oam", "hgx"}
)
"""Words that tell no chip from another; a PCIe or NVL card is another one, so these are not among them."""


class Chips:
    """Names of chips as a file has them, each of which is looked up once."""

    def __init__(self, known: Known, choices: Choices) -> None:
        """With nothing `known`, names are taken as they are."""
        self._known = known
        self._chosen = {slug(field.removeprefix(CHOICE)): (field, value) for field, value in chosen(choices)}
        self._met: dict[str, tuple[str, str]] = {}

    def name(self, text: str) -> str:
        """The chip's name in the catalogue; the text itself, as a name, where nobody can say which it is."""
        plain = slug(text)
        if not self._known or plain in self._known:
            return plain
        _, said = self._chosen.get(plain, ("", likely(text, self._known)))
        self._met.setdefault(plain, (text, said))
        return said or plain

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """For what each name that is not the catalogue's was taken."""
        return tuple(self._assumption(plain, *met) for plain, met in self._met.items())

    def _assumption(self, plain: str, text: str, said: str) -> Assumption:
        if not said:
            why = f"which chip {shown(text)} of the list is: none of the catalogue is called so"
            return Assumption(CHOICE + plain, "", why, ("", *self._known))
        return Assumption(
            CHOICE + plain, said, f"the chip that {shown(text)} of the list is taken for", tuple(self._known)
        )

    def check(self) -> None:
        """Raises DocumentError where a choice was made for a name that did not occur, or is no chip."""
        wrong = [
            FieldError(field, value, "stands for no name of the list that the catalogue does not know")
            for plain, (field, value) in self._chosen.items()
            if plain not in self._met
        ]
        wrong += [
            FieldError(field, value, f"is no chip of the catalogue; it has {', '.join(self._known)}")
            for plain, (field, value) in self._chosen.items()
            if plain in self._met and value not in self._known
        ]
        if wrong:
            raise DocumentError(wrong)


def chosen(choices: Choices) -> Iterator[tuple[str, str]]:
    """The choices that say which chip a name stands for."""
    return ((field, value) for field, value in choices.items() if field.startswith(CHOICE))


def likely(text: str, known: Known) -> str:
    """The only chip all of whose name is said, and of which all that is said is known; empty where there is none."""
    said = _words(text) - COMMON
    found = [name for name, chip in known.items() if _words(name) <= said <= _words(name) | _about(chip)]
    return found[0] if len(found) == 1 else ""


def _about(chip: Mapping[str, Any]) -> set[str]:
    """Words by which a chip may be called: those of its title, its vendor, and its memory."""
    memory = f"{chip['memory_bytes'] / 1e9:.0f}gb" if chip.get("memory_bytes") else ""
    return _words(f"{chip.get('title', '')} {chip.get('vendor', '')} {memory}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", re.sub(r"(\d) ?gi?b\b", r"\1gb", text.lower())))
