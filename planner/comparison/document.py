"""From a request or a stored document to a comparison that cannot be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from planner import offers, scenario
from planner.catalog import NotInCatalogue
from planner.comparison.schema import FEWEST, MOST, SCHEMA_VERSION, Comparison
from planner.documents.copying import copied
from planner.documents.errors import DocumentError, FieldError, from_validation, refuse
from planner.documents.fields import fields_by_place
from planner.documents.order import ordered
from planner.documents.plain import require_plain
from planner.documents.provenance import nearest
from planner.scenario import SHIPPED, Scenario
from planner.scenario.document import UNSTATED, complete, override
from planner.scenario.references import Catalogue
from planner.scenario.schema import Document


@dataclass(frozen=True)
class Asked:
    """A checked comparison: `raw` is complete, `scenarios` are its parts, each with the prices that hold for it."""

    comparison: Comparison
    raw: dict[str, Any]
    scenarios: tuple[Scenario, ...]

    @cached_property
    def baseline(self) -> int:
        """The place of the baseline among the scenarios."""
        return self.names.index(self.comparison.baseline)

    @cached_property
    def names(self) -> list[str]:
        """Of the scenarios, in their order."""
        return [each.name for each in self.scenarios]

    @cached_property
    def titles(self) -> list[str]:
        """Of the scenarios, in their order; the name where there is no title."""
        return [each.parsed.title or each.name for each in self.scenarios]

    def draw_w(self, hardware: str) -> float | None:
        """What a chip draws at most, in watts; None where nobody says."""
        return next((each.tdp_w for each in self.comparison.draws if each.name == hardware), None)

    def provenance(self, path: str) -> dict[str, str]:
        """Kind and source of a figure of the comparison itself."""
        entry = nearest(self.raw, path)
        return {"kind": entry["kind"], "source": entry.get("source", "")} if entry else dict(UNSTATED)

    def rebased(self, baseline: str, scale: str) -> Asked:
        """The same held against another of its scenarios, at another scale."""
        changed: dict[str, Any] = {"baseline": baseline, "scale": scale}
        return Asked(self.comparison.model_copy(update=changed), {**self.raw, **changed}, self.scenarios)

    def document(self) -> dict[str, Any]:
        """A copy of the complete document."""
        return copied(self.raw)


def parse(
    document: Mapping[str, Any], catalogue: Catalogue, overrides: Mapping[str, Mapping[str, Any]] | None = None
) -> Asked:
    """A comparison whose names stand in `catalogue`; `overrides` are fields of its scenarios, by scenario and path.

    A scenario may be given by name: it is put there as it is now. Raises DocumentError.
    """
    require_plain(document)
    raw = copied(dict(document))
    _require_version(raw)
    raw["scenarios"] = _complete(raw.get("scenarios"), catalogue)
    _override(raw, overrides or {})
    raw.setdefault("baseline", raw["scenarios"][0]["name"])
    _look_up(raw, catalogue)
    try:
        comparison = Comparison.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(Comparison)) from problem
    if found := list(_mistakes(comparison)):
        raise DocumentError(found)
    return Asked(comparison, raw, tuple(_priced(each, comparison, raw) for each in raw["scenarios"]))


def in_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document, and the scenarios in it, with the fields in the schema's order."""
    found: dict[str, Any] = ordered(dict(document), Comparison)
    return {**found, "scenarios": [ordered(each, Document) for each in found["scenarios"]]}


def _require_version(raw: Mapping[str, Any]) -> None:
    version = raw.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version != SCHEMA_VERSION:
        raise refuse("schema_version", version, f"is not known; this version reads {SCHEMA_VERSION}")


# --- scenarios ---------------------------------------------------------------------------------------------------


def _complete(given: Any, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Every scenario as a complete document. Raises DocumentError with the mistakes of all of them."""
    if not isinstance(given, list) or not FEWEST <= len(given) <= MOST:
        count = len(given) if isinstance(given, list) else None
        raise refuse("scenarios", count, f"must be a list of {FEWEST} to {MOST} scenarios, by name or as documents")
    found: list[dict[str, Any]] = []
    wrong: list[FieldError] = []
    for place, each in enumerate(given):
        try:
            found.append(_one(each, f"scenarios.{place}", catalogue))
        except DocumentError as problem:
            wrong += problem.told
    names = [each["name"] for each in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        wrong.append(FieldError(f"scenarios.{name}", None, "stands twice; compare different ones, or rename a copy"))
    if wrong:
        raise DocumentError(wrong)
    return found


def _one(given: Any, place: str, catalogue: Catalogue) -> dict[str, Any]:
    if not isinstance(given, str):
        return complete(given, place, catalogue)
    if given in SHIPPED:
        return scenario.shipped(given).document()
    try:
        return complete(catalogue.entry("scenarios", given), place, catalogue)
    except NotInCatalogue as problem:
        known = ", ".join(sorted({*SHIPPED, *problem.known}))
        raise refuse(place, given, f"is neither a shipped nor a stored scenario; known: {known}") from problem


def _override(raw: dict[str, Any], overrides: Mapping[str, Mapping[str, Any]]) -> None:
    """Sets fields of scenarios in place. Raises DocumentError, with paths that begin with the scenario's name."""
    by_name = {each["name"]: at for at, each in enumerate(raw["scenarios"])}
    for name, fields in overrides.items():
        if name not in by_name or not isinstance(fields, Mapping):
            raise refuse(f"set.{name}", None, f"must be PATH to value, by scenario: {', '.join(by_name)}")
        changed = raw["scenarios"][by_name[name]]
        try:
            raw["scenarios"][by_name[name]] = scenario.parse(changed, fields).document()
        except DocumentError as problem:
            told = [FieldError(f"{name}.{each.field}", each.value, each.message) for each in problem.told]
            raise DocumentError(told, problem.more) from problem


# --- prices and power --------------------------------------------------------------------------------------------


def _look_up(raw: dict[str, Any], catalogue: Catalogue) -> None:
    """Puts there what the catalogue knows of the chips and the document does not say. Raises DocumentError."""
    origins, listed, draws = raw.setdefault("provenance", {}), raw.setdefault("listed", []), raw.setdefault("draws", [])
    if isinstance(raw.get("prices"), list):
        raw["prices"] = [_offered(price, at, origins, catalogue) for at, price in enumerate(raw["prices"])]
    held = {str(price.get("name")) for field in ("prices", "listed") for price in _tables(raw.get(field))}
    drawn = {str(draw.get("name")) for draw in _tables(draws)}
    for chip in sorted({chip for each in raw["scenarios"] for chip in _unpriced(each)} - held):
        for offer in offers.newest(catalogue.prices(chip))[:1]:
            _add(listed, {"name": chip, "usd_per_gpu_hour": offer["usd_per_gpu_hour"]})
            _note(origins, f"listed.{chip}", offers.origin(offer, "usd_per_gpu_hour"))
    for chip in sorted({chip for each in raw["scenarios"] for chip in _chips(each)} - drawn):
        if found := _draw(chip, catalogue):
            _add(draws, {"name": chip, "tdp_w": found[0]})
            _note(origins, f"draws.{chip}", found[1])


def _add(held: Any, found: dict[str, Any]) -> None:
    if isinstance(held, list):  # what is not is refused later
        held.append(found)


def _note(origins: Any, path: str, origin: Mapping[str, str]) -> None:
    if isinstance(origins, dict):  # what is not is refused later
        origins[path] = dict(origin)


def _tables(given: Any) -> list[dict[str, Any]]:
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _offered(price: Any, at: int, origins: Any, catalogue: Catalogue) -> Any:
    """An offer by its name becomes dollars of a GPU-hour."""
    if not isinstance(price, dict) or "offer" not in price:
        return price
    place = f"prices.{price.get('name', at)}"
    if beside := sorted(price.keys() - {"name", "offer"}):
        raise refuse(f"{place}.{beside[0]}", price[beside[0]], "is given beside offer; leave one out")
    field = f"{place}.offer"
    try:
        entry = catalogue.entry("prices", str(price["offer"]))
    except NotInCatalogue as problem:
        raise refuse(field, price["offer"], "is no stored price; the catalogue lists them under Prices") from problem
    if price.get("name", entry["hardware"]) != entry["hardware"]:
        raise refuse(field, price["offer"], f"is an offer of {entry['hardware']}, and {price['name']} is to be priced")
    usd, path = offers.usd_per_gpu_hour(entry, field, catalogue)
    _note(origins, f"prices.{entry['hardware']}", offers.origin(entry, path))
    return {"name": entry["hardware"], "usd_per_gpu_hour": usd}


def _draw(chip: str, catalogue: Catalogue) -> tuple[float, dict[str, str]] | None:
    try:
        entry = catalogue.entry("hardware", chip)
    except NotInCatalogue:
        return None
    stated = nearest(entry, "tdp_w") or UNSTATED
    return (entry["tdp_w"], dict(stated)) if entry.get("tdp_w") else None


def _chips(document: Mapping[str, Any]) -> set[str]:
    return {cluster["hardware"]["name"] for cluster in document["clusters"]}


def _unpriced(document: Mapping[str, Any]) -> set[str]:
    return _chips(document) - {price["name"] for price in document.get("prices", [])}


def _priced(document: Mapping[str, Any], comparison: Comparison, raw: Mapping[str, Any]) -> Scenario:
    """The scenario with the prices that hold for it: the comparison's, its own, or those of the catalogue."""
    held = {price["name"]: (price["usd_per_gpu_hour"], None) for price in document.get("prices", [])}
    given = {price.name: (price.usd_per_gpu_hour, f"prices.{price.name}") for price in comparison.prices}
    listed = {price.name: (price.usd_per_gpu_hour, f"listed.{price.name}") for price in comparison.listed}
    prices = {name: price for name, price in {**listed, **held, **given}.items() if name in _chips(document)}
    changed = copied(dict(document))
    override(changed, "prices", [{"name": name, "usd_per_gpu_hour": usd} for name, (usd, _) in prices.items()])
    stated = {
        f"prices.{name}": dict((nearest(raw, path) if path else nearest(document, f"prices.{name}")) or UNSTATED)
        for name, (_, path) in prices.items()
    }
    changed["provenance"] = {**changed.get("provenance", {}), **stated}
    return scenario.parse(changed)


# --- what cannot be ----------------------------------------------------------------------------------------------


def _mistakes(comparison: Comparison) -> Iterator[FieldError]:
    names = [each["name"] for each in comparison.scenarios]
    if comparison.baseline not in names:
        yield FieldError("baseline", comparison.baseline, f"must be one of the scenarios: {', '.join(names)}")
    for place in ("prices", "listed", "draws"):
        held = [each.name for each in getattr(comparison, place)]
        for name in sorted({name for name in held if held.count(name) > 1}):
            yield FieldError(f"{place}.{name}", None, "is named twice; leave one of them out")
