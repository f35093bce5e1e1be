"""Messages as they reach a server, and what becomes of those that do not."""

import asyncio
import hashlib
import hmac

import pytest

from monitoring.alerts import outbox, sending
from monitoring.alerts.evaluator import Alerting
from monitoring.models import Alert, Receiver
from tests.alerts.receiving import receiving
from tests.alerts.snapshots import FULL, T0, rule, snapshot, watch
from tests.monitoring.senders import asked

SECRET = "top secret"
aside = pytest.mark.django_db(transaction=True)


@pytest.fixture
def credentials(tmp_path, settings):
    settings.CREDENTIALS_DIR = tmp_path
    (tmp_path / "chat").write_text(f"{SECRET}\n")


@pytest.fixture
def server():
    with receiving() as found:
        yield found


@pytest.fixture
def fires(transactional_db):
    """An alert of ours."""
    rule(figure=FULL, fire=0.9, clear=0.8)
    alerting = Alerting()
    return lambda at, value: alerting(snapshot(at, watch(**{FULL: value})))


@pytest.fixture
async def sender(monkeypatch):
    monkeypatch.setattr(sending, "now_ms", lambda: T0 + 5000)  # the clock of the snapshots
    found = sending.Sending(lambda: True)
    yield found
    await found.stop()


def receiver(url, kind="webhook", name="chat", **fields):
    return Receiver.objects.create(name=name, kind=kind, url=url, **fields)


def signature(told):
    """As docs/alerts.md says how to check one."""
    stamp = told.headers["X-Prfaas-Timestamp"]
    return "v1=" + hmac.new(SECRET.encode(), stamp.encode() + b"." + told.body, hashlib.sha256).hexdigest()


async def sent(sender):
    await sender.look()
    await sender.settled()


async def test_a_webhook_gets_a_signed_message_of_the_alert(credentials, server, fires, sender):
    await asked(lambda: receiver(server.url(), secret_file="chat"))
    await asked(lambda: fires(0, 0.95))
    await sent(sender)
    [told] = server.told
    assert told.headers["X-Prfaas-Signature"] == signature(told)
    alert = await asked(Alert.objects.get)
    assert told.headers["X-Prfaas-Delivery"] == told.json["id"] == f"{alert.pk}-firing"
    assert told.json["alert"]["text"] == "link_utilisation.wan is 95 %; at or above 90 % it fires"
    await asked(lambda: fires(1, 0.1))
    await sent(sender)
    assert [each.json["event"] for each in server.told] == ["firing", "resolved"]
    await sent(sender)
    assert len(server.told) == 2


async def test_without_a_secret_a_message_is_not_signed(server, fires, sender):
    await asked(lambda: receiver(server.url()))
    await asked(lambda: fires(0, 0.95))
    await sent(sender)
    assert "X-Prfaas-Signature" not in server.told[0].headers


async def test_what_is_answered_by_an_error_of_the_server_is_sent_again(server, fires, sender):
    found = await asked(lambda: receiver(server.url()))
    server.statuses = [503]
    await asked(lambda: fires(0, 0.95))
    await sent(sender)
    await asked(found.refresh_from_db)
    assert (found.failures, found.last_error) == (1, "answers 503: said")
    await sent(sender)
    assert len(server.told) == 1  # not yet
    await asked(lambda: Receiver.objects.update(due_ms=0))
    await sent(sender)
    assert [each.json["id"] for each in server.told] == [server.told[0].json["id"]] * 2
    await asked(found.refresh_from_db)
    assert (found.failures, found.last_error) == (0, "")


async def test_what_is_refused_is_given_up_and_the_next_one_is_sent(server, fires, sender):
    found = await asked(lambda: receiver(server.url()))
    server.statuses = [422]
    await asked(lambda: (fires(0, 0.95), fires(1, 0.1)))
    await sent(sender)
    assert [each.json["event"] for each in server.told] == ["firing", "resolved"]
    rows = await asked(lambda: list(found.deliveries.order_by("pk").values_list("given_up", "error")))
    assert rows == [(True, "answers 422: said"), (False, "")]


async def test_a_receiver_that_does_not_answer_delays_no_other_and_no_evaluation(server, fires, sender):
    await asked(lambda: receiver(server.url("/slow"), name="slow", timeout_s=15))
    await asked(lambda: receiver(server.url("/quick"), name="quick"))
    await asked(lambda: fires(0, 0.95))
    await sender.look()
    await asked(lambda: fires(1, 0.1))
    while {each.path for each in server.told} != {"/slow", "/quick"}:
        assert await asked(lambda: server.came.wait(10))
        server.came.clear()
    assert not server.over.is_set()
    state = await asked(lambda: Alert.objects.get().state)
    assert state == "resolved"
    server.over.set()
    await sender.settled()


async def test_who_does_not_lead_sends_nothing(server, fires):
    await asked(lambda: receiver(server.url()))
    await asked(lambda: fires(0, 0.95))
    looks, twice = [], asyncio.Event()

    def leads():
        looks.append(None)
        if len(looks) == 2:
            twice.set()
        return False

    follower = sending.Sending(leads)
    follower.start()
    await asyncio.wait_for(twice.wait(), 20)
    await follower.stop()
    assert server.told == []


async def test_a_secret_that_is_not_there_is_a_failure_that_says_so(credentials, server, fires, sender):
    found = await asked(lambda: receiver(server.url(), secret_file="gone"))
    await asked(lambda: fires(0, 0.95))
    await sent(sender)
    await asked(found.refresh_from_db)
    assert "gone" in found.last_error
    assert server.told == []


# --- by the button -----------------------------------------------------------------------------------------------


@aside
def test_the_button_sends_a_test_that_says_so(rest, credentials, server):
    rest.made("receivers/", name="chat", kind="webhook", url=server.url(), secret_file="chat")
    assert rest("post", "receivers/chat/test/").json() == {"error": ""}
    [told] = server.told
    assert told.json["event"] == "test"
    assert told.headers["X-Prfaas-Signature"] == signature(told)


@aside
def test_the_button_says_what_was_wrong(rest, server):
    rest.made("receivers/", name="chat", kind="webhook", url=server.url())
    server.statuses = [500]
    assert rest("post", "receivers/chat/test/").json() == {"error": "answers 500: said"}
    rest("patch", "receivers/chat/", {"url": "http://127.0.0.1:9/"})
    assert "no answer" in rest("post", "receivers/chat/test/").json()["error"]


# --- receivers ---------------------------------------------------------------------------------------------------

GIVEN = {"name": "chat", "kind": "webhook", "url": "https://chat.example/x"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"name": "a b"}, "name", "letters, digits"),
        ({"name": "new"}, "name", "not new"),
        ({"kind": "pager"}, "kind", "must be one of alertmanager, webhook, got 'pager'"),
        ({"url": "ftp://x"}, "url", "http"),
        ({"url": "https://ada:pw@chat.example/"}, "url", "secret_file"),
        ({"url": 3}, "url", "http"),
        ({"secret_file": "../passwd"}, "secret_file", "must be the name of a file"),
        ({"secret_file": "gone"}, "secret_file", "gone"),
        ({"matchers": {"a b": "x"}}, "matchers", "is no label"),
        ({"timeout_s": 0}, "timeout_s", "must be from 0.1 to 30 s, got 0"),
        ({"repeat_s": 1}, "repeat_s", "must be from 5 to 600 s, got 1"),
        ({"enabled": 1}, "enabled", "must be true or false"),
        ({"password": "x"}, "password", "is not a field here"),
    ],
)
def test_what_a_receiver_cannot_be_is_said_by_field(rest, changes, field, said):
    assert said in rest.refused("post", "receivers/", GIVEN | changes)[field]
    assert not Receiver.objects.exists()


@pytest.mark.django_db
def test_a_receiver_is_made_changed_listed_and_deleted_by_who_is_signed_in(rest, anyone):
    made = rest.made("receivers/", **GIVEN)
    assert (made["timeout_s"], made["waiting"], made["given_up"], made["last_error"]) == (5.0, 0, 0, "")
    assert anyone("get", "receivers/").status_code in (401, 403)
    assert rest.refused("post", "receivers/", GIVEN) == {"name": "chat is the name of another receiver"}
    assert rest("patch", "receivers/chat/", {"matchers": {"severity": "critical"}}).json()["matchers"] == {
        "severity": "critical"
    }
    assert [each["name"] for each in rest("get", "receivers/").json()] == ["chat"]
    assert rest("delete", "receivers/chat/").status_code == 204
    assert rest("get", "receivers/chat/").status_code == 404


@pytest.mark.django_db
def test_what_waits_is_counted(rest):
    rule(figure=FULL, fire=0.9, clear=0.8)
    rest.made("receivers/", **GIVEN)
    Alerting()(snapshot(0, watch(**{FULL: 0.95})))
    assert rest("get", "receivers/chat/").json()["waiting"] == 1
    assert outbox.due(T0 + 2 * 86_400_000) == []
    [found] = rest("get", "receivers/").json()
    assert (found["waiting"], found["given_up"]) == (0, 1)
