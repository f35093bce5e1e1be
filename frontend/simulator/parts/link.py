"""How a KVCache crosses the link, and what happens to the link meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django import forms

from frontend.catalogue.units import GBPS, MIB, MS, PERCENT, SECONDS, Unit
from frontend.optimiser.fields import Cleaned, CountField, Mistakes, NumberField, Part, Question, Row
from frontend.simulator.parts.base import Entry, Fields, Line, Listed, at
from frontend.simulator.parts.load import DEFAULTS, lasts_s, whole_numbers


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
    is_optional = True
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
        until_s = lasts_s(self, cleaned)
        if until_s is not None and (cleaned.get("brown_from") or 0.0) >= until_s:
            yield "brown_from", f"Nothing would be seen of it: a replication lasts about {until_s:,.0f} s."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        return {
            "brown_out": "brown_from",
            "brown_out.begin_s": "brown_from",
            "brown_out.end_s": "brown_to",
            "brown_out.bps": "brown_bps",
        }


class Tcp(Fields):
    """What bounds a transfer, and what is sent twice."""

    legend = "TCP"
    help = (
        "Transfers go over TCP connections, each of which gets a window a round trip at most, and less where packets "
        "are lost. All empty: as the scenario's link says, or without any bound."
    )
    entries: ClassVar[Mapping[str, Entry]] = {
        "connections": Entry(
            "tcp.connections",
            lambda: CountField(
                "a transfer", label="Connections", min_value=1, max_value=100_000, help_text="Where nobody says: 8."
            ),
        ),
        "window": Entry(
            "tcp.window_bytes",
            lambda: NumberField(MIB, label="Window", min_value=0, help_text="Of each connection. Empty: no bound."),
        ),
        "loss": Entry(
            "tcp.loss",
            lambda: NumberField(
                PERCENT, label="Loss", min_value=0, max_value=99, help_text="Of packets, by the way itself."
            ),
        ),
    }


class Paths(Fields):
    """Several ways across."""

    legend = "Several paths"
    help = "The link consists of several ways; each part of a KVCache takes the emptiest. All empty: it is one."
    lists = (
        Listed(
            "paths",
            {
                "share": lambda row: NumberField(
                    PERCENT,
                    label="Share",
                    min_value=0,
                    max_value=100,
                    help_text="Of the link's bandwidth; 100 % together.",
                ),
                "rtt_s": lambda row: NumberField(MS, label="Round trip", min_value=0, help_text="Empty: the link's."),
            },
        ),
    )

    def lines(self) -> Iterator[Line]:
        yield from self.lists[0].lines("Path")


class Weather(Fields):
    """What changes what the link carries."""

    legend = "Weather of the link"
    help = "What the link carries changes over time. All empty: only what the scenario says of others' use."
    entries: ClassVar[Mapping[str, Entry]] = {
        "others": Entry(
            "weather.background.share",
            lambda: NumberField(
                PERCENT, label="Others use", min_value=0, max_value=100, help_text="The same share all day."
            ),
        ),
        "others_mean": Entry(
            "weather.background.mean_share",
            lambda: NumberField(
                PERCENT, label="or on average", min_value=0, max_value=100, help_text="A share that swings once a day."
            ),
        ),
        "others_swing": Entry(
            "weather.background.amplitude",
            lambda: NumberField(
                PERCENT, label="up and down by", min_value=0, max_value=100, help_text="Of the bandwidth."
            ),
        ),
        "others_peak": Entry(
            "weather.background.peak_hour",
            lambda: NumberField(
                Unit("h UTC"),
                label="highest at",
                min_value=0,
                max_value=24,
                help_text="Each replication begins at midnight.",
            ),
        ),
        "wanders": Entry(
            "weather.fluctuation.sd_share",
            lambda: NumberField(
                PERCENT,
                label="Standard deviation",
                min_value=0,
                help_text="Of what it carries, as a share of the mean.",
            ),
        ),
        "memory": Entry(
            "weather.fluctuation.relaxation_s",
            lambda: NumberField(
                SECONDS, label="Memory", min_value=0, help_text="Time after which little is left of a deviation."
            ),
        ),
        "wanders_to": Entry(
            "weather.fluctuation.most_share",
            lambda: NumberField(
                PERCENT,
                label="At most",
                initial="200",
                min_value=0,
                help_text="Of the mean; 100: never more than that.",
            ),
        ),
        "up": Entry(
            "weather.outages.mean_up_s",
            lambda: NumberField(SECONDS, label="Up for", min_value=0, help_text="On average, exponential."),
        ),
        "down": Entry(
            "weather.outages.mean_down_s",
            lambda: NumberField(SECONDS, label="Down for", min_value=0, help_text="On average, exponential."),
        ),
    }
    lists = (
        Listed(
            "weather.windows",
            {
                "begin_s": lambda row: NumberField(SECONDS, label="From", min_value=0),
                "end_s": lambda row: NumberField(SECONDS, label="To", min_value=0),
                "bps": lambda row: NumberField(GBPS, label="At most", min_value=0, help_text="Empty: nothing."),
            },
        ),
    )

    def lines(self) -> Iterator[Line]:
        yield Line(("others", "others_mean", "others_swing", "others_peak"), "Others' use")
        yield Line(("wanders", "memory", "wanders_to"), "Fluctuation", "What it carries wanders about its mean.")
        yield Line(("up", "down"), "Outages", "The link is up and down in turn.")
        yield from self.lists[0].lines("Brown-out")

    def read(self, cleaned: Cleaned) -> Question:
        found = super().read(cleaned)
        if use := at(found, "weather.background"):
            use["kind"] = "constant" if "share" in use else "diurnal"
        return found

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        daily = [name for name in ("others_mean", "others_swing", "others_peak") if cleaned.get(name) is not None]
        if daily and cleaned.get("others") is not None:
            yield "others", "Type a share for all day or one that swings, not both."
