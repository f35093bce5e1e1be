"""Alert rules: what may be said of one, storing it, and what it is to be evaluated by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction

from monitoring.alerts import kinds
from monitoring.alerts.judging import Policy
from monitoring.models import AlertRule, Watch

FIELDS = (
    "name", "title", "kind", "watch", "spec", "for_s", "no_data", "no_data_for_s", "severity", "labels", "runbook",
    "runbook_url", "enabled",
)  # fmt: skip
RESERVED = ("alertname", "severity", "watch", "figure", "link", "source", "reason")
"""Labels that each alert has by itself."""
PAGES = ("new",)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
MOST_LABELS, LONGEST_RUNBOOK = 20, 4000


class Wrong(ValueError):
    """What is said cannot be; `errors` has what is wrong, by field."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {said}" for field, said in errors.items()))
        self.errors = errors


def described(rule: AlertRule) -> dict[str, Any]:
    """What is said of it now; what is not said of its kind is filled in."""
    said = {field: getattr(rule, field) for field in FIELDS}
    if rule.kind in kinds.KINDS:
        said["spec"] = {**kinds.defaults(rule.kind), **rule.spec}
    return said


def store(rule: AlertRule, given: Mapping[str, Any], by: str = "") -> None:
    """Changes a rule, or makes a new one, as `given` says. Raises Wrong; then nothing is changed."""
    if unknown := [field for field in given if field not in FIELDS]:
        raise Wrong({str(unknown[0])[:100]: f"is not a field here; allowed: {', '.join(FIELDS)}"})
    said = {**described(rule), **given}
    spec, kind = given.get("spec", {}), said["kind"]
    if isinstance(spec, Mapping) and isinstance(kind, str) and kind in kinds.KINDS:
        before = rule.spec if rule.kind == kind else {}
        said["spec"] = {**kinds.defaults(kind), **before, **spec}
    if wrong := mistakes(said):
        raise Wrong(wrong)
    for field in FIELDS:
        setattr(rule, field, said[field])
    rule.changed_by, rule.problem = by[:150], ""
    try:
        with transaction.atomic():
            rule.save()
    except IntegrityError:
        raise Wrong({"name": f"{rule.name} is the name of another rule"}) from None


def mistakes(said: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a description, by field."""
    found: dict[str, str] = {}
    for check in (_of_name, _of_words, _of_choices, _of_times, _of_labels, _of_url, _of_watch, _of_spec):
        for field, message in check(said):
            found.setdefault(field, message)
    return found


def _of_name(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name = said["name"]
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > 100:
        yield "name", "must be up to 100 letters, digits, - and _, the first a letter or digit"
    elif name in PAGES:
        yield "name", f"{name} is not a name of a rule"


def _of_words(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, longest in (("title", 200), ("runbook", LONGEST_RUNBOOK)):
        if not isinstance(said[field], str) or len(said[field]) > longest or "\0" in said[field]:
            yield field, f"must be text of up to {longest} characters"
    if not isinstance(said["enabled"], bool):
        yield "enabled", "must be true or false"


def _of_choices(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    choices = {"kind": AlertRule.Kind, "severity": AlertRule.Severity, "no_data": AlertRule.NoData}
    for field, allowed in choices.items():
        if said[field] not in allowed.values:
            yield field, f"must be one of {', '.join(allowed.values)}, got {said[field]!r:.60}"


def _of_times(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in ("for_s", "no_data_for_s"):
        if not kinds.is_number(said[field]) or not 0 <= said[field] <= kinds.DAY_S:
            yield field, f"must be from 0 to {kinds.DAY_S:g} s, got {said[field]!r:.60}"


def _of_labels(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    labels = said["labels"]
    if not isinstance(labels, Mapping) or len(labels) > MOST_LABELS:
        yield "labels", f"must be an object of at most {MOST_LABELS} labels to values"
        return
    for name, value in labels.items():
        if not isinstance(name, str) or not LABEL.fullmatch(name):
            yield "labels", f"{str(name)[:64]!r} must be letters, digits and _, the first no digit"
        elif name in RESERVED:
            yield "labels", f"{name} is a label that each alert has by itself"
        elif not isinstance(value, str) or not value or not value.isprintable() or len(value) > 200:
            yield "labels", f"{name} must be text of up to 200 characters"


def _of_url(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    url = said["runbook_url"]
    if url == "":
        return
    try:
        is_one = isinstance(url, str) and len(url) <= 500 and url.isprintable() and " " not in url
        is_one = is_one and urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        is_one = False
    if not is_one:
        yield "runbook_url", f"must begin with http:// or https:// and a host, got {url!r:.100}"


def _of_watch(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    watch = said["watch"]
    if not isinstance(watch, str):
        yield "watch", "must be the name of a watch, or empty for all"
    elif watch and not Watch.objects.filter(name=watch[:101]).exists():
        known = ", ".join(Watch.objects.values_list("name", flat=True)[:20]) or "none yet"
        yield "watch", f"{watch[:100]} is no watch; known: {known}; empty: all"


def _of_spec(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    spec = said["spec"]
    if not isinstance(spec, Mapping):
        yield "spec", "must be an object of the kind's fields"
    elif said["kind"] in AlertRule.Kind.values:
        for field, message in kinds.mistakes(said["kind"], spec):
            yield f"spec.{field}", message


def policy(rule: AlertRule) -> Policy:
    """As its states are advanced by."""
    return Policy(round(rule.for_s * 1000), rule.no_data, round(rule.no_data_for_s * 1000))  # type: ignore[arg-type]
