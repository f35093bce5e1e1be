"""What a purchase is held to: a budget, or a rate."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend import figures
from frontend.catalogue.units import Unit
from frontend.optimiser.fields import Cleaned, CountField, Mistakes, NumberField, Part, Question, Row, checks, one_of
from frontend.optimiser.parts.promise import FIRST, percentile
from planner import evaluation, store
from planner.procurement.schema import Question as Asked

MOST_RATES = 50
OWN, OTHER, TYPED = "own", "other", "typed"
BUDGETS = {OWN: "What the scenario costs", OTHER: "What another scenario costs", TYPED: "A sum"}


class Budget(Part):
    """USD an hour: what a scenario costs, or a number."""

    legend = "Budget"
    help = "Whatever is bought costs at most this much an hour, its link included."
    choice = "budget"

    def fields(self) -> dict[str, forms.Field]:
        names = store.STORED.names(store.SCENARIOS)
        return {
            "budget": one_of(BUDGETS, OWN),
            "baseline": forms.ChoiceField(
                label="Scenario", required=False, choices=[("", "choose"), *((name, name) for name in names)]
            ),
            "budget_usd": NumberField(Unit("USD/h"), label="Budget", min_value=0),
        }

    def rows(self, form: forms.Form) -> list[Row]:
        buttons = checks(form, "budget")
        cells = {OWN: (), OTHER: (form["baseline"],), TYPED: (form["budget_usd"],)}
        return [Row(title, cells[name], buttons[name]) for name, title in BUDGETS.items()]

    def read(self, cleaned: Cleaned) -> Question:
        if cleaned["budget"] == OTHER:
            return {"baseline": cleaned["baseline"]}
        return {"budget_usd_per_h": cleaned["budget_usd"]} if cleaned["budget"] == TYPED else {}

    def typed(self, question: Question) -> dict[str, Any]:
        if question.get("baseline"):
            return {"budget": OTHER, "baseline": question["baseline"]["name"]}
        usd = question.get("budget_usd_per_h")
        return {"budget": OWN} if usd is None else {"budget": TYPED, "budget_usd": NumberField().typed(usd)}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        if cleaned.get("budget") == OTHER and not cleaned.get("baseline"):
            yield "baseline", "Choose the scenario whose cost is the budget."
        if cleaned.get("budget") == TYPED and "budget_usd" in cleaned and cleaned["budget_usd"] is None:
            yield "budget_usd", "Type the budget, in USD an hour."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {"budget_usd_per_h": "budget_usd", "baseline": "baseline"}


class Rate(Part):
    """Requests a second."""

    legend = "Rate to carry"
    help = "The peak rate: whatever is bought carries at least this much."
    label = "Peak rate"

    def fields(self) -> dict[str, forms.Field]:
        carried = evaluation.evaluate(self.given.scenario)["lambda_max_rps"]
        said = f"The scenario as it is carries {figures.rate(carried)} req/s at most."
        return {"rate": NumberField(Unit("req/s"), label=self.label, min_value=0, help_text=said)}

    def rows(self, form: forms.Form) -> list[Row]:
        return [Row("", (form["rate"],))]

    def read(self, cleaned: Cleaned) -> Question:
        return {"rate_rps": cleaned["rate"]}

    def typed(self, question: Question) -> dict[str, Any]:
        return {"rate": NumberField().typed(question.get("rate_rps"))}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        if "rate" in cleaned and cleaned["rate"] is None:
            yield "rate", "Type the rate that is to be carried."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {"rate_rps": "rate"}


class Rates(Rate):
    """Several rates up to the greatest, and the percentile of TTFT that deployments are compared by."""

    legend = "Rates and TTFT"
    help = "The cheapest deployments for one TTFT after another, at each of so many rates, evenly up to the greatest."
    label = "Greatest rate"
    count = Asked.model_fields["rates"].default

    def fields(self) -> dict[str, forms.Field]:
        count = CountField("rates", label="How many", initial=self.count, min_value=1, max_value=MOST_RATES)
        count.help_text = "Each is a part of the job, which any worker computes."
        return super().fields() | {"rates": count, "percentile": percentile()}

    def rows(self, form: forms.Form) -> list[Row]:
        return [Row("", (form["rate"], form["rates"], form["percentile"]))]

    def read(self, cleaned: Cleaned) -> Question:
        return super().read(cleaned) | {
            "rates": cleaned["rates"],
            "percentile": int(cleaned["percentile"] or FIRST),
        }

    def typed(self, question: Question) -> dict[str, Any]:
        return super().typed(question) | {
            "rates": str(question.get("rates", self.count)),
            "percentile": str(question.get("percentile", FIRST)),
        }

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        yield from super().mistakes(cleaned)
        if "rates" in cleaned and cleaned["rates"] is None:
            yield "rates", "How many rates? Type a whole number."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return super().places(cleaned) | {"rates": "rates", "percentile": "percentile"}
