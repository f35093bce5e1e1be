"""What requests have in common, and the caches that make something of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django import forms

from frontend.catalogue.units import GB, SECONDS, TOKENS, Unit
from frontend.optimiser.fields import Cleaned, CountField, Mistakes, NumberField, Question
from frontend.simulator.parts.base import Entry, Fields, Line, Switched, WordField

NONE = ""
SOURCES: dict[str, tuple[str, dict[str, Any] | None]] = {
    NONE: ("nothing: lengths are the scenario's", None),
    "trace": ("the scenario's recorded trace", {"source": "trace"}),
    "chat": ("generated sessions of people who write", {"source": "sessions", "kind": "chat"}),
    "agents": ("generated sessions of programs", {"source": "sessions", "kind": "agents"}),
}
OF_SESSIONS = ("systems", "system_tokens", "first", "added", "answer", "turns", "think", "think_cv", "most_tokens")


def _tokens(label: str, said: str = "", least: int = 1) -> NumberField:
    return NumberField(TOKENS, label=label, min_value=least, help_text=said)


def _whole_tokens(label: str, said: str = "", least: int = 0) -> CountField:
    return CountField("tokens", label=label, min_value=least, help_text=said)


class Prompts(Switched):
    """A recorded trace, or generated sessions."""

    legend = "Prompts"
    help = (
        "What requests have in common: without it no two begin alike, and nothing can be cached. Of sessions, Λ_max "
        "and so the load is that of what an endless cache leaves; what is left empty is as such sessions have it."
    )
    switch = "prompts"
    unswitched = "Means something only of a trace or of sessions: choose above."
    entries: ClassVar[Mapping[str, Entry]] = {
        "prompts": Entry(
            "prompts.source",
            lambda: WordField({word: title for word, (title, _) in SOURCES.items()}, label="In common"),
        ),
        "jitter": Entry(
            "prompts.jitter_s",
            lambda: NumberField(
                SECONDS, label="Later by up to", min_value=0, help_text="Of a trace, so that replications differ."
            ),
        ),
        "systems": Entry("prompts.systems", lambda: CountField("prompts", label="Different ones", min_value=1)),
        "system_tokens": Entry("prompts.system_tokens", lambda: _whole_tokens("Tokens of each")),
        "first": Entry("prompts.first", lambda: _tokens("First input")),
        "added": Entry("prompts.added", lambda: _tokens("Each turn adds")),
        "answer": Entry("prompts.output", lambda: _tokens("Answers")),
        "turns": Entry(
            "prompts.mean_turns",
            lambda: NumberField(Unit("turns"), label="Of a session", help_text="On average.", min_value=1),
        ),
        "think": Entry(
            "prompts.think_s", lambda: NumberField(SECONDS, label="Between turns", min_value=0, help_text="On average.")
        ),
        "think_cv": Entry("prompts.think_cv", lambda: NumberField(Unit("CV"), label="CV of that time", min_value=0)),
        "most_tokens": Entry(
            "prompts.most_tokens", lambda: _whole_tokens("No longer than", "A session ends before.", least=1)
        ),
    }

    def fields(self) -> dict[str, forms.Field]:
        found = super().fields()
        if self.given.scenario.parsed.traffic.trace is None:
            choice = found["prompts"]
            choice.choices = [(word, title) for word, title in choice.choices if word != "trace"]  # type: ignore[attr-defined]
        return found

    def lines(self) -> Iterator[Line]:
        yield Line(("prompts", "jitter"))
        yield Line(OF_SESSIONS[:2], "System prompts")
        yield Line(OF_SESSIONS[2:5], "Sessions")
        yield Line(OF_SESSIONS[5:], "Their turns")

    def read(self, cleaned: Cleaned) -> Question:
        found = super().read(cleaned)
        if found:
            found["prompts"] |= SOURCES[cleaned["prompts"]][1] or {}
        return found

    def typed(self, question: Question) -> dict[str, Any]:
        given = question.get("prompts") or {}
        word = given.get("kind", "chat") if given.get("source") == "sessions" else given.get("source", NONE)
        return super().typed(question) | {"prompts": word}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        yield from super().mistakes(cleaned)
        others = OF_SESSIONS if cleaned.get("prompts") == "trace" else ("jitter",) if cleaned.get("prompts") else ()
        what = "sessions" if cleaned.get("prompts") == "trace" else "a trace"
        yield from ((name, f"Means something only of {what}.") for name in others if self.is_said(cleaned, name))


class Caches(Fields):
    """A prefix cache in each cluster."""

    legend = "Prefix caches"
    help = (
        "What begins as something before need not be prefilled again. They need prompts. Both sizes empty: no caches."
    )
    entries: ClassVar[Mapping[str, Entry]] = {
        "pd_bytes": Entry(
            "caches.pd_bytes",
            lambda: NumberField(GB, label="PD cluster", min_value=0, help_text="For KVCaches of all its instances."),
        ),
        "prfaas_bytes": Entry(
            "caches.prfaas_bytes", lambda: NumberField(GB, label="PrfaaS cluster", min_value=0, help_text="0 for none.")
        ),
        "block_tokens": Entry(
            "caches.block_tokens", lambda: CountField("tokens", label="In blocks of", initial=512, min_value=1)
        ),
        "cache_routing": Entry(
            "caches.routing",
            lambda: WordField(
                {
                    "by_bandwidth": "what the better cache leaves while the link has room, else the own one",
                    "best": "what the better cache leaves",
                    "own": "what the PD cluster's cache leaves",
                    "length": "the whole prompt",
                },
                label="Judged against t",
            ),
        ),
        "copies": Entry(
            "caches.copies",
            lambda: WordField(
                {"yes": "are copied", "no": "stay there"}, {"yes": True, "no": False}, label="Better prefixes elsewhere"
            ),
        ),
        "state_every": Entry(
            "caches.state_every",
            lambda: CountField(
                "blocks",
                label="Recurrent states every",
                initial="0",
                min_value=0,
                help_text="0: only of whole prompts.",
            ),
        ),
        "keeps_answers": Entry(
            "caches.keeps_answers",
            lambda: WordField(
                {"yes": "answers too", "no": "prompts only"}, {"yes": True, "no": False}, label="The PD cluster keeps"
            ),
        ),
    }

    def lines(self) -> Iterator[Line]:
        yield Line(("pd_bytes", "prfaas_bytes", "block_tokens", "state_every"))
        yield Line(("cache_routing", "copies", "keeps_answers"))
