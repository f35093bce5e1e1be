"""The scenarios that watches name: read again when they change, and why one cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.watched import Unusable, Watched, deployment_of, revision_of

LOOKED_AT_EVERY_MS = 2_000
"""How long a changed scenario may go on to count as it was."""


@dataclass(slots=True)
class _Kept:
    looked_at_ms: int
    revision: str
    found: Watched | None
    problem: str


class Scenarios:
    """One a process. The engine keeps what follows from a deployment's curves with it: the same object is handed out
    until the scenario changes."""

    def __init__(
        self, read: Callable[[str], Watched] = deployment_of, revision: Callable[[str], str] = revision_of
    ) -> None:
        self._read, self._revision = read, revision
        self._kept: dict[str, _Kept] = {}

    def get(self, name: str, now_ms: int) -> Watched:
        """The scenario of a name. Raises Unusable, also without asking again, until it changes."""
        kept = self._kept.get(name)
        if kept is None or not 0 <= now_ms - kept.looked_at_ms < LOOKED_AT_EVERY_MS:
            kept = self._kept[name] = self._looked(name, now_ms, kept)
        if kept.found is None:
            raise Unusable(kept.problem)
        return kept.found

    def _looked(self, name: str, now_ms: int, before: _Kept | None) -> _Kept:
        revision = ""
        try:
            revision = self._revision(name)
            if before is not None and before.revision == revision:
                return _Kept(now_ms, revision, before.found, before.problem)
            return _Kept(now_ms, revision, self._read(name), "")
        except Unusable as problem:
            return _Kept(now_ms, revision, None, str(problem))


def mistake(name: str) -> str:
    """Why no watch can be given this scenario; empty where one can."""
    try:
        revision_of(name)
    except Unusable:
        return f"must be the name of a stored scenario, or empty for none, got {name!r:.100}"
    return ""
