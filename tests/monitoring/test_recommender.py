"""The recommendation of every watch, once a second: valid or not, with its reason, in the audit log, as samples."""

import math

import pytest

from monitoring.live.messages import Current
from monitoring.models import Frame, Recommendation, Source
from monitoring.recommending.recommender import Recommender, restored
from monitoring.recommending.samples import of_advice
from monitoring.recommending.scenarios import Scenarios
from monitoring.signals import SIGNALS
from monitoring.wire import unpacked
from planner import store
from planner.engine.advice import Obstacle, Reason, Remembered
from planner.watched import Unusable
from tests.monitoring.advised import CASE, NOTHING, NOW_MS, snapshot, value, watch, watch_now

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def catalogue(shipped, db):
    """Scenarios are stored; what a test changes is taken back."""


def advised(recommender, now, ts_ms=NOW_MS):
    recommender(snapshot(now, ts_ms=ts_ms))
    return now.advice


def test_the_case_study_under_load_is_advised_what_the_planner_finds_best():
    watch(headroom=0.0)
    advice = advised(Recommender(), watch_now(t=19_400.0))
    assert advice.is_valid
    # worked out with the planner's own search, which knows the lengths and not their buckets: t ≈ 19,600, Λ ≈ 3.2
    assert advice.threshold_low <= 19_600 <= advice.threshold_high
    assert advice.lambda_max_rps.current == pytest.approx(3.2, rel=0.05)
    assert advice.instances == {"prfaas": 4, "prefill": 3, "decode": 5}
    assert advice.samples == pytest.approx(20_000)
    assert set(advice.utilisation) == {"prfaas", "link", "pd_p", "pd_d"}


def test_a_link_near_its_limit_raises_t_and_says_why():
    watch()
    advice = advised(Recommender(), watch_now(capacity_bps=10e9, egress_bps=9.6e9))
    assert advice.reason == Reason.LINK_BUSY
    assert advice.threshold_tokens > 19_400
    assert advice.lambda_max_rps.recommended > advice.lambda_max_rps.current
    assert "96 % of 10 Gbps" in advice.sentence
    assert advice.binding == "link"


def test_both_thresholds_are_told_whichever_is_followed():
    watch()
    watch("quick", objective="ttft")
    throughput, quick = watch_now(rate_rps=0.5), watch_now("quick", rate_rps=0.5)
    Recommender()(snapshot(throughput, quick))
    assert throughput.advice.objective == "throughput"
    assert quick.advice.objective == "ttft"
    # a quiet hour prefers a lower t
    assert throughput.advice.other_threshold_tokens < throughput.advice.threshold_tokens
    assert quick.advice.other_threshold_tokens > quick.advice.threshold_tokens
    assert throughput.advice.ttft_mean_s.current == pytest.approx(quick.advice.ttft_mean_s.current)
    # what each costs by the other's measure is told at both, and is the same whichever is followed
    most, least = (throughput.advice.objectives[name] for name in ("throughput", "ttft"))
    assert most.lambda_max_rps > least.lambda_max_rps
    assert most.ttft_mean_s > least.ttft_mean_s
    assert quick.advice.objectives["ttft"].threshold_tokens == pytest.approx(least.threshold_tokens)
    recommended = Recommendation.objects.get(watch="quick").recommended
    assert recommended["objectives"]["throughput"]["threshold_tokens"] == pytest.approx(most.threshold_tokens)


def test_a_load_that_no_t_carries_has_no_quickest_one():
    watch()
    advice = advised(Recommender(), watch_now(rate_rps=50.0))
    assert set(advice.objectives) == {"throughput"}
    assert advice.other_threshold_tokens is None


def test_another_split_is_told_with_its_gain_and_what_converting_costs():
    watch()
    advice = advised(Recommender(), watch_now(instances=(4, 1, 7), rate_rps=2.0))
    assert sum(advice.converted_instances.values()) == 4 + 8
    assert advice.converted_instances["prefill"] > 1
    assert advice.lambda_max_converted_rps > advice.lambda_max_rps.recommended
    assert advice.conversion_lost_requests >= 0
    # instances are converted only when a role was short for a while
    assert advice.instances == {"prfaas": 4, "prefill": 1, "decode": 7}


def test_how_well_t_is_known_and_what_is_not_is_told():
    watch()
    now = watch_now(capacity_bps=10e9, egress_bps=9.6e9)
    now.links[0].resent = NOTHING
    advice = advised(Recommender(), now)
    assert 0.5 <= advice.confidence <= 1
    assert advice.link_carries_bps == 10e9
    assert advice.unknown == ["retransmits"]


def few(now):
    now.lengths.counts = {route: [each / 1000 for each in counts] for route, counts in now.lengths.counts.items()}


def unknown_t(now):
    now.threshold_tokens = Current()


def no_instances(now):
    now.roles = now.roles[:1]


def no_lengths(now):
    now.lengths = None


def stale(now):
    now.links[0].egress_bps = value(7e9, NOW_MS - 45_000, "stale")


def long_ones(now):
    now.lengths.bounds = [bound * 10 for bound in now.lengths.bounds]


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (few, Obstacle.FEW_SAMPLES, "20 lengths were seen, of 200 needed: wait for more"),
        (unknown_t, Obstacle.NO_THRESHOLD, "t in force is not known: send threshold_tokens, or enter it"),
        (no_instances, Obstacle.NO_INSTANCES, "PD-P, PD-D"),
        (no_lengths, Obstacle.NO_LENGTHS, "lengths are not known: send uncached_tokens with route"),
        (stale, Obstacle.STALE, "telemetry of egress for 45 s"),
        (long_ones, Obstacle.EXTRAPOLATED, "profile was measured"),
    ],
)
def test_where_something_is_missing_nothing_is_recommended_and_it_is_said_what(change, code, said):
    watch()
    now = watch_now()
    change(now)
    advice = advised(Recommender(), now)
    assert (advice.is_valid, advice.threshold_tokens, advice.instances) == (False, None, {})
    assert advice.reason == code
    assert any(said in problem for problem in advice.problems), advice.problems
    assert advice.sentence.startswith("nothing is recommended: ")
    row = Recommendation.objects.get()
    assert (row.is_valid, row.recommended) == (False, {})
    assert row.problems[0]["code"] == code


def test_of_much_that_is_stale_not_all_is_named():
    watch()
    now = watch_now(ts_ms=NOW_MS - 40_000, age="stale")
    now.threshold_tokens.age = now.lengths.age = "stale"
    for route in now.requests_rps.values():
        route.age = "stale"
    (problem,) = advised(Recommender(), now).problems
    assert problem == (
        "no newer telemetry of uncached prompt lengths, request rates, egress and 1 more for 40 s: "
        "see what its source does"
    )


def test_a_watch_without_a_scenario_gets_no_advice():
    watch(scenario="")
    assert advised(Recommender(), watch_now(scenario="")) is None
    assert not Recommendation.objects.exists()


@pytest.mark.parametrize("name", ["gone", "case-study-homogeneous"])
def test_a_scenario_that_cannot_be_used_is_a_problem_that_says_so(name):
    watch(scenario=name)
    advice = advised(Recommender(), watch_now(scenario=name))
    assert advice.reason == "no_scenario"
    assert "no scenario 'gone'" in advice.problems[0] or "no PrfaaS cluster" in advice.problems[0]


def test_a_scenario_is_read_again_when_it_changes_and_only_then():
    read = []

    def reading(name):
        read.append(name)
        raise Unusable(f"{name} was read {len(read)} times")

    revisions = iter(["1", "1", "2"])
    scenarios = Scenarios(reading, lambda name: next(revisions))
    for ts_ms, times in ((0, 1), (1_000, 1), (3_000, 1), (6_000, 2)):
        with pytest.raises(Unusable, match=f"read {times} times"):
            scenarios.get("case", ts_ms)


def test_the_same_deployment_is_handed_out_until_the_scenario_is_edited():
    scenarios = Scenarios()
    before = scenarios.get(CASE, NOW_MS)
    assert scenarios.get(CASE, NOW_MS + 60_000) is before
    entry = store.named(store.SCENARIOS, CASE)
    store.update(entry, {**entry.document, "decode": {"max_batch": 10, "step_s": 0.025}}, revision=entry.revision)
    assert scenarios.get(CASE, NOW_MS + 120_000).deployment.decode.max_batch == 10


def test_one_watch_that_fails_keeps_no_other_from_its_advice(caplog):
    def rule(deployment, observed, options, remembered):
        if observed.threshold_tokens == 1.0:
            raise ZeroDivisionError("of the test")
        return Recommender()._rule(deployment, observed, options, remembered)

    watch("bad")
    watch("good")
    bad, good = watch_now("bad", t=1.0), watch_now("good")
    Recommender(rule=rule)(snapshot(bad, good))
    assert bad.advice.reason == "failed"
    assert "ZeroDivisionError: of the test" in bad.advice.problems[0]
    assert good.advice.is_valid
    assert "bad failed" in caplog.text


def test_a_headroom_out_of_range_is_a_problem_and_no_failure_of_the_ticker():
    watch(headroom=1.5)
    assert "headroom must be" in advised(Recommender(), watch_now()).problems[0]


# --- audit --------------------------------------------------------------------------------------------------------


def seconds(recommender, count, start=0, **fields):
    """One call a second; what was recommended in each."""
    return [
        advised(recommender, watch_now(ts_ms=NOW_MS + at * 1000, **fields), NOW_MS + at * 1000)
        for at in range(start, start + count)
    ]


def test_what_does_not_change_is_written_once_and_again_every_ten_minutes():
    watch()
    recommender = Recommender()
    for at in (0, 1, 2, 30, 599, 600, 601):
        advised(recommender, watch_now(ts_ms=NOW_MS + at * 1000), NOW_MS + at * 1000)
    assert [(row.at_ms - NOW_MS) // 1000 for row in Recommendation.objects.order_by("at_ms")] == [0, 600]


def test_a_change_of_reason_or_validity_is_written():
    watch()
    recommender = Recommender()
    seconds(recommender, 1)
    seconds(recommender, 1, 10, capacity_bps=10e9, egress_bps=9.6e9)
    seconds(recommender, 1, 20, requests=50.0)
    rows = list(Recommendation.objects.order_by("at_ms"))
    assert [row.reason for row in rows][1:] == [Reason.LINK_BUSY, Obstacle.FEW_SAMPLES]
    assert [row.is_valid for row in rows] == [True, True, False]


def test_what_flickers_is_written_no_more_often_than_every_five_seconds():
    watch()
    recommender = Recommender()
    for at in range(12):
        now = watch_now(ts_ms=NOW_MS + at * 1000, requests=20_000.0 if at % 2 else 50.0)
        advised(recommender, now, NOW_MS + at * 1000)
    assert Recommendation.objects.count() <= 3


def test_a_row_has_every_number_that_it_rests_on():
    watch()
    advised(Recommender(), watch_now(capacity_bps=10e9, egress_bps=9.6e9))
    row = Recommendation.objects.get()
    assert row.inputs["scenario"] == CASE
    assert row.inputs["scenario_revision"].endswith(".1")
    assert row.inputs["version"] == "0.1.0"
    assert row.inputs["observed"]["egress_bps"] == 9.6e9
    assert row.inputs["options"]["headroom"] == 0.1
    assert sum(row.inputs["observed"]["lengths"]["counts"]) == pytest.approx(20_000)
    assert row.current["threshold_tokens"] == 19_400.0
    assert row.recommended["threshold_tokens"] > 19_400.0
    assert row.current["instances"] == {"prfaas": 4.0, "prefill": 3.0, "decode": 5.0}


def test_another_process_goes_on_where_the_last_one_was():
    watch()
    first, alone = Recommender(), Recommender()
    seconds(first, 3, capacity_bps=10e9, egress_bps=9.6e9)
    told = seconds(first, 1, 3, capacity_bps=10e9, egress_bps=9.6e9)[0]
    taken_over = seconds(alone, 1, 4, capacity_bps=10e9, egress_bps=9.6e9)[0]
    # within the window in which t was moved, it is not moved again
    assert taken_over.threshold_tokens == told.threshold_tokens
    assert Recommendation.objects.count() == 1


def test_what_is_remembered_survives_json():
    remembered = Remembered(window_ends_s=12.0, quickest_of=(4.0, 3.0, 5.0), achieved_at_s=-math.inf, reason="hold")
    kept = {name: None if each == -math.inf else each for name, each in remembered._asdict().items()}
    kept["quickest_of"] = list(kept["quickest_of"])
    assert restored({**kept, "from_another_version": 1}) == remembered


def test_what_is_kept_no_longer_is_deleted():
    row = watch()
    old = {"reason": "hold", "sentence": "", "is_valid": True, "current": {}, "recommended": {}, "inputs": {}}
    Recommendation.objects.create(watch=row.name, at_ms=NOW_MS - 401 * 86_400_000, **old)
    Recommendation.objects.create(watch=row.name, at_ms=NOW_MS - 399 * 86_400_000, **old)
    advised(Recommender(), watch_now())
    assert Recommendation.objects.filter(at_ms__lt=NOW_MS).count() == 1


# --- samples ------------------------------------------------------------------------------------------------------


def test_recommendations_are_offered_as_samples_of_a_source_of_our_own():
    watch()
    recommender = Recommender()
    told = seconds(recommender, 12)
    frames = list(Frame.objects.filter(source=Source.objects.get(name="planner")).order_by("pk"))
    assert len(frames) == 2  # at 0 and 10 s
    series = unpacked(bytes(frames[0].payload))
    assert {(each.signal, each.labels, each.points[0].value) for each in series} == {
        ("recommendation_valid", (("watch", "case"),), 1.0),
        ("recommended_threshold_tokens", (("watch", "case"),), told[0].threshold_tokens),
        ("recommended_instances", (("role", "prfaas"), ("watch", "case")), 4.0),
        ("recommended_instances", (("role", "prefill"), ("watch", "case")), 3.0),
        ("recommended_instances", (("role", "decode"), ("watch", "case")), 5.0),
        ("lambda_max_rps", (("watch", "case"),), told[0].lambda_max_rps.current),
    }
    assert all(each.signal in SIGNALS for each in series)


def test_nothing_of_ours_is_taken_for_the_t_in_force():
    watch()
    told = advised(Recommender(), watch_now())
    assert not {each.signal for each in of_advice("case", told)} & {"threshold_tokens", "instances"}


def test_while_nothing_is_recommended_the_line_has_a_gap():
    watch()
    now = watch_now(requests=50.0)
    recommender = Recommender()
    (told,) = of_advice("case", advised(recommender, now))
    assert (told.signal, told.points[0].value) == ("recommendation_valid", 0.0)
    assert [each.signal for each in unpacked(bytes(Frame.objects.get().payload))] == ["recommendation_valid"]


def test_a_source_of_ours_that_was_switched_off_stays_so():
    watch()
    Source.objects.create(name="planner", enabled=False)
    advised(Recommender(), watch_now())
    assert not Frame.objects.exists()


def test_no_other_source_may_have_our_name(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("ada"))
    answer = client.post("/api/v1/live/sources/", {"name": "planner"}, content_type="application/json")
    assert answer.status_code == 400
    assert "planner is not a name" in answer.json()["errors"][0]["message"]


def test_without_links_nothing_is_invented():
    watch()
    now = watch_now()
    now.links[0].capacity_bps = now.links[0].egress_bps = NOTHING
    advice = advised(Recommender(), now)
    # the scenario says what the link carries; how busy it is nobody does
    assert advice.is_valid
    inputs = Recommendation.objects.get().inputs
    assert inputs["observed"]["egress_bps"] is None
    assert {each["name"]: each["origin"] for each in inputs["readings"]}["capacity_bps"] == "scenario"
