"""Rows that nothing is planned on: requests that failed, and those of models that were not chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from planner.importers.base import Assumption, Choices, Mapped
from planner.importers.tables import quoted
from planner.importers.traces.roles import flat

STATUS = frozenset(
    {"status", "statuscode", "httpstatus", "httpstatuscode", "requeststatus", "responsestatus", "responsecode"}
)
ERROR = frozenset({"error", "errors", "errorcode", "errormessage", "errortype", "iserror", "haserror", "failed"})
SUCCESS = frozenset({"success", "succeeded", "successful", "issuccess", "issuccessful", "ok"})
MODEL, EVERY = "model", "all"
MOST_NAMES = 20
"""Values of a column that are remembered for what is told of it."""
_NO = frozenset({"false", "no", "n", "f", "0", "0.0"})
_YES = frozenset({"true", "yes", "y", "t", "1", "1.0"})
_NOTHING = frozenset({"", "none", "null", "nan", "na", "n/a", "-", "[]", "{}"})
_GOOD = re.compile(r"ok|success|succe+ded|complete|finish|done|true")
_BAD = re.compile(
    r"fail|err|cancel|abort|time.?d?.?out|reject|refus|disconnect|drop|exceed|throttl|false|exception"
    r"|incomplete|un(finish|success)|not.?(ok|success|complete|finish)"
)


class Sieve:
    """Judges rows by the columns of a file that speak of success, and by its model."""

    def __init__(self, names: Sequence[str], samples: Sequence[str], choices: Choices) -> None:
        """`names` of the columns that are nothing else; `samples` are models of the first rows."""
        self._judges = {name: judge for name in names for known, judge in JUDGES.items() if flat(name) in known}
        self._model = model_column(names)
        self._wanted = choices.get(MODEL, EVERY)
        self._met: dict[str, None] = {}
        self._unclear: dict[str, dict[str, None]] = {}
        self.columns = (*self._judges, *([self._model] if self._model else []))
        several = list(dict.fromkeys(samples))[:MOST_NAMES]
        self.assumptions: tuple[Assumption, ...] = ()
        if self._model and (len(several) > 1 or MODEL in choices):
            text = "requests of this model alone are read; those of several models have other lengths"
            self.assumptions = (Assumption(MODEL, self._wanted, text, (EVERY, *several)),)

    @property
    def mapping(self) -> tuple[Mapped, ...]:
        """What the columns are for."""
        failed = [Mapped(name, "", "failed requests are left out") for name in self._judges]
        return (*failed, *([Mapped(self._model, "", f"of {self._wanted} requests")] if self._model else []))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was met that the user should know."""
        found = [
            f"{name} has {quoted(values, 5)}, which says neither success nor failure: such requests are kept"
            for name, values in self._unclear.items()
        ]
        if self._wanted == EVERY and len(self._met) > 1:
            found.append(
                f"requests of several models are read as one traffic: {quoted(sorted(self._met), MOST_NAMES - 1)}"
            )
        return tuple(found)

    def reason(self, column: str, text: str) -> str:
        """Why a request with this cell is left out; empty where it is not."""
        text = text.strip()
        if column == self._model:
            _remember(self._met, text)
            return "" if self._wanted in (EVERY, text) else f"of another model than {self._wanted}"
        failed = self._judges[column](text.lower())
        if failed is None:
            _remember(self._unclear.setdefault(column, {}), text)
        return f"that failed, by {column}" if failed else ""

    def first_reason(self, row: Mapping[str, Any]) -> str:
        """The same of a whole row."""
        return next((why for name in self.columns if (why := self.reason(name, written(row.get(name))))), "")


def model_column(names: Sequence[str]) -> str | None:
    """The column that names a model."""
    return next((name for name in names if flat(name) in ("model", "modelname")), None)


def written(value: Any) -> str:
    """A value of a JSON object as a cell."""
    if value is None or value in ([], {}):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _status(text: str) -> bool | None:
    """Whether a status or its code is one of failure; None where it says neither."""
    if text in _NOTHING:
        return False
    if re.fullmatch(r"[1-5]\d\d(\.0)?", text, re.ASCII):
        return not text.startswith("2")
    if _BAD.search(text):
        return True
    return False if _GOOD.search(text) else None


def _error(text: str) -> bool:
    return text not in _NOTHING | _NO


def _success(text: str) -> bool | None:
    if text in _NOTHING | _YES:
        return False
    return True if text in _NO else _status(text)


JUDGES = {STATUS: _status, ERROR: _error, SUCCESS: _success}


def _remember(values: dict[str, None], text: str) -> None:
    if len(values) < MOST_NAMES:
        values[text] = None
