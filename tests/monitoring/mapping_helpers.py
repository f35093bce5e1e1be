"""Pages and readings to canonical series, in a line of a test."""

from monitoring.mapping import parse, shipped
from monitoring.mapping.compiling import compiled
from monitoring.mapping.engine import State, map_readings
from monitoring.readings import Point, Reading
from monitoring.sources.exposition import readings

TS = 1_796_000_000_000
ALL = compiled(shipped().values())


def own(*rules, **fields):
    """A compiled mapping of these rules."""
    head = {"name": "own", "version": 1, "title": "Own", "source": "a test"}
    return compiled([parse({**head, **fields, "rules": list(rules)})])


def mapped(page, labels=None, lookup=ALL, state=None, ts_ms=TS):
    """What becomes of a page: canonical series, and what is ignored."""
    found, _ = readings(page, ts_ms)
    outcome = map_readings(found, labels or {}, lookup, State() if state is None else state)
    return outcome.mapped, outcome.ignored


def values(page, labels=None, lookup=ALL, state=None, ts_ms=TS):
    """Values by signal; the signal must not come twice."""
    series, _ = mapped(page, labels, lookup, state, ts_ms)
    assert len({each.signal for each in series}) == len(series)
    return {each.signal: each.points[-1].value for each in series}


def reading(name, value, kind="counter", ts_ms=TS, labels=None, **more):
    """A reading of one point."""
    return Reading(name, labels or {}, kind, (Point(ts_ms, value),), **more)
