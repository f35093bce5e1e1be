"""Where requests go, and how instances take their prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from frontend.catalogue.units import SECONDS
from frontend.optimiser.fields import Cleaned, CountField, NumberField, Part, Question, Row, checks, one_of
from frontend.simulator.parts.base import Entry, Fields, WordField
from frontend.simulator.parts.load import DEFAULTS

POLICIES = {
    "as_given": (
        "As given",
        "The scenario's own routing: requests longer than t are prefilled remotely, or a share of all.",
    ),
    "all_local": ("All local", "Nothing is offloaded; the PrfaaS cluster stands idle."),
    "all_remote": ("All remote", "Every request is prefilled by the PrfaaS cluster, whatever its length."),
    "bandwidth_aware": (
        "Bandwidth-aware",
        "t is raised above the scenario's while the link or PrfaaS is short, and comes back after.",
    ),
}
ORDERS = {
    "fcfs": ("First come, first served", "Who has waited the longest for a prefill instance is next."),
    "shortest": ("Shortest first", "Whose prefill is the shortest is next: better on average, the long ones wait."),
}


def titles(choices: dict[str, tuple[str, str]]) -> dict[str, str]:
    """What each choice is called."""
    return {name: title for name, (title, _) in choices.items()}


class Choice(Part):
    """One of several, each explained in a line."""

    choices: dict[str, tuple[str, str]]

    def fields(self) -> dict[str, forms.Field]:
        return {self.choice: one_of(titles(self.choices), DEFAULTS[self.choice])}

    def rows(self, form: forms.Form) -> list[Row]:
        buttons = checks(form, self.choice)
        return [Row(title, (), buttons[name], note=line) for name, (title, line) in self.choices.items()]

    def read(self, cleaned: Cleaned) -> Question:
        return {self.choice: cleaned[self.choice]}

    def typed(self, question: Question) -> dict[str, Any]:
        return {self.choice: question.get(self.choice, DEFAULTS[self.choice])}

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {self.choice: self.choice}


class Policy(Choice):
    """Who is offloaded."""

    legend = "Routing policy"
    choice = "policy"
    choices = POLICIES


class Order(Choice):
    """Who is next at a prefill instance."""

    legend = "Order of prefill"
    choice = "order"
    choices = ORDERS


class Prefill(Fields):
    """Which instance takes a prompt, and how it works through several."""

    legend = "Prefill instances"
    help = "As they are: a cluster's instances have one queue, and each prefills one prompt at a time, whole."
    entries: ClassVar[Mapping[str, Entry]] = {
        "choice": Entry(
            "prefill.choice",
            lambda: WordField(
                {
                    "shared": "whichever is free first",
                    "shortest_queue": "the one with the least work",
                    "prefix_affine": "one for all that begin alike",
                },
                label="Which instance",
                help_text="Of the cluster that a request was routed to.",
            ),
        ),
        "ageing": Entry(
            "prefill.ageing",
            lambda: NumberField(
                SECONDS,
                label="Ageing",
                min_value=0,
                help_text="Of shortest first: prefill that a second of waiting is worth, so that long ones come too.",
            ),
        ),
        "batch_tokens": Entry(
            "prefill.batch_tokens",
            lambda: CountField(
                "tokens",
                label="In batches",
                min_value=0,
                help_text="Prompts that wait go together up to so many. Empty: each alone.",
            ),
        ),
        "chunk_tokens": Entry(
            "prefill.chunk_tokens",
            lambda: CountField(
                "tokens",
                label="In turns",
                min_value=0,
                help_text="After so many the next that waits has its turn. Empty: in one go.",
            ),
        ),
    }
