"""A scenario that is shown and not stored: a deployment of a comparison, rescaled, changed, or a step on the way."""

from __future__ import annotations

from typing import Any

from frontend import whatif, words
from planner import evaluation, scenario, store
from planner.catalog import files
from planner.documents.errors import refuse
from planner.documents.order import ordered
from planner.models import Entry
from planner.scenario import Scenario
from planner.scenario.schema import Document


def context(given: Scenario) -> dict[str, Any]:
    """What its page is made of: the same as a stored one's."""
    baseline = {form: evaluation.evaluate(given, form)["lambda_max_rps"] for form in words.FORMS}
    document = ordered(given.document(), Document)
    choices = {**whatif.choices(given), "document": document}
    return {
        "given": given,
        "form": "exact",
        "forms": words.FORMS,
        "kinds": words.PROVENANCE,
        "stages": words.STAGES,
        "whatif": {"baseline": baseline, "baseline_title": "as shown", "scenarios": [choices]},
        "sources": [{"path": path, **given.provenance(path)} for path in given.figures()],
        "text": files.as_yaml(document),
    }


def moved(given: Scenario, changes: str) -> Scenario:
    """The scenario with what was moved on its page, a JSON object of path to value. Raises DocumentError."""
    if not changes:
        return given
    try:
        found = files.parse_json(changes)
    except files.Unreadable as problem:
        raise refuse("set", None, str(problem)) from problem
    if not isinstance(found, dict):
        raise refuse("set", None, "must be an object of path to value")
    return scenario.parse(given.document(), found) if found else given


def keep(given: Scenario, name: str, title: str, by: int | None) -> Entry:
    """Stores it under a name. Raises DocumentError, also where the name is taken."""
    return store.create(store.SCENARIOS, {**given.document(), "name": name, "title": title}, by=by)
