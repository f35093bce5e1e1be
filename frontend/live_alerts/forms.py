"""What may be said of rules, silences, receivers and hooks, held to what the API holds it to."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend.live_alerts.fields import Described, PairsField, choices
from monitoring.alerts import kinds, receivers, rules, silences
from monitoring.alerts.hooks import registry
from monitoring.models import AlertRule, Hook, Receiver, Watch

MINUTES = 120
RULE_FIELDS = (
    "name", "title", "watch", "severity", "for_s", "no_data", "no_data_for_s", "enabled", "labels", "runbook_url",
    "runbook",
)  # fmt: skip
LABELS_HELP = "One on each line, as link=wan or severity=*: * stands for any characters."


def _watches() -> list[tuple[str, str]]:
    return choices(((name, name) for name in Watch.objects.values_list("name", flat=True)), "all")


class RuleForm(Described):
    """What may be said of a rule of one kind."""

    name = forms.CharField(help_text="Letters, digits, - and _: the alert's name at receivers.")
    title = forms.CharField(required=False, help_text="In words, for people.")

    def __init__(self, kind: str, *args: Any, **more: Any) -> None:
        self.kind = kind
        super().__init__(*args, **more)

    def set_up(self) -> None:
        for each in kinds.KINDS[self.kind]:
            self.fields[each.name] = _of_kind(each)
        self.fields["watch"] = forms.ChoiceField(choices=_watches(), required=False, help_text="Which deployment.")
        self.fields["severity"] = forms.ChoiceField(choices=AlertRule.Severity.choices, initial="warning")
        self.fields["for_s"] = forms.FloatField(
            label="For, s", initial=60, help_text="So long it must hold without a break before it fires."
        )
        self.fields["no_data"] = forms.ChoiceField(
            label="Without data", choices=AlertRule.NoData.choices, initial="keep", help_text="What that is taken for."
        )
        self.fields["no_data_for_s"] = forms.FloatField(
            label="Without data for, s", initial=120, help_text="After so long that holds."
        )
        self.fields["labels"] = PairsField(help_text="Of its alerts, one on each line, as team=network.")
        self.fields["runbook_url"] = forms.CharField(label="Runbook's address", required=False)
        attrs = {"rows": 3, "class": "input"}
        self.fields["runbook"] = forms.CharField(
            required=False, widget=forms.Textarea(attrs=attrs), help_text="What to do: goes along with each alert."
        )
        self.fields["enabled"] = forms.BooleanField(label="Evaluate it", required=False, initial=True)

    @property
    def of_kind(self) -> list[forms.BoundField]:
        """The fields that its kind has."""
        return [self[each.name] for each in kinds.KINDS[self.kind]]

    @property
    def in_general(self) -> list[forms.BoundField]:
        """The fields that all rules have, but for those that are wide."""
        return [self[name] for name in RULE_FIELDS if name not in ("labels", "runbook")]

    def keep(self, rule: AlertRule, by: str) -> bool:
        """Whether it is stored."""
        given = {name: self.cleaned_data[name] for name in RULE_FIELDS}
        spec = {each.name: self.cleaned_data[each.name] for each in kinds.KINDS[self.kind]}
        try:
            rules.store(rule, {**given, "kind": self.kind, "spec": spec}, by)
        except rules.Wrong as problem:
            self.refuse(problem.errors)
            return False
        return True


def rule_initial(rule: AlertRule) -> dict[str, Any]:
    """Of a form that changes it."""
    said = rules.described(rule)
    return {**said, **said["spec"]}


def _of_kind(each: kinds.Field) -> forms.Field:
    common: dict[str, Any] = {"label": each.label, "initial": each.default, "help_text": each.help}
    if each.is_flag:
        return forms.BooleanField(required=False, **common)
    if each.words:
        return forms.ChoiceField(choices=[(word, word) for word in each.words], **common)
    if each.is_pattern:
        field = forms.CharField(max_length=150, **common)
        field.widget.attrs["list"] = f"known-{each.name}"
        return field
    return forms.FloatField(**common)


class SilenceForm(Described):
    """What may be said of a silence that begins now."""

    matchers = PairsField(label="Alerts with these labels", help_text=f"All of them must be so. {LABELS_HELP}")
    minutes = forms.FloatField(label="For, minutes", initial=MINUTES)
    comment = forms.CharField(required=False, help_text="Why: others see it.")

    def keep(self, by: str, now_ms: int) -> bool:
        """Whether it is stored."""
        given = self.cleaned_data
        try:
            until_ms = silences.minutes(now_ms, given["minutes"])
            silences.store(
                {"matchers": given["matchers"], "comment": given["comment"], "until_ms": until_ms}, by, now_ms
            )
        except rules.Wrong as problem:
            self.refuse(problem.errors)
            return False
        return True


class ReceiverForm(Described):
    """What may be said of a receiver."""

    name = forms.CharField(help_text="Letters, digits, - and _.")
    kind = forms.ChoiceField(choices=Receiver.Kind.choices)
    url = forms.CharField(
        label="Address",
        help_text=f"Of an Alertmanager what comes before /api/v2, as {receivers.EXAMPLES['alertmanager']}; "
        "of a webhook all of it.",
    )
    secret_file = forms.CharField(
        required=False,
        help_text="Name of a file in the credentials' directory of the server: an Alertmanager gets it as bearer "
        "token, a webhook's messages are signed with it. Empty: neither.",
    )
    timeout_s = forms.FloatField(label="Answer within, s", initial=5)
    repeat_s = forms.FloatField(label="Told again every, s", initial=60, help_text="An Alertmanager, what fires.")
    enabled = forms.BooleanField(label="Send to it", required=False, initial=True)
    matchers = PairsField(label="Only alerts with these labels", help_text=f"Empty: all. {LABELS_HELP}")

    def keep(self, receiver: Receiver) -> bool:
        """Whether it is stored."""
        try:
            receivers.store(receiver, self.cleaned_data)
        except rules.Wrong as problem:
            self.refuse(problem.errors)
            return False
        return True


class HookForm(Described):
    """What may be said of a hook."""

    name = forms.CharField(help_text="Letters, digits, - and _: annotations say that they are by it.")
    kind = forms.ChoiceField(choices=Hook.Kind.choices, help_text="Its token opens this and nothing else.")

    def set_up(self) -> None:
        self.fields["watch"] = forms.ChoiceField(
            choices=_watches(), required=False, help_text="Of which its events are, unless a label watch says it."
        )

    def keep(self, hook: Hook) -> bool:
        """Whether it is stored."""
        try:
            registry.store(hook, self.cleaned_data)
        except rules.Wrong as problem:
            self.refuse(problem.errors)
            return False
        return True
