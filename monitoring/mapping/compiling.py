"""Mappings made into a fast lookup: what becomes of a series, worked out once from its name and labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal
from zlib import crc32

from monitoring.mapping.schema import MOST_PREFIXES, Rule, SystemMapping
from monitoring.signals import FROM_ROLE, PLACE, SIGNALS, VALUES

type Labels = tuple[tuple[str, str], ...]
type AliasKey = tuple[str, Labels]
type Why = Literal[
    "unknown", "listed", "condition", "alias", "duplicate", "kind", "value", "below", "label", "ranks", "start"
]
"""Why a series is not taken, for whoever groups them; `unknown`: no mapping has it, `listed`: a mapping says why."""

OPERATORS_OWN = ("datacenter", "cluster", "role")
"""Where something stands is the operator's to say: the source's labels go before the series' own."""
ALIKE = (*PLACE, "link")
"""Labels that tell apart what aliases are aliases of."""


@dataclass(frozen=True, slots=True)
class Target:
    """What one series becomes: points of `signal` with `labels`, added up with its other `part`s."""

    rule: Rule
    system: SystemMapping
    labels: Labels
    part: Labels
    """Name and labels of theirs that the canonical series does not have: what is added up differs in them."""
    unit: Labels
    """The part without the labels over which the same quantity is repeated."""
    epoch: int
    """A number for the part, the scale and what is taken: another one is another count."""
    aliases: tuple[tuple[AliasKey, int], ...]
    """What else would tell the same, and how far down this one is among them: the smallest number counts."""
    is_apart: bool
    """Whether it is a part of a histogram that came by itself."""
    start_key: Labels


@dataclass(frozen=True, slots=True)
class Resolved:
    """What becomes of a series: its targets, or why there are none."""

    targets: tuple[Target, ...] = ()
    why: Why = "unknown"
    reason: str = ""
    series: Labels = ()
    """Its name and labels in order: the same for the same series."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule under one of the names that its metric may have; `choice` puts aliases in order."""

    rule: Rule
    system: SystemMapping
    metric: str
    order: int
    """Of its system among the mappings."""
    group: str | None
    choice: int
    only: Literal["counter"] | None = None
    """A part of a histogram that came apart from it, as counters."""


@dataclass(frozen=True)
class Compiled:
    """Candidates by their metric's name, in the order of the mappings and their rules."""

    mappings: tuple[SystemMapping, ...]
    candidates: dict[str, list[Candidate]] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    starts: dict[str, Literal["time", "uptime"]] = field(default_factory=dict)

    def resolve(self, name: str, labels: Mapping[str, str], of_source: Mapping[str, str], kind: str) -> Resolved:
        """What becomes of a series with such labels, from a source with such labels."""
        if name in self.starts:
            return Resolved(why="start", reason="says since when others have been counting")
        found = [each for each in self.candidates.get(name, ()) if each.only in (None, kind)]
        if not found:
            return self._without_rule(name)
        targets: dict[str, Target] = {}
        refused = [Resolved()]
        for candidate in found:
            if candidate.rule.signal not in targets:
                outcome = _target(candidate, labels, of_source)
                if isinstance(outcome, Target):
                    targets[candidate.rule.signal] = outcome
                else:
                    refused.append(outcome)
        series = (("", name), *sorted(labels.items()))
        return Resolved(tuple(targets.values()), series=series) if targets else refused[-1]

    def _without_rule(self, name: str) -> Resolved:
        if name in self.ignored:
            return Resolved(why="listed", reason=self.ignored[name])
        for suffix in ("_bucket", "_sum", "_count"):
            if name.endswith(suffix) and name.removesuffix(suffix) in self.candidates:
                whole = name.removesuffix(suffix)
                return Resolved(why="kind", reason=f"a part of {whole} that came apart from its histogram")
        return Resolved(reason="no mapping has this metric")


def compiled(mappings: Iterable[SystemMapping]) -> Compiled:
    """Fast lookup in the mappings; where two have a metric for the same signal, the earlier one counts."""
    made = Compiled(tuple(mappings))
    for order, system in enumerate(made.mappings):
        for rule in system.rules:
            for name, candidate in _candidates(system, order, rule):
                made.candidates.setdefault(name, []).append(candidate)
        for name, reason in system.ignored.items():
            made.ignored.setdefault(name, reason)
        if system.start_metric:
            made.starts[system.start_metric] = "time"
        if system.uptime_metric:
            made.starts[system.uptime_metric] = "uptime"
    return made


def _candidates(system: SystemMapping, order: int, rule: Rule) -> Iterator[tuple[str, Candidate]]:
    """The rule under every name; names with different prefixes are aliases of one another."""
    prefixes = rule.prefixes or system.prefixes
    group = f"{system.name}.{rule.one_of or rule.metric}" if rule.one_of or len(prefixes) > 1 else None
    for at, prefix in enumerate(prefixes):
        metric, choice = prefix + rule.metric, (rule.choice or 0) * MOST_PREFIXES + at
        yield metric, Candidate(rule, system, metric, order, group, choice)
        if rule.take is not None:
            yield f"{metric}_{rule.take}", Candidate(rule, system, metric, order, group, choice, "counter")


def _target(candidate: Candidate, theirs: Mapping[str, str], of_source: Mapping[str, str]) -> Target | Resolved:
    """What the rule makes of a series with these labels, or why nothing."""
    rule, system = candidate.rule, candidate.system
    ours = _ours(rule, theirs, of_source)
    if isinstance(ours, Resolved):
        return ours
    seen = {**theirs, **ours}
    if (refusal := _refusal(rule, system, seen)) is not None:
        return refusal
    part = _part(rule, candidate.metric, theirs, ours)
    labels = tuple(sorted(ours.items()))
    return Target(
        rule=rule,
        system=system,
        labels=labels,
        part=part,
        unit=tuple(pair for pair in part if pair[0] not in rule.repeated_over),
        epoch=crc32(repr((part, rule.scale, rule.take)).encode("utf-8", "surrogatepass")),
        aliases=_aliases(candidate, labels),
        is_apart=candidate.only is not None,
        start_key=start_key(theirs),
    )


def _aliases(candidate: Candidate, labels: Labels) -> tuple[tuple[AliasKey, int], ...]:
    """Of its own system the names of its group; and the same series of ours as other systems tell it."""
    of_systems = (candidate.rule.signal, labels), candidate.order
    if candidate.group is None:
        return (of_systems,)
    alike = tuple(each for each in labels if each[0] in ALIKE)
    return of_systems, ((candidate.group, alike), candidate.choice)


def _part(rule: Rule, name: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> Labels:
    told = {each for each in theirs if ours.get(rule.rename.get(each, each)) == theirs[each]}
    # What a condition has picked out by one value is no difference between series.
    told |= {each for each, values in rule.where.items() if len(values) == 1}
    return ("", name), *((each, value) for each, value in sorted(theirs.items()) if value and each not in told)


def start_key(labels: Mapping[str, str]) -> Labels:
    """By which a process's start belongs to its series: of many processes behind one source, each has its own."""
    return tuple((name, labels[name]) for name in ("instance", "job") if name in labels)


def _ours(rule: Rule, theirs: Mapping[str, str], of_source: Mapping[str, str]) -> dict[str, str] | Resolved:
    """Our labels: the rule's, else the series' own, else the source's, which goes first for where something stands."""
    renamed = _renamed(rule, theirs)
    if isinstance(renamed, Resolved):
        return renamed
    names = (*PLACE, *SIGNALS[rule.signal].labels)
    ours = {}
    for name in names:
        own = renamed.get(name) if name in renamed else _allowed(name, theirs.get(name))
        of_its_source = _allowed(name, of_source.get(name))
        first, second = (of_its_source, own) if name in OPERATORS_OWN else (own, of_its_source)
        value = rule.labels.get(name) or first or second
        if value:
            ours[name] = value
    for name, by_role in FROM_ROLE.items():
        if name in names and name not in ours and ours.get("role") in by_role:
            ours[name] = by_role[ours["role"]]
    return ours


def _renamed(rule: Rule, theirs: Mapping[str, str]) -> dict[str, str] | Resolved:
    found = {}
    for their_name, name in rule.rename.items():
        if their_name not in theirs:
            continue
        value = rule.values.get(name, {}).get(theirs[their_name], theirs[their_name])
        if value and _allowed(name, value) is None:
            listed = ", ".join([*rule.values.get(name, {}), *VALUES[name]])
            return Resolved(
                why="label",
                reason=f"{their_name} is {theirs[their_name]}, of which the mapping knows no {name}; it knows {listed}",
            )
        found[name] = value
    return found


def _allowed(name: str, value: str | None) -> str | None:
    """The value, unless it is not one that our label has: a label of theirs may have the same name by chance."""
    return value if name not in VALUES or value in VALUES[name] else None


def _refusal(rule: Rule, system: SystemMapping, seen: Mapping[str, str]) -> Resolved | None:
    for name, values in rule.where.items():
        if seen.get(name, "") not in values:
            return Resolved(
                why="condition",
                reason=f"{system.name} takes it where {name} is {' or '.join(values)}, here it is {_said(seen, name)}",
            )
    for name, values in rule.unless.items():
        if seen.get(name, "") in values:
            return Resolved(
                why="condition", reason=f"{system.name} does not take it where {name} is {' or '.join(values)}"
            )
    return None


def _said(seen: Mapping[str, str], name: str) -> str:
    return seen.get(name) or "not told"
