"""The parameter over which the scenario is held against the best deployment without PrfaaS."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend.optimiser.fields import Cleaned, Mistakes, NumberField, Part, Question, Row, checks, one_of
from frontend.optimiser.given import Given
from frontend.optimiser.parameters import PARAMETERS
from planner.scenario.build import cluster_of_role, pd_cluster


class Vary(Part):
    """One parameter, and its range."""

    legend = "What changes"
    help = "The rest stays as it is. A wide range is drawn in equal ratios."
    choice = "parameter"

    def fields(self) -> dict[str, forms.Field]:
        found: dict[str, forms.Field] = {
            "parameter": one_of({name: each.title for name, each in PARAMETERS.items()}, "price_ratio")
        }
        for name, each in PARAMETERS.items():
            for end, label, first in (("lowest", "From", each.lowest), ("highest", "To", each.highest)):
                found[f"{end}_{name}"] = NumberField(each.unit, label=label, min_value=0, initial=first)
        return found

    def rows(self, form: forms.Form) -> list[Row]:
        buttons = checks(form, "parameter")
        return [
            Row(titles(self.given)[name], (form[f"lowest_{name}"], form[f"highest_{name}"]), buttons[name], each.help)
            for name, each in PARAMETERS.items()
        ]

    def read(self, cleaned: Cleaned) -> Question:
        name = cleaned["parameter"]
        ends = {end: cleaned[f"{end}_{name}"] for end in ("lowest", "highest")}
        return {"vary": {"parameter": name, **ends}}

    def typed(self, question: Question) -> dict[str, Any]:
        vary = question["vary"]
        name = vary["parameter"]
        ends = {f"{end}_{name}": NumberField(PARAMETERS[name].unit).typed(vary[end]) for end in ("lowest", "highest")}
        return {"parameter": name, **ends}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        name = cleaned.get("parameter")
        for field in (f"lowest_{name}", f"highest_{name}"):
            if field in cleaned and cleaned[field] is None:
                yield field, "Type both ends of the range."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        name = cleaned.get("parameter")
        return {"vary": "parameter", "vary.lowest": f"lowest_{name}", "vary.highest": f"highest_{name}"}


def titles(given: Given) -> dict[str, str]:
    """What each parameter is called; the ratio names the chips that it is of."""
    named = {name: each.title for name, each in PARAMETERS.items()}
    remote, local = cluster_of_role(given.scenario.parsed, "prfaas"), pd_cluster(given.scenario.parsed)
    if remote:
        named["price_ratio"] += f" {remote.hardware.name}:{local.hardware.name}"
    return named
