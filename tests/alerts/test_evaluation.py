"""Rules against snapshots made by hand: what fires, when, with which words, and what is left in the database."""

import pytest

from monitoring.alerts.evaluator import Alerting
from monitoring.models import Alert, AlertRule, Note, Remembered, Series, Source, Watch
from tests.alerts.snapshots import FULL, T0, advice, rule, snapshot, source, watch

pytestmark = pytest.mark.django_db


def told(alerting, *args, **more):
    """What viewers get: state, rule and text of each alert."""
    taken = snapshot(*args, **more)
    alerting(taken)
    return [(each.state, each.rule, each.text) for each in taken.alerts]


def states(alerting, values, figure=FULL, step_s=1):
    """The states after each value of a figure."""
    found = []
    for at, value in enumerate(values):
        taken = snapshot(at * step_s, watch(**{figure: value}))
        alerting(taken)
        found.append([each.state for each in taken.alerts])
    return found


def test_a_threshold_fires_after_its_time_and_clears_below_the_other_level():
    rule(figure="link_utilisation.*", fire=0.9, clear=0.8, for_s=2)
    found = states(Alerting(), [0.5, 0.95, 0.95, 0.95, 0.85, 0.9, 0.79])
    assert found == [[], ["pending"], ["pending"], ["firing"], ["firing"], ["firing"], []]
    alert = Alert.objects.get()
    assert (alert.state, alert.since_ms, alert.fired_ms, alert.resolved_ms) == (
        "resolved", T0 + 3000, T0 + 3000, T0 + 6000,
    )  # fmt: skip
    assert alert.labels == {
        "alertname": "full", "severity": "warning", "watch": "berlin", "figure": FULL, "link": "wan",
    }  # fmt: skip


def test_an_alert_of_ours_is_an_annotation_from_when_it_fires_to_when_it_is_resolved():
    rule(figure=FULL, fire=0.9, clear=0.8)
    alerting = Alerting()
    states(alerting, [0.5, 0.95])
    note = Note.objects.get()
    assert (note.ts_ms, note.end_ms, note.is_open, note.kind) == (T0 + 1000, None, True, "alert")
    taken = snapshot(5, watch(**{FULL: 0.1}))
    alerting(taken)
    assert [(each.ts_ms, each.end_ms) for each in taken.notes] == [(T0 + 1000, T0 + 5000)]
    assert taken.notes[0].text == "full: link_utilisation.wan is 95 %; at or above 90 % it fires"


def test_a_pending_alert_that_never_fired_leaves_nothing():
    rule(figure=FULL, fire=0.9, clear=0.8, for_s=60)
    assert states(Alerting(), [0.95, 0.5]) == [["pending"], []]
    assert not Alert.objects.exists()
    assert not Note.objects.exists()


def test_each_link_has_an_alert_of_its_own_and_each_watch():
    rule(figure="link_utilisation.*", fire=0.9, clear=0.8)
    taken = snapshot(0, watch("a", link_utilisation__x=0.95, link_utilisation__y=0.95), watch("b", **{FULL: 0.99}))
    Alerting()(taken)
    assert sorted((each.watch, each.value) for each in taken.alerts) == [("a", 0.95), ("a", 0.95), ("b", 0.99)]


def test_a_rule_of_one_watch_does_not_look_at_another():
    AlertRule.objects.filter(pk=rule(figure="x", fire=1, clear=1).pk).update(watch="b")
    assert [each[0] for each in told(Alerting(), 0, watch("a", x=2), watch("b", x=2))] == ["firing"]


def test_another_process_goes_on_where_the_first_one_ended():
    rule(figure=FULL, fire=0.9, clear=0.8, for_s=10)
    assert told(Alerting(), 0, watch(**{FULL: 0.95}))[0][0] == "pending"
    assert told(Alerting(), 9, watch(**{FULL: 0.95}))[0][0] == "pending"
    assert told(Alerting(), 10, watch(**{FULL: 0.95}))[0][0] == "firing"
    assert told(Alerting(), 11, watch(**{FULL: 0.85}))[0][0] == "firing"
    assert Alert.objects.count() == 1
    assert told(Alerting(), 12, watch(**{FULL: 0.1})) == []


def test_two_leaders_that_do_not_know_of_each_other_make_one_alert():
    rule(figure=FULL, fire=0.9, clear=0.8)
    first, second = Alerting(), Alerting()
    assert told(first, 0, watch(**{FULL: 0.95}))[0][0] == "firing"
    assert told(second, 0, watch(**{FULL: 0.95}))[0][0] == "firing"
    assert (Alert.objects.count(), Note.objects.count()) == (1, 1)


def test_rate_of_change_compares_with_what_was_so_long_ago():
    rule("rate", figure="queue.prefill.compute", over_s=60, measure="difference", fire=50, clear=10)
    alerting = Alerting()
    name = "queue.prefill.compute"
    for at in range(0, 80, 5):
        taken = snapshot(at, watch(**{name: float(at)}))
        alerting(taken)
    # 75 at 75 s; at 15 s it was between the mean of the first ten seconds (2.5) and of the second (12.5)
    assert [each.state for each in taken.alerts] == ["firing"]
    assert 55 <= taken.alerts[0].value <= 75
    assert Alert.objects.get().labels["figure"] == name


def test_who_leads_next_knows_how_figures_went():
    rule("rate", figure="x", over_s=60, measure="ratio", fire=2, clear=1.5)
    first = Alerting()
    for at in range(0, 31):
        told(first, at, watch(x=10.0))
    assert Remembered.objects.count() == 3
    assert told(Alerting(), 80, watch(x=30.0)) == [("firing", "full", "x is 30, 60 s ago 10: 3 times")]


def test_a_course_that_is_too_short_is_no_data():
    rule("rate", figure="x", over_s=60, measure="difference", fire=1, clear=0, no_data="alert", no_data_for_s=3)
    found = states(Alerting(), [1.0] * 5, "x")
    assert found == [["pending"], ["pending"], ["pending"], ["firing"], ["firing"]]
    assert Alert.objects.get().reason == "no_data"


def test_congestion_is_predicted_from_the_trend_and_not_from_a_spike():
    rule("forecast", figure="link_utilisation.*", over_s=300, within_s=600, fire=0.95, clear=0.9)
    alerting, fired_at = Alerting(), None
    for at in range(0, 600, 10):
        spike = 0.5 if at % 100 == 50 else 0.0
        taken = snapshot(at, watch(**{FULL: 0.4 + 5e-4 * at + spike}))
        alerting(taken)
        fired_at = at if fired_at is None and taken.alerts else fired_at
    # 0.4 + 0.0005 (t + 600) = 0.95 at t = 500
    assert fired_at == pytest.approx(500, abs=30)


def test_the_words_of_a_prediction_say_when():
    rule("forecast", figure=FULL, over_s=300, within_s=900, fire=0.95, clear=0.9)
    alerting = Alerting()
    for at in range(0, 301, 10):
        taken = snapshot(at, watch(**{FULL: 0.5 + 5e-4 * at}))
        alerting(taken)
    # 0.65 now, rising by 0.0005 a second: 600 s until 0.95
    assert [each.state for each in taken.alerts] == ["firing"]
    assert taken.alerts[0].text == (
        "link_utilisation.wan is 65 %; at the trend of the last 5 min it reaches 95 % in 10 min"
    )
    assert taken.alerts[0].value == pytest.approx(0.5 + 5e-4 * 1200, rel=0.01)
    taken = snapshot(310, watch(**{FULL: 0.99}))
    alerting(taken)
    assert taken.alerts[0].text.endswith("is 99 %; at the trend of the last 5 min it is beyond 95 % already")


def test_a_recommendation_that_differs_is_told_with_its_reason():
    rule("advice", fire=1.2, clear=1.1, instances=True)
    alerting = Alerting()
    roles = (("prefill", 4), ("decode", 8))
    assert told(alerting, 0, watch(advice=advice(20_000, prefill=4), threshold=19_000, instances=roles)) == []
    [found] = told(alerting, 1, watch(advice=advice(24_000, prefill=4), threshold=19_000, instances=roles))
    assert found == ("firing", "full", "recommended is t 24,000 instead of 19,000: raise t")
    # within the band it goes on
    assert told(alerting, 2, watch(advice=advice(21_500), threshold=19_000))[0][0] == "firing"
    assert told(alerting, 3, watch(advice=advice(20_000), threshold=19_000)) == []
    [found] = told(alerting, 4, watch(advice=advice(19_000, prefill=5), threshold=19_000, instances=roles))
    assert "5 instances of prefill instead of 4" in found[2]


def test_advice_without_validity_is_no_data():
    rule("advice", no_data="ok")
    assert told(Alerting(), 0, watch(advice=advice(problems=["too few samples"]), threshold=19_000)) == []
    assert told(Alerting(), 1, watch(threshold=19_000)) == []


# --- sources -----------------------------------------------------------------------------------------------------


def series(of, signal, **labels):
    Series.objects.create(source=of, signal=signal, kind="gauge", labels=labels, digest=f"{of}{signal}{labels}"[:64])


def test_a_lost_source_is_one_alert_and_holds_back_those_of_what_it_told():
    gateway, other = Source.objects.create(name="gateway"), Source.objects.create(name="other")
    series(gateway, "link_egress_bits", link="wan")
    series(other, "link_egress_bits", link="lan")
    Watch.objects.create(name="berlin")
    rule("source", "lost", source="*", for_s=0)
    AlertRule.objects.create(
        name="full", kind="threshold", for_s=0, no_data="alert", no_data_for_s=5,
        spec={"figure": "link_utilisation.*", "direction": "above", "fire": 0.9, "clear": 0.8},
    )  # fmt: skip
    alerting = Alerting()
    both = [source("gateway"), source("other")]
    points = {"link_utilisation__wan": 0.95, "link_utilisation__lan": 0.1}
    assert [each[1] for each in told(alerting, 0, watch(**points), sources=both)] == ["full"]
    gone = {"link_utilisation__wan": None, "link_utilisation__lan": None}
    lost = [source("gateway", "stale", 40_000), source("other")]
    for at in (1, 5, 6, 60):
        found = told(alerting, at, watch(**gone), sources=lost)
    # of the other link nobody is lost who told it; the first one fires on as it was
    assert sorted((each[1], each[0]) for each in found) == [("full", "firing"), ("full", "firing"), ("lost", "firing")]
    by_link = {each.labels["link"]: each.reason for each in Alert.objects.filter(rule_name="full")}
    assert by_link == {"wan": "value", "lan": "no_data"}
    assert told(alerting, 61, watch(link_utilisation__wan=0.1, link_utilisation__lan=0.1), sources=both) == []


def test_a_lost_source_of_which_no_rule_tells_holds_nothing_back():
    series(Source.objects.create(name="gateway"), "link_egress_bits", link="wan")
    rule(figure=FULL, fire=0.9, clear=0.8, no_data="alert", no_data_for_s=5)
    alerting = Alerting()
    lost = [source("gateway", "absent", 400_000)]
    told(alerting, 0, watch(**{FULL: None}), sources=lost)
    assert told(alerting, 5, watch(**{FULL: None}), sources=lost)[0][0] == "firing"


def test_a_source_that_is_disabled_or_was_never_there_is_not_lost():
    rule("source", source="*")
    quiet = [source("a", "disabled", None), source("b", "never", None), source("c", "live")]
    assert told(Alerting(), 0, sources=quiet) == []
    assert told(Alerting(), 1, sources=[source("a", "absent", 600_000, cluster="west")]) == [
        ("firing", "full", "source a was seen last 10 min ago")
    ]
    assert Alert.objects.get().labels["cluster"] == "west"


# --- what comes between ------------------------------------------------------------------------------------------


def test_what_fires_on_without_data_says_what_it_was_last():
    rule(figure=FULL, fire=0.9, clear=0.8, no_data="keep")
    alerting = Alerting()
    told(alerting, 0, watch(**{FULL: 0.95}))
    for at in (1, 20, 40):  # written anew in between
        taken = snapshot(at, watch(**{FULL: None}))
        alerting(taken)
        assert taken.alerts[0].text == "link_utilisation.wan is 95 %; at or above 90 % it fires; no data now"
        assert taken.alerts[0].value == 0.95
    assert told(alerting, 41, watch(**{FULL: 0.97}))[0][2] == "link_utilisation.wan is 97 %; at or above 90 % it fires"


def test_a_figure_that_is_gone_counts_as_without_data():
    rule(figure="link_utilisation.*", fire=0.9, clear=0.8, no_data="alert", no_data_for_s=3)
    alerting = Alerting()
    assert told(alerting, 0, watch(**{FULL: 0.5})) == []
    assert told(alerting, 1, watch())[0][0] == "pending"
    assert told(alerting, 4, watch())[0][0] == "firing"


def test_what_no_rule_looks_at_any_more_is_resolved():
    made = rule(figure="*", fire=0.9, clear=0.8)
    alerting = Alerting()
    told(alerting, 0, watch("a", x=1, y=1), watch("b", x=1))
    assert len(told(alerting, 1, watch("a", x=1, y=1))) == 2  # of b nobody speaks any more
    made.spec = {**made.spec, "figure": "x"}
    made.save()
    assert len(told(alerting, 2, watch("a", x=1, y=1))) == 1
    made.delete()
    assert told(alerting, 3, watch("a", x=1, y=1)) == []
    assert set(Alert.objects.values_list("state", flat=True)) == {"resolved"}


def test_a_rule_that_cannot_be_evaluated_harms_no_other_and_says_so():
    good = rule(figure=FULL, fire=0.9, clear=0.8)
    bad = AlertRule.objects.create(name="bad", kind="threshold", spec={"figure": FULL, "fire": "high"}, for_s=0)
    worse = AlertRule.objects.create(name="worse", kind="sorcery")
    alerting = Alerting()
    assert [each[1] for each in told(alerting, 0, watch(**{FULL: 0.95}))] == ["full"]
    for each in (good, bad, worse):
        each.refresh_from_db()
    assert good.problem == ""
    assert "ValueError" in bad.problem
    assert "sorcery" in worse.problem
    bad.spec = {"figure": FULL, "fire": 2.0, "clear": 2.0}
    bad.save()
    told(alerting, 1, watch(**{FULL: 0.95}))
    bad.refresh_from_db()
    assert bad.problem == ""


@pytest.mark.usefixtures("rules_of_a_new_installation")
def test_the_rules_that_an_installation_begins_with_are_valid_and_quiet_on_a_quiet_system():
    from monitoring.alerts import rules
    from monitoring.alerts.defaults import RULES

    assert set(AlertRule.objects.values_list("name", flat=True)) == {each["name"] for each in RULES}
    for each in AlertRule.objects.all():
        assert rules.mistakes(rules.described(each)) == {}
    alerting = Alerting()
    for at in range(0, 400, 20):
        assert told(alerting, at, watch(**{FULL: 0.5, "queue.prefill.link": 2.0}), sources=[source()]) == []


@pytest.mark.usefixtures("rules_of_a_new_installation")
def test_a_second_in_which_nothing_changes_asks_the_database_a_few_times_however_many_rules_there_are(
    django_assert_num_queries,
):
    for at in range(20):
        AlertRule.objects.create(
            name=f"r{at}", kind="threshold", for_s=0, spec={"figure": "*", "fire": 0.9, "clear": 0.8}
        )
    alerting = Alerting()
    told(alerting, 0, watch(x=0.5, **{FULL: 0.95}))
    assert len(told(alerting, 1, watch(x=0.5, **{FULL: 0.95}))) == 21  # of the first rules one is pending
    with django_assert_num_queries(5):  # rules, open alerts, silences, webhooks, notes
        told(alerting, 2, watch(x=0.5, **{FULL: 0.95}))
