"""The kinds of rules: which fields each has, in which unit and limits, and what is wrong with a description."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from monitoring.alerts import globs

DAY_S = 86_400.0
LONGEST_COURSE_S = 3600.0
LINKS = "link_utilisation.*"
FIGURE = re.compile(r"[a-z][a-z0-9_]*(\.[^.\s][^\s]*)?")
WINDOWS_S = (("fast", 3600, 300), ("slow", 21_600, 1800))
"""Of a burn rate: name, long and short window. The long one says that it matters, the short one that it goes on."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a kind: a number within limits, one of some words, or a pattern."""

    name: str
    label: str
    default: Any
    help: str = ""
    least: float = -math.inf
    most: float = math.inf
    words: tuple[str, ...] = ()
    """If any, one of them."""
    is_pattern: bool = False
    is_flag: bool = False

    def mistake(self, value: Any) -> str | None:
        """What is wrong with a value."""
        if self.is_flag:
            return None if isinstance(value, bool) else f"must be true or false, got {value!r:.60}"
        if self.words:
            return None if value in self.words else f"must be one of {', '.join(self.words)}, got {value!r:.60}"
        if self.is_pattern:
            return self._of_pattern(value)
        if not is_number(value) or not self.least <= value <= self.most:
            return f"must be a number{self._limits()}, got {value!r:.60}"
        return None

    def _limits(self) -> str:
        if math.isinf(self.least) and math.isinf(self.most):
            return ""
        if math.isinf(self.most):
            return f" of at least {self.least:g}"
        return f" from {self.least:g} to {self.most:g}"

    def _of_pattern(self, value: Any) -> str | None:
        if not globs.is_pattern(value):
            allowed = f"text of up to {globs.LONGEST} characters with at most {globs.MOST_STARS} stars"
            return f"must be {allowed}, got {value!r:.60}"
        if self.name == "figure" and not FIGURE.fullmatch(value):
            return f"must be the name of a figure, as {LINKS} or ttft_s.p90, got {value!r:.60}"
        return None


_FIGURE = Field("figure", "Figure", LINKS, "A name that charts have; * stands for each.", is_pattern=True)
_DIRECTION = Field("direction", "Alert when it is", "above", words=("above", "below"))
_FIRE = Field("fire", "Fires at", 0.9, "In the figure's unit: shares as 0.9, times in seconds, rates in bit/s.")
_CLEAR = Field("clear", "Clears at", 0.8, "On the other side of it the alert ends; in between it stays as it is.")

KINDS: dict[str, tuple[Field, ...]] = {
    "threshold": (_FIGURE, _DIRECTION, _FIRE, _CLEAR),
    "rate": (
        _FIGURE,
        Field(
            "over_s", "Change over, s", 300.0, "Compared with the figure so long ago.", least=30, most=LONGEST_COURSE_S
        ),
        Field(
            "measure",
            "Change as",
            "difference",
            "difference: now less then; ratio: now over then.",
            words=("difference", "ratio"),
        ),
        _DIRECTION,
        _FIRE,
        _CLEAR,
    ),
    "forecast": (
        _FIGURE,
        Field("over_s", "Trend of the last, s", 600.0, "A line through its values.", least=60, most=LONGEST_COURSE_S),
        Field("within_s", "Reaches it within, s", 900.0, least=60, most=4 * LONGEST_COURSE_S),
        _DIRECTION,
        _FIRE,
        _CLEAR,
    ),
    "advice": (
        Field("fire", "Ratio of thresholds", 1.2, "Recommended t over t in force, or its inverse.", least=1),
        Field("clear", "Clears below", 1.1, least=1),
        Field("instances", "Also when instances differ", True, is_flag=True),
    ),
    "burn": (
        Field("slo_s", "TTFT at most, s", 10.0, "Best one of the histogram's bounds.", least=0.001, most=3600),
        Field("target", "Of a share of requests", 0.95, "0.95: one in 20 may take longer.", least=0.5, most=0.99999),
        Field("fast", "Burns so fast over 1 h and 5 min", 14.4, "Times what the target allows.", least=1, most=1000),
        Field("slow", "Burns so fast over 6 h and 30 min", 6.0, "Times what the target allows.", least=1, most=1000),
        Field("clear", "Clears below", 0.9, "As a share of those.", least=0.1, most=1),
    ),
    "source": (Field("source", "Source", "*", "Its name; * stands for each.", is_pattern=True),),
}


def is_number(value: Any) -> bool:
    """Whether it is one that can be compared."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def defaults(kind: str) -> dict[str, Any]:
    """Of a kind, what is not said."""
    return {field.name: field.default for field in KINDS[kind]}


def mistakes(kind: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the fields of a kind."""
    fields = {field.name: field for field in KINDS[kind]}
    for name in spec:
        if name not in fields:
            yield str(name)[:100], f"is not a field of {kind}; allowed: {', '.join(fields)}"
    found = False
    for name, field in fields.items():
        if (said := field.mistake(spec.get(name))) is not None:
            found = True
            yield name, said
    if not found:
        yield from _together(kind, spec)


def _together(kind: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Fields that are right each by itself, and not with each other."""
    if "fire" in spec:
        fire, clear, is_below = spec["fire"], spec["clear"], spec.get("direction") == "below"
        if (clear < fire) if is_below else (clear > fire):
            side = "at or above" if is_below else "at or below"
            yield "clear", f"must be {side} the level that fires, {fire:g}, got {clear:g}"
    if kind == "burn":
        most = 1 / (1 - spec["target"])
        for name, long_s, _ in WINDOWS_S:
            if spec[name] > most * (1 + 1e-9):
                burnt = f"with a target of {spec['target']:g} all requests being too slow burns {most:.4g} times"
                yield name, f"can never be reached: {burnt}; give at most that, got {spec[name]:g} over {long_s} s"
