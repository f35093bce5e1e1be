"""The recommendation of every watch, as the one object that the ticker of the leading process calls once a second."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from django.db import DatabaseError

from monitoring.live.messages import AdviceNow, Snapshot, WatchNow
from monitoring.models import Recommendation, Watch
from monitoring.recommending import auditing, samples, saying
from monitoring.recommending.drifting import Drifts
from monitoring.recommending.observing import Feed, feed, plain
from monitoring.recommending.saying import FAILED, NO_SCENARIO, Problem
from monitoring.recommending.scenarios import Scenarios
from planner.engine.advice import Advice, Objective, Observed, Options, Remembered, advise
from planner.engine.deployment import Deployment
from planner.watched import Unusable, Watched

logger = logging.getLogger(__name__)

FORGOTTEN_MS = 5_000
"""After so long without a call another process may have led: what it remembers counts, not what we do."""
CARRIED_MS = 15 * 60_000
"""What was remembered before is older than anything the rule waits for."""
EXPIRE_EVERY_MS = 10 * 60_000
LOGGED_EVERY_S = 60.0


class Advise(Protocol):
    """See planner.engine.advice.advise."""

    def __call__(
        self, deployment: Deployment, observed: Observed, options: Options, remembered: Remembered
    ) -> tuple[Advice, Remembered]: ...


type _Found = tuple[AdviceNow, auditing.Entry, Remembered | None]


@dataclass(slots=True)
class _Carried:
    """What is remembered of a watch from second to second."""

    at_ms: int
    remembered: Remembered = field(default_factory=Remembered)
    last: Recommendation | None = None


class Recommender:
    """One a process; only the one that leads is called."""

    def __init__(self, scenarios: Scenarios | None = None, rule: Advise = advise) -> None:
        self._scenarios = scenarios or Scenarios()
        self._rule = rule
        self._drifts = Drifts()
        self._samples = samples.Writing()
        self._carried: dict[int, _Carried] = {}
        self._expired_ms = self._logged_s = -math.inf

    def __call__(self, snapshot: Snapshot) -> None:
        """Puts an advice beside each watch that names a scenario; writes the audit log and samples. Never raises."""
        for each in snapshot.watches:
            each.advice = None
        try:
            watches = {each.name: each for each in Watch.objects.all()}
        except DatabaseError as problem:
            self._log("Nothing is recommended: %s", problem)
            return
        for now in snapshot.watches:
            watch = watches.get(now.name)
            if watch is not None and now.scenario:
                self._recommend(now, watch, snapshot.ts_ms)
        self._quietly(lambda: self._samples(snapshot), "Recommendations are not kept as samples: %s")
        if snapshot.ts_ms - self._expired_ms >= EXPIRE_EVERY_MS:
            self._expired_ms = snapshot.ts_ms
            self._quietly(lambda: auditing.expire(snapshot.ts_ms), "Old recommendations are not deleted: %s")

    def _recommend(self, now: WatchNow, watch: Watch, ts_ms: int) -> None:
        carried = self._carry(watch, ts_ms)
        found: _Found
        try:
            found = self._advised(now, watch, ts_ms, carried.remembered)
        except Unusable as problem:
            found = _without(now, watch, ts_ms, Problem(NO_SCENARIO, str(problem)))
        except Exception as problem:  # one watch must not keep the others, nor the screen, from what they need
            self._log("The recommendation of %s failed", watch.name, exception=problem)
            said = f"it could not be computed: {type(problem).__name__}: {problem}"
            found = _without(now, watch, ts_ms, Problem(FAILED, said[:300]))
        now.advice, entry, remembered = found
        if remembered is not None:
            carried.remembered = remembered
        carried.at_ms = ts_ms
        entry.carried = {} if remembered is None else remembered._asdict()
        self._quietly(lambda: _audit(watch, entry, carried), "The audit log of recommendations is not written: %s")

    def _advised(self, now: WatchNow, watch: Watch, ts_ms: int, before: Remembered) -> _Found:
        """Raises Unusable, and whatever the engine does."""
        scenario = self._scenarios.get(now.scenario, ts_ms)
        fed = feed(now, ts_ms, scenario.link_bps)
        options = options_of(watch, scenario)
        advice, remembered = self._rule(scenario.deployment, fed.observed, options, before)
        found = saying.problems(advice, fed, options)
        drift = self._drifts.of(watch, scenario, ts_ms)
        told = saying.told(advice, found, fed, drift)
        return told, _entry(told, found, fed, options, scenario), remembered

    def _carry(self, watch: Watch, ts_ms: int) -> _Carried:
        """What this process remembers; where it was not called for a while, what was written last, by whichever."""
        known = self._carried.get(watch.pk)
        if known is None or not 0 <= ts_ms - known.at_ms <= FORGOTTEN_MS:
            known = self._carried[watch.pk] = _Carried(ts_ms, *_written(watch, ts_ms))
        return known

    def _quietly(self, function: Callable[[], Any], said: str) -> None:
        """What is written beside the advice must not keep viewers from it."""
        try:
            function()
        except DatabaseError as problem:
            self._log(said, problem)

    def _log(self, said: str, *given: object, exception: Exception | None = None) -> None:
        """Once a minute: what fails every second fails for the same reason."""
        if time.monotonic() - self._logged_s >= LOGGED_EVERY_S:
            self._logged_s = time.monotonic()
            logger.warning(said, *given, exc_info=exception)


def options_of(watch: Watch, scenario: Watched) -> Options:
    """How the operator wants to be advised. Raises ValueError on a headroom out of range."""
    return Options(objective=Objective(watch.objective), headroom=watch.headroom, circumstances=scenario.circumstances)


def _written(watch: Watch, ts_ms: int) -> tuple[Remembered, Recommendation | None]:
    try:
        last = auditing.latest(watch.name)
    except DatabaseError:
        return Remembered(), None
    if last is None or not last.carried or not 0 <= ts_ms - last.at_ms <= CARRIED_MS:
        return Remembered(), last
    return restored(last.carried), last


def restored(carried: dict[str, Any]) -> Remembered:
    """What was remembered, as JSON has kept it: without infinities, and perhaps by another version."""
    known: dict[str, Any] = {name: carried[name] for name in Remembered._fields if carried.get(name) is not None}
    found: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in known.items()}
    return Remembered(**found)


def _audit(watch: Watch, entry: auditing.Entry, carried: _Carried) -> None:
    if auditing.is_due(entry, carried.last):
        carried.last = auditing.write(watch.name, entry)


def _entry(told: AdviceNow, found: list[Problem], fed: Feed, options: Options, scenario: Watched) -> auditing.Entry:
    chosen = asdict(options)
    chosen["circumstances"] = repr(options.circumstances)
    inputs = {
        **fed.as_json(),
        "options": chosen,
        "scenario": scenario.name,
        "scenario_revision": scenario.revision,
        "drift": [{"what": each.what, "ratio": each.ratio, "is_off": each.is_off} for each in told.drift],
    }
    problems = [asdict(each) for each in found]
    current, recommended = saying.current_as_json(told, fed), saying.as_json(told)
    return auditing.Entry(told.at_ms, told.reason, told.sentence, problems, current, recommended, plain(inputs))


def _without(now: WatchNow, watch: Watch, ts_ms: int, problem: Problem) -> _Found:
    """What is told where the engine could not even be asked."""
    told = saying.nothing(ts_ms, watch.objective, [problem])
    inputs = {"scenario": now.scenario}
    current = saying.current_as_json(told, None)
    return told, auditing.Entry(ts_ms, told.reason, told.sentence, [asdict(problem)], current, {}, inputs), None
