"""The alerts of a snapshot: evaluated once a second by the process that leads, from rows that any other goes on with.

Each change of a row is a conditional update whose count is looked at: what two processes do at the same time, one does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.db import DatabaseError, IntegrityError, transaction

from monitoring.alerts import globs, kinds, notes, outbox, rules, silences
from monitoring.alerts.burning import Burning
from monitoring.alerts.courses import Courses, Key
from monitoring.alerts.judging import OK, State, advance
from monitoring.alerts.measuring import Asked, Facts, Measured, looked_at, measured
from monitoring.alerts.resting import Resting, lost
from monitoring.live.messages import AlertNow, Snapshot
from monitoring.models import Alert, AlertRule, Silence

logger = logging.getLogger(__name__)

WRITTEN_EVERY_MS = 15_000
"""The value and text of an alert that goes on are written no more often than this."""
NO_DATA_NOW = "; no data now"
LOOK_BACK = ("rate", "forecast")
"""Kinds that need to know how a figure went."""

type Open = dict[tuple[int, str], Alert]
"""Alerts that are pending or fire, by rule and key."""


class Alerting:
    """Called with each snapshot, in a thread that may ask the database; fills its alerts and notes."""

    def __init__(self) -> None:
        self._courses, self._burning, self._resting = Courses(), Burning(), Resting()
        self._seen: dict[int, dict[Key, None]] = {}
        self._lost: frozenset[str] = frozenset()

    def __call__(self, snapshot: Snapshot) -> None:
        """Never raises: what is wrong with a rule is told by the rule, of the database by the log."""
        try:
            self._evaluate(snapshot)
        except DatabaseError as problem:
            logger.warning("Alerts cannot be evaluated: %s", problem)
        except Exception:
            logger.exception("Alerts cannot be evaluated")

    def _evaluate(self, snapshot: Snapshot) -> None:
        now_ms = snapshot.ts_ms
        enabled = list(AlertRule.objects.filter(enabled=True))
        opened: Open = {(row.rule_id or 0, row.key): row for row in Alert.objects.exclude(state=Alert.State.RESOLVED)}
        self._look_back(enabled, snapshot)
        self._lost = told_of(enabled, snapshot)
        texts: dict[int, Measured] = {}
        for rule in enabled:
            self._rule(rule, snapshot, opened, texts)
        known = {rule.pk for rule in enabled}
        _end(opened, {place for place in opened if place[0] not in known}, now_ms)
        silenced = silences.active(now_ms)
        outbox.fill(opened.values(), silenced, now_ms)
        snapshot.alerts = [_shown(row, texts.get(row.pk), silenced) for row in _in_order(opened.values())]
        snapshot.notes = notes.latest()

    def _look_back(self, enabled: Iterable[AlertRule], snapshot: Snapshot) -> None:
        """Keeps the course of the figures whose rules need it."""
        facts = Facts(snapshot, self._courses, self._burning.burn)
        points = {watch.name: watch.points for watch in snapshot.watches}
        wanted: dict[Key, float | None] = {}
        for rule in enabled:
            if rule.kind in LOOK_BACK:
                for watch, figure in looked_at(_asked(rule), facts):
                    wanted[watch, figure] = points[watch].get(figure)
        self._courses.note(snapshot.ts_ms, wanted)

    def _rule(self, rule: AlertRule, snapshot: Snapshot, opened: Open, texts: dict[int, Measured]) -> None:
        """One rule; what is wrong with it harms no other."""
        problem, now_ms = "", snapshot.ts_ms
        try:
            facts = Facts(snapshot, self._courses, self._burning.burn, self._seen_of(rule, opened))
            found = measured(_asked(rule), facts)
            seen = self._seen.setdefault(rule.pk, {})
            seen |= {(each.watch, each.figure): None for each in found if each.says is not None}
            for each in found:
                if row := self._step(rule, each, now_ms, opened):
                    texts[row.pk] = each
            _end(opened, {place for place in opened if place[0] == rule.pk} - {(rule.pk, e.key) for e in found}, now_ms)
        except DatabaseError:
            raise
        except Exception as wrong:
            problem = f"{type(wrong).__name__}: {wrong}"[:300]
            if problem != rule.problem:  # told once, not each second
                logger.exception("Rule %s cannot be evaluated", rule.name)
        if problem != rule.problem:
            AlertRule.objects.filter(pk=rule.pk).update(problem=problem)

    def _seen_of(self, rule: AlertRule, opened: Open) -> list[Key]:
        """Figures that were there before, by this process or by what still is an alert."""
        rows = [(row.watch, row.figure) for (rule_id, _), row in opened.items() if rule_id == rule.pk and row.figure]
        return [*self._seen.get(rule.pk, ()), *rows]

    def _step(self, rule: AlertRule, each: Measured, now_ms: int, opened: Open) -> Alert | None:
        """Takes an alert on by one reading; its row, if it is pending or fires."""
        place = rule.pk, each.key
        row = opened.get(place)
        before = OK if row is None else state_of(row)
        is_suppressed = each.says is None and self._is_suppressed(each, now_ms)
        after = advance(before, each.says, rules.policy(rule), now_ms, is_suppressed)
        row = changed(row, rule, each, (before, after), now_ms)
        if row is None:
            opened.pop(place, None)
        else:
            opened[place] = row
        return row

    def _is_suppressed(self, each: Measured, now_ms: int) -> bool:
        """Whether no data is the fault of a source of whose loss an alert tells."""
        return self._resting.on_any(self._lost, each.watch, each.figure, now_ms)


def told_of(enabled: Iterable[AlertRule], snapshot: Snapshot) -> frozenset[str]:
    """The sources that are lost and of whose loss some rule tells: what they do not tell is no news."""
    gone = lost(snapshot.sources)
    patterns = [_asked(rule).spec["source"] for rule in enabled if rule.kind == AlertRule.Kind.SOURCE] if gone else []
    return frozenset(name for name in gone if any(globs.matches(pattern, name) for pattern in patterns))


def _asked(rule: AlertRule) -> Asked:
    return Asked(rule.kind, rule.watch, {**kinds.defaults(rule.kind), **rule.spec})


def state_of(row: Alert) -> State:
    """As it is stored."""
    return State(row.state, row.reason, row.since_ms, row.blind_ms)  # type: ignore[arg-type]


# --- rows --------------------------------------------------------------------------------------------------------


def changed(
    row: Alert | None, rule: AlertRule, each: Measured, states: tuple[State, State], now_ms: int
) -> Alert | None:
    """Writes what has changed; the row that there is then. A resolved one stays as history, a pending one goes."""
    before, after = states
    is_anew = row is not None and before.reason != after.reason and before.phase == "firing"
    if row is not None and (after.phase == "ok" or is_anew):
        ended(row, now_ms)
        row = None
    if after.phase == "ok":
        return None
    if row is None:
        row = _begun(rule, each, now_ms)
        before = OK
    if row is not None and before != after:
        return _moved(row, before, after, each, now_ms)
    if row is not None and now_ms - row.seen_ms >= WRITTEN_EVERY_MS:
        _write(row, each, now_ms)
    return row


def _begun(rule: AlertRule, each: Measured, now_ms: int) -> Alert | None:
    """A new pending row; None where another process was quicker."""
    row = Alert(
        rule=rule,
        rule_name=rule.name,
        key=each.key[:250],
        watch=each.watch,
        figure=each.figure[:150],
        state=Alert.State.PENDING,
        severity=rule.severity,
        labels=labels_of(rule, each),
        runbook=rule.runbook,
        runbook_url=rule.runbook_url,
        since_ms=now_ms,
        seen_ms=now_ms,
    )
    row.value, row.text = each.value, said(each, row)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return None
    return row


def labels_of(rule: AlertRule, each: Measured) -> dict[str, str]:
    """By which an alert is found, silenced and routed."""
    own = {"alertname": rule.name, "severity": rule.severity} | ({"watch": each.watch} if each.watch else {})
    return {**rule.labels, **each.labels, **own}


def _moved(row: Alert, before: State, after: State, each: Measured, now_ms: int) -> Alert | None:
    """The row in its next state, with what follows from that; None where another process has moved it."""
    is_fired = after.phase == "firing" and row.state != Alert.State.FIRING
    there = Alert.objects.filter(pk=row.pk, state=row.state)
    row.state, row.reason, row.since_ms, row.blind_ms = after.phase, after.reason, after.since_ms, after.blind_ms
    row.value, row.text, row.seen_ms = value(each, row), said(each, row), now_ms
    fields = ["state", "reason", "since_ms", "blind_ms", "value", "text", "seen_ms"]
    if is_fired:
        row.fired_ms = now_ms
        fields.append("fired_ms")
    with transaction.atomic():
        if there.update(**{field: getattr(row, field) for field in fields}) != 1:
            return None
        if is_fired:
            notes.fired(row)
            outbox.fired(now_ms)
    return row


def _write(row: Alert, each: Measured, now_ms: int) -> None:
    row.value, row.text, row.seen_ms = value(each, row), said(each, row), now_ms
    Alert.objects.filter(pk=row.pk, state=row.state).update(value=row.value, text=row.text, seen_ms=now_ms)


def said(each: Measured, row: Alert) -> str:
    """What is said of an alert; of one that goes on without data what was said last."""
    if row.reason == "no_data":
        return f"no data: {each.text}"[:500]
    if each.says is None and row.text:
        return row.text.removesuffix(NO_DATA_NOW)[: 500 - len(NO_DATA_NOW)] + NO_DATA_NOW
    return each.text[:500]


def value(each: Measured, row: Alert) -> float | None:
    """Of an alert; of one that goes on without data the last one."""
    return row.value if each.says is None and row.reason == "value" else each.value


def ended(row: Alert, now_ms: int) -> None:
    """It holds no longer: one that fired is resolved, one that was pending leaves nothing."""
    there = Alert.objects.filter(pk=row.pk, state=row.state)
    if row.state == Alert.State.PENDING:
        there.delete()
        return
    with transaction.atomic():
        if there.update(state=Alert.State.RESOLVED, resolved_ms=now_ms) == 1:
            notes.resolved(row.pk, now_ms)
            outbox.resolved(row, now_ms)


def _end(opened: Open, places: Iterable[tuple[int, str]], now_ms: int) -> None:
    """Ends what no rule looks at any more: it was changed or taken away, or the watch, or the source."""
    for place in places:
        ended(opened.pop(place), now_ms)


# --- what viewers get --------------------------------------------------------------------------------------------

ORDER = {"critical": 0, "warning": 1, "info": 2}


def _in_order(rows: Iterable[Alert]) -> list[Alert]:
    """What fires first, the worst first, then the oldest."""
    return sorted(rows, key=lambda row: (row.state != "firing", ORDER.get(row.severity, 3), row.since_ms, row.pk))


def _shown(row: Alert, each: Measured | None, silenced: list[Silence]) -> AlertNow:
    return AlertNow(
        id=row.pk,
        rule=row.rule_name,
        state=row.state,  # type: ignore[arg-type]
        severity=row.severity,
        since_ms=row.since_ms,
        text=said(each, row) if each else row.text,
        watch=row.watch,
        value=value(each, row) if each else row.value,
        acknowledged_by=row.acknowledged_by,
        silenced_until_ms=silences.until(silenced, row.labels),
    )
