"""Patterns in which * stands for any characters: of figures, sources and labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

MOST_STARS = 3
LONGEST = 150


def is_pattern(pattern: Any) -> bool:
    """Whether it may be one: some printable text with few stars, so that none takes long."""
    return (
        isinstance(pattern, str)
        and 0 < len(pattern) <= LONGEST
        and pattern.isprintable()
        and pattern.count("*") <= MOST_STARS
    )


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text is as the pattern says."""
    return _compiled(pattern).fullmatch(text) is not None


def all_match(matchers: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether each label is as its matcher says; a label that is not there is empty."""
    return all(matches(pattern, labels.get(name, "")) for name, pattern in matchers.items())


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
