"""What is to be sent to whom and when, by the rows that say so; nothing is sent here."""

import pytest

from monitoring.alerts import outbox
from monitoring.alerts.evaluator import Alerting
from monitoring.models import Alert, Delivery, Receiver, Silence
from tests.alerts.snapshots import FULL, T0, rule, snapshot, watch

pytestmark = pytest.mark.django_db


@pytest.fixture
def alerting():
    rule(figure="link_utilisation.*", fire=0.9, clear=0.8)
    return Alerting()


def at(alerting, second, value, **links):
    alerting(snapshot(second, watch(**{FULL: value}, **links)))


def receiver(kind="webhook", name="chat", **fields):
    return Receiver.objects.create(name=name, kind=kind, url="http://127.0.0.1:9/", **fields)


def events(of=None):
    rows = Delivery.objects.order_by("pk") if of is None else of.deliveries.order_by("pk")
    return list(rows.values_list("event", flat=True))


def test_a_webhook_is_told_once_that_it_fires_and_once_that_it_has_ended(alerting):
    receiver()
    for second, value in enumerate([0.95, 0.97, 0.95, 0.1, 0.1]):
        at(alerting, second, value)
    assert events() == ["firing", "resolved"]
    ended = Delivery.objects.get(event="resolved").payload
    assert (ended["event"], ended["alert"]["resolved_ms"]) == ("resolved", T0 + 3000)
    assert ended["alert"]["labels"]["link"] == "wan"


def test_only_alerts_with_the_labels_of_a_receiver_are_sent_to_it(alerting):
    wan, lan = receiver(name="a", matchers={"link": "w*"}), receiver(name="b", matchers={"link": "lan"})
    at(alerting, 0, 0.95)
    assert (events(wan), events(lan)) == (["firing"], [])


def test_a_disabled_receiver_is_told_nothing(alerting):
    found = receiver(enabled=False)
    at(alerting, 0, 0.95)
    assert events(found) == []
    assert outbox.due(T0 + 1000) == []


def test_what_is_silenced_is_told_once_the_silence_is_over_if_it_still_fires(alerting):
    receiver()
    Silence.objects.create(matchers={"link": "wan"}, starts_ms=T0, until_ms=T0 + 5000)
    at(alerting, 0, 0.95)
    at(alerting, 4, 0.95)
    assert events() == []
    at(alerting, 5, 0.95)
    assert events() == ["firing"]


def test_of_what_nobody_was_told_that_it_fires_nobody_is_told_that_it_has_ended(alerting):
    receiver()
    Silence.objects.create(matchers={"link": "wan"}, starts_ms=T0, until_ms=T0 + 5000)
    at(alerting, 0, 0.95)
    at(alerting, 1, 0.1)
    at(alerting, 9, 0.1)
    assert events() == []


def test_two_that_look_at_the_same_time_do_not_both_send(alerting):
    receiver()
    at(alerting, 0, 0.95)
    [first] = outbox.due(T0 + 1000)
    assert len(first.messages) == 1
    assert outbox.due(T0 + 1000) == []
    # One that was claimed and never sent is free again: 5 messages of 5 s and a margin of 5 s later.
    assert len(outbox.due(T0 + 1000 + 30_000)) == 1


def test_what_is_not_taken_is_tried_again_later_and_later_and_what_follows_waits(alerting):
    found = receiver()
    at(alerting, 0, 0.95)
    at(alerting, 1, 0.1)
    now_ms, waits = T0 + 2000, []
    for _ in range(4):
        [batch] = outbox.due(now_ms)
        assert [message.name.split("-")[1] for message in batch.messages] == ["firing", "resolved"]
        outbox.failed(batch.receiver, batch.messages, "answers 503", now_ms)
        found.refresh_from_db()
        waits.append(found.due_ms - now_ms)
        assert outbox.due(found.due_ms - 1) == []
        now_ms = found.due_ms
    for wait, longest in zip(waits, (1000, 2000, 4000, 8000), strict=True):
        assert longest / 2 <= wait <= longest
    assert (found.failures, found.last_error) == (4, "answers 503")
    assert list(Delivery.objects.order_by("pk").values_list("attempts", flat=True)) == [4, 0]


def test_a_wait_grows_to_five_minutes_and_no_further():
    assert [outbox.wait_ms(failures, 0.0) for failures in (0, 3, 8, 9, 5000)] == [1000, 8000, 256_000, 300_000, 300_000]
    assert outbox.wait_ms(3, 1.0) == 4000


def test_what_could_not_be_told_for_a_day_is_given_up(alerting):
    found = receiver()
    at(alerting, 0, 0.95)
    assert outbox.due(T0 + 86_400_001) == []
    assert found.deliveries.get().given_up


def test_deliveries_of_long_ago_are_deleted(alerting):
    receiver()
    at(alerting, 0, 0.95)
    outbox.tidy(T0 + 30 * 86_400_000)
    assert events() == ["firing"]
    outbox.tidy(T0 + 30 * 86_400_000 + 1)
    assert events() == []


def test_what_has_ended_is_kept_as_long_as_the_coarsest_history_and_what_is_open_for_ever(alerting):
    at(alerting, 0, 0.95)
    at(alerting, 1, 0.1)
    at(alerting, 2, 0.95)
    outbox.tidy(T0 + 1000 + 400 * 86_400_000)
    assert Alert.objects.count() == 2
    outbox.tidy(T0 + 1001 + 400 * 86_400_000)
    assert [each.state for each in Alert.objects.all()] == ["firing"]


# --- Alertmanager ------------------------------------------------------------------------------------------------


def test_an_alertmanager_is_told_at_once_then_as_often_as_it_says_and_of_the_end_for_a_while(alerting):
    found = receiver("alertmanager", "am", repeat_s=60)
    assert outbox.due(T0) == []  # nothing to tell: looked at again after its interval
    found.refresh_from_db()
    assert found.due_ms == T0 + 60_000
    at(alerting, 10, 0.95)
    [batch] = outbox.due(T0 + 10_000)
    assert b'"endsAt": "2026-09-21T14:24:10.000Z"' in batch.messages[0].body  # four intervals after now, 14:20:10
    outbox.sent(batch.receiver, batch.messages[0], T0 + 10_000)
    assert outbox.due(T0 + 69_999) == []
    assert len(outbox.due(T0 + 70_000)) == 1
    at(alerting, 80, 0.1)
    [batch] = outbox.due(T0 + 80_000)
    assert b'"endsAt": "2026-09-21T14:21:20.000Z"' in batch.messages[0].body
    assert outbox.due(T0 + 80_000 + 300_001) == []


def test_an_alertmanager_gets_one_of_two_alerts_with_the_same_labels(alerting):
    found = receiver("alertmanager", "am")
    at(alerting, 0, 0.95)
    at(alerting, 1, 0.1)
    at(alerting, 2, 0.95)
    assert Alert.objects.count() == 2
    [batch] = outbox.due(T0 + 3000)
    assert batch.receiver == found
    assert batch.messages[0].body.count(b'"startsAt"') == 1
    assert b'"startsAt": "2026-09-21T14:20:02.000Z"' in batch.messages[0].body
