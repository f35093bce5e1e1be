"""Receivers: what may be said of one, storing it, and a message to try it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import IntegrityError, transaction

from monitoring import addresses, asking
from monitoring.alerts import kinds, payloads, silences
from monitoring.alerts.rules import NAME, PAGES, Wrong
from monitoring.models import Alert, Receiver
from monitoring.sources.fetching import Answer, Failed, Fetcher

FIELDS = ("name", "kind", "url", "secret_file", "matchers", "timeout_s", "repeat_s", "enabled")
EXAMPLES = {"alertmanager": "http://alertmanager:9093", "webhook": "https://chat.example/hooks/prfaas"}
SHORTEST_S, LONGEST_TIMEOUT_S = 0.1, 30.0
LEAST_REPEAT_S, MOST_REPEAT_S = 5.0, 600.0
PATH = "/api/v2/alerts"
LASTING = (408, 425, 429)
"""Of the refusals those that may pass."""


class Refused(Failed):
    """It was answered, and the same message would be answered in the same way."""


def described(receiver: Receiver) -> dict[str, Any]:
    """What is said of it now."""
    return {field: getattr(receiver, field) for field in FIELDS}


def store(receiver: Receiver, given: Mapping[str, Any]) -> None:
    """Changes a receiver, or makes a new one. Raises Wrong; then nothing is changed."""
    if unknown := [field for field in given if field not in FIELDS]:
        raise Wrong({str(unknown[0])[:100]: f"is not a field here; allowed: {', '.join(FIELDS)}"})
    said = {**described(receiver), **given}
    if wrong := mistakes(said):
        raise Wrong(wrong)
    for field in FIELDS:
        setattr(receiver, field, said[field])
    receiver.failures, receiver.due_ms, receiver.last_error = 0, 0, ""  # that was said of what it was before
    try:
        with transaction.atomic():
            receiver.save()
    except IntegrityError:
        raise Wrong({"name": f"{receiver.name} is the name of another receiver"}) from None


def mistakes(said: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a description, by field."""
    found: dict[str, str] = {}
    checks = (_of_names(said), _of_url(said), _of_numbers(said), _of_secret(said["secret_file"]))
    for check in (*checks, silences.of_matchers(said["matchers"], least=0)):
        for field, message in check:
            found.setdefault(field, message)
    return found


def _of_names(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name = said["name"]
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > 100 or name in PAGES:
        yield "name", "must be up to 100 letters, digits, - and _, the first a letter or digit, and not new"
    if said["kind"] not in Receiver.Kind.values:
        yield "kind", f"must be one of {', '.join(Receiver.Kind.values)}, got {said['kind']!r:.60}"
    if not isinstance(said["enabled"], bool):
        yield "enabled", "must be true or false"


def _of_url(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    example = EXAMPLES.get(said["kind"] if isinstance(said["kind"], str) else "", EXAMPLES["webhook"])
    for message in addresses.mistakes(said["url"], example, "secret_file"):
        yield "url", message


def _of_numbers(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    limits = {"timeout_s": (SHORTEST_S, LONGEST_TIMEOUT_S), "repeat_s": (LEAST_REPEAT_S, MOST_REPEAT_S)}
    for field, (least, most) in limits.items():
        if not kinds.is_number(said[field]) or not least <= said[field] <= most:
            yield field, f"must be from {least:g} to {most:g} s, got {said[field]!r:.60}"


def _of_secret(name: Any) -> Iterator[tuple[str, str]]:
    if name == "":
        return
    if not isinstance(name, str) or not asking.TOKEN_FILE.fullmatch(name) or len(name) > 100:
        yield "secret_file", "must be the name of a file in the credentials' directory, without a path"
        return
    try:
        asking.token(name)
    except Failed as problem:
        yield "secret_file", str(problem)


# --- sending -----------------------------------------------------------------------------------------------------


async def send(receiver: Receiver, fetcher: Fetcher, body: bytes, delivery: str) -> None:
    """One message. Raises Failed where it is not taken, and Refused where it never will be."""
    secret = asking.token(receiver.secret_file)
    if receiver.kind == Receiver.Kind.ALERTMANAGER:
        headers = {"Content-Type": payloads.JSON} | ({"Authorization": f"Bearer {secret}"} if secret else {})
        url = receiver.url.rstrip("/") + PATH
    else:
        headers, url = payloads.signed(body, delivery, secret, int(time.time())), receiver.url
    _taken(await fetcher.post(url, receiver.timeout_s, body, headers))


def _taken(answer: Answer) -> None:
    """Raises Failed."""
    if 200 <= answer.status < 300:
        return
    try:
        said = answer.text()[:200].strip()
    except Failed:
        said = ""
    problem = f"answers {answer.status}" + (f": {said}" if said else "")
    if 400 <= answer.status < 500 and answer.status not in LASTING:
        raise Refused(problem)
    raise Failed(problem)


def attempt(receiver: Receiver, now_ms: int) -> str:
    """Sends a test; what was wrong, empty where nothing was."""
    labels = {"alertname": "PlannerTest", "severity": "info", "receiver": receiver.name}
    text = "A test: somebody has pressed the button."
    alert = Alert(rule_name="PlannerTest", state="firing", severity="info", labels=labels, text=text, since_ms=now_ms)
    alert.fired_ms, alert.resolved_ms = now_ms, now_ms + 60_000
    if receiver.kind == Receiver.Kind.ALERTMANAGER:
        body = payloads.alertmanager([alert], now_ms, receiver.repeat_s)
    else:
        body = payloads.body_of(payloads.webhook(alert, "test"))
    try:
        async_to_sync(_attempt)(receiver, body, f"test-{now_ms}")
    except Failed as problem:
        return str(problem)
    return ""


async def _attempt(receiver: Receiver, body: bytes, delivery: str) -> None:
    fetcher = Fetcher(settings.SCRAPE_LINK_LOCAL)
    try:
        await send(receiver, fetcher, body, delivery)
    finally:
        await fetcher.close()
