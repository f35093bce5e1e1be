"""The part of a simulation's form that makes a study of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from frontend.optimiser.fields import Cleaned, CountField, Mistakes, NumberField, Part, Question, Row, checks, one_of
from frontend.optimiser.given import Given
from frontend.simulator import varied
from planner import store
from planner.documents.errors import DocumentError
from planner.simulating import document as simulations
from planner.simulating.studies.features import FEATURES, on
from planner.simulating.studies.quantities import QUANTITIES, grid, policies
from planner.simulating.studies.schema import LEAST_VARIANTS, MOST_VARIANTS, Range

ONCE, POLICIES, ABLATION = "once", "policy", "ablation"
NOTES = {
    "load": "In the place of the load above, in equal steps: where TTFT turns up.",
    "rate_rps": "In the place of the load above, in equal steps.",
    "threshold_tokens": "In equal ratios, at the load above.",
    "bandwidth_bps": "What the link carries, in equal ratios, at the load above.",
    "arrivals_cv": "Coefficient of variation of the times between arrivals, in equal ratios: 1 is Poisson.",
}
FIRST_LOAD = 0.85
"""Of the form, at which its first ranges are meant to be of use."""
ENDS = {"lowest": "From", "highest": "To"}


class Study(Part):
    """Whether it is simulated once, or over and over with something changed."""

    legend = "Once, or over and over"
    help = "A study simulates several variants by the same requests, so that what differs is no chance of theirs."
    choice = "study"

    def fields(self) -> dict[str, forms.Field]:
        suits = _suits(self.given)
        ranges = _ranges(suits)
        titles = {ONCE: "Once"} | {name: f"Sweep: {QUANTITIES[name].title.lower()}" for name in ranges}
        titles |= ({POLICIES: "Compare routing policies"} if POLICIES in suits else {}) | {ABLATION: "Ablation"}
        found: dict[str, forms.Field] = {"study": one_of(titles, ONCE)}
        found["study"].required = False
        for name, within in ranges.items():
            unit = varied.unit(name)
            for end, label in ENDS.items():
                first = NumberField(unit).typed(getattr(within, end))
                found[f"{end}_{name}"] = NumberField(unit, label=label, min_value=0, initial=first)
            found[f"points_{name}"] = CountField(
                "variants", label="In", initial=within.points, min_value=LEAST_VARIANTS, max_value=MOST_VARIANTS
            )
        return found

    def rows(self, form: forms.Form) -> list[Row]:
        buttons = checks(form, self.choice)
        titles = dict(form.fields["study"].choices)  # type: ignore[attr-defined]
        return [
            Row(titles[name], self._cells(form, name), button, note=self._note(name))
            for name, button in buttons.items()
        ]

    def _cells(self, form: forms.Form, name: str) -> tuple[Any, ...]:
        return tuple(form[field] for end in (*ENDS, "points") if (field := f"{end}_{name}") in form.fields)

    def _note(self, name: str) -> str:
        if name == POLICIES:
            return "All that this scenario can have, in the place of the one above."
        if name == ABLATION:
            each = "; ".join(f"{feature.title}: {feature.said}" for feature in FEATURES.values())
            return f"Each feature that is on is turned off by itself. {each}."
        return NOTES.get(name, "What is typed here, and nothing else.")

    def read(self, cleaned: Cleaned) -> Question:
        """Nothing of the simulation."""
        return {}

    def study(self, cleaned: Cleaned) -> Question | None:
        """The study without its simulation; None of a single simulation."""
        name = cleaned["study"] or ONCE
        if name == ONCE:
            return None
        if name == ABLATION:
            return {"kind": "ablation"}
        found: Question = {"kind": "sweep", "vary": name}
        if name == POLICIES:
            return found
        within = {end: float(cleaned[f"{end}_{name}"]) for end in ENDS}
        return found | {"range": within | {"points": cleaned[f"points_{name}"]}}

    def typed(self, question: Question) -> dict[str, Any]:
        study = question.get("study")
        if not study:
            return {"study": ONCE}
        name = study.get("vary") or ABLATION
        if name not in QUANTITIES or name == POLICIES:
            return {"study": name}
        within = range_of(study["values"])
        ends = {f"{end}_{name}": NumberField(varied.unit(name)).typed(getattr(within, end)) for end in ENDS}
        return {"study": name, **ends, f"points_{name}": str(within.points)}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        name = cleaned.get("study")
        for end in ENDS:
            if f"{end}_{name}" in cleaned and cleaned[f"{end}_{name}"] is None:
                yield f"{end}_{name}", "Type both ends of the range."
            elif cleaned.get(f"{end}_{name}") == 0:
                yield f"{end}_{name}", "Type a number above 0."
        if f"points_{name}" in cleaned and cleaned[f"points_{name}"] is None:
            yield f"points_{name}", "Type a whole number."

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        name = cleaned.get("study")
        if f"lowest_{name}" not in cleaned:
            return dict.fromkeys(("vary", "values", "features"), "study")
        ends = {f"range.{end}": f"{end}_{name}" for end in (*ENDS, "points")}
        return {"vary": "study", "values": f"lowest_{name}", "range": f"lowest_{name}", **ends}


def range_of(values: list[Any]) -> Range:
    """Of the values that a range has made."""
    return Range(lowest=values[0], highest=values[-1], points=len(values))


def can_be_asked(study: dict[str, Any], given: Given) -> bool:
    """Whether the form can ask for it: it knows ranges, all policies, and all features that are on."""
    name = study.get("vary")
    if name is None or name == POLICIES:
        return _is_whole(study)
    if name not in _ranges(_suits(given)):
        return False
    try:
        same = grid(range_of(study["values"]), QUANTITIES[name].is_geometric)
    except (DocumentError, ValueError):
        return False
    return bool(same == study["values"])


def _is_whole(study: dict[str, Any]) -> bool:
    """Whether it has all that suits its simulation."""
    asked = simulations.loaded(study["simulation"])
    if study.get("vary") == POLICIES:
        return bool(policies(asked) == study["values"])
    return bool(on(asked) == study["features"])


def _suits(given: Given) -> dict[str, Range | Sequence[Any] | None]:
    """What can be varied in a scenario, with what suits it; nothing of one that cannot be simulated, of which the form
    says why once it is asked."""
    asked = _asked(given)
    return {name: each.suits(asked) for name, each in QUANTITIES.items() if each.is_possible(asked)} if asked else {}


def _ranges(suits: dict[str, Range | Sequence[Any] | None]) -> dict[str, Range]:
    """What can be swept, with the range that a form starts from."""
    return {name: each for name, each in suits.items() if isinstance(each, Range)}


def _asked(given: Given) -> simulations.Asked | None:
    """A simulation of a scenario, as a form starts from it; None of one that cannot be simulated."""
    try:
        return simulations.parse({"scenario": given.scenario.document(), "load": FIRST_LOAD}, store.STORED)
    except DocumentError:
        return None
