"""How much is simulated: the load, the promise that is watched, and how much is counted."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend import figures
from frontend.catalogue.units import PERCENT, SECONDS, Unit
from frontend.optimiser.fields import Cleaned, CountField, Mistakes, NumberField, Part, Question, Row, checks, one_of
from planner import evaluation
from planner.simulating.schema import MOST_REQUESTS, Run

LARGEST_SEED = 2**63 - 1
DEFAULTS = {name: field.default for name, field in Run.model_fields.items()}


class Load(Part):
    """A share of what the scenario carries, or requests a second."""

    legend = "Load"
    help = "How many requests arrive. A load that cannot be carried is said to be unstable, and has no TTFT."
    choice = "load_of"

    def fields(self) -> dict[str, forms.Field]:
        most = figures.rate(most_rps(self))
        return {
            "load_of": one_of({"share": "A share of its capacity", "rate": "A rate"}, "share"),
            "load": NumberField(
                PERCENT,
                label="Load",
                initial="85",
                min_value=0,
                max_value=1000,
                help_text=f"Of Λ_max, exact form, which is {most} req/s.",
            ),
            "rate": NumberField(Unit("req/s"), label="Rate", min_value=0, help_text="Mean rate of arrivals."),
        }

    def rows(self, form: forms.Form) -> list[Row]:
        buttons = checks(form, "load_of")
        titled = form.fields["load_of"].choices  # type: ignore[attr-defined]
        cells = {"share": form["load"], "rate": form["rate"]}
        return [Row(title, (cells[name],), buttons[name]) for name, title in titled]

    def read(self, cleaned: Cleaned) -> Question:
        return {"load": cleaned["load"]} if cleaned["load_of"] == "share" else {"rate_rps": cleaned["rate"]}

    def typed(self, question: Question) -> dict[str, Any]:
        if question.get("rate_rps") is not None:
            return {"load_of": "rate", "rate": NumberField().typed(question["rate_rps"])}
        return {"load_of": "share", "load": NumberField(PERCENT).typed(question.get("load"))}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        if cleaned.get("load_of") == "share" and cleaned.get("load", 0) is None:
            yield "load", "Type the load, in % of the capacity."
        if cleaned.get("load_of") == "rate" and cleaned.get("rate", 0) is None:
            yield "rate", "Type the rate, in requests a second."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {"load": "load" if cleaned.get("load_of") == "share" else "rate", "rate_rps": "rate"}


class Promise(Part):
    """A TTFT that requests should keep."""

    legend = "Promise on TTFT"
    help = "How many requests keep it is counted. Empty: nothing is promised."

    def fields(self) -> dict[str, forms.Field]:
        return {
            "within": NumberField(
                SECONDS,
                label="First token within",
                min_value=0,
                help_text="After its arrival: queues, prefill, transfer and the first decode step count.",
            )
        }

    def rows(self, form: forms.Form) -> list[Row]:
        return [Row("", (form["within"],))]

    def read(self, cleaned: Cleaned) -> Question:
        return {} if cleaned["within"] is None else {"ttft_within_s": float(cleaned["within"])}

    def typed(self, question: Question) -> dict[str, Any]:
        return {"within": NumberField(SECONDS).typed(question.get("ttft_within_s"))}

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {"ttft_within_s": "within"}


class Counting(Part):
    """How much is simulated, and how much of it is counted."""

    legend = "How much is simulated"
    help = "Each replication is a part of the job, which any worker computes."
    counts = ("requests", "replications", "seed")

    def fields(self) -> dict[str, forms.Field]:
        return {
            "requests": _count(
                "requests", "requests", (100, MOST_REQUESTS), "Of each replication; more of them narrow P99."
            ),
            "replications": _count(
                "replications",
                "times",
                (1, 200),
                "Independent of each other; the 95 % intervals are of their means, so that one alone has none.",
            ),
            "seed": _count("seed", "", (0, LARGEST_SEED), "The same seed gives the same result, bit for bit."),
            "warm_up": NumberField(
                PERCENT,
                label="Warm-up",
                initial="5",
                min_value=0,
                max_value=99,
                help_text="Share of the requests, the first, that is not counted: they meet an empty system.",
            ),
        }

    def rows(self, form: forms.Form) -> list[Row]:
        return [Row("", tuple(form[name] for name in (*self.counts, "warm_up")))]

    def read(self, cleaned: Cleaned) -> Question:
        share = cleaned["warm_up"]
        return {name: cleaned[name] for name in self.counts} | ({} if share is None else {"warm_up": float(share)})

    def typed(self, question: Question) -> dict[str, Any]:
        counts = {name: str(question.get(name, DEFAULTS[name])) for name in self.counts}
        return counts | {"warm_up": NumberField(PERCENT).typed(question.get("warm_up", DEFAULTS["warm_up"]))}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        yield from whole_numbers(cleaned, *self.counts)

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {name: name for name in (*self.counts, "warm_up")}


def _count(name: str, unit: str, within: tuple[int, int], said: str) -> CountField:
    least, most = within
    return CountField(
        unit, label=name.capitalize(), initial=DEFAULTS[name], min_value=least, max_value=most, help_text=said
    )


def whole_numbers(cleaned: Cleaned, *names: str) -> Mistakes:
    """Those of some counts that were left empty."""
    for name in names:
        if name in cleaned and cleaned[name] is None:
            yield name, "Type a whole number."


def most_rps(part: Part) -> float:
    """Λ_max of the part's scenario, exact form."""
    most: float = evaluation.evaluate(part.given.scenario)["lambda_max_rps"]
    return most


def lasts_s(part: Part, cleaned: Cleaned) -> float | None:
    """How long a replication's requests take to arrive, in seconds; None where that was not typed, or depends on the
    prompts."""
    if cleaned.get("prompts"):
        return None
    is_share = cleaned.get("load_of") == "share"
    rate_rps = (cleaned.get("load") or 0.0) * most_rps(part) if is_share else cleaned.get("rate")
    requests = cleaned.get("requests")
    return requests / rate_rps if requests and rate_rps else None
