"""The pages of alerts, as the server sends them."""

import re
import time

import pytest
from django.contrib.auth.models import User

from monitoring.models import Alert, AlertRule, Delivery, Hook, HookToken, Receiver, Silence
from tests.alerts.receiving import receiving

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rules_of_a_new_installation")]
LABELS = {"alertname": "full", "severity": "critical", "watch": "berlin", "link": "wan"}
RULE = {
    "name": "wan-full", "title": "The wan is full", "figure": "link_utilisation.wan", "direction": "above",
    "fire": "0.9", "clear": "0.8", "watch": "", "severity": "critical", "for_s": "30", "no_data": "alert",
    "no_data_for_s": "60",
    "labels": "team=network\r\nzone=a", "runbook_url": "https://wiki.example/full", "runbook": "raise t",
    "enabled": "on",
}  # fmt: skip
RECEIVER = {
    "name": "chat", "kind": "webhook", "url": "https://chat.example/x", "secret_file": "", "timeout_s": "5",
    "repeat_s": "60", "enabled": "on", "matchers": "severity=critical",
}  # fmt: skip


@pytest.fixture
def planner(client):
    client.force_login(User.objects.create_user("ada"))
    return client


@pytest.fixture
def alert():
    now_ms = round(time.time() * 1000)
    return Alert.objects.create(
        rule=AlertRule.objects.first(), rule_name="full", key="berlin/full", watch="berlin", state="firing",
        severity="critical", labels=LABELS, text="wan is 95 % <full>", since_ms=now_ms, fired_ms=now_ms,
    )  # fmt: skip


def text(answer):
    return answer.content.decode()


def said(page):
    """Its words, without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", text(page)).split())


# --- alerts ------------------------------------------------------------------------------------------------------


def test_an_empty_list_says_what_is_looked_at_and_what_to_do(client):
    page = said(client.get("/live/alerts/"))
    assert "None is pending or fires. 6 rules are looked at once a second; nobody is told yet" in page
    AlertRule.objects.update(enabled=False)
    assert "Nothing is looked at." in said(client.get("/live/alerts/"))


def test_an_alert_is_listed_acknowledged_and_taken_back(planner, alert):
    assert "wan is 95 % &lt;full&gt;" in text(planner.get("/live/alerts/"))
    address = f"/live/alerts/{alert.pk}/acknowledge/"
    assert planner.post(address, {"from": "list"}).headers["Location"] == "/live/alerts/"
    assert "ada" in said(planner.get("/live/alerts/"))
    alert.refresh_from_db()
    assert alert.acknowledged_by == "ada"
    assert planner.post(address, {"back": "1"}).headers["Location"] == f"/live/alerts/{alert.pk}/"
    alert.refresh_from_db()
    assert alert.acknowledged_by == ""


def test_an_alert_has_a_page_with_its_labels_messages_and_what_to_do(planner, alert):
    Alert.objects.update(runbook="raise t")
    receiver = Receiver.objects.create(name="chat", kind="webhook", url="http://chat.example/")
    Delivery.objects.create(receiver=receiver, alert=alert, event="firing", payload={}, created_ms=1, given_up=True)
    planner.post(f"/live/alerts/{alert.pk}/acknowledge/", {"comment": "on it"})
    page = said(planner.get(f"/live/alerts/{alert.pk}/"))
    for part in ("link=wan", "raise t", "on it", "chat firing given up"):
        assert part in page
    assert planner.get("/live/alerts/99999/").status_code == 404


def test_who_is_not_signed_in_sees_alerts_and_changes_nothing(client, alert):
    assert "Acknowledge:" not in text(client.get("/live/alerts/"))
    assert "Sign in" in said(client.get(f"/live/alerts/{alert.pk}/"))
    for address in (
        f"{alert.pk}/acknowledge/", "rules/new/", "silences/new/", "receivers/", "receivers/new/", "hooks/",
        "hooks/new/",
    ):  # fmt: skip
        assert client.get(f"/live/alerts/{address}").headers["Location"].startswith("/login/")
    alert.refresh_from_db()
    assert alert.acknowledged_by == ""


def test_what_is_resolved_is_listed_as_ended_and_cannot_be_acknowledged(planner, alert):
    Alert.objects.update(state="resolved", resolved_ms=alert.since_ms + 1)
    opened, _, ended = said(planner.get("/live/alerts/")).partition("Ended lately")
    assert "wan is 95 %" in ended
    assert "wan is 95 %" not in opened
    answer = planner.post(f"/live/alerts/{alert.pk}/acknowledge/", follow=True)
    assert "there is nothing to acknowledge" in said(answer)


# --- rules -------------------------------------------------------------------------------------------------------


def test_a_rule_is_made_listed_changed_switched_and_removed(planner):
    answer = planner.post("/live/alerts/rules/new/?kind=threshold", RULE)
    assert (answer.status_code, answer.headers.get("Location")) == (302, "/live/alerts/rules/"), text(answer)
    rule = AlertRule.objects.get(name="wan-full")
    assert rule.spec == {"figure": "link_utilisation.wan", "direction": "above", "fire": 0.9, "clear": 0.8}
    assert (rule.labels, rule.no_data, rule.changed_by) == ({"team": "network", "zone": "a"}, "alert", "ada")
    assert "The wan is full" in said(planner.get("/live/alerts/rules/"))
    form = text(planner.get("/live/alerts/rules/wan-full/"))
    assert 'value="0.9"' in form
    assert "team=network\nzone=a" in form
    planner.post("/live/alerts/rules/wan-full/", RULE | {"fire": "0.95"})
    planner.post("/live/alerts/rules/wan-full/switch/")
    rule.refresh_from_db()
    assert (rule.spec["fire"], rule.enabled) == (0.95, False)
    assert "Remove the rule wan-full?" in said(planner.get("/live/alerts/rules/wan-full/remove/"))
    assert AlertRule.objects.filter(name="wan-full").exists()
    planner.post("/live/alerts/rules/wan-full/remove/")
    assert not AlertRule.objects.filter(name="wan-full").exists()


@pytest.mark.parametrize("kind", ["threshold", "rate", "forecast", "advice", "burn", "source"])
def test_every_kind_of_rule_has_a_form_whose_defaults_can_be_stored(planner, kind):
    page = text(planner.get(f"/live/alerts/rules/new/?kind={kind}"))
    given = dict(re.findall(r'<input type="(?:text|number)" name="(\w+)" value="([^"]*)"', page))
    given |= {"name": f"a-{kind}", "direction": "above", "measure": "ratio", "severity": "info", "no_data": "ok"}
    answer = planner.post(f"/live/alerts/rules/new/?kind={kind}", given)
    assert answer.status_code == 302, text(answer)
    assert AlertRule.objects.get(name=f"a-{kind}").kind == kind


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"name": "a b"}, "name", "letters, digits"),
        ({"fire": "high"}, "fire", "Enter a number"),
        ({"fire": "0.5"}, "clear", "at or below the level that fires"),
        ({"figure": "Link"}, "figure", "must be the name of a figure"),
        ({"for_s": "-1"}, "for_s", "must be from 0 to 86400 s"),
        ({"labels": "team"}, "labels", "must be name=value"),
        ({"labels": "severity=x"}, "labels", "a label that each alert has by itself"),
        ({"runbook_url": "javascript:x"}, "runbook_url", "must begin with http"),
        ({"name": "source-lost"}, "name", "is the name of another rule"),
    ],
)
def test_mistakes_lead_to_their_fields_and_nothing_is_stored(planner, changes, field, message):
    answer = planner.post("/live/alerts/rules/new/", RULE | changes)
    assert answer.status_code == 200
    assert message in said(answer)
    assert f'href="#{field}"' in text(answer)
    assert not AlertRule.objects.filter(name="wan-full").exists()


# --- silences ----------------------------------------------------------------------------------------------------


def test_an_alert_is_silenced_by_its_labels_and_the_silence_ended(planner, alert):
    page = text(planner.get(f"/live/alerts/silences/new/?alert={alert.pk}"))
    assert "link=wan" in page
    given = {"matchers": "link=wan\nwatch=berlin", "minutes": "30", "comment": "works"}
    assert planner.post("/live/alerts/silences/new/", given).status_code == 302
    silence = Silence.objects.get()
    assert (silence.matchers, silence.by) == ({"link": "wan", "watch": "berlin"}, "ada")
    assert silence.until_ms - silence.starts_ms == 30 * 60_000
    assert "link=wan watch=berlin active 1" in said(planner.get("/live/alerts/silences/"))
    assert "silenced until" in said(planner.get("/live/alerts/"))
    planner.post(f"/live/alerts/silences/{silence.pk}/end/")
    assert "None: all that fires is told." in said(planner.get("/live/alerts/silences/"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"matchers": ""}, "must be an object of 1 to 10 labels"),
        ({"minutes": "0"}, "must be more than 0"),
        ({"minutes": "nan"}, "Enter a number"),
        ({"matchers": "link=****"}, "at most 3 stars"),
    ],
)
def test_what_a_silence_cannot_be_is_said(planner, changes, message):
    given = {"matchers": "link=wan", "minutes": "30", "comment": ""} | changes
    assert message in said(planner.post("/live/alerts/silences/new/", given))
    assert not Silence.objects.exists()


# --- receivers ---------------------------------------------------------------------------------------------------


def test_a_receiver_is_made_changed_and_removed(planner):
    answer = planner.post("/live/alerts/receivers/new/", RECEIVER)
    assert answer.headers.get("Location") == "/live/alerts/receivers/chat/", text(answer)
    assert Receiver.objects.get().matchers == {"severity": "critical"}
    assert "no alert with its labels has fired" in said(planner.get("/live/alerts/receivers/chat/"))
    planner.post("/live/alerts/receivers/chat/change/", RECEIVER | {"enabled": "", "timeout_s": "9"})
    assert "disabled" in said(planner.get("/live/alerts/receivers/"))
    assert "Remove the receiver chat?" in said(planner.get("/live/alerts/receivers/chat/remove/"))
    planner.post("/live/alerts/receivers/chat/remove/")
    assert "None yet" in said(planner.get("/live/alerts/receivers/"))


def test_mistakes_of_a_receiver_are_said(planner):
    page = said(planner.post("/live/alerts/receivers/new/", RECEIVER | {"url": "chat", "timeout_s": "99"}))
    assert "must begin with http" in page
    assert "must be from 0.1 to 30 s" in page
    assert not Receiver.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_button_sends_a_test_and_says_what_came_of_it(planner):
    with receiving() as server:
        planner.post("/live/alerts/receivers/new/", RECEIVER | {"url": server.url()})
        assert "chat has taken the test" in said(planner.post("/live/alerts/receivers/chat/test/", follow=True))
        server.statuses = [503]
        failed = said(planner.post("/live/alerts/receivers/chat/test/", follow=True))
    assert "The test did not arrive at chat: answers 503: said." in failed


def test_the_list_of_alerts_says_that_a_receiver_is_not_reached(planner):
    Receiver.objects.create(name="chat", kind="webhook", url="http://chat.example/", last_error="answers 503")
    assert "chat is not reached. answers 503" in said(planner.get("/live/alerts/"))


# --- hooks -------------------------------------------------------------------------------------------------------


def test_a_hook_is_made_given_a_token_that_is_shown_once_and_removed(planner):
    answer = planner.post("/live/alerts/hooks/new/", {"name": "am", "kind": "alertmanager", "watch": ""})
    assert answer.headers.get("Location") == "/live/alerts/hooks/am/", text(answer)
    answer = planner.post("/live/alerts/hooks/am/tokens/")
    assert "no-store" in answer.headers["Cache-Control"]
    page = text(answer)
    secret = re.search(r"data-secret>([^<]+)<", page)[1]
    token = HookToken.objects.get()
    assert secret.startswith(token.hint)
    page = text(planner.get("/live/alerts/hooks/am/"))
    assert secret not in page
    assert "/api/v1/live/hooks/alertmanager/" in page
    planner.post("/live/alerts/hooks/am/switch/")
    assert not Hook.objects.get().enabled
    assert "Revoke the token" in said(planner.get(f"/live/alerts/hooks/am/tokens/{token.pk}/revoke/"))
    planner.post(f"/live/alerts/hooks/am/tokens/{token.pk}/revoke/")
    assert not HookToken.objects.exists()
    assert "Remove the hook am?" in said(planner.get("/live/alerts/hooks/am/remove/"))
    planner.post("/live/alerts/hooks/am/remove/")
    assert not Hook.objects.exists()


@pytest.mark.parametrize(("kind", "part"), [("grafana", "/api/v1/live/hooks/grafana/"), ("api", "curl -H")])
def test_a_hook_says_how_to_set_up_its_sender(planner, kind, part):
    planner.post("/live/alerts/hooks/new/", {"name": "other", "kind": kind, "watch": ""})
    assert part in text(planner.get("/live/alerts/hooks/other/"))
