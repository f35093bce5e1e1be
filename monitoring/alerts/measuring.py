"""What a rule finds in a snapshot: one reading of each thing that it looks at, with what is said of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from monitoring.alerts import globs, kinds
from monitoring.alerts.burning import Burn
from monitoring.alerts.courses import Array, Courses, Key
from monitoring.alerts.figures import duration, link, written
from monitoring.alerts.judging import Verdict, verdict
from monitoring.alerts.resting import LOST
from monitoring.alerts.trend import Trend, trend
from monitoring.live.messages import AdviceNow, Snapshot, SourceNow, WatchNow

LONGEST_KEY = 250
MOST = 500
"""Of a rule: more things than a person can be told of."""
ADVICE, TTFT = "advice", "ttft_s"


@dataclass(frozen=True, slots=True)
class Measured:
    """A reading; `says` is None where there are no data."""

    key: str
    watch: str
    figure: str
    says: Verdict | None
    value: float | None
    text: str
    labels: Mapping[str, str] = field(default_factory=dict)


class Burns(Protocol):
    """Says how fast a watch's budget burns; see monitoring.alerts.burning."""

    def __call__(self, watch: str, spec: Mapping[str, Any], now_ms: int, /) -> Burn | None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A rule, as it is evaluated."""

    kind: str
    watch: str
    spec: Mapping[str, Any]


@dataclass(slots=True)
class Facts:
    """What rules can know; `seen` are figures that were there before, and count as without data once they are not."""

    snapshot: Snapshot
    courses: Courses
    burns: Burns
    seen: Collection[Key] = ()

    def watches(self, name: str) -> list[WatchNow]:
        """That a rule is of."""
        return [each for each in self.snapshot.watches if name in ("", each.name)]


def measured(asked: Asked, facts: Facts) -> list[Measured]:
    """Of all that a rule looks at."""
    if asked.kind == "source":
        return [_source(each) for each in facts.snapshot.sources if globs.matches(asked.spec["source"], each.name)]
    if asked.kind == "advice":
        return [_advice(each, asked.spec) for each in facts.watches(asked.watch)]
    if asked.kind == "burn":
        return [_burn(each, asked.spec, facts) for each in facts.watches(asked.watch)]
    return [_READ[asked.kind](key, asked.spec, facts) for key in looked_at(asked, facts)][:MOST]


def looked_at(asked: Asked, facts: Facts) -> list[Key]:
    """Watch and figure of each that a pattern means; one without a star also where nobody tells it."""
    pattern = asked.spec["figure"]
    found: dict[Key, None] = {}
    for watch in facts.watches(asked.watch):
        names = [name for name in watch.points if globs.matches(pattern, name)]
        found |= dict.fromkeys((watch.name, name) for name in names)
        if "*" not in pattern:
            found[watch.name, pattern] = None
        found |= dict.fromkeys(key for key in facts.seen if key[0] == watch.name and globs.matches(pattern, key[1]))
    return list(found)


def _now(key: Key, facts: Facts) -> float | None:
    return next((each.points.get(key[1]) for each in facts.snapshot.watches if each.name == key[0]), None)


def _of_figure(key: Key, says: Verdict | None, value: float | None, text: str) -> Measured:
    watch, figure = key
    labels = {"figure": figure} | ({"link": link(figure)} if link(figure) else {})
    return Measured(f"{watch}/{figure}"[:LONGEST_KEY], watch, figure, says, value, text, labels)


def _threshold(key: Key, spec: Mapping[str, Any], facts: Facts) -> Measured:
    value, above = _now(key, facts), spec["direction"] == "above"
    side = "at or above" if above else "at or below"
    text = f"{key[1]} is {written(key[1], value)}; {side} {written(key[1], spec['fire'])} it fires"
    return _of_figure(key, verdict(value, spec["fire"], spec["clear"], above), value, text)


def _rate(key: Key, spec: Mapping[str, Any], facts: Facts) -> Measured:
    now_ms, value = facts.snapshot.ts_ms, _now(key, facts)
    then = facts.courses.then(key, now_ms - round(spec["over_s"] * 1000))
    change, is_ratio = None, spec["measure"] == "ratio"
    if value is not None and then is not None:
        change = value - then if not is_ratio else value / then if then > 0 else None
    says = verdict(change, spec["fire"], spec["clear"], spec["direction"] == "above")
    what = f"{change:.3g} times" if is_ratio and change is not None else written(key[1], change)
    text = f"{key[1]} is {written(key[1], value)}, {duration(spec['over_s'])} ago {written(key[1], then)}: {what}"
    return _of_figure(key, says, change, text)


def _forecast(key: Key, spec: Mapping[str, Any], facts: Facts) -> Measured:
    """The value is that of the line now or at the horizon, whichever is further."""
    now, above = _now(key, facts), spec["direction"] == "above"
    course = facts.courses.of(key, facts.snapshot.ts_ms, spec["over_s"])
    line = None if now is None else trend(*_means(course), spec["over_s"])
    if line is None:
        return _of_figure(key, None, None, f"{key[1]}: not enough of its course is known")
    ends = line.level, line.after(spec["within_s"])
    value = max(ends) if above else min(ends)
    text = f"{key[1]} is {written(key[1], now)}; at the trend of the last {duration(spec['over_s'])} it "
    text += _reached(key, now, spec, line) or f"is {written(key[1], value)} in {duration(spec['within_s'])}"
    return _of_figure(key, verdict(value, spec["fire"], spec["clear"], above), value, text)


def _reached(key: Key, now: float | None, spec: Mapping[str, Any], line: Trend) -> str:
    """When a trend reaches the level that fires; empty where it does not within the horizon."""
    figure, side = key[1], 1 if spec["direction"] == "above" else -1
    far, slope = (spec["fire"] - line.level) * side, line.slope_per_s * side
    if far <= 0 or (now is not None and (spec["fire"] - now) * side <= 0):
        return f"is beyond {written(figure, spec['fire'])} already"
    if slope <= 0 or far / slope > spec["within_s"]:
        return ""
    return f"reaches {written(figure, spec['fire'])} in {duration(far / slope)}"


def _means(course: tuple[Array, Array], most: int = 120) -> tuple[Array, Array]:
    """No more points than pairs of them are quick to look at."""
    at_s, values = course
    if at_s.size <= most:
        return course
    step = -(-at_s.size // most)
    return at_s[::-step][::-1], values[::-step][::-1]


_READ = {"threshold": _threshold, "rate": _rate, "forecast": _forecast}

# --- advice ------------------------------------------------------------------------------------------------------


def _advice(watch: WatchNow, spec: Mapping[str, Any]) -> Measured:
    advice = watch.advice
    ratio = _ratio(watch, advice)
    others = list(_other_instances(watch, advice)) if spec["instances"] else []
    says = verdict(ratio, spec["fire"], spec["clear"])
    if others:
        says = "fire"
    elif ratio is None and spec["instances"] and _knows_instances(watch, advice):
        says = "clear"
    text = _of_advice(watch, advice, ratio, others)
    return Measured(f"{watch.name}/{ADVICE}", watch.name, ADVICE, says, ratio, text, {"figure": ADVICE})


def _ratio(watch: WatchNow, advice: AdviceNow | None) -> float | None:
    """The greater of t and recommended t over the other."""
    if advice is None or not advice.is_valid:
        return None
    current, recommended = watch.threshold_tokens.value, advice.threshold_tokens
    if not current or not recommended or min(current, recommended) <= 0:
        return None
    return max(current / recommended, recommended / current)


def _instances(watch: WatchNow) -> dict[str, float]:
    return {each.role: each.instances.value for each in watch.roles if each.instances.value is not None}


def _other_instances(watch: WatchNow, advice: AdviceNow | None) -> Iterator[str]:
    if advice is None or not advice.is_valid:
        return
    current = _instances(watch)
    for role, wanted in advice.instances.items():
        if role in current and round(current[role]) != wanted:
            yield f"{wanted} instances of {role} instead of {current[role]:g}"


def _knows_instances(watch: WatchNow, advice: AdviceNow | None) -> bool:
    return advice is not None and advice.is_valid and any(role in _instances(watch) for role in advice.instances)


def _of_advice(watch: WatchNow, advice: AdviceNow | None, ratio: float | None, others: list[str]) -> str:
    if advice is None or not advice.is_valid:
        return "nothing is recommended: " + ("; ".join(advice.problems) if advice else "no advice")
    parts = [*others]
    if ratio is not None:
        parts.insert(0, f"t {advice.threshold_tokens:,.0f} instead of {watch.threshold_tokens.value:,.0f}")
    return f"recommended is {', '.join(parts) or 'what is in force'}: {advice.sentence}"


# --- SLO, sources ------------------------------------------------------------------------------------------------


def _burn(watch: WatchNow, spec: Mapping[str, Any], facts: Facts) -> Measured:
    burn = facts.burns(watch.name, spec, facts.snapshot.ts_ms)
    key, labels = f"{watch.name}/burn", {"figure": TTFT}
    slo = f"{100 * spec['target']:.4g} % of TTFT within {duration(spec['slo_s'])}"
    if burn is None:
        return Measured(key, watch.name, TTFT, None, None, f"{slo}: no requests are known", labels)
    windows = {name: (long_s, short_s) for name, long_s, short_s in kinds.WINDOWS_S}[burn.pair]
    rates = f"{burn.long:.3g} times over {duration(windows[0])} and {burn.short:.3g} times over {duration(windows[1])}"
    text = f"{slo}: its budget burns {rates}; from {spec[burn.pair]:g} on both it fires"
    return Measured(key, watch.name, TTFT, verdict(burn.value, 1.0, spec["clear"]), burn.value, text, labels)


def _source(source: SourceNow) -> Measured:
    age_s = None if source.age_ms is None else source.age_ms / 1000
    says: Verdict = "fire" if source.state in LOST else "clear"
    seen = "never" if age_s is None else f"{duration(age_s)} ago"
    text = f"source {source.name} was seen last {seen}" + (f": {source.problem}" if source.problem else "")
    labels = {"source": source.name} | {name: value for name, value in source.labels.items() if name != "source"}
    return Measured(f"source/{source.name}", "", "", says, age_s, text, labels)
