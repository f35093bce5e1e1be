"""Readings to canonical series: names, labels and units, each quantity once, and nothing invented.

* An absent series is absent: no zero stands for it.
* Of names that tell the same quantity (aliases) the best that a source has counts, the others are told as aliases.
* A series that stands twice in one message is taken once.
* Series that differ only in labels which we do not keep (ranks, tenants) are added up, at the same times only, and only
  while all of them are there. A sum over other series is another count: `start_ms` changes with what is summed, with
  the name that it is read from and with the scale, so that nobody takes a difference over such a change for traffic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from monitoring.mapping.combining import Ignored, Key, Members, Taken, combined
from monitoring.mapping.compiling import AliasKey, Compiled, Labels, Resolved, Target, Why, start_key
from monitoring.mapping.schema import Rule
from monitoring.mapping.straight import LONG_WAY, Straight
from monitoring.readings import Histogram, Point, Reading, joined
from monitoring.signals import SIGNALS
from monitoring.wire import Columns, Mapped

MOST_KNOWN = 100_000
"""Series whose meaning is remembered for a source; beyond them it is worked out again."""
ALIAS_MEMORY_MS = 600_000
"""A better name that was not seen for so long does not stand in the way of a worse one any more."""
LATEST_S = 1e11
"""Seconds since 1970 (year 5138) that can be a time."""
MINUTE_MS = 60_000
MOVES_MS = 5_000
"""A start that is worked out from an uptime moves a little from page to page: its minute is kept while it does so."""


@dataclass(slots=True)
class Outcome:
    """What became of a message's readings."""

    mapped: list[Mapped]
    ignored: list[Ignored]
    columns: Columns | None = None
    """What went straight (see `monitoring.mapping.straight`)."""
    readings: Sequence[Reading] = ()
    """Of which `ignored` has the places, where some were joined."""


@dataclass(slots=True)
class Best:
    """The name that counts among aliases."""

    choice: int
    name: str
    ts_ms: int


@dataclass(slots=True, eq=False)
class Met:
    """A series of theirs: what becomes of it, and its number where it goes straight."""

    resolved: Resolved
    name: str
    number: int = LONG_WAY


@dataclass(slots=True)
class State:
    """What is remembered of one source between its messages. Losing it costs nothing but time."""

    made_for: tuple[Compiled, Labels] | None = None
    known: dict[tuple[object, ...], Met] = field(default_factory=dict)
    owners: dict[AliasKey, Met] = field(default_factory=dict)
    """Who was the first to tell a quantity."""
    straight: Straight = field(default_factory=Straight)
    aliases: dict[AliasKey, Best] = field(default_factory=dict)
    starts: dict[tuple[str, Labels], int] = field(default_factory=dict)
    members: Members = field(default_factory=Members)

    def prepare(self, compiled: Compiled, labels: Mapping[str, str]) -> None:
        """Forgets what was worked out for other mappings or labels."""
        its_labels = tuple(sorted(labels.items()))
        is_same = self.made_for is not None and self.made_for[0] is compiled and self.made_for[1] == its_labels
        if not is_same or len(self.known) > MOST_KNOWN:
            self.made_for = (compiled, its_labels)
            for each in (self.known, self.owners, self.aliases, self.starts):
                each.clear()
            self.members, self.straight = Members(), Straight()


def map_readings(readings: Sequence[Reading], labels: Mapping[str, str], compiled: Compiled, state: State) -> Outcome:
    """The canonical series of a message, whatever the order of its readings.

    `labels` are those of the source or target (role, cluster, datacenter, instance, model, link). Never raises for what
    a sender has sent: every reading is mapped, or in `ignored` with a reason.
    """
    state.prepare(compiled, labels)
    return _mapped(list(enumerate(readings)), _met(readings, labels, compiled, state), compiled, state)


def map_message(readings: Sequence[Reading], labels: Mapping[str, str], compiled: Compiled, state: State) -> Outcome:
    """The same, but of plain series the points as columns; and series may come in pieces, which are joined."""
    state.prepare(compiled, labels)
    met = _met(readings, labels, compiled, state)
    if len(set(map(id, met))) < len(met):
        readings = joined(readings)
        met = _met(readings, labels, compiled, state)
    parted = state.straight.part(readings, [each.number for each in met])
    if parted is None:
        outcome = _mapped(list(enumerate(readings)), met, compiled, state)
        outcome.readings = readings
        return outcome
    # First what goes the long way: there it may be told since when the others have been counting.
    rest = [(at, readings[at]) for at in parted.rest]
    outcome = _mapped(rest, [met[at] for at in parted.rest], compiled, state)
    outcome.columns = state.straight.columns(parted, state.starts)
    outcome.readings = readings
    return outcome


def place(series: Mapped, readings: Sequence[Reading], state: State) -> int:
    """Of the readings that are this series of ours the first; behind all of them where none is."""
    for index, reading in enumerate(readings):
        met = state.known.get((reading.name, reading.kind, reading.is_delta, *reading.labels.items()))
        targets = () if met is None else met.resolved.targets
        if any((each.rule.signal, each.labels) == (series.signal, series.labels) for each in targets):
            return index
    return len(readings)


def _mapped(readings: Sequence[tuple[int, Reading]], met: Sequence[Met], compiled: Compiled, state: State) -> Outcome:
    taken, ignored = _long_way(readings, met, compiled, state)
    sums: dict[Key, list[Taken]] = {}
    for each in taken:
        sums.setdefault((each.target.rule.signal, each.kind, each.target.labels), []).append(each)
    mapped = []
    for key, parts in sums.items():
        points, left_out = combined(key, parts, state.members)
        ignored.extend(left_out)
        if points:
            mapped.append(Mapped(key[0], key[1], key[2], points, _wrap_bits(parts[0].target.rule)))  # type: ignore[arg-type]
    return Outcome(mapped, ignored)


def _wrap_bits(rule: Rule) -> int:
    """In our unit: octets of 32 bits begin again at 2^35 bits."""
    return 0 if rule.wrap_bits is None else rule.wrap_bits + round(math.log2(rule.scale))


def take(
    readings: Sequence[Reading], labels: Mapping[str, str], compiled: Compiled, state: State
) -> tuple[list[Taken], list[Ignored]]:
    """Each reading by itself: what it is of ours, or why it is nothing."""
    state.prepare(compiled, labels)
    return _long_way(list(enumerate(readings)), _met(readings, labels, compiled, state), compiled, state)


def _long_way(
    readings: Sequence[tuple[int, Reading]], met: Sequence[Met], compiled: Compiled, state: State
) -> tuple[list[Taken], list[Ignored]]:
    ignored: list[Ignored] = []
    marks: set[tuple[Labels, int]] = set()
    found: list[tuple[int, Reading, Target]] = []
    for (index, reading), each in zip(readings, met, strict=True):
        resolved = each.resolved
        if resolved.why == "start":
            _note_start(reading, compiled, state)
        if not resolved.targets:
            ignored.append(Ignored(index, reading.name, resolved.why, resolved.reason))
        elif not reading.points:
            ignored.append(Ignored(index, reading.name, "value", "has no values"))
        elif (mark := (resolved.series, reading.points[0].ts_ms)) in marks:
            ignored.append(Ignored(index, reading.name, "duplicate", "stands there twice; taken once"))
        else:
            marks.add(mark)
            for target in resolved.targets:
                found.append((index, reading, target))
                _note_aliases(target, reading, state)
    taken: list[Taken] = []
    for index, reading, target in found:
        outcome = _taken(index, reading, target, state)
        if isinstance(outcome, Taken):
            taken.append(outcome)
        else:
            ignored.append(outcome)
    return taken, ignored


def _met(readings: Sequence[Reading], labels: Mapping[str, str], compiled: Compiled, state: State) -> list[Met]:
    """Of each reading its series: after this, which of them go straight is the same for the whole message."""
    known, found = state.known, []
    for reading in readings:
        key = (reading.name, reading.kind, reading.is_delta, *reading.labels.items())
        met = known.get(key)
        if met is None:
            resolved = compiled.resolve(reading.name, reading.labels, labels, reading.kind)
            met = known[key] = Met(resolved, reading.name)
            _note_owner(met, reading, state)
        found.append(met)
    return found


def _note_owner(met: Met, reading: Reading, state: State) -> None:
    """Has a new series go straight if it is the first that tells its quantity, and no one that shares it any more."""
    is_first = True
    for target in met.resolved.targets:
        for key, _ in target.aliases:
            owner = state.owners.setdefault(key, met)
            if owner is not met:
                is_first = False
                _bend(owner, state)
    if is_first and len(met.resolved.targets) == 1 and reading.kind != "histogram":
        [target] = met.resolved.targets
        kind = _kind(reading, target)
        if not isinstance(kind, Unfit):
            met.number = state.straight.number(target, kind, _wrap_bits(target.rule))


def _bend(met: Met, state: State) -> None:
    """Has a series go the long way, which then knows what it would know if the series had always gone it."""
    if met.number == LONG_WAY:
        return
    series, newest_ms = state.straight.key(met.number), state.straight.newest_ms(met.number)
    met.number = LONG_WAY
    if newest_ms is None:
        return
    [target] = met.resolved.targets
    for key, choice in target.aliases:
        best = state.aliases.setdefault(key, Best(choice, met.name, newest_ms))
        best.ts_ms = max(best.ts_ms, newest_ms)
    state.members.note((series.signal, series.kind, series.labels), target.part, newest_ms)


def _note_start(reading: Reading, compiled: Compiled, state: State) -> None:
    """Keeps since when a process has been counting, in milliseconds."""
    key = (reading.name, start_key(reading.labels))
    for point in reading.points:
        if isinstance(point.value, Histogram) or not 0 < point.value < LATEST_S:
            continue
        told_ms = round(point.value * 1000)
        if compiled.starts[reading.name] == "time":
            state.starts[key] = told_ms
        elif not _is_same_start(state.starts.get(key), point.ts_ms - told_ms):
            state.starts[key] = (point.ts_ms - told_ms) // MINUTE_MS * MINUTE_MS


def _is_same_start(minute_ms: int | None, start_ms: int) -> bool:
    return minute_ms is not None and -MOVES_MS <= start_ms - minute_ms < MINUTE_MS + MOVES_MS


def _note_aliases(target: Target, reading: Reading, state: State) -> None:
    """Keeps the best name under which the quantity comes, and when it came last."""
    ts_ms = reading.points[-1].ts_ms
    for key, choice in target.aliases:
        best = state.aliases.get(key)
        if best is not None and choice == best.choice:
            best.ts_ms = max(ts_ms, best.ts_ms)
        elif best is None or choice < best.choice or ts_ms - best.ts_ms > ALIAS_MEMORY_MS:
            state.aliases[key] = Best(choice, reading.name, ts_ms)


def _better(target: Target, state: State) -> str | None:
    """The name that tells the same, and counts instead."""
    for key, choice in target.aliases:
        best = state.aliases[key]
        if best.choice < choice:
            return best.name
    return None


def _taken(index: int, reading: Reading, target: Target, state: State) -> Taken | Ignored:
    """The reading in our unit, or why it is not taken."""
    if (better := _better(target, state)) is not None:
        return Ignored(index, reading.name, "alias", f"the same as {better}, not counted twice")
    kind = _kind(reading, target)
    if isinstance(kind, Unfit):
        return Ignored(index, reading.name, "kind", kind.reason)
    points = tuple(each for each in _converted(reading.points, target.rule, kind) if each is not None)
    if not points:
        return Ignored(index, reading.name, *_no_value(reading.points[0].value, target.rule))
    start_ms = None if kind == "gauge" else _start(target, state)
    if start_ms is not None and not reading.is_delta:
        points = tuple(Point(each.ts_ms, each.value, each.start_ms or start_ms) for each in points)
    return Taken(index, reading.name, kind, target, points)


def _start(target: Target, state: State) -> int | None:
    """Since when the process has been counting, if it told."""
    metric = target.system.start_metric or target.system.uptime_metric
    return None if metric is None else state.starts.get((metric, target.start_key))


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a reading's values cannot be the signal's."""

    reason: str


def _kind(reading: Reading, target: Target) -> str | Unfit:
    """What the points are: counter, gauge, histogram, or increases (delta) of the first and the last."""
    rule, wanted = target.rule, SIGNALS[target.rule.signal].kind
    if reading.kind == "histogram":
        if wanted != "histogram" and rule.take is None:
            return Unfit(
                f"is a histogram, and the mapping does not say what to take of it for the {wanted} {rule.signal}"
            )
    elif wanted == "histogram":
        return Unfit(f"is {_article(reading.kind)}, and {rule.signal} needs a histogram")
    elif rule.take is not None and not target.is_apart:
        return Unfit(f"is {_article(reading.kind)}, and the mapping takes the {rule.take} of a histogram")
    elif not _may_be(reading.kind, wanted, rule):
        return Unfit(f"is {_article(reading.kind)}, and the mapping does not say (kind) that it is a {wanted}")
    if reading.is_delta and wanted != "gauge":
        return "delta" if wanted == "counter" else "delta_histogram"
    return wanted


def _may_be(kind: str, wanted: str, rule: Rule) -> bool:
    """Whether values of a kind are the signal's: untyped ones are gauges, and counters only if the mapping says so."""
    return kind == wanted or rule.kind == wanted or (kind == "untyped" and wanted == "gauge")


def _article(kind: str) -> str:
    return "untyped" if kind == "untyped" else f"a {kind}"


def _converted(points: Sequence[Point], rule: Rule, kind: str) -> Iterator[Point | None]:
    """Points in our unit; None where a point says nothing."""
    scale, unknown = rule.scale, rule.unknown
    is_plain = scale == 1.0 and not unknown
    for point in points:
        value = point.value
        if isinstance(value, Histogram):
            yield _of_histogram(point, value, rule, kind)
        elif not math.isfinite(value * scale) or value in unknown or (value < 0 and kind != "gauge"):
            yield None
        else:
            yield point if is_plain else Point(point.ts_ms, value * scale, point.start_ms)


def _of_histogram(point: Point, value: Histogram, rule: Rule, kind: str) -> Point | None:
    """The histogram in our unit, or what the rule takes of it."""
    if rule.take is not None:
        taken = value.total * rule.scale if rule.take == "sum" else sum(value.counts)
        return Point(point.ts_ms, taken, point.start_ms) if math.isfinite(taken) else None
    if not kind.endswith("histogram"):
        return None
    if rule.scale == 1.0:
        return point
    bounds = tuple(bound * rule.scale for bound in value.bounds)
    return Point(point.ts_ms, Histogram(bounds, value.counts, value.total * rule.scale), point.start_ms)


def _no_value(value: float | Histogram, rule: Rule) -> tuple[Why, str]:
    """Why none of a reading's points is taken, by its first."""
    if isinstance(value, Histogram):
        return "value", "does not tell its sum"
    if value in rule.unknown:
        return "value", f"{value:g} says that it is not known"
    if not math.isfinite(value * rule.scale):
        return "value", f"{value:g} is no value"
    return "below", f"{value:g} is less than nothing"
