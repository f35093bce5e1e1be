"""What a GPU costs an hour, by hardware: typed, or a stored offer."""

from __future__ import annotations

from django import forms

from frontend.catalogue.units import Unit
from frontend.optimiser.fields import BY_HAND, Cleaned, Mistakes, NumberField, Part, Question, Row
from frontend.optimiser.offers import listed, offers

OWN = "own"
"""The choice of the price that the scenario has."""


class Prices(Part):
    """A price for each hardware that may be bought, or that the budget is counted in."""

    legend = "Prices"
    help = "Of each hardware that is in the scenario or may be bought. A typed price goes before the offer."

    def fields(self) -> dict[str, forms.Field]:
        found: dict[str, forms.Field] = {}
        for hardware in self.given.hardware:
            found[f"offer_{hardware}"] = forms.ChoiceField(
                label="Stored offer", required=False, choices=self._choices(hardware), initial=self._default(hardware)
            )
            found[f"usd_{hardware}"] = NumberField(Unit("USD/GPU-hour"), label="Typed price", min_value=0)
        return found

    def rows(self, form: forms.Form) -> list[Row]:
        return [
            Row(
                hardware,
                (form[f"usd_{hardware}"], form[f"offer_{hardware}"]),
                problem="" if form.is_bound or self._default(hardware) else "No price on demand is stored: type one.",
            )
            for hardware in self.given.hardware
        ]

    def read(self, cleaned: Cleaned) -> Question:
        needed = self._needed(cleaned)
        return {
            "prices": [price for hardware in needed if (price := _price(hardware, cleaned))],
            "provenance": {
                f"prices.{hardware}": BY_HAND for hardware in needed if cleaned[f"usd_{hardware}"] is not None
            },
        }

    def typed(self, question: Question) -> dict[str, str]:
        found = {}
        for price in question["prices"]:
            hardware = price["name"]
            origin = question.get("provenance", {}).get(f"prices.{hardware}", {})
            source = str(origin.get("source", ""))
            offer = next((each for each in offers(hardware) if source.startswith(f"offer {each.name} of ")), None)
            if price == self._own(hardware):
                found[f"offer_{hardware}"] = OWN
            elif offer and offer.usd_per_gpu_hour == price["usd_per_gpu_hour"]:
                found[f"offer_{hardware}"] = offer.name
            else:
                found[f"usd_{hardware}"] = NumberField().typed(price["usd_per_gpu_hour"])
        return found

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        for hardware in self._needed(cleaned):
            typed = f"usd_{hardware}"
            if typed in cleaned and cleaned[typed] is None and not cleaned.get(f"offer_{hardware}"):
                yield typed, f"What does a GPU-hour of {hardware} cost? Type a price, or choose an offer."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {f"prices.{hardware}": f"usd_{hardware}" for hardware in self.given.hardware}

    def _needed(self, cleaned: Cleaned) -> list[str]:
        """Hardware without whose price the question has no answer."""
        chosen = {*cleaned.get("prfaas", ()), *cleaned.get("pd", ())}
        wanted = [option.hardware for option in self.given.options if option.name in chosen]
        return list(dict.fromkeys([*self.given.own_hardware, *wanted]))

    def _own(self, hardware: str) -> dict[str, object] | None:
        known = self.given.scenario.parsed.prices
        return next((price.model_dump() for price in known if price.name == hardware), None)

    def _choices(self, hardware: str) -> list[tuple[str, str]]:
        own = self._own(hardware)
        first = [(OWN, f"the scenario's own: {own['usd_per_gpu_hour']:.4g} USD/GPU-hour")] if own else []
        return [("", "none"), *first, *((offer.name, offer.label) for offer in offers(hardware))]

    def _default(self, hardware: str) -> str:
        if self._own(hardware):
            return OWN
        offer = listed(hardware)
        return offer.name if offer else ""


def _price(hardware: str, cleaned: Cleaned) -> Question | None:
    typed, offer = cleaned.get(f"usd_{hardware}"), cleaned.get(f"offer_{hardware}")
    if typed is not None:
        return {"name": hardware, "usd_per_gpu_hour": typed}
    # The scenario's own needs no word: it counts where nothing else is said.
    return {"name": hardware, "offer": offer} if offer and offer != OWN else None
