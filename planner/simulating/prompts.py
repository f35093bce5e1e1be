"""What requests of a simulation have in common, as its document says it: a recorded trace, or generated sessions."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.documents.fields import NotNegative, Positive, Table
from planner.engine.lengths import Empirical, LengthDistribution
from planner.engine.sessions import MOST_TOKENS, MOST_TURNS, Sessions, agents, chat
from planner.entries.traffic import AnyLengths

KINDS = {"chat": chat, "agents": agents}
Tokens = Annotated[float, Field(ge=1, le=MOST_TOKENS)]
LengthsOrNumber = Tokens | Annotated[AnyLengths, Field(discriminator="distribution")]


class TracePrompts(Table):
    """The requests of the recorded trace that the scenario's traffic came from, one by one, once."""

    source: Literal["trace"]
    jitter_s: NotNegative | None = None
    """By up to so much each request comes later, so that replications differ; None: the mean time between two."""


class SessionPrompts(Table):
    """Generated sessions, which come back with a longer prompt; what is not given is as the kind has it."""

    source: Literal["sessions"]
    kind: Literal["chat", "agents"] = "chat"
    systems: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Different system prompts."""
    system_tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS)] | None = None
    first: LengthsOrNumber | None = None
    """Tokens of a session's first input, ..."""
    added: LengthsOrNumber | None = None
    """... of what each later turn adds, and ..."""
    output: LengthsOrNumber | None = None
    """... of answers."""
    mean_turns: Annotated[float, Field(ge=1, le=MOST_TURNS)] | None = None
    think_s: Positive | None = None
    """Mean time between the arrivals of two turns."""
    think_cv: Positive | None = None
    most_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None
    """A session ends before a turn that would make it longer."""

    def engine(self) -> Sessions:
        """The engine's sessions. Raises ValueError as they do."""
        base = KINDS[self.kind]() if self.most_tokens is None else KINDS[self.kind](self.most_tokens)
        changes: dict[str, Any] = {
            name: value
            for name in ("systems", "system_tokens", "mean_turns", "think_s", "think_cv", "most_tokens")
            if (value := getattr(self, name)) is not None
        }
        for name in ("first", "added", "output"):
            if (given := getattr(self, name)) is not None:
                changes[name] = _lengths(given)
        return replace(base, **changes)


def _lengths(given: Any) -> LengthDistribution:
    return Empirical([float(given)]) if isinstance(given, int | float) else given.lengths()


Prompts = Annotated[TracePrompts | SessionPrompts, Field(discriminator="source")]
