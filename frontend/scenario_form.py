"""The scenario editor's form: names of stored entries, and the numbers that are the planner's own."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend.places import place
from planner import store
from planner.composing import Composition, Fleet, compose
from planner.documents.errors import DocumentError, FieldError
from planner.models import Entry

PLACES = {
    "name": "name",
    "title": "title",
    "model": "model",
    "traffic": "traffic",
    "link": "link",
    "links": "link",
    "remote.profile": "remote_profile",
    "prfaas.profile": "remote_profile",
    "local.profile": "local_profile",
    "pd.profile": "local_profile",
    "prefill_instances": "prefill_instances",
    "threshold_tokens": "threshold_tokens",
    "clusters.prfaas": "remote_instances",
    "clusters.pd.prefill_instances": "prefill_instances",
    "clusters.pd": "local_instances",
    "routing": "threshold_tokens",
    "decode.max_batch": "max_batch",
    "decode.step_s": "step_ms",
    "slo": "slo_tokens_per_s",
}
"""Which control a refused field belongs to, the longest matching path first."""
MOST_INSTANCES = 10_000


class ScenarioForm(forms.Form):
    """What `planner.composing` needs, in the units that people type."""

    name = forms.SlugField(max_length=100, help_text="Letters, digits, - and _: its address.")
    title = forms.CharField(max_length=200, required=False)
    model = forms.ChoiceField(label="Model")
    traffic = forms.ChoiceField(label="Traffic")
    remote_profile = forms.ChoiceField(label="Profile", required=False)
    remote_instances = forms.IntegerField(label="Instances", required=False, min_value=0, max_value=MOST_INSTANCES)
    link = forms.ChoiceField(label="Link", required=False)
    threshold_tokens = forms.FloatField(
        label="Threshold t",
        required=False,
        min_value=0,
        help_text="Requests of more uncached tokens are prefilled remotely.",
    )
    local_profile = forms.ChoiceField(label="Profile")
    local_instances = forms.IntegerField(label="Instances", min_value=0, max_value=MOST_INSTANCES)
    prefill_instances = forms.IntegerField(label="of them prefill", min_value=0, max_value=MOST_INSTANCES)
    max_batch = forms.FloatField(
        label="Requests at once", min_value=0, help_text="That one decode instance serves together: its largest batch."
    )
    step_ms = forms.FloatField(
        label="Decode step",
        min_value=0,
        help_text="Time in which each of them gets one token, T_decode: 25 ms are 40 tokens/s.",
    )
    slo_tokens_per_s = forms.FloatField(
        label="Promise",
        required=False,
        min_value=0,
        help_text="Output speed that each request is promised, its SLO: the result says where decode is slower. "
        "Empty: none.",
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        none = [("", "none: everything is prefilled locally")]
        for field, kind, first in (
            ("model", "models", [("", "choose")]),
            ("traffic", "traffic", [("", "choose")]),
            ("remote_profile", "profiles", none),
            ("local_profile", "profiles", [("", "choose")]),
            ("link", "links", [("", "choose")]),
        ):
            known = store.entries(kind).order_by("name").values_list("name", "title")
            choices = [(name, f"{title} ({name})" if title else name) for name, title in known]
            control = self.fields[field]
            assert isinstance(control, forms.ChoiceField)  # noqa: S101 - tells the type checker
            control.choices = [*first, *choices]
        for field, control in self.fields.items():
            described_by = f"{field}-error {field}-help" if control.help_text else f"{field}-error"
            control.widget.attrs |= {"id": field, "aria-describedby": described_by, "autocomplete": "off"}
            if isinstance(control, forms.FloatField):
                control.widget.attrs["step"] = "any"
            if field in self.errors:
                control.widget.attrs["aria-invalid"] = "true"

    def store(self, by: int | None) -> Entry | None:
        """Stores the scenario; None where it is refused, each error beside its field."""
        try:
            return store.create(store.SCENARIOS, compose(self._composition()), by=by)
        except DocumentError as problem:
            for error in problem.errors:
                self._refuse(error)
            return None

    def _composition(self) -> Composition:
        given = self.cleaned_data
        remote = given["remote_profile"]
        return Composition(
            name=given["name"],
            title=given["title"],
            model=given["model"],
            traffic=given["traffic"],
            local=Fleet(given["local_profile"], given["local_instances"]),
            prefill_instances=given["prefill_instances"],
            max_batch=given["max_batch"],
            step_s=given["step_ms"] / 1000,
            remote=Fleet(remote, given["remote_instances"] or 0) if remote else None,
            link=given["link"] or None,
            threshold_tokens=given["threshold_tokens"],
            slo_tokens_per_s=given["slo_tokens_per_s"],
        )

    def _refuse(self, error: FieldError) -> None:
        field = place(error.field or "", PLACES)
        self.add_error(field, error.message if field else str(error))
        if field:
            self.fields[field].widget.attrs["aria-invalid"] = "true"


def options() -> dict[str, Any]:
    """What the page's script needs to offer only profiles of the chosen model, and to fill in their decode figures."""
    found = {}
    for entry in store.entries("profiles"):
        steps = [step for step in entry.document.get("decode", []) if step["batch"] == entry.document.get("max_batch")]
        found[entry.name] = {
            "model": entry.document["model"],
            "max_batch": entry.document.get("max_batch"),
            "step_ms": steps[0]["seconds"] * 1000 if steps else None,
        }
    return found
