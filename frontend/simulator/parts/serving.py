"""How decode steps, what fails, and which instances change their role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django import forms

from frontend.catalogue.units import GB, MS, PERCENT, SECONDS, Unit
from frontend.optimiser.fields import Cleaned, CountField, NumberField, Question
from frontend.simulator.parts.base import Entry, Fields, Line, Listed, Switched, WordField, at, typed
from planner.scenario.build import cluster_of_role

MICROSECONDS, NANOSECONDS = Unit("µs", MS.scale / 1000), Unit("ns", MS.scale / 1_000_000)
PLACES = {"prfaas": "PrfaaS", "pd_p": "PD-P", "pd_d": "PD-D"}


class Decode(Fields):
    """By request or by iteration, and memory."""

    legend = "Decode"
    help = (
        "By request, a step takes what the scenario says, whatever the batch. By iteration, the requests of an "
        "instance step together, and a step may depend on them."
    )
    entries: ClassVar[Mapping[str, Entry]] = {
        "iterations": Entry(
            "decode.iterations",
            lambda: WordField(
                {"request": "by request", "iteration": "by iteration"},
                {"request": False, "iteration": True},
                label="Decode is simulated",
            ),
        ),
        "step_base": Entry(
            "decode.base_s",
            lambda: NumberField(MS, label="A step", min_value=0, help_text="Empty: the scenario's step."),
        ),
        "step_request": Entry(
            "decode.request_s",
            lambda: NumberField(MICROSECONDS, label="+ each request", min_value=0, help_text="Of the batch."),
        ),
        "step_token": Entry(
            "decode.token_s",
            lambda: NumberField(NANOSECONDS, label="+ each token", min_value=0, help_text="Of all their contexts."),
        ),
        "memory_bytes": Entry(
            "decode.memory_bytes",
            lambda: NumberField(
                GB,
                label="Memory for KVCaches",
                min_value=0,
                help_text="Of an instance. Empty: the batch alone bounds it.",
            ),
        ),
    }


class Faults(Fields):
    """What goes down, and what takes over."""

    legend = "Faults"
    help = "Instances go down, as planned or by chance; what they worked on begins anew. All empty: nothing fails."
    entries: ClassVar[Mapping[str, Entry]] = {
        "failover": Entry(
            "failover",
            lambda: WordField(
                {"yes": "the other one takes its requests", "no": "its requests wait"},
                {"yes": True, "no": False},
                label="While a cluster is down or cut off",
            ),
        )
    }

    @property
    def places_there(self) -> dict[str, str]:
        """The places that the scenario has."""
        has_prfaas = cluster_of_role(self.given.scenario.parsed, "prfaas") is not None
        return {name: title for name, title in PLACES.items() if has_prfaas or name != "prfaas"}

    @property
    def lists(self) -> tuple[Listed, ...]:  # type: ignore[override] # what there is depends on the scenario
        there = self.places_there
        return (
            Listed(
                "faults",
                {
                    "place": lambda row: WordField(there, label="Where"),
                    "begin_s": lambda row: NumberField(SECONDS, label="From", min_value=0),
                    "end_s": lambda row: NumberField(SECONDS, label="To", min_value=0),
                    "instances": lambda row: CountField(
                        "instances", label="So many", min_value=1, help_text="Empty: all."
                    ),
                },
            ),
        )

    def fields(self) -> dict[str, forms.Field]:
        by_chance = {name: field for place in self.places_there for name, field in _by_chance(place).items()}
        return super().fields() | by_chance

    def lines(self) -> Iterator[Line]:
        yield Line(("failover",))
        yield from self.lists[0].lines("Down")
        for place, title in self.places_there.items():
            yield Line(
                tuple(_by_chance(place)),
                f"{title}, by chance",
                "Each instance is up and down in turn; spares stand in.",
            )

    def read(self, cleaned: Cleaned) -> Question:
        found = super().read(cleaned)
        for path, columns in CHANCE.items():
            if items := [item for place in self.places_there if (item := _item(cleaned, columns, place))]:
                found[path] = items
        return found

    def typed(self, question: Question) -> dict[str, Any]:
        found = super().typed(question)
        for path, columns in CHANCE.items():
            by_place = {item["place"]: item for item in reversed(question.get(path) or [])}
            for place in self.places_there:
                fields = _by_chance(place)
                for column, prefix in columns.items():
                    name = f"{prefix}_{place}"
                    found[name] = typed(fields[name], by_place.get(place, {}).get(column))
        return found

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        found = super().places(cleaned)
        for path, columns in CHANCE.items():
            first = next(iter(columns.values()))
            there = [place for place in self.places_there if _item(cleaned, columns, place)]
            found[path] = f"{first}_{next(iter(self.places_there))}"
            for index, place in enumerate(there):
                found |= {f"{path}.{index}.{column}": f"{prefix}_{place}" for column, prefix in columns.items()}
                found[f"{path}.{index}"] = f"{first}_{place}"
        return found


CHANCE = {
    "failures": {"mean_up_s": "fails_up", "mean_down_s": "fails_down"},
    "spares": {"instances": "spares", "ready_s": "spares_ready"},
}
"""Lists of one item for each place: the fields of an item, and how the form calls them."""


def _by_chance(place: str) -> dict[str, forms.Field]:
    return {
        f"fails_up_{place}": NumberField(SECONDS, label="Up for", min_value=0, help_text="On average."),
        f"fails_down_{place}": NumberField(SECONDS, label="Down for", min_value=0, help_text="On average."),
        f"spares_{place}": CountField("instances", label="Hot spares", min_value=1),
        f"spares_ready_{place}": NumberField(SECONDS, label="There after", min_value=0, help_text="Empty: at once."),
    }


def _item(cleaned: Cleaned, columns: dict[str, str], place: str) -> dict[str, Any]:
    """The item of a place; empty where nothing was typed."""
    found = {column: cleaned.get(f"{prefix}_{place}") for column, prefix in columns.items()}
    said = {column: value for column, value in found.items() if value is not None}
    return {"place": place} | said if said else {}


class Roles(Switched):
    """PD instances that change their role."""

    legend = "Roles that change"
    help = "Where one role of the PD cluster is short and the other has room, an instance is emptied and changes over."
    switch = "roles"
    unswitched = "Means something only where roles change: say so above."
    entries: ClassVar[Mapping[str, Entry]] = {
        "roles": Entry(
            "roles",
            lambda: WordField({"no": "never", "yes": "as one is short"}, {"no": None, "yes": {}}, label="Roles change"),
        ),
        "role_delay": Entry(
            "roles.delay_s",
            lambda: NumberField(
                SECONDS, label="Until it serves", initial="60", min_value=0, help_text="Once it has nothing left to do."
            ),
        ),
        "role_period": Entry(
            "roles.period_s",
            lambda: NumberField(SECONDS, label="Looked at every", initial="60", min_value=1),
        ),
        "role_patience": Entry(
            "roles.patience",
            lambda: NumberField(Unit("times"), label="Short so often", initial="2", min_value=1, help_text="In a row."),
        ),
        "role_high": Entry(
            "roles.high",
            lambda: NumberField(
                PERCENT, label="Short from", initial="85", min_value=0, max_value=100, help_text="Busy."
            ),
        ),
        "role_room": Entry(
            "roles.room",
            lambda: NumberField(
                PERCENT, label="Room below", initial="80", min_value=0, max_value=100, help_text="Busy, with one less."
            ),
        ),
        "role_least_prefill": Entry(
            "roles.least_prefill", lambda: CountField("instances", label="Prefill keeps", initial=1, min_value=0)
        ),
        "role_least_decode": Entry(
            "roles.least_decode", lambda: CountField("instances", label="Decode keeps", initial=1, min_value=1)
        ),
        "role_retunes": Entry(
            "roles.retunes",
            lambda: WordField(
                {"yes": "becomes the best of the new split", "no": "stays"},
                {"yes": True, "no": False},
                label="Meanwhile t",
            ),
        ),
    }

    def lines(self) -> Iterator[Line]:
        yield Line(("roles", "role_delay", "role_period", "role_patience"))
        yield Line(("role_high", "role_room", "role_least_prefill", "role_least_decode", "role_retunes"))

    def typed(self, question: Question) -> dict[str, Any]:
        return super().typed(question) | {"roles": "yes" if at(question, "roles") is not None else "no"}
