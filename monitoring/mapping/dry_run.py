"""What would become of a page of metrics: what each series is of ours or why it is none, and what to look out for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from monitoring.mapping.combining import Ignored, Taken
from monitoring.mapping.compiling import Compiled, Why, compiled
from monitoring.mapping.engine import State, map_readings, take
from monitoring.mapping.schema import SystemMapping
from monitoring.readings import Histogram, Point, Reading, Rejected
from monitoring.signals import SIGNALS
from monitoring.sources import exposition

COARSE = 1.5
"""Neighbouring bounds of prompt lengths that are further apart, as a ratio, leave t much room."""
MOST_WARNINGS = 100


@dataclass(frozen=True, slots=True)
class Meaning:
    """One series of ours, and its value in our unit: a number, or of a histogram the observations and their sum."""

    signal: str
    labels: dict[str, str]
    unit: str
    kind: str
    value: float | None
    observations: float | None = None
    system: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One series of the page: what it means, or why nothing."""

    name: str
    labels: dict[str, str]
    kind: str
    meanings: tuple[Meaning, ...] = ()
    why: Why | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A mapping of which the page has metrics."""

    name: str
    version: int
    title: str
    series: int


@dataclass(frozen=True, slots=True)
class Report:
    """What would become of the page; `mapped` is what would be stored, with ranks added up."""

    systems: list[Recognised]
    rows: list[Row]
    mapped: list[Meaning]
    rejected: list[Rejected]
    warnings: list[str]
    counts: dict[str, int] = field(default_factory=dict)
    """Series taken and, by reason, not taken; lines rejected; series of ours."""


def dry_run(text: str, mappings: Iterable[SystemMapping], labels: Mapping[str, str], ts_ms: int = 0) -> Report:
    """The report on a page, from a source with such labels. Raises Malformed for what is no page of metrics."""
    return report(*exposition.readings(text, ts_ms), mappings, labels)


def report(
    found: list[Reading], rejected: list[Rejected], mappings: Iterable[SystemMapping], labels: Mapping[str, str]
) -> Report:
    """The report on readings of any kind, from a source with such labels."""
    lookup = compiled(mappings)
    taken, ignored = take(found, labels, lookup, State())
    outcome = map_readings(found, labels, lookup, State())
    added_up = [each for each in outcome.ignored if each.why == "ranks"]
    rows = _rows(found, taken, [*ignored, *added_up])
    mapped = [_meaning(each.signal, each.kind, dict(each.labels), each.points[-1]) for each in outcome.mapped]
    return Report(
        systems=_recognised(taken, lookup),
        rows=rows,
        mapped=mapped,
        rejected=rejected,
        warnings=_warnings(found, taken, [*ignored, *added_up], lookup, labels)[:MOST_WARNINGS],
        counts=_counts(rows, mapped, rejected),
    )


def _rows(found: list[Reading], taken: list[Taken], ignored: list[Ignored]) -> list[Row]:
    meanings: dict[int, list[Meaning]] = {}
    for each in taken:
        rule = each.target.rule
        meaning = _meaning(rule.signal, each.kind, dict(each.target.labels), each.points[-1], each.target.system.name)
        meanings.setdefault(each.index, []).append(meaning)
    reasons = {each.index: each for each in ignored}
    return [_row(reading, meanings.get(at, []), reasons.get(at)) for at, reading in enumerate(found)]


def _row(reading: Reading, meanings: list[Meaning], ignored: Ignored | None) -> Row:
    why, reason = (None, "") if ignored is None else (ignored.why, ignored.reason)
    is_refused = ignored is not None and ignored.why == "ranks"
    return Row(reading.name, reading.labels, reading.kind, () if is_refused else tuple(meanings), why, reason)


def _meaning(signal: str, kind: str, labels: dict[str, str], point: Point, system: str = "") -> Meaning:
    value, unit = point.value, SIGNALS[signal].unit
    if isinstance(value, Histogram):
        total = value.total if math.isfinite(value.total) else None
        return Meaning(signal, labels, unit, kind, total, sum(value.counts), system)
    return Meaning(signal, labels, unit, kind, value, None, system)


def _recognised(taken: list[Taken], lookup: Compiled) -> list[Recognised]:
    series = Counter(name for _, name in {(each.index, each.target.system.name) for each in taken})
    return [
        Recognised(system.name, system.version, system.title, series[system.name])
        for system in lookup.mappings
        if series[system.name]
    ]


def _counts(rows: list[Row], mapped: list[Meaning], rejected: list[Rejected]) -> dict[str, int]:
    not_taken = Counter(str(row.why) for row in rows if not row.meanings and row.why is not None)
    taken = sum(1 for row in rows if row.meanings)
    return {"series": len(rows), "taken": taken, **not_taken, "rejected_lines": len(rejected), "mapped": len(mapped)}


def _warnings(
    found: list[Reading], taken: list[Taken], ignored: list[Ignored], lookup: Compiled, labels: Mapping[str, str]
) -> list[str]:
    """What somebody should know before the page is relied on, each once."""
    told = [
        f"{each.name}: {each.reason}"
        for each in ignored
        if each.why in ("duplicate", "value", "below", "ranks", "label", "kind")
    ]
    told += [_coarse(each) for each in taken if each.target.rule.signal == "uncached_tokens"]
    told += [_twin(each, lookup) for each in ignored if each.why == "alias"]
    told += [says for reading in found for says in _hints(reading, lookup)]
    if not labels.get("role") and any(_lacks_route(each) for each in taken):
        told.append("without a role (prfaas, prefill, decode, router) nobody knows which route these requests took")
    if found and not taken:
        told.append("no series of this page is a signal of ours; choose, or write, a mapping for its system")
    return list(dict.fromkeys(each for each in told if each))


def _coarse(each: Taken) -> str:
    """How precisely t can be chosen from a histogram of prompt lengths."""
    value = each.points[-1].value
    bounds = [bound for bound in value.bounds if bound > 0] if isinstance(value, Histogram) else []
    if len(bounds) < 2:
        return f"{each.name}: has no buckets, so that t cannot be chosen by it"
    low, high = max(pairwise(bounds), key=lambda pair: pair[1] / pair[0])
    if high / low <= COARSE:
        return ""
    return f"{each.name}: its buckets are as wide as from {low:g} to {high:g} tokens; t cannot be chosen more finely"


def _twin(each: Ignored, lookup: Compiled) -> str:
    rules = [candidate.rule for candidate in lookup.candidates.get(each.name, ())]
    wraps = next((rule.wrap_bits for rule in rules if rule.wrap_bits is not None), None)
    return (
        ""
        if wraps is None
        else f"{each.name}: a counter of {wraps} bits that begins again when it is full; {each.reason}"
    )


def _hints(reading: Reading, lookup: Compiled) -> Iterable[str]:
    for system in lookup.mappings:
        for hint in system.hints:
            fits = all(reading.labels.get(name, "") in values for name, values in hint.where.items())
            if hint.metric == reading.name and fits and any(point.value == hint.value for point in reading.points):
                yield f"{reading.name}: {hint.says}"


def _lacks_route(each: Taken) -> bool:
    signal = SIGNALS[each.target.rule.signal]
    return "route" in signal.labels and not any(name == "route" for name, _ in each.target.labels)
