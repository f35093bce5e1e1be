"""A comparison's table as people read it: units of their own, ratios to the baseline, who is best and by how much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from frontend import figures, words

type Document = Mapping[str, Any]
type Write = Callable[[float | None], str]


def _kilowatts(value: float | None) -> str:
    return figures.NONE if value is None else f"{value / 1000:,.1f}"


UNITS: Mapping[str, tuple[str, Write]] = {
    "req/s": ("req/s", figures.rate),
    "s": ("s", figures.seconds),
    "bit/s": ("Gbps", figures.gbps),
    "1": ("%", figures.percent),
    "USD": ("USD", figures.price),
    "USD/h": ("USD/h", figures.usd),
    "USD/month": ("USD/month", figures.usd),
    "GPUs": ("GPUs", figures.tokens),
    "W": ("kW", _kilowatts),
}
"""From the unit of a result to the one that is shown, and how it is written."""
POLICIES = {
    "threshold": "by length",
    "all_local": "all stay local",
    "all_remote": "all go to PrfaaS",
    "blind": "by chance, whatever the length",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One deployment's value in a row; `against` is its ratio to the baseline, as a change in percent."""

    text: str
    interval: str
    against: str
    kind: str
    is_winner: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A metric of all deployments, and who is best."""

    key: str
    label: str
    unit: str
    formula: str
    stage: str
    emphasis: bool
    cells: tuple[Cell, ...]
    verdict: str


@dataclass(frozen=True, slots=True)
class Column:
    """What stands above the values of a deployment."""

    name: str
    title: str
    is_baseline: bool
    chips: str
    split: str
    threshold: str
    policy: str
    binding: str
    not_rescaled: str


@dataclass(frozen=True, slots=True)
class Table:
    """What the page of a comparison shows."""

    columns: tuple[Column, ...]
    groups: tuple[tuple[str, tuple[Row, ...]], ...]
    notes: tuple[str, ...]
    headline: str


def table(result: Document) -> Table:
    """From the result document of a comparison."""
    columns = tuple(_column(each, result["baseline"]) for each in result["scenarios"])
    rows = groupby(result["metrics"], key=lambda row: row["group"])
    return Table(
        columns=columns,
        groups=tuple((group, tuple(_row(row, columns) for row in held)) for group, held in rows),
        notes=tuple([*result["notes"], *_own_notes(result)]),
        headline=headline(result),
    )


def _column(each: Document, baseline: str) -> Column:
    remote, local = each["chips"]["prfaas"], each["chips"]["pd"]
    counts = each["instances"]
    chips = [_chips(counts["prefill"] + counts["decode"], local)]
    if remote:
        chips.insert(0, _chips(counts["prfaas"], remote))
    return Column(
        name=each["name"],
        title=each["title"],
        is_baseline=each["name"] == baseline,
        chips=" + ".join(chips),
        split=" / ".join(figures.tokens(counts[role]) for role in ("prfaas", "prefill", "decode")),
        threshold=figures.tokens(each["threshold_tokens"]) if each["policy"] == "threshold" else figures.NONE,
        policy=POLICIES[each["policy"]],
        binding=words.bound_by(each["binding"]) or "nothing",
        not_rescaled=each["not_rescaled"] or "",
    )


def _chips(instances: float, kind: Document) -> str:
    return f"{instances * kind['gpus_per_instance']:,.0f} × {kind['hardware']}"


def _row(row: Document, columns: Sequence[Column]) -> Row:
    unit, write = UNITS[row["unit"]]
    winner = row["winner"]
    return Row(
        key=row["key"],
        label=row["label"],
        unit=unit,
        formula=row["formula"],
        stage=row["stage"],
        emphasis=row["emphasis"],
        cells=tuple(_cell(value, write, at == winner) for at, value in enumerate(row["values"])),
        verdict=_nobody(row, columns) if winner is None else _by(columns[winner].title, row["margin"]),
    )


def _cell(value: Document, write: Write, is_winner: bool) -> Cell:
    has_interval = value["low"] is not None and value["high"] is not None
    return Cell(
        text=write(value["value"]),
        interval=f"[{write(value['low'])}, {write(value['high'])}]" if has_interval else "",
        against=figures.NONE if value["relative"] is None else figures.difference(value["relative"], 1.0),
        kind=value["kind"],
        is_winner=is_winner,
    )


def _nobody(row: Document, columns: Sequence[Column]) -> str:
    """Why a row has no winner; of whom, where others are clearly worse."""
    has_more = sum(value["value"] is not None for value in row["values"]) > len(row["tied"])
    if not row["tied"] or not has_more:
        return str(row["verdict"])
    *others, last = (columns[at].title for at in row["tied"])
    return f"{row['verdict']} between {', '.join(others)} and {last}"


def _by(title: str, margin: float | None) -> str:
    return title if margin is None else f"{title}, by {figures.percent(margin)} %"


def _own_notes(result: Document) -> Iterator[str]:
    """What is said of single deployments."""
    for each in result["scenarios"]:
        for note in each["notes"]:
            yield f"{each['title']}: {note}"


def headline(result: Document) -> str:
    """The sentence that the meeting takes away: who carries the most, and who is the cheapest."""
    by_key = {row["key"]: row for row in result["metrics"]}
    titles = [_told(each) for each in result["scenarios"]]
    said = [_carries_most(by_key["lambda_max_rps"], titles), _is_cheapest(by_key["usd_per_million_tokens"], titles)]
    return " ".join(filter(None, said))


def _told(each: Document) -> str:
    """A deployment's title, and whether it is as large as the others are made."""
    return f"{each['title']} (not rescaled)" if each["not_rescaled"] else str(each["title"])


def _carries_most(row: Document, titles: Sequence[str]) -> str:
    if row["winner"] is None:
        return (
            "The best of them carry the same."
            if any(each["value"] for each in row["values"])
            else "Nothing is carried."
        )
    value = row["values"][row["winner"]]
    change = figures.difference(value["relative"], 1.0)
    against = f", {change} % against the baseline" if value["relative"] and value["relative"] != 1 else ""
    return f"{titles[row['winner']]} carries the most: {figures.rate(value['value'])} req/s{against}."


def _is_cheapest(row: Document, titles: Sequence[str]) -> str:
    if row["verdict"] == "":
        return ""
    if row["winner"] is None:
        return "The cheapest of them cost the same for a million tokens."
    value = row["values"][row["winner"]]
    margin = f", {figures.percent(row['margin'])} % less than the next" if row["margin"] else ""
    return f"{titles[row['winner']]} is the cheapest: {figures.price(value['value'])} USD for a million tokens{margin}."
