"""The parts of a simulation's form."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend import figures
from frontend.catalogue.units import GBPS, PERCENT, SECONDS, Unit
from frontend.optimiser.fields import Cleaned, CountField, Mistakes, NumberField, Part, Question, Row, checks, one_of
from planner import evaluation
from planner.simulating.schema import MOST_REQUESTS, Run

POLICIES = {
    "as_given": ("As given", "The scenario's own routing: requests longer than t are prefilled remotely."),
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
LARGEST_SEED = 2**63 - 1
DEFAULTS = {name: field.default for name, field in Run.model_fields.items()}


def titles(choices: dict[str, tuple[str, str]]) -> dict[str, str]:
    """What each choice is called."""
    return {name: title for name, (title, _) in choices.items()}


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


class Transfer(Part):
    """How a KVCache crosses the link."""

    legend = "Transfer"
    help = "Transfers that are under way together share the link evenly."

    def fields(self) -> dict[str, forms.Field]:
        return {
            "chunks": CountField(
                "chunks",
                label="Pipelining",
                initial=DEFAULTS["chunks"],
                min_value=1,
                max_value=10_000,
                help_text="In which a KVCache is sent while its prefill goes on; 1 sends all of it after the prefill.",
            ),
            "connection": NumberField(
                GBPS,
                label="Most one transfer gets",
                min_value=0,
                help_text="Whatever the link has free. Empty: as much as the link has.",
            ),
        }

    def rows(self, form: forms.Form) -> list[Row]:
        return [Row("", (form["chunks"], form["connection"]))]

    def read(self, cleaned: Cleaned) -> Question:
        found: Question = {"chunks": cleaned["chunks"]}
        return found if cleaned["connection"] is None else found | {"connection_bps": cleaned["connection"]}

    def typed(self, question: Question) -> dict[str, Any]:
        return {
            "chunks": str(question.get("chunks", DEFAULTS["chunks"])),
            "connection": NumberField(GBPS).typed(question.get("connection_bps")),
        }

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        yield from whole_numbers(cleaned, "chunks")

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {"chunks": "chunks", "connection_bps": "connection"}


class BrownOut(Part):
    """A while in which the link carries less."""

    legend = "Link brown-out"
    help = "For a while the link carries less, or nothing. All empty: it carries the same at any time."

    def fields(self) -> dict[str, forms.Field]:
        return {
            "brown_from": NumberField(
                SECONDS, label="From", min_value=0, help_text="Since the beginning of each replication."
            ),
            "brown_to": NumberField(SECONDS, label="To", min_value=0, help_text="After it begins."),
            "brown_bps": NumberField(
                GBPS, label="Meanwhile", min_value=0, help_text="What the link carries then. Empty: nothing."
            ),
        }

    def rows(self, form: forms.Form) -> list[Row]:
        return [Row("", (form["brown_from"], form["brown_to"], form["brown_bps"]))]

    def read(self, cleaned: Cleaned) -> Question:
        if cleaned["brown_from"] is None:
            return {}
        found = {"begin_s": cleaned["brown_from"], "end_s": cleaned["brown_to"], "bps": cleaned["brown_bps"] or 0.0}
        return {"brown_out": {name: float(value) for name, value in found.items()}}

    def typed(self, question: Question) -> dict[str, Any]:
        out = question.get("brown_out") or {}
        return {
            "brown_from": NumberField(SECONDS).typed(out.get("begin_s")),
            "brown_to": NumberField(SECONDS).typed(out.get("end_s")),
            "brown_bps": NumberField(GBPS).typed(out.get("bps")),
        }

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        given = [cleaned.get(name) is not None for name in ("brown_from", "brown_to", "brown_bps")]
        missing = {"brown_from": "begins", "brown_to": "ends"}
        for name, what in missing.items() if any(given) else ():
            if name in cleaned and cleaned[name] is None:
                yield name, f"When does it {what[:-1]}? Leave all three empty for none."
        lasts_s = _lasts_s(self, cleaned)
        if lasts_s is not None and (cleaned.get("brown_from") or 0.0) >= lasts_s:
            yield "brown_from", f"Nothing would be seen of it: a replication lasts about {lasts_s:,.0f} s."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {
            "brown_out": "brown_from",
            "brown_out.begin_s": "brown_from",
            "brown_out.end_s": "brown_to",
            "brown_out.bps": "brown_bps",
        }


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


def _lasts_s(part: Part, cleaned: Cleaned) -> float | None:
    """How long a replication's requests take to arrive, in seconds; None where that was not typed."""
    is_share = cleaned.get("load_of") == "share"
    rate_rps = (cleaned.get("load") or 0.0) * most_rps(part) if is_share else cleaned.get("rate")
    requests = cleaned.get("requests")
    return requests / rate_rps if requests and rate_rps else None
