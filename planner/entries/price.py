"""What a chip costs: one dated offer an entry, so that a cost can be computed as of any day."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from planner.documents.fields import Name, NotNegative, Positive, Table, Text
from planner.entries.base import Entry


def _a_day(value: str) -> str:
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError as problem:
        raise ValueError("must be a day as YYYY-MM-DD") from problem


Day = Annotated[str, Field(max_length=20), AfterValidator(_a_day)]
HOURS_A_YEAR = 8766.0


class Purchase(Table):
    """Bought, written off in equal parts, and powered: all a chip."""

    usd_per_gpu: NotNegative
    amortisation_years: Annotated[float, Field(gt=0, le=50)]
    usd_per_kwh: NotNegative
    pue: Annotated[float, Field(ge=1, le=5)]
    """Power that the building takes, a watt of the chip's."""

    def usd_per_gpu_hour(self, tdp_w: float) -> float:
        """Write-off and power at full draw, in USD per GPU-hour."""
        return self.usd_per_gpu / (self.amortisation_years * HOURS_A_YEAR) + self.usd_per_kwh * self.pue * tdp_w / 1000


class Price(Entry):
    """An offer: rented by the hour, or bought."""

    hardware: Name
    date: Day | None = None
    """The day on which it was offered; null where nobody says."""
    provider: Text = ""
    region: Text = ""
    kind: Literal["on_demand", "spot", "reserved", "blended", "purchase"]
    usd_per_gpu_hour: Positive | None = None
    purchase: Purchase | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.kind == "purchase") != (self.purchase is not None) or (self.purchase is None) == (
            self.usd_per_gpu_hour is None
        ):
            raise ValueError("needs usd_per_gpu_hour where it is rented, and purchase where kind is purchase; not both")
        return self
