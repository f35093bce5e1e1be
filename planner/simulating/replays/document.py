"""From a request to a replay that cannot be wrong: the window as it was, and each policy as a simulation of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from planner.documents import paths
from planner.documents.copying import copied
from planner.documents.errors import DocumentError, FieldError, from_validation, refuse
from planner.documents.fields import fields_by_place
from planner.documents.plain import require_plain
from planner.scenario.document import override
from planner.scenario.references import Catalogue
from planner.simulating import document as simulations
from planner.simulating.replays import policies
from planner.simulating.replays.policies import Changes
from planner.simulating.replays.schema import MOST_REPLICATIONS, MOST_REQUESTS, Policy, Replay

AS_IT_WAS, AS_IT_WAS_TITLE = "as_it_was", "As it was"
SCENARIO = "scenario."
TRIED = {"kind": "user", "source": "tried in a replay"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A simulation of the window; `policy` None: as it was."""

    name: str
    title: str
    policy: Policy | None
    changes: Changes


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked replay: `raw` is complete, `base` the window as it was; the first variant is that."""

    replay: Replay
    raw: dict[str, Any]
    base: simulations.Asked
    variants: tuple[Variant, ...]

    def frozen(self) -> dict[str, Any]:
        """The input of a job that runs it."""
        return {"replay": self.raw, "form": "exact"}


def parse(document: Mapping[str, Any], catalogue: Catalogue) -> Asked:
    """A replay whose names stand in `catalogue`; every policy of it can be simulated. Raises DocumentError."""
    require_plain(document)
    raw = copied(dict(document))
    try:
        replay = Replay.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(Replay)) from problem
    base = _base(replay, catalogue)
    if found := [
        error for at, each in enumerate(replay.policies) for error in policies.mistakes(each, base, replay, at)
    ]:
        raise DocumentError(found)
    told = [policies.filled(each, base, replay.headroom) for each in replay.policies]
    raw |= {"simulation": base.raw, "policies": [each.model_dump() for each in told]}
    asked = loaded(raw)
    _require_runnable(asked)
    return asked


def loaded(raw: Mapping[str, Any]) -> Asked:
    """A frozen replay again."""
    replay = Replay.model_validate(dict(raw))
    base = simulations.loaded(replay.simulation)
    return Asked(replay, dict(raw), base, tuple(_variants(replay, base)))


def simulation(asked: Asked, variant: Variant) -> simulations.Asked:
    """A variant as a simulation. Raises DocumentError where it is none."""
    raw = copied(asked.base.raw)
    for path, value in variant.changes.items():
        if path.startswith(SCENARIO):
            override(raw["scenario"], path.removeprefix(SCENARIO), value, TRIED)
        else:
            paths.put(raw, path, value)
    return simulations.loaded(raw)


def parts(asked: Asked) -> list[dict[str, Any]]:
    """The inputs of the jobs that the replications are: the first of every variant, then the second, and so on."""
    frozen = [simulation(asked, variant).frozen() for variant in asked.variants]
    return [each | {"index": index} for index in range(asked.base.run.replications) for each in frozen]


def _base(replay: Replay, catalogue: Catalogue) -> simulations.Asked:
    try:
        return simulations.parse(replay.simulation, catalogue)
    except DocumentError as problem:
        told = [FieldError(f"simulation.{each.field}", each.value, each.message) for each in problem.told]
        raise DocumentError(told, problem.more) from problem


def _variants(replay: Replay, base: simulations.Asked) -> Iterator[Variant]:
    yield Variant(AS_IT_WAS, AS_IT_WAS_TITLE, None, {})
    for number, policy in enumerate(replay.policies, 1):
        title = policies.title(policy)
        yield Variant(
            policy.name or f"policy_{number}", title, policy, policies.changes(policy, base, replay.recommended)
        )


def _require_runnable(asked: Asked) -> None:
    """Raises DocumentError where there is too much of it, and on policies that make no simulation."""
    many, each = len(asked.variants), asked.base.run.replications
    if many * each > MOST_REPLICATIONS:
        said = f"makes {many * each:,} with {many} simulations; take at most {MOST_REPLICATIONS // many}"
        raise refuse("simulation.replications", each, said)
    requests = many * each * asked.base.run.requests
    if requests > MOST_REQUESTS:
        said = f"makes {requests:,} with {each} replications of {many} simulations; at most {MOST_REQUESTS:,}"
        raise refuse("simulation.requests", asked.base.run.requests, said)
    wrong = [error for at, variant in enumerate(asked.variants[1:]) for error in _wrong(asked, variant, at)]
    if wrong:
        raise DocumentError(wrong)


def _wrong(asked: Asked, variant: Variant, at: int) -> Iterator[FieldError]:
    """Why a policy cannot be simulated: told of its field, where it has one of that name."""
    try:
        simulation(asked, variant)
    except DocumentError as problem:
        for error in problem.told:
            last = (error.field or "").rpartition(".")[2]
            place = last if last in Policy.model_fields else "policy"
            yield FieldError(f"policies.{at}.{place}", error.value, error.message)
