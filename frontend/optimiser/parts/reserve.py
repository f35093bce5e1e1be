"""What is planned to stay free at the peak."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend.catalogue.units import PERCENT
from frontend.optimiser.fields import Cleaned, CountField, NumberField, Part, Question, Row


class Reserve(Part):
    """Target utilisation, spare instances and free bandwidth."""

    legend = "Reserve at the peak"
    help = "What is bought carries the rate with this much left over."

    def fields(self) -> dict[str, forms.Field]:
        return {
            "utilisation": NumberField(
                PERCENT,
                label="Target utilisation",
                initial="100",
                min_value=0,
                max_value=100,
                help_text="Of prefill and decode; below 100 % there is room for bursts.",
            ),
            "spare": CountField(
                "instances",
                label="Spare instances",
                initial="0",
                min_value=0,
                max_value=100,
                help_text="Of each role, so that so many may fail: 1 is N−1.",
            ),
            "headroom": NumberField(
                PERCENT,
                label="Link headroom",
                initial="0",
                min_value=0,
                max_value=99,
                help_text="Share of the link that stays free.",
            ),
        }

    def rows(self, form: forms.Form) -> list[Row]:
        return [Row("", (form["utilisation"], form["spare"], form["headroom"]))]

    def read(self, cleaned: Cleaned) -> Question:
        given = {
            "target_utilisation": cleaned["utilisation"],
            "spare_instances": cleaned["spare"],
            "link_headroom": cleaned["headroom"],
        }
        return {"reserve": {field: value for field, value in given.items() if value is not None}}

    def typed(self, question: Question) -> dict[str, Any]:
        reserve = question.get("reserve") or {}
        share = NumberField(PERCENT).typed
        return {
            "utilisation": share(reserve.get("target_utilisation", 1)),
            "spare": str(reserve.get("spare_instances", 0)),
            "headroom": share(reserve.get("link_headroom", 0)),
        }

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {
            "reserve": "utilisation",
            "reserve.spare_instances": "spare",
            "reserve.link_headroom": "headroom",
        }
