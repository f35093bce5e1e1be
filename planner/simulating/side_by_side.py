"""Simulations side by side: any number of them, each with a scenario of its own, as one job whose parts are their
replications."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from planner.documents.copying import copied
from planner.documents.errors import DocumentError, FieldError, from_validation, refuse
from planner.documents.fields import Table, fields_by_place
from planner.documents.plain import require_plain
from planner.scenario.references import Catalogue
from planner.simulating import document as simulations
from planner.simulating import plain, result

MOST_RUNS = 40
MOST_REPLICATIONS = 1000
"""Of all runs together."""
LONGEST_NAMES = 200


class SideBySide(Table):
    """What is simulated; each of `runs` is a simulation, complete once it has been read."""

    schema_version: Literal[1] = 1
    runs: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_RUNS)]


@dataclass(frozen=True, slots=True)
class Asked:
    """Checked simulations in their order; `raw` is complete."""

    raw: dict[str, Any]
    runs: tuple[simulations.Asked, ...]

    @property
    def names(self) -> str:
        """The scenarios, each once; as short as the name of a job must be."""
        found = list(dict.fromkeys(run.scenario.name for run in self.runs))
        text = ", ".join(found)
        return text if len(text) <= LONGEST_NAMES else f"{found[0]} and {len(found) - 1} more"

    @property
    def digest(self) -> str:
        """The same for the same simulations, by which a job that has run them is found."""
        text = json.dumps(self.raw, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def frozen(self) -> dict[str, Any]:
        """The input of a job that runs them."""
        return {"side_by_side": self.raw, "form": "exact", "digest": self.digest}


def parse(document: Mapping[str, Any], catalogue: Catalogue) -> Asked:
    """Simulations whose names stand in `catalogue`. Raises DocumentError, with paths like `runs.0.load`."""
    require_plain(document)
    raw = copied(dict(document))
    try:
        given = SideBySide.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(SideBySide)) from problem
    runs = _parsed(given.runs, catalogue)
    replications = sum(run.run.replications for run in runs)
    if replications > MOST_REPLICATIONS:
        raise refuse("runs", None, f"have {replications:,} replications together; at most {MOST_REPLICATIONS:,}")
    return Asked({"schema_version": given.schema_version, "runs": [run.raw for run in runs]}, runs)


def loaded(raw: Mapping[str, Any]) -> Asked:
    """Frozen simulations again."""
    return Asked(dict(raw), tuple(simulations.loaded(run) for run in raw["runs"]))


def parts(asked: Asked) -> list[dict[str, Any]]:
    """The inputs of the jobs that the replications are: the first of every run, then the second, and so on, so that
    all are seen early and become exact."""
    return [asked.runs[at].frozen() | {"index": index} for at, index in _order(asked)]


def merged(asked: Asked, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The result of a job from its parts' results, in the order of `parts`: that of each run by itself."""
    replications: list[list[Mapping[str, Any]]] = [[] for _ in asked.runs]
    for (at, _), part in zip(_order(asked), found, strict=True):
        replications[at].append(part)
    return {
        "runs": [
            result.document(run, [plain.from_json(part) for part in own])
            for run, own in zip(asked.runs, replications, strict=True)
        ]
    }


def _order(asked: Asked) -> list[tuple[int, int]]:
    """Each part's run and its index among the replications of that run."""
    each = [run.run.replications for run in asked.runs]
    return [(at, index) for index in range(max(each)) for at, count in enumerate(each) if index < count]


def _parsed(runs: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> tuple[simulations.Asked, ...]:
    """Each run. Raises DocumentError with the mistakes of all of them."""
    found, more = [], 0
    wrong: list[FieldError] = []
    for number, run in enumerate(runs):
        try:
            found.append(simulations.parse(run, catalogue))
        except DocumentError as problem:
            wrong += _inside(number, problem)
            more += problem.more
    if wrong:
        raise DocumentError(wrong, more)
    return tuple(found)


def _inside(number: int, problem: DocumentError) -> Iterator[FieldError]:
    place = f"runs.{number}"
    for error in problem.told:
        yield FieldError(f"{place}.{error.field}" if error.field else place, error.value, error.message)
