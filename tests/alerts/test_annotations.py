"""Annotations: by REST, by a token, from Alertmanager and from Grafana."""

import json

import pytest

from monitoring import tokens
from monitoring.alerts.hooks import alertmanager, grafana
from monitoring.alerts.hooks.events import Malformed
from monitoring.models import Hook, HookToken, Note, Watch
from tests.alerts.snapshots import T0

pytestmark = pytest.mark.django_db
NOON_MS = 1_795_996_800_000
NOON = "2026-11-30T00:00:00Z"
# As Alertmanager 0.25 sends it.
FIRING = {
    "receiver": "prfaas", "status": "firing", "groupLabels": {"alertname": "Deploy"}, "commonLabels": {},
    "commonAnnotations": {}, "externalURL": "http://am:9093", "version": "4", "groupKey": "{}:{}", "truncatedAlerts": 0,
    "alerts": [
        {
            "status": "firing", "labels": {"alertname": "Deploy", "link": "wan"},
            "annotations": {"summary": "router 1.2 is rolled out"}, "startsAt": "2026-11-30T00:00:00.123456789Z",
            "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "http://prometheus/graph", "fingerprint": "c4a55b1c2b",
        }
    ],
}  # fmt: skip


def changed(**changes):
    return FIRING | {"alerts": [FIRING["alerts"][0] | changes]}


RESOLVED = changed(status="resolved", endsAt="2026-11-30T00:05:00+00:00")


def hook(kind="alertmanager", name="am", **fields):
    found = Hook.objects.create(name=name, kind=kind, **fields)
    return found, tokens.create(found)[1]


def posted(client, path, body, secret=""):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return client.post(f"/api/v1/live/{path}", content, content_type="application/json", headers=headers)


# --- by hand -----------------------------------------------------------------------------------------------------


def test_who_is_signed_in_annotates_changes_and_deletes(rest, anyone):
    Watch.objects.create(name="berlin")
    made = rest.made("annotations/", text="t changed", ts_ms=NOON_MS, tags={"what": "t"}, watch="berlin")
    assert (made["kind"], made["by"], made["end_ms"], made["is_open"]) == ("note", "ada", None, False)
    window = f"annotations/?start={NOON_MS - 1}&end={NOON_MS + 1}"
    assert [each["text"] for each in anyone("get", window).json()["annotations"]] == ["t changed"]
    assert anyone("get", f"{window}&watch=oslo").json()["annotations"] == []
    assert rest("patch", f"annotations/{made['id']}/", {"end_ms": NOON_MS + 5}).json()["end_ms"] == NOON_MS + 5
    assert anyone("delete", f"annotations/{made['id']}/").status_code in (401, 403)
    assert rest("delete", f"annotations/{made['id']}/").status_code == 204
    assert not Note.objects.exists()


def test_a_window_has_what_reaches_into_it(rest):
    Note.objects.create(ts_ms=T0, end_ms=T0 + 100, kind="deploy", text="span")
    Note.objects.create(ts_ms=T0, is_open=True, kind="alert", text="open")
    Note.objects.create(ts_ms=T0, kind="deploy", text="moment")
    shown = rest("get", f"annotations/?start={T0 + 50}&end={T0 + 60}").json()["annotations"]
    assert {each["text"] for each in shown} == {"span", "open"}
    assert rest("get", f"annotations/?start={T0 - 50}&end={T0}").json()["annotations"] == []
    assert rest("get", f"annotations/?start={T0}&end={T0 + 9}&limit=1").json()["more"] == 2
    assert len(rest("get", f"annotations/?start={T0}&end={T0 + 9}&kind=deploy").json()["annotations"]) == 2


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"text": " "}, "text", "must be text of 1 to 1000"),
        ({"text": "x" * 1001}, "text", "must be text of 1 to 1000"),
        ({"text": None}, "text", "must be text"),
        ({"ts_ms": "now"}, "ts_ms", "must be epoch milliseconds"),
        ({"ts_ms": 9, "end_ms": 8}, "end_ms", "must not be before ts_ms"),
        ({"end_ms": True}, "end_ms", "must be epoch milliseconds"),
        ({"tags": [1]}, "tags", "must be an object"),
        ({"tags": {"a b": "c"}}, "tags", "must be letters"),
        ({"tags": {"a": 1}}, "tags", "a must be text"),
        ({"watch": "oslo"}, "watch", "must be the name of a watch"),
        ({"kind": "alert"}, "kind", "must be one of note, deploy, threshold, maintenance, incident, got 'alert'"),
        ({"colour": "red"}, "colour", "is not a field here"),
    ],
)
def test_what_an_annotation_cannot_be_is_said_by_field(rest, changes, field, said):
    assert said in rest.refused("post", "annotations/", {"text": "x"} | changes)[field]
    assert not Note.objects.exists()


def test_a_program_annotates_with_the_token_of_a_hook_and_changes_its_own_only(client):
    made, secret = hook("api", "deployer")
    answer = posted(client, "annotations/", {"text": "deployed", "kind": "deploy", "watch": "all"}, secret)
    assert answer.status_code == 201, answer.content
    assert (answer.json()["kind"], answer.json()["by"]) == ("deploy", "deployer")
    other = Note.objects.create(ts_ms=T0, kind="note", text="mine", by="ada")
    headers = {"Authorization": f"Bearer {secret}"}
    assert client.delete(f"/api/v1/live/annotations/{other.pk}/", headers=headers).status_code == 403
    assert client.delete(f"/api/v1/live/annotations/{answer.json()['id']}/", headers=headers).status_code == 204
    # It opens nothing else.
    assert client.get("/api/v1/live/receivers/", headers=headers).status_code in (401, 403)
    made.refresh_from_db()
    assert made.accepted == 1


def test_a_wrong_token_or_one_of_another_kind_annotates_nothing(client):
    _, secret = hook("grafana")
    assert posted(client, "annotations/", {"text": "x"}, "nonsense").status_code == 401
    answer = posted(client, "annotations/", {"text": "x"}, secret)
    assert answer.status_code == 403
    assert "need kind api" in answer.json()["errors"][0]["message"]
    assert posted(client, "annotations/", {"text": "x"}).status_code in (401, 403)


# --- Alertmanager ------------------------------------------------------------------------------------------------


def test_an_alert_of_alertmanager_is_a_span_that_its_end_closes(client):
    found, secret = hook()
    answer = posted(client, "hooks/alertmanager/", FIRING, secret)
    assert (answer.status_code, answer.json()) == (200, {"accepted": 1, "truncated": 0})
    note = Note.objects.get()
    assert (note.ts_ms, note.end_ms, note.is_open) == (NOON_MS + 123, None, True)
    assert (note.text, note.kind, note.by) == ("Deploy: router 1.2 is rolled out", "alertmanager", "am")
    assert note.tags == {"alertname": "Deploy", "link": "wan"}
    posted(client, "hooks/alertmanager/", FIRING, secret)  # repeated, as every group interval
    posted(client, "hooks/alertmanager/", RESOLVED, secret)
    posted(client, "hooks/alertmanager/", RESOLVED, secret)
    note = Note.objects.get()
    assert (note.end_ms, note.is_open) == (NOON_MS + 300_000, False)
    found.refresh_from_db()
    assert (found.accepted, found.last_error) == (4, "")


def test_the_same_alert_later_is_another_span(client):
    _, secret = hook()
    later = changed(startsAt="2026-11-30T01:00:00Z")
    for body in (FIRING, RESOLVED, later):
        posted(client, "hooks/alertmanager/", body, secret)
    assert sorted(Note.objects.values_list("ts_ms", "is_open")) == [
        (NOON_MS + 123, False), (NOON_MS + 3_600_000, True),
    ]  # fmt: skip


def test_an_old_message_that_comes_late_does_not_open_what_is_closed(client):
    _, secret = hook()
    posted(client, "hooks/alertmanager/", RESOLVED, secret)
    posted(client, "hooks/alertmanager/", FIRING, secret)
    assert Note.objects.get().is_open is False


def test_the_watch_is_that_of_the_label_or_of_the_hook(client):
    for name in ("berlin", "oslo"):
        Watch.objects.create(name=name)
    _, secret = hook(watch="oslo")
    labels = {"alertname": "x"}
    body = FIRING | {
        "alerts": [
            FIRING["alerts"][0] | {"labels": labels | {"watch": watch}, "fingerprint": watch}
            for watch in ("berlin", "nowhere")
        ]
    }
    posted(client, "hooks/alertmanager/", body, secret)
    assert sorted(Note.objects.values_list("watch", flat=True)) == ["berlin", "oslo"]


def test_what_the_sender_left_out_is_told(client):
    found, secret = hook()
    answer = posted(client, "hooks/alertmanager/", FIRING | {"truncatedAlerts": 12}, secret)
    assert answer.json() == {"accepted": 1, "truncated": 12}
    found.refresh_from_db()
    assert found.last_error == "its sender left 12 alerts out of its last message"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b"\xff", ""),
        (b'{"version": "4"}', "missing required field `alerts`"),
        (FIRING | {"version": "3"}, "must be 4, got '3'"),
        (changed(status="odd"), "must be firing or resolved, got 'odd'"),
        (changed(startsAt="yesterday"), "startsAt"),
        (changed(startsAt="2026-11-30T00:00:00"), "must have its zone"),
        (changed(startsAt="0001-01-01T00:00:00Z"), "must be after 1970"),
        (changed(status="resolved", endsAt=None), "must be there"),
        (changed(labels={"a": 1}), "Expected `str`, got `int` - at `$.alerts[0].labels[...]`"),
        (FIRING | {"alerts": FIRING["alerts"] * 1001}, "must be at most 1000, got 1001: set max_alerts"),
        (b'{"version": "4", "alerts": [], "pad": "' + b"x" * 2**20 + b'"}', "must not exceed 1048576 bytes"),
        (b'{"a":' * 100_000, ""),
    ],
)
def test_what_is_malformed_is_refused_with_the_reason_and_nothing_is_kept(client, body, said):
    found, secret = hook()
    answer = posted(client, "hooks/alertmanager/", body, secret)
    assert answer.status_code == 400, answer.content
    assert said in answer.json()["errors"][0]["message"]
    assert not Note.objects.exists()
    found.refresh_from_db()
    assert found.last_error


def test_one_wrong_event_among_others_keeps_none_of_them(client):
    _, secret = hook()
    body = FIRING | {"alerts": [*FIRING["alerts"], FIRING["alerts"][0] | {"status": "odd"}]}
    answer = posted(client, "hooks/alertmanager/", body, secret)
    assert answer.json()["errors"][0]["field"] == "alerts[1].status"
    assert not Note.objects.exists()


def test_only_who_has_a_token_of_this_kind_may_tell(client):
    found, secret = hook()
    assert posted(client, "hooks/alertmanager/", FIRING).status_code == 401
    assert posted(client, "hooks/alertmanager/", FIRING, "nonsense").status_code == 403
    answer = posted(client, "hooks/grafana/", FIRING, secret)
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (
        403, "this token is of a hook of kind alertmanager, not grafana",
    )  # fmt: skip
    found.enabled = False
    found.save()
    assert posted(client, "hooks/alertmanager/", FIRING, secret).status_code == 403
    assert HookToken.objects.get().last_used_at is not None
    assert client.get("/api/v1/live/hooks/alertmanager/").status_code == 405


def test_an_alert_without_a_fingerprint_is_known_by_its_labels():
    bare = FIRING | {"alerts": [{key: value for key, value in FIRING["alerts"][0].items() if key != "fingerprint"}]}
    [first] = alertmanager.read(json.dumps(bare).encode(), 0).events
    [second] = alertmanager.read(json.dumps(bare).encode(), 1).events
    assert first.fingerprint == second.fingerprint != ""


# --- Grafana -----------------------------------------------------------------------------------------------------


def test_grafanas_message_is_read_with_all_that_it_has_more(client):
    _, secret = hook("grafana", "graf")
    body = FIRING | {
        "version": "1", "orgId": 1, "title": "[FIRING:1] Deploy", "state": "alerting", "message": "**Firing**",
        "alerts": [
            FIRING["alerts"][0]
            | {"dashboardURL": "", "silenceURL": "http://g/s", "values": {"B": 44.2}, "valueString": "[]"}
        ],
    }  # fmt: skip
    assert posted(client, "hooks/grafana/", body, secret).status_code == 200
    assert (Note.objects.get().kind, Note.objects.get().is_open) == ("grafana", True)


def test_legacy_alerting_opens_and_closes_by_its_rule():
    firing = {
        "ruleId": 7, "ruleName": "Queue", "state": "alerting", "message": "too long", "orgId": 1, "dashboardId": 2,
        "panelId": 3, "title": "[Alerting] Queue", "evalMatches": [{"value": 1, "metric": "m", "tags": None}],
        "tags": {"team": "x"}, "ruleUrl": "http://g/d",
    }  # fmt: skip
    [event] = grafana.read(json.dumps(firing).encode(), T0).events
    assert (event.starts_ms, event.ends_ms, event.text, event.tags) == (T0, None, "Queue: too long", {"team": "x"})
    [over] = grafana.read(json.dumps(firing | {"state": "ok"}).encode(), T0 + 9).events
    assert (over.fingerprint, over.ends_ms) == (event.fingerprint, T0 + 9)
    assert grafana.read(json.dumps(firing | {"state": "paused"}).encode(), T0).events == ()
    with pytest.raises(Malformed, match="state: must be one of alerting"):
        grafana.read(json.dumps(firing | {"state": "odd"}).encode(), T0)
    with pytest.raises(Malformed, match="alerts: must be there, or ruleId"):
        grafana.read(b"{}", T0)


def test_legacy_alerting_over_rest_is_one_span(client):
    _, secret = hook("grafana", "graf")
    for state in ("alerting", "alerting", "ok"):
        body = {"ruleId": 7, "ruleName": "Queue", "state": state}
        assert posted(client, "hooks/grafana/", body, secret).status_code == 200
    note = Note.objects.get()
    assert note.is_open is False
    assert note.end_ms >= note.ts_ms


# --- who may -----------------------------------------------------------------------------------------------------


def test_a_hook_is_made_given_tokens_and_deleted_and_its_annotations_stay(rest, anyone):
    made = rest.made("hooks/", name="am", kind="alertmanager")
    assert made["accepted"] == 0
    first, second = rest.made("hooks/am/tokens/"), rest.made("hooks/am/tokens/")
    assert first["token"] != second["token"]
    assert "has 2 tokens already" in rest.refused("post", "hooks/am/tokens/", {})[None]
    assert "token" not in rest("get", "hooks/am/tokens/").json()[0]
    assert rest("delete", f"hooks/am/tokens/{first['id']}/").status_code == 204
    assert posted(anyone.client, "hooks/alertmanager/", FIRING, first["token"]).status_code == 403
    assert posted(anyone.client, "hooks/alertmanager/", FIRING, second["token"]).status_code == 200
    assert rest("patch", "hooks/am/", {"enabled": False}).json()["enabled"] is False
    assert rest("delete", "hooks/am/").status_code == 204
    assert Note.objects.count() == 1
    assert anyone("get", "hooks/").status_code in (401, 403)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"name": "grafana"}, "name", "is not a name of a hook"),
        ({"name": ""}, "name", "must be up to 100 letters"),
        ({"kind": "pager"}, "kind", "must be one of alertmanager, grafana, api"),
        ({"watch": "oslo"}, "watch", "must be the name of a watch"),
        ({"enabled": 1}, "enabled", "must be true or false"),
        ({"token": "x"}, "token", "is not a field here"),
    ],
)
def test_what_a_hook_cannot_be_is_said_by_field(rest, changes, field, said):
    assert said in rest.refused("post", "hooks/", {"name": "am", "kind": "alertmanager"} | changes)[field]
