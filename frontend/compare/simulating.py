"""What is asked of a comparison under load: as it was typed, what is wrong with it by field, and what it comes to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from frontend.catalogue.units import PERCENT
from frontend.compare.address import number
from frontend.optimiser.form import in_unit
from planner.comparing import simulated
from planner.documents.errors import DocumentError, FieldError, refuse

NUMBERS = {"load": "Share", "rate_rps": "Rate", "requests": "Requests", "replications": "Replications"}
"""Fields of numbers, and what the page calls them."""
WHOLE = ("requests", "replications")


@dataclass(frozen=True, slots=True)
class Asks:
    """The form under a comparison's table: what stands in it, and what is wrong with that."""

    typed: Mapping[str, str] = field(
        default_factory=lambda: {
            "at": "load", "load": f"{100 * simulated.OWN_LOAD:g}", "rate_rps": "",
            "requests": str(simulated.REQUESTS), "replications": str(simulated.REPLICATIONS),
        }
    )  # fmt: skip
    mistakes: Mapping[str, str] = field(default_factory=dict)
    """By field; of none in particular under an empty name."""

    @property
    def summary(self) -> list[tuple[str, str, str]]:
        """Each mistake with the field that it is of, and what that is called."""
        return [(name, NUMBERS.get(name, ""), said) for name, said in self.mistakes.items()]


def asks(posted: Mapping[str, str], refused: DocumentError) -> Asks:
    """What was typed, with why it was refused."""
    typed = {name: posted.get(name, "") for name in NUMBERS}
    at = "rate" if posted.get("at") == "rate" else "load"
    mistakes: dict[str, str] = {}
    for error in refused.errors:
        # Every deployment has the same settings, and the same mistakes in them.
        name = re.sub(r"^runs\.\d+\.", "", error.field or "")
        if name in NUMBERS:
            mistakes[name] = in_unit(error.message, PERCENT) if name == "load" else error.message
        else:
            mistakes[""] = str(error)
    return Asks({"at": at, **typed}, mistakes)


def settings(posted: Mapping[str, str]) -> dict[str, Any]:
    """Load or rate, and how much is simulated. Raises DocumentError with all that is wrong."""
    found: dict[str, Any] = {}
    wrong: list[FieldError] = []
    for name, text in _asked(posted):
        try:
            found[name] = _value(name, text)
        except DocumentError as refused:
            wrong += refused.told
    if wrong:
        raise DocumentError(wrong)
    return found


def _asked(posted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Fields that count, and what was typed in them; what may be left out is, where it was."""
    typed = {name: posted.get(name, "").strip() for name in NUMBERS}
    if posted.get("at") == "rate":
        yield "rate_rps", typed["rate_rps"]
    else:
        yield "load", typed["load"] or f"{100 * simulated.OWN_LOAD:g}"
    yield from ((name, typed[name]) for name in WHOLE if typed[name])


def _value(name: str, text: str) -> float | int:
    """In SI units. Raises DocumentError."""
    if not text:
        raise refuse(name, None, "is missing: type the rate that all of them are to serve")
    value = number(name, text)
    if name in WHOLE:
        if not value.is_integer():
            raise refuse(name, text, "must be a whole number")
        return int(value)
    return value / 100 if name == "load" else value
