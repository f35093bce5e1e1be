"""Alerts, acknowledgements and silences over REST."""

import time

import pytest

from monitoring.alerts.evaluator import Alerting
from monitoring.models import Alert, Silence
from tests.alerts.snapshots import FULL, T0, rule, snapshot, watch

pytestmark = pytest.mark.django_db
LABELS = {"alertname": "full", "severity": "warning", "watch": "berlin", "link": "wan"}


def alert(state="firing", name="full", since_ms=T0, **more):
    fired = None if state == "pending" else since_ms
    return Alert.objects.create(
        rule_name=name, key=f"berlin/{name}", watch="berlin", state=state, severity="warning", labels=LABELS,
        since_ms=since_ms, fired_ms=fired, resolved_ms=since_ms + 1000 if state == "resolved" else None, **more,
    )  # fmt: skip


def now_ms():
    return round(time.time() * 1000)


def listed(rest, query=""):
    return [each["rule"] for each in rest("get", f"alerts/{query}").json()["alerts"]]


def test_alerts_are_listed_by_state_and_by_what_they_are_of(rest, anyone):
    alert("pending", "a", T0)
    alert("firing", "b", T0 + 1)
    alert("resolved", "c", T0 + 2)
    assert listed(anyone) == ["b", "a"]
    assert listed(rest, "?state=firing") == ["b"]
    assert listed(rest, "?state=resolved") == ["c"]
    assert listed(rest, "?state=all&limit=2") == ["c", "b"]
    assert rest("get", "alerts/?state=all&limit=2").json()["more"] == 1
    assert listed(rest, "?state=all&rule=a") == ["a"]
    assert listed(rest, "?state=all&watch=nowhere") == []
    assert listed(rest, "?state=all&severity=critical") == []
    assert listed(rest, f"?state=all&start={T0 + 1002}") == ["c", "b", "a"]
    assert listed(rest, f"?state=resolved&start={T0 + 2000}") == []
    assert listed(rest, f"?state=all&end={T0 + 1}") == ["a"]


@pytest.mark.parametrize(
    ("query", "field"),
    [("state=burning", "state"), ("limit=0", "limit"), ("limit=x", "limit"), ("start=noon", "start")],
)
def test_what_cannot_be_asked_for_is_said(rest, query, field):
    assert field in rest.refused("get", f"alerts/?{query}", None)


def test_an_alert_is_acknowledged_and_it_is_seen_in_the_next_snapshot(rest, anyone):
    rule(figure=FULL, fire=0.9, clear=0.8)
    alerting = Alerting()
    taken = snapshot(0, watch(**{FULL: 0.95}))
    alerting(taken)
    address = f"alerts/{taken.alerts[0].id}/acknowledge/"
    assert anyone("post", address, {}).status_code in (401, 403)
    answer = rest("post", address, {"comment": "on it"}).json()
    assert (answer["acknowledged_by"], answer["comment"]) == ("ada", "on it")
    again = snapshot(1, watch(**{FULL: 0.95}))
    alerting(again)
    assert [each.acknowledged_by for each in again.alerts] == ["ada"]
    assert rest("delete", address).status_code == 204
    alerting(again)
    assert [each.acknowledged_by for each in again.alerts] == [""]


def test_what_is_resolved_cannot_be_acknowledged(rest):
    found = alert("resolved")
    assert "is resolved" in rest.refused("post", f"alerts/{found.pk}/acknowledge/", {})[None]
    assert "is resolved" in rest.refused("delete", f"alerts/{found.pk}/acknowledge/", None)[None]
    assert rest("post", "alerts/99999/acknowledge/", {}).status_code == 404
    open_one = alert()
    assert "must be text" in rest.refused("post", f"alerts/{open_one.pk}/acknowledge/", {"comment": 3})["comment"]
    assert "is not a field" in rest.refused("post", f"alerts/{open_one.pk}/acknowledge/", {"why": "x"})["why"]


# --- silences ----------------------------------------------------------------------------------------------------


def test_a_silence_holds_for_alerts_with_its_labels_until_its_end(rest):
    alert()
    until = now_ms() + 60_000
    made = rest.made("silences/", matchers={"link": "w*", "watch": "berlin"}, until_ms=until, comment="works")
    assert (made["by"], made["is_active"], made["comment"]) == ("ada", True, "works")
    [found] = rest("get", "alerts/").json()["alerts"]
    assert found["silenced_until_ms"] == until
    assert rest("delete", f"silences/{made['id']}/").status_code == 204
    assert rest("get", "alerts/").json()["alerts"][0]["silenced_until_ms"] is None
    assert rest("get", "silences/").json() == []
    assert len(rest("get", "silences/?all=true").json()) == 1
    assert rest("get", f"silences/{made['id']}/").json()["is_active"] is False


def test_a_silence_of_other_labels_does_not_hold(rest):
    alert()
    until = now_ms() + 60_000
    rest.made("silences/", matchers={"link": "lan"}, until_ms=until)
    rest.made("silences/", matchers={"colour": "red*"}, until_ms=until)
    rest.made("silences/", matchers={"link": "wan"}, until_ms=until + 9, starts_ms=until)
    assert rest("get", "alerts/").json()["alerts"][0]["silenced_until_ms"] is None


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"matchers": {}}, "matchers", "must be an object of 1 to 10"),
        ({"matchers": {"a b": "x"}}, "matchers", "is no label"),
        ({"matchers": {"link": ""}}, "matchers", "link must be text"),
        ({"matchers": {"link": "****"}}, "matchers", "at most 3 stars"),
        ({"matchers": {"link": 3}}, "matchers", "link must be text"),
        ({"until_ms": 5}, "until_ms", "must be after now"),
        ({"until_ms": None}, "until_ms", "must be epoch milliseconds"),
        ({"until_ms": 2**52}, "until_ms", "at most 90 days"),
        ({"starts_ms": "now"}, "starts_ms", "must be epoch milliseconds"),
        ({"comment": None}, "comment", "must be text"),
        ({"by": "bob"}, "by", "is not a field here"),
    ],
)
def test_what_a_silence_cannot_be_is_said_by_field(rest, changes, field, said):
    given = {"matchers": {"link": "wan"}, "until_ms": now_ms() + 60_000} | changes
    assert said in rest.refused("post", "silences/", given)[field]
    assert not Silence.objects.exists()
