"""What is replayed as a form: a watch, a window, and what is tried in it; and the job that does so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from frontend.optimiser.fields import Quoting
from monitoring.api import replays
from monitoring.models import Series, Watch
from monitoring.replaying import asking
from planner.documents.errors import DocumentError, FieldError
from planner.models import Job

AS_RECOMMENDED, AS_RECOMMENDED_TITLE = "as_recommended", "As recommended at the time: t as it was recommended then"
"""Offered where something was recommended."""
TRIED = {
    "bandwidth_aware": "Bandwidth-aware: t rises while the link or PrfaaS is short, and comes back",
    "advised": "As advised: the t with the greatest Λ_max for these lengths, headroom left, then bandwidth-aware",
    "advised_split": "As advised, N_p/N_d too",
    "as_recommended": AS_RECOMMENDED_TITLE,
    "roles": "Bandwidth-aware, and PD instances change their role",
}
FLEET = ("prfaas_instances", "prefill_instances", "decode_instances")
FLEET_POLICIES = {
    "as_recorded": "as recorded",
    "bandwidth_aware": "bandwidth-aware",
    "advised": "as advised",
    AS_RECOMMENDED: "as recommended at the time",
}
DEFAULTS: dict[str, Any] = {
    "tried": ["bandwidth_aware", "advised"], "fleet_policy": ["as_recorded"], "replications": ["5"], "seed": ["1"],
}  # fmt: skip
WINDOW = ("watch", "start", "end", "link", "cluster")
NOTHING = "choose one at least, or give a t or another fleet below"
WHEN = "UTC as 2026-11-29 10:00, or ago as -2h"

type Policy = dict[str, Any]


class Number(Quoting, forms.FloatField):
    """What was typed stays there, whatever it is: a browser's own field for numbers sends nothing in its place."""

    widget = forms.TextInput(attrs={"inputmode": "decimal"})


class Count(Quoting, forms.IntegerField):
    """The same, of something whole."""

    widget = forms.TextInput(attrs={"inputmode": "numeric"})


class ReplayForm(forms.Form):
    """A window and what is tried in it; the watch is known before."""

    watch = forms.ChoiceField(label="Watch")
    start = forms.CharField(label="From", required=False, max_length=60, help_text=f"{WHEN}; empty: an hour before.")
    end = forms.CharField(label="Until", required=False, max_length=60, help_text="The same; empty: now.")
    link = forms.ChoiceField(label="Link", required=False)
    cluster = forms.ChoiceField(label="Cluster", required=False)
    tried = forms.MultipleChoiceField(
        label="Tried instead", required=False, choices=list(TRIED.items()), widget=forms.CheckboxSelectMultiple
    )
    from_tokens = Number(
        label="Bandwidth-aware from t", required=False, help_text="Empty: the least that was recorded."
    )
    threshold_tokens = Number(label="Static t", required=False, help_text="Empty: none is tried.")
    prfaas_instances = Count(label="PrfaaS instances", required=False)
    prefill_instances = Count(label="Prefill instances", required=False)
    decode_instances = Count(label="Decode instances", required=False)
    fleet_policy = forms.ChoiceField(label="Routed, with that fleet", choices=list(FLEET_POLICIES.items()))
    replications = Count(label="Replications", help_text="One has no intervals.")
    seed = Count(label="Seed", help_text="The same one draws the same requests.")

    def __init__(self, watch: Watch, watches: Mapping[str, str], typed: QueryDict, *, is_whole: bool) -> None:
        """`is_whole`: everything was typed, and not only a window."""
        super().__init__(typed if is_whole else _with_defaults(typed, watch), auto_id="%s")
        self.of = watch
        _choices(self.fields["watch"], watches)
        for name, known in (("link", _links(watch)), ("cluster", list(watch.clusters))):
            if len(known) > 1:
                none = "any" if name == "cluster" else "choose"
                _choices(self.fields[name], {"": none} | {each: each for each in known})
            else:
                del self.fields[name]
        for name, field in self.fields.items():
            field.widget.attrs |= {"aria-describedby": f"{name}-error {name}-help"}
            if name in ("start", "end"):
                field.widget.attrs["class"] = "when"

    # --- its window ----------------------------------------------------------------------------------------------

    def window(self, now_ms: int) -> tuple[asking.Window, asking.Replay] | None:
        """What was recorded, and what a replay of it starts from; None where it cannot be, and why beside a field."""
        try:
            asked = asking.window(self.of, self._given(WINDOW), now_ms)
            recording = asking.recorded(asked, now_ms)
            return asked, asking.document(asked, recording, replays.scenario_of(self.of), {})
        except asking.Refused as problem:
            self._refuse(problem.where, problem.message)
            return None

    def show_window(self, asked: asking.Window) -> None:
        """In absolute times: a window that is `ago` would be another one a minute later."""
        shown = QueryDict(mutable=True)
        shown.update(self.data)
        shown["start"], shown["end"] = written(asked.start_ms), written(asked.end_ms)
        self.data = shown

    def offer(self, replay: asking.Replay) -> None:
        """What can be tried in this window: what was recommended at the time, where anything was."""
        if replay.document["recommended"] is None:
            for name in ("tried", "fleet_policy"):
                known = dict(self.fields[name].choices)  # type: ignore[attr-defined]
                _choices(self.fields[name], {each: title for each, title in known.items() if each != AS_RECOMMENDED})

    def _given(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in names if self.cleaned_data.get(name) not in (None, "")}

    # --- the job -------------------------------------------------------------------------------------------------

    def submit(self, by: int | None) -> Job | None:
        """The job; None where it is refused, each mistake beside its field."""
        told = list(self._policies())
        if not told:
            self._refuse("tried", NOTHING)
            return None
        given = self._given(("start", "end", "link", "cluster", "replications", "seed"))
        try:
            job: Job = replays.submit(self.of, given | {"policies": [policy for _, policy in told]}, by)
        except DocumentError as problem:
            for error in problem.errors:
                self._tell(error, [field for field, _ in told])
            return None
        return job

    def _policies(self) -> Iterator[tuple[str, Policy]]:
        """Each with the field that asks for it."""
        cleaned = self.cleaned_data
        tokens = cleaned["from_tokens"]
        raised: Policy = {"policy": "bandwidth_aware"} | ({} if tokens is None else {"threshold_tokens": tokens})
        told = {
            "bandwidth_aware": raised,
            "roles": raised | {"roles": True},
            "advised": {"policy": "advised"},
            "advised_split": {"policy": "advised", "best_split": True},
            AS_RECOMMENDED: {"policy": AS_RECOMMENDED},
        }
        yield from (("tried", told[name]) for name in TRIED if name in cleaned["tried"])
        if cleaned["threshold_tokens"] is not None:
            yield "threshold_tokens", {"policy": "static", "threshold_tokens": cleaned["threshold_tokens"]}
        if fleet := self._given(FLEET):
            yield "fleet_policy", {"policy": cleaned["fleet_policy"]} | fleet

    def _tell(self, error: FieldError, fields: list[str]) -> None:
        place, said = error.field or "", f"{error.message}"
        if place.startswith("policies."):
            number, _, last = place.removeprefix("policies.").partition(".")
            own = fields[int(number)] if number.isdigit() and int(number) < len(fields) else "tried"
            place = "from_tokens" if (last, own) == ("threshold_tokens", "tried") else last
            place = place if place in self.fields else own
        self._refuse(place, said)

    def _refuse(self, place: str, said: str) -> None:
        self.add_error(place if place in self.fields else None, said if place in self.fields else f"{place}: {said}")

    @property
    def summary(self) -> list[tuple[str, str, str]]:
        """What is wrong, by field: where it stands, how that is called, and what."""
        return [
            (name, str(field.label or name), str(error))
            for name, field in self.fields.items()
            for error in self.errors.get(name, [])
        ]


def _choices(field: forms.Field, known: Mapping[str, str]) -> None:
    assert isinstance(field, forms.ChoiceField)  # noqa: S101 - the type checker does not know it
    field.choices = [(name, title or name) for name, title in known.items()]


def _with_defaults(typed: QueryDict, watch: Watch) -> QueryDict:
    """What is not typed as it is at first; but of a form that was seen, boxes that are not ticked stay so."""
    first = {name: values for name, values in DEFAULTS.items() if name != "tried" or "fleet_policy" not in typed}
    found = QueryDict(mutable=True)
    for name, values in (first | {"watch": [watch.name]}).items():
        found.setlist(name, values)
    for name, values in typed.lists():
        found.setlist(name, values)
    return found


def _links(watch: Watch) -> list[str]:
    if watch.links:
        return list(watch.links)
    told = Series.objects.filter(signal__in=("link_capacity_bps", "link_egress_bits"))
    return sorted({labels["link"] for labels in told.values_list("labels", flat=True) if labels.get("link")})


def written(ms: int) -> str:
    """A moment as the form has it, in UTC."""
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def again(replay: Mapping[str, Any]) -> str:
    """The form with the window of a replay in it."""
    recording = replay["recording"]
    begin_ms: int = replay["start_ms"]
    intervals = max(len(values) for values in recording["requests_rps"].values())
    end_ms = begin_ms + intervals * recording["interval_s"] * 1000
    link = (recording.get("link") or {}).get("name")
    window = {"watch": replay["watch"], "start": begin_ms, "end": end_ms} | ({"link": link} if link else {})
    counted = {name: replay["simulation"][name] for name in ("replications", "seed")}
    asked = window | counted | _tried(replay["policies"])
    return f"{reverse('live-replay')}?{urlencode(asked, doseq=True)}"


def _tried(policies: list[Mapping[str, Any]]) -> Policy:
    """What the form has of policies: one fleet, one static t and one t from which others are raised."""
    found: Policy = {"tried": [], "fleet_policy": "as_recorded"}
    for policy in policies:
        kind, tokens = policy["policy"], f"{policy['threshold_tokens'] or 0:.15g}"
        fleet = {name: policy[name] for name in FLEET if policy[name] is not None}
        if kind == "bandwidth_aware" and not fleet:
            found |= {"tried": [*found["tried"], "roles" if policy["roles"] else kind], "from_tokens": tokens}
        elif kind == "advised" and (policy["best_split"] or not fleet):
            found |= {"tried": [*found["tried"], "advised_split" if policy["best_split"] else kind]}
        elif kind == AS_RECOMMENDED and not fleet:
            found |= {"tried": [*found["tried"], kind]}
        elif kind == "static" and not fleet:
            found |= {"threshold_tokens": tokens}
        elif kind in FLEET_POLICIES:
            found |= {"fleet_policy": kind} | fleet
    return found
