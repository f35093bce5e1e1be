"""A stored measurement against the profile and the scenario that are chosen, and all of them against their profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner import store
from planner.accuracy.against_profile import lines, remarks, unlike
from planner.accuracy.against_scenario import with_scenario
from planner.accuracy.lines import Line, summaries
from planner.charts.origins import origin, weakest
from planner.documents.errors import DocumentError, FieldError
from planner.entries.measurement import Measurement
from planner.entries.profile import Profile
from planner.models import Entry

type Document = dict[str, Any]
NO_PROFILE = "no profile of it is stored"
"""Of the model, the chip and the number of GPUs an instance."""
NOT_CHOSEN = "no profile was chosen"


def compared(entry: Entry, profile: str | None = None, scenario: str | None = None) -> Document:
    """Every figure beside its prediction. `profile` None: the first one that fits; empty: none.

    Raises DocumentError on a profile or scenario that is not stored.
    """
    chosen, deployment, held = held_against(entry, profile, scenario)
    runs = Measurement.model_validate(entry.document)
    return {
        "measurement": entry.name,
        "profile": chosen.name if chosen else None,
        "scenario": deployment.name if deployment else None,
        "profiles": [each.name for each in fitting(entry)],
        "unlike": unlike(runs, _profile(chosen)) if chosen else "",
        "remarks": remarks(runs, _profile(chosen)) if chosen else [],
        "provenance": rests_on(entry, chosen),
        **summaries(held),
        "lines": [line.as_json() for line in held],
    }


def held_against(
    entry: Entry, profile: str | None, scenario: str | None
) -> tuple[Entry | None, Entry | None, list[Line]]:
    """The profile and the scenario that are meant, and every figure with its prediction. Raises as `compared`."""
    runs = Measurement.model_validate(entry.document)
    chosen, deployment = _chosen(entry, profile, scenario)
    held = list(lines(runs, _parsed(chosen), NOT_CHOSEN if profile == "" else NO_PROFILE))
    if deployment is not None:
        held = list(with_scenario(runs, held, store.scenario_of(deployment)))
    return chosen, deployment, held


def _chosen(entry: Entry, profile: str | None, scenario: str | None) -> tuple[Entry | None, Entry | None]:
    mistakes: list[FieldError] = []
    chosen = _stored("profiles", "profile", profile, mistakes)
    deployment = _stored("scenarios", "scenario", scenario, mistakes)
    if mistakes:
        raise DocumentError(mistakes)
    if profile is None:
        chosen = next(iter(fitting(entry)), None)
    return chosen, deployment


def _stored(kind: str, field: str, name: str | None, mistakes: list[FieldError]) -> Entry | None:
    if not name:
        return None
    found = store.named(kind, name)
    if found is None:
        known = ", ".join(store.first_names(kind)) or "nothing yet"
        mistakes.append(FieldError(field, name, f"is not among the stored {kind}; known: {known}"))
    return found


def _profile(entry: Entry) -> Profile:
    return Profile.model_validate(entry.document)


def _parsed(entry: Entry | None) -> Profile | None:
    return _profile(entry) if entry else None


def rests_on(entry: Entry, profile: Entry | None) -> dict[str, str]:
    """The weakest evidence under an error: of the runs, and of the profile that they are held against."""
    return weakest([origin(entry.document, "rows"), *([origin(profile.document, "prefill")] if profile else [])])


# --- which profile ------------------------------------------------------------------------------------------------

type Subject = tuple[str, str, int | None]


def _subject(document: Mapping[str, Any]) -> Subject:
    return document["model"], document["hardware"], document.get("gpus_per_instance")


def fitting(entry: Entry) -> list[Entry]:
    """The profiles of the same model, chip and GPUs an instance that are offered, by name."""
    model, hardware, gpus = _subject(entry.document)
    about = {"document__model": model, "document__hardware": hardware, "document__gpus_per_instance": gpus}
    return list(store.entries("profiles").filter(**about).order_by("name")) if gpus else []


def profiles_by_subject() -> dict[Subject, list[Entry]]:
    """Every profile that is offered, by what it is of: one query."""
    found: dict[Subject, list[Entry]] = {}
    for entry in store.entries("profiles").order_by("name"):
        found.setdefault(_subject(entry.document), []).append(entry)
    return found


# --- all of them --------------------------------------------------------------------------------------------------


def overview() -> Document:
    """Every measurement that is offered beside the profiles that fit it; what fits none, by model and chip."""
    profiles = profiles_by_subject()
    entries = [_entry(entry, profiles) for entry in store.entries("measurements").order_by("name")]
    return {
        "measurements": entries,
        "without_profile": _without(entries),
        "runs": sum(each["runs"] for each in entries),
        "runs_with_profile": sum(each["runs"] for each in entries if each["against"]),
    }


def _entry(entry: Entry, profiles: Mapping[Subject, Sequence[Entry]]) -> Document:
    document = entry.document
    return {
        "name": entry.name,
        "title": entry.title,
        "origin": entry.origin,
        "model": document["model"],
        "hardware": document["hardware"],
        "gpus_per_instance": document.get("gpus_per_instance"),
        "engine": document.get("engine", ""),
        "runs": len(document["rows"]),
        "against": [_held(entry, profile) for profile in profiles.get(_subject(document), ())],
    }


def _held(entry: Entry, profile: Entry) -> Document:
    found = list(lines(Measurement.model_validate(entry.document), _profile(profile)))
    told = {key: value for key, value in summaries(found).items() if key != "by_length"}
    return {"profile": profile.name, "provenance": rests_on(entry, profile), **told}


def _without(entries: Sequence[Document]) -> list[Document]:
    """Runs that no stored profile fits, by model and chip."""
    counts: dict[tuple[str, str], int] = {}
    for each in entries:
        if not each["against"]:
            place = (each["model"], each["hardware"])
            counts[place] = counts.get(place, 0) + each["runs"]
    return [{"model": model, "hardware": chip, "runs": runs} for (model, chip), runs in sorted(counts.items())]


def all_lines() -> list[tuple[Entry, str, Line]]:
    """Every figure of every measurement, with the name of the first profile that fits it, or empty: these last."""
    profiles = profiles_by_subject()
    found: list[tuple[Entry, str, Line]] = []
    for entry in store.entries("measurements").order_by("name"):
        fit = next(iter(profiles.get(_subject(entry.document), ())), None)
        runs = Measurement.model_validate(entry.document)
        name = fit.name if fit else ""
        found += [(entry, name, line) for line in lines(runs, _parsed(fit), NO_PROFILE)]
    return sorted(found, key=lambda each: not each[1])
