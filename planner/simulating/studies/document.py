"""From a request to a study that cannot be wrong: each variant of it is a simulation of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
from planner.simulating.schema import Run
from planner.simulating.studies import features, quantities
from planner.simulating.studies.features import FEATURES, Changes
from planner.simulating.studies.quantities import Quantity, quantity
from planner.simulating.studies.schema import MOST_REPLICATIONS, Study, Value

SCENARIO = "scenario."
VARIED = {"kind": "user", "source": "varied in a study"}
AS_GIVEN = "as_given"
ANY_LOAD = 0.5
"""Of a simulation whose load is what is varied, and which therefore need not say it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A simulation that is changed; `value` is that of what a sweep varies."""

    name: str
    title: str
    changes: Changes
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked study: `raw` is complete, `base` the simulation as given."""

    study: Study
    raw: dict[str, Any]
    base: simulations.Asked
    variants: tuple[Variant, ...]

    @property
    def quantity(self) -> Quantity | None:
        """What a sweep varies."""
        return quantity(self.study.vary) if self.study.vary else None

    @property
    def baseline(self) -> int | None:
        """The variant that the others are held against: the one as given, or else the first; None where each has
        another load."""
        of = self.quantity
        if of is None:
            return 0
        return None if of.is_load else _as_given(of.given(self.base), self.study.values or [])

    def frozen(self) -> dict[str, Any]:
        """The input of a job that runs it."""
        return {"study": self.raw, "form": "exact"}


def parse(document: Mapping[str, Any], catalogue: Catalogue) -> Asked:
    """A study whose names stand in `catalogue`; every variant of it can be simulated. Raises DocumentError."""
    require_plain(document)
    raw = copied(dict(document))
    try:
        study = Study.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(Study)) from problem
    if found := list(_mistakes(study)):
        raise DocumentError(found)
    base = _base(study, catalogue)
    raw |= {"simulation": base.raw} | (_swept(study, base) if study.vary else _ablated(study, base))
    raw.pop("range", None)
    asked = loaded(raw)
    _require_runnable(asked)
    return asked


def loaded(raw: Mapping[str, Any]) -> Asked:
    """A frozen study again."""
    study = Study.model_validate(dict(raw))
    base = simulations.loaded(study.simulation)
    return Asked(study, dict(raw), base, tuple(_variants(study, base)))


def simulation(asked: Asked, variant: Variant) -> simulations.Asked:
    """A variant as a simulation. Raises DocumentError where it is none."""
    return simulations.loaded(_changed(asked, variant))


def parts(asked: Asked) -> list[dict[str, Any]]:
    """The inputs of the jobs that the replications are: the first of every variant, then the second, and so on, so
    that the whole is seen early and becomes exact."""
    frozen = [simulation(asked, variant).frozen() for variant in asked.variants]
    return [each | {"index": index} for index in range(asked.base.run.replications) for each in frozen]


def _as_given(given: Value | None, values: Sequence[Value]) -> int:
    """Where a number is among others; 0 where it is not."""
    if not isinstance(given, int | float):
        return 0
    same = (at for at, value in enumerate(values) if not isinstance(value, str) and math.isclose(value, given))
    return next(same, 0)


def _mistakes(study: Study) -> Iterator[FieldError]:
    is_sweep = study.kind == "sweep"
    if is_sweep and study.vary is None:
        yield FieldError("vary", None, f"is missing: what a sweep varies, as {', '.join(quantities.QUANTITIES)}")
    for field in ("features",) if is_sweep else ("vary", "values", "range"):
        if getattr(study, field) is not None:
            other = "an ablation" if is_sweep else "a sweep"
            yield FieldError(field, None, f"is a field of {other}, and this is a study of kind {study.kind}")
    for number, value in enumerate(study.values or ()):
        if value in (study.values or ())[:number]:
            yield FieldError(f"values.{number}", value, "is there already; give each value once")


def _base(study: Study, catalogue: Catalogue) -> simulations.Asked:
    """The simulation as given. Raises DocumentError, with paths from the study."""
    given = dict(study.simulation)
    varies_load = study.vary is not None and quantity(study.vary).is_load
    if varies_load and given.get("load") is None and given.get("rate_rps") is None:
        given["load"] = ANY_LOAD
    try:
        return simulations.parse(given, catalogue)
    except DocumentError as problem:
        raise DocumentError([_inside(error) for error in problem.told], problem.more) from problem


def _inside(error: FieldError) -> FieldError:
    place = f"simulation.{error.field}" if error.field else "simulation"
    return FieldError(place, error.value, error.message)


def _swept(study: Study, base: simulations.Asked) -> dict[str, Any]:
    of = quantity(study.vary or "")
    if not of.is_possible(base):
        raise refuse("vary", of.name, of.needs)
    _require_place(of, base)
    return {"values": quantities.values(base, of, study.values, study.range)}


def _require_place(of: Quantity, base: simulations.Asked) -> None:
    """Raises DocumentError where the path of a field leads nowhere."""
    holder, dot, _ = of.name.rpartition(".")
    try:
        if dot and not isinstance(paths.get(base.raw, holder), dict):
            raise paths.NoSuchPath(of.name, [])
    except paths.NoSuchPath as problem:
        raise refuse(
            "vary", of.name, f"leads nowhere; from there: {', '.join(problem.known) or 'nothing'}"
        ) from problem


def _ablated(study: Study, base: simulations.Asked) -> dict[str, Any]:
    """Names of the features that are turned off. Raises DocumentError on those that are not on."""
    if study.features is None:
        if found := features.on(base):
            return {"features": found}
        known = "; ".join(f"{feature.name} needs {feature.needs}" for feature in FEATURES.values())
        raise refuse("features", None, f"has nothing to turn off in this simulation: {known}")
    wrong = [error for name in study.features for error in _not_on(name, base)]
    if wrong:
        raise DocumentError(wrong)
    return {"features": list(dict.fromkeys(study.features))}


def _not_on(name: str, base: simulations.Asked) -> Iterator[FieldError]:
    if name not in FEATURES:
        yield FieldError("features", name, f"is not a feature; known: {', '.join(FEATURES)}")
    elif not FEATURES[name].is_on(base):
        yield FieldError("features", name, f"is not on in this simulation: it needs {FEATURES[name].needs}")


def _variants(study: Study, base: simulations.Asked) -> Iterator[Variant]:
    """Of a sweep one for each value; of an ablation the simulation as given, then each feature off."""
    if study.vary:
        of = quantity(study.vary)
        for value in study.values or ():
            yield Variant(str(value), f"{of.title} {value}", of.changes(base, value), value)
        return
    yield Variant(AS_GIVEN, "Everything on", {})
    for name in study.features or ():
        yield Variant(name, f"Without: {FEATURES[name].title}", FEATURES[name].off(base))


def _changed(asked: Asked, variant: Variant) -> dict[str, Any]:
    """The simulation of a variant, as a document; its rate is that of the simulation as given unless it has its own,
    since a share of Λ_max would be another rate where Λ_max is another."""
    raw = copied(asked.base.raw)
    if asked.baseline is not None:
        raw |= {"rate_rps": asked.base.experiment.rate_rps, "load": None}
    for path, value in variant.changes.items():
        if path.startswith(SCENARIO):
            override(raw["scenario"], path.removeprefix(SCENARIO), value, VARIED)
        else:
            paths.put(raw, path, value)
    return raw


def _require_runnable(asked: Asked) -> None:
    """Raises DocumentError where there is too much of it, and on values that make no simulation."""
    replications = len(asked.variants) * asked.base.run.replications
    if replications > MOST_REPLICATIONS:
        most = MOST_REPLICATIONS // len(asked.variants)
        raise refuse(
            "simulation.replications", asked.base.run.replications,
            f"makes {replications:,} of {len(asked.variants)} variants; take at most {most}, or fewer variants",
        )  # fmt: skip
    wrong = [error for variant in asked.variants for error in _wrong(asked, variant)]
    if wrong:
        raise DocumentError(wrong)


def _wrong(asked: Asked, variant: Variant) -> Iterator[FieldError]:
    """Why a variant cannot be simulated: told of its value."""
    field, value = ("features", variant.name) if variant.value is None else ("values", variant.value)
    try:
        simulation(asked, variant)
    except ValidationError as problem:
        raw = _changed(asked, variant)
        for error in from_validation(problem, raw, fields_by_place(Run)).told:
            yield FieldError(field, value, error.message)
    except DocumentError as problem:
        for error in problem.told:
            is_it = error.value is None or error.value == value
            yield FieldError(field, value, error.message if is_it else str(error))
