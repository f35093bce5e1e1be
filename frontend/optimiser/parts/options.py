"""What could be bought: profiles of the scenario's model, and how many instances of each there may be."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend.catalogue.units import GBPS, MS, Unit
from frontend.optimiser.fields import (
    BY_HAND,
    Cleaned,
    CountField,
    Mistakes,
    NumberField,
    Part,
    Question,
    Row,
    checks,
    several,
)
from frontend.optimiser.given import Option
from planner.procurement.schema import MOST_INSTANCES, Chips


class Options(Part):
    """Instances of one side."""

    choice = ""
    most = Chips.model_fields["most"].default

    def fields(self) -> dict[str, forms.Field]:
        found: dict[str, forms.Field] = {self.choice: several(self._names(), self._own())}
        for option in self.given.options:
            found[self._most(option)] = CountField(
                "instances", label="At most", min_value=1, max_value=MOST_INSTANCES, initial=self.most
            )
        return found

    def rows(self, form: forms.Form) -> list[Row]:
        boxes = checks(form, self.choice)
        return [
            Row(option.title, self._cells(form, option), boxes[option.name], note=option.name)
            for option in self.given.options
        ]

    def read(self, cleaned: Cleaned) -> Question:
        chosen = [self._chips(option, cleaned) for option in self._chosen(cleaned)]
        return {self.choice: chosen}

    def typed(self, question: Question) -> dict[str, Any]:
        asked = question.get(self.choice)
        found: dict[str, Any] = {self.choice: self._own() if asked is None else [each["profile"] for each in asked]}
        for chips in asked or []:
            found[f"{self.choice}_most_{chips['profile']}"] = str(chips.get("most", self.most))
        return found

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        found = {self.choice: self.choice}
        for at, option in enumerate(self._chosen(cleaned)):
            found |= {f"{self.choice}.{at}": self.choice, f"{self.choice}.{at}.most": self._most(option)}
        return found

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        for option in self._chosen(cleaned):
            if self._most(option) in cleaned and cleaned[self._most(option)] is None:
                yield self._most(option), "How many may there be? Type a whole number."

    def _cells(self, form: forms.Form, option: Option) -> tuple[Any, ...]:
        return (form[self._most(option)],)

    def _chips(self, option: Option, cleaned: Cleaned) -> Question:
        return {"profile": option.name, "most": cleaned[self._most(option)]}

    def _chosen(self, cleaned: Cleaned) -> list[Option]:
        return [option for option in self.given.options if option.name in cleaned.get(self.choice, ())]

    def _most(self, option: Option) -> str:
        return f"{self.choice}_most_{option.name}"

    def _names(self) -> dict[str, str]:
        return {option.name: option.title for option in self.given.options}

    def _own(self) -> list[str]:
        own = self.given.prfaas if self.choice == "prfaas" else self.given.pd
        return [own] if own else []


class PrfaasOptions(Options):
    """Remote prefill."""

    legend = "PrfaaS: remote prefill"
    help = "Of the chosen kinds one is bought, or none. With nothing chosen, everything is prefilled locally."
    choice = "prfaas"

    def fields(self) -> dict[str, forms.Field]:
        found = super().fields()
        for option in self.given.options:
            sends = NumberField(
                GBPS,
                label="Sends",
                min_value=0,
                help_text="Of KVCache, one instance through its network cards. Empty: as much as the link takes.",
            )
            sends.initial = sends.typed(self._own_egress(option))
            found[_egress(option)] = sends
        return found

    def read(self, cleaned: Cleaned) -> Question:
        origins = {
            f"prfaas.{at}.egress_bps": BY_HAND
            for at, option in enumerate(self._chosen(cleaned))
            if cleaned[_egress(option)] not in (None, self._own_egress(option))
        }
        return super().read(cleaned) | {"provenance": origins}

    def typed(self, question: Question) -> dict[str, Any]:
        asked = question.get("prfaas") or []
        typed = {f"prfaas_egress_{chips['profile']}": _in_gbps(chips.get("egress_bps")) for chips in asked}
        return super().typed(question) | typed

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        chosen = enumerate(self._chosen(cleaned))
        return super().places(cleaned) | {f"prfaas.{at}.egress_bps": _egress(option) for at, option in chosen}

    def _cells(self, form: forms.Form, option: Option) -> tuple[Any, ...]:
        return (*super()._cells(form, option), form[_egress(option)])

    def _chips(self, option: Option, cleaned: Cleaned) -> Question:
        sends = cleaned[_egress(option)]
        return super()._chips(option, cleaned) | ({} if sends is None else {"egress_bps": sends})

    def _own_egress(self, option: Option) -> float | None:
        """What the scenario says of its own instances."""
        return self.given.egress_bps if option.name == self.given.prfaas else None


def _egress(option: Option) -> str:
    return f"prfaas_egress_{option.name}"


def _in_gbps(bps: float | None) -> str:
    return NumberField(GBPS).typed(bps)


class PdOptions(Options):
    """Local prefill and decode."""

    legend = "PD: local prefill and decode"
    help = "Of the chosen kinds one is bought, and split into prefill and decode."
    choice = "pd"

    def fields(self) -> dict[str, forms.Field]:
        found = super().fields()
        for option in self._open():
            batch = NumberField(
                Unit("requests"),
                label="Requests at once",
                min_value=0,
                help_text="That one decode instance serves together: its largest batch.",
            )
            step = NumberField(
                MS,
                label="Decode step",
                min_value=0,
                help_text="Time in which each of them gets one token: 25 ms are 40 tokens/s.",
            )
            if option.decode:
                batch.initial = batch.typed(option.decode["max_batch"])
                step.initial = step.typed(option.decode["step_s"])
            found |= {f"pd_batch_{option.name}": batch, f"pd_step_{option.name}": step}
        return found

    def typed(self, question: Question) -> dict[str, Any]:
        found = super().typed(question)
        for chips in question.get("pd") or []:
            if decode := chips.get("decode"):
                found[f"pd_batch_{chips['profile']}"] = NumberField().typed(decode["max_batch"])
                found[f"pd_step_{chips['profile']}"] = NumberField(MS).typed(decode["step_s"])
        return found

    def read(self, cleaned: Cleaned) -> Question:
        origins = {
            f"pd.{at}.decode": option.origin if decode == option.decode else BY_HAND
            for at, option in enumerate(self._chosen(cleaned))
            if (decode := _decode(option, cleaned))
        }
        return super().read(cleaned) | {"provenance": origins}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        yield from super().mistakes(cleaned)
        if "pd" in cleaned and not cleaned["pd"]:
            yield "pd", "Choose at least one: what is bought must decode."
        for option in self._chosen(cleaned):
            batch, step = f"pd_batch_{option.name}", f"pd_step_{option.name}"
            for field, other in ((batch, step), (step, batch)):
                if field in cleaned and cleaned[field] is None and cleaned.get(other) is not None:
                    yield field, "Type both, or neither."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        found = super().places(cleaned)
        for at, option in enumerate(self._chosen(cleaned)):
            if option.needs_decode:
                found |= {f"pd.{at}.decode": f"pd_batch_{option.name}"}
                found |= {f"pd.{at}.decode.step_s": f"pd_step_{option.name}"}
        return found

    def _open(self) -> list[Option]:
        return [option for option in self.given.options if option.needs_decode]

    def _cells(self, form: forms.Form, option: Option) -> tuple[Any, ...]:
        most = super()._cells(form, option)
        if not option.needs_decode:
            return most
        return (*most, form[f"pd_batch_{option.name}"], form[f"pd_step_{option.name}"])

    def _chips(self, option: Option, cleaned: Cleaned) -> Question:
        decode = _decode(option, cleaned)
        return super()._chips(option, cleaned) | ({"decode": decode} if decode else {})


def _decode(option: Option, cleaned: Cleaned) -> Question | None:
    """What was typed; None where nothing was: then the question is refused, or the profile says it."""
    batch, step = cleaned.get(f"pd_batch_{option.name}"), cleaned.get(f"pd_step_{option.name}")
    return None if batch is None or step is None else {"max_batch": batch, "step_s": step}
