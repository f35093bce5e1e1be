"""What is promised of TTFT under load."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend import words
from frontend.catalogue.units import SECONDS
from frontend.optimiser.fields import Cleaned, NumberField, Part, Question, Row

PERCENTILES = {"50": "P50, half of the requests", "90": "P90, nine in ten", "99": "P99, ninety-nine in a hundred"}
FIRST = "90"


def percentile() -> forms.ChoiceField:
    """Which share of the requests a TTFT is of."""
    return forms.ChoiceField(label="Of TTFT", choices=list(PERCENTILES.items()), initial=FIRST, required=False)


class Promise(Part):
    """Seconds that a percentile must not exceed; none where nothing was typed."""

    legend = "Promise on TTFT"
    help = f"Under load, by approximation, {words.LOADED_ERROR}. Left empty, nothing is promised."

    def fields(self) -> dict[str, forms.Field]:
        seconds = NumberField(SECONDS, label="At most", min_value=0, help_text=f"TTFT is {words.LOADED}.")
        return {"promise": seconds, "percentile": percentile()}

    def rows(self, form: forms.Form) -> list[Row]:
        return [Row("", (form["promise"], form["percentile"]))]

    def read(self, cleaned: Cleaned) -> Question:
        if cleaned["promise"] is None:
            return {}
        return {"promise": {"ttft_s": cleaned["promise"], "percentile": int(cleaned["percentile"] or FIRST)}}

    def typed(self, question: Question) -> dict[str, Any]:
        promise = question.get("promise") or {}
        return {
            "promise": NumberField().typed(promise.get("ttft_s")),
            "percentile": str(promise.get("percentile", FIRST)),
        }

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {"promise": "promise", "promise.percentile": "percentile"}
