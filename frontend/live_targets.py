"""Targets and servers of queries as forms and rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from django import forms

from frontend.live_sources import SourceForm, duration
from monitoring import targets
from monitoring.models import Fetched, Pull, Target
from monitoring.targets import LONGEST_S, LONGEST_URL, SHORTEST_S

type Kind = Literal["target", "pull"]
MODELS: dict[Kind, type[Fetched]] = {"target": Target, "pull": Pull}
EXAMPLE = [{"query": "sum by (link) (ifHCOutOctets)", "signal": "link_egress_bits", "scale": 8}]


class TargetForm(SourceForm):
    """What may be said of a target and its source."""

    url = forms.CharField(
        label="Address",
        max_length=LONGEST_URL,
        help_text="Of the page, as http://10.0.0.1:8000/metrics. Redirects are not followed.",
    )
    interval_s = forms.FloatField(label="Every", initial=5, help_text=f"Seconds, {SHORTEST_S:g} to {LONGEST_S:g}.")
    timeout_s = forms.FloatField(
        label="Answer within",
        required=False,
        help_text="Seconds, less than the interval. Empty: 0.8 of it, at most 10.",
    )
    bearer_token_file = forms.CharField(
        label="Bearer token file",
        required=False,
        max_length=100,
        help_text="Name of a file in the credentials' directory of the server. Empty: no token is sent.",
    )
    enabled = forms.BooleanField(label="Ask it", required=False, initial=True)

    def keep(self, fetched: Fetched) -> bool:
        """Whether it is stored, held to what the API holds it to."""
        cleaned = self.cleaned_data
        given = {field: cleaned[field] for field in targets.FIELDS[type(fetched)] if field in cleaned}
        given |= {"labels": self.labels, "systems": list(cleaned["systems"])}
        if given["timeout_s"] is None:
            del given["timeout_s"]
        try:
            targets.store(fetched, given)
        except targets.Wrong as problem:
            for path, said in problem.errors.items():
                field, _, place = path.partition(".")
                self.add_error(field if field in self.fields else None, f"{place}: {said}" if place else said)
            return False
        return True


class PullForm(TargetForm):
    """What may be said of a server of queries and its source."""

    queries = forms.JSONField(
        label="Queries",
        initial=EXAMPLE,
        encoder=None,
        widget=forms.Textarea(attrs={"rows": 8, "class": "input mono", "spellcheck": "false"}),
        help_text="A JSON list. Each has query, and signal and scale: what the answer is, in our unit; "
        "or none of them, or name and kind: the mappings know the metric.",
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.fields["url"].help_text = "What comes before /api/v1/query, as http://prometheus:9090"


FORMS: dict[Kind, type[TargetForm]] = {"target": TargetForm, "pull": PullForm}


def initial(fetched: Fetched) -> dict[str, Any]:
    """Of a form that changes it."""
    said = targets.described(fetched)
    if "queries" in said:
        said["queries"] = json.loads(json.dumps(said["queries"]))
    return {**said, **said.pop("labels")}


@dataclass(frozen=True, slots=True)
class Row:
    """One as the list shows it."""

    fetched: Fetched
    state: str
    says: str
    age: str


def row(fetched: Fetched, now_ms: int) -> Row:
    """With its state at `now_ms`."""
    asked_ms = fetched.last_fetched_ms
    age = "–" if asked_ms is None else duration(max(now_ms - asked_ms, 0))
    if not fetched.source.enabled:
        return Row(fetched, "disabled", "it is not asked", age)
    if fetched.up is None:
        return Row(fetched, "never", "it was not asked yet as it is now", age)
    return Row(fetched, "up" if fetched.up else "down", fetched.last_error or "the last answer was read", age)
