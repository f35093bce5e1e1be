"""A scenario's profiles fitted anew from telemetry: looked at first, then stored as the next revisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from planner import store
from planner.documents.errors import DocumentError
from planner.models import Entry
from planner.scenario.schema import Profile
from planner.store import Conflict
from planner.watched.deployment import profiles_of
from planner.watched.fitting import Fit, Seen, Unfit, fitted, together

type Document = dict[str, Any]
__all__ = ["Conflict", "Fitted", "Preview", "Refused", "preview", "store_refit"]


class Refused(Exception):
    """A refit that cannot be stored. The text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A profile of the scenario as it would be."""

    profile: str
    routes: tuple[str, ...]
    """Whose requests it was fitted from."""
    fit: Fit
    before: tuple[list[float], list[float]]
    """Lengths in tokens and seconds, as they are."""
    origin: dict[str, str]


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be stored in the place of `revision` of the scenario."""

    scenario: str
    revision: int
    fitted: tuple[Fitted, ...]
    problems: dict[str, str]
    """By route, why nothing can be fitted of it."""


def preview(name: str, seen: Mapping[str, Seen | str], window: str) -> Preview:
    """The profiles that telemetry gives; nothing is stored. Of a route `seen` has what was seen, or why nothing was.

    `window` says of which telemetry, for the provenance. Raises Refused where the scenario is not stored.
    """
    entry = _stored(name)
    try:
        profiles = profiles_of(store.scenario_of(entry))
    except DocumentError as problem:
        raise Refused(f"the scenario {name} cannot be read: {problem}") from problem
    problems = {route: said for route, said in seen.items() if isinstance(said, str)}
    found = []
    for each, routes in _by_profile(profiles):
        parts = {route: part for route in routes if isinstance(part := seen.get(route), Seen)}
        if not parts:
            continue
        try:
            found.append(_fitted(each, parts, window))
        except Unfit as problem:
            problems |= dict.fromkeys(parts, str(problem))
    return Preview(name, entry.revision, tuple(found), problems)


def _stored(name: str) -> Entry:
    entry = store.named(store.SCENARIOS, name)
    if entry is None:
        raise Refused(f"there is no stored scenario {name!r} whose profile could be changed")
    return entry


def _by_profile(profiles: Mapping[str, Profile]) -> Iterator[tuple[Profile, list[str]]]:
    """Each profile once, with the routes that it speaks for."""
    for each in {profile.name: profile for profile in profiles.values()}.values():
        yield each, [route for route, profile in profiles.items() if profile.name == each.name]


def _fitted(profile: Profile, parts: Mapping[str, Seen], window: str) -> Fitted:
    """Raises Unfit."""
    fit = fitted(profile.curve(), together(list(parts.values())))
    return Fitted(profile.name, tuple(parts), fit, (profile.tokens, profile.seconds), _origin(fit, window))


def _origin(fit: Fit, window: str) -> dict[str, str]:
    """Measured, where all of it is; the old curve's shape beyond what was measured is but inferred."""
    said = f"{window}; {fit.requests:.0f} requests, from {fit.shortest:,.0f} to {fit.longest:,.0f} tokens"
    if fit.is_measured:
        return {"kind": "measured", "source": said}
    return {"kind": "inferred", "source": f"{said}, and beyond them the earlier curve times the factor at their ends"}


# --- storing ------------------------------------------------------------------------------------------------------


def store_refit(found: Preview, *, by: int | None = None) -> dict[str, int]:
    """Stores all that was fitted, or nothing; the new revisions by `scenarios/NAME` and `profiles/NAME`.

    Raises Refused where nothing was fitted, and Conflict where the scenario was changed since the preview.
    """
    if not found.fitted:
        raise Refused("; ".join(found.problems.values()) or "nothing was fitted")
    try:
        with transaction.atomic():
            return _store(found, by)
    except DocumentError as problem:
        raise Refused(f"the fitted profile is not valid: {problem}") from problem


def _store(found: Preview, by: int | None) -> dict[str, int]:
    entry = _stored(found.scenario)
    document = deepcopy(store.written(entry))
    told: dict[str, int] = {}
    for each in found.fitted:
        own = next(profile for profile in document["model"]["profiles"] if profile["name"] == each.profile)
        own |= _points(each.fit)
        _put_origin(document, f"model.profiles.{each.profile}", each.origin)
        catalogued = _catalogued(own, document["model"]["name"])
        if catalogued is not None:
            changed = _revised(catalogued, each)
            told[f"profiles/{each.profile}"] = store.update(
                catalogued, changed, revision=catalogued.revision, by=by
            ).revision
    told[f"scenarios/{entry.name}"] = store.update(entry, document, revision=found.revision, by=by).revision
    return told


def _points(fit: Fit) -> Document:
    return {"tokens": fit.tokens, "seconds": fit.seconds, "interpolation": "log_log"}


def _put_origin(document: Document, path: str, origin: dict[str, str]) -> None:
    """What was said of the figures before is said no more."""
    origins = document.get("provenance") or {}
    kept = {key: each for key, each in origins.items() if key != path and not key.startswith(f"{path}.")}
    document["provenance"] = {**kept, path: dict(origin)}


def _catalogued(profile: Document, model: str) -> Entry | None:
    """The catalogue's profile of the same thing, if it is there under the same name."""
    entry = store.named("profiles", profile["name"])
    if entry is None:
        return None
    own = (model, profile["hardware"], profile["gpus_per_instance"])
    fields = ("model", "hardware", "gpus_per_instance")
    return entry if tuple(entry.document[field] for field in fields) == own else None


def _revised(entry: Entry, found: Fitted) -> Document:
    document = deepcopy(store.written(entry))
    document["prefill"] = _points(found.fit)
    _put_origin(document, "prefill", found.origin)
    return document
