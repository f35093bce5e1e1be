"""What the engine is fed with: sums, settings, queues; and nothing in the place of what is not known."""

import pytest

from monitoring.live.messages import Current, Lengths, QueueNow, Value
from monitoring.recommending.observing import feed, histogram
from planner.engine.advice import Queues
from tests.monitoring.advised import NOTHING, NOW_MS, told, value, watch_now

OLD = NOW_MS - 60_000


def test_what_is_known_of_routes_links_and_roles_is_summed():
    now = watch_now(rate_rps=2.0)
    now.links.append(now.links[0])
    seen = feed(now, NOW_MS).observed
    assert (seen.rate_rps, seen.egress_bps, seen.capacity_bps) == (2.0, 14e9, 200e9)
    assert (seen.threshold_tokens, seen.prfaas_instances, seen.prefill_instances, seen.decode_instances) == (
        19_400.0, 4.0, 3.0, 5.0,
    )  # fmt: skip
    assert seen.lengths.total == pytest.approx(20_000)
    assert seen.now_s == NOW_MS / 1000


def test_what_nobody_tells_is_unknown():
    now = watch_now()
    now.threshold_tokens, now.lengths, now.requests_rps = Current(), None, {"local": NOTHING}
    now.roles, now.queues, now.links = [], [], []
    seen = feed(now, NOW_MS).observed
    unknown = ("threshold_tokens", "lengths", "rate_rps", "prefill_instances", "capacity_bps", "egress_bps")
    assert [getattr(seen, name) for name in unknown] == [None] * len(unknown)
    assert seen.queues == Queues()


def test_a_capacity_that_nobody_tells_is_the_scenarios_and_said_to_be():
    now = watch_now()
    now.links[0].capacity_bps = NOTHING
    found = feed(now, NOW_MS, 40e9)
    assert found.observed.capacity_bps == 40e9
    assert [each.origin for each in found.readings if each.name == "capacity_bps"] == ["scenario"]
    assert feed(now, NOW_MS, float("inf")).observed.capacity_bps is None


def test_what_is_measured_goes_before_the_scenarios_capacity():
    assert feed(watch_now(capacity_bps=6e9), NOW_MS, 40e9).observed.capacity_bps == 6e9


def test_the_age_is_that_of_the_oldest_of_what_has_grown_old():
    now = watch_now()
    now.links[0].egress_bps = value(1e9, OLD, "stale")
    found = feed(now, NOW_MS)
    assert found.observed.age_s == 60.0
    assert [each.name for each in found.stale(30.0)] == ["egress_bps"]
    assert found.stale(90.0) == []


def test_what_usually_comes_seldom_is_not_old():
    now = watch_now()
    now.links[0].capacity_bps = value(100e9, OLD, "live")
    assert feed(now, NOW_MS).observed.age_s == 0.0


def test_what_was_entered_by_hand_does_not_grow_old():
    now = watch_now()
    now.threshold_tokens = Current(15_000.0, OLD - 86_400_000, "stale", "entered", "ada")
    found = feed(now, NOW_MS)
    assert (found.observed.threshold_tokens, found.observed.age_s) == (15_000.0, 0.0)


def test_queues_are_told_apart_by_stage_bound_and_role():
    now = watch_now()
    now.queues = [
        QueueNow("prefill", "compute", Value(3.0), "prfaas"),
        QueueNow("prefill", "compute", Value(5.0), "prefill"),
        QueueNow("prefill", "compute", Value(1.0), "unknown"),
        QueueNow("transfer", "link", Value(7.0), "decode"),
        QueueNow("transfer", "link", Value(2.0), "prfaas"),
        QueueNow("decode", "compute", Value(11.0), "decode"),
    ]
    assert feed(now, NOW_MS).observed.queues == Queues(prfaas=3.0, link=9.0, pd_p=5.0, pd_d=11.0)


def test_a_utilisation_of_more_than_one_is_one():
    now = watch_now()
    now.roles[1].utilisation = Value(1.2)
    assert feed(now, NOW_MS).observed.prefill_busy == 1.0


def test_lengths_of_both_routes_are_one_histogram_and_empty_prompts_are_the_shortest():
    lengths = Lengths([0.0, 10.0, 20.0], {"local": [4.0, 1.0, 2.0, 0.0], "remote": [0.0, 0.0, 1.0, 3.0]}, 60.0)
    assert histogram(lengths).bounds == (10.0, 20.0)
    assert histogram(lengths).counts == (5.0, 3.0, 3.0)
    assert histogram(lengths, ("remote",)).counts == (0.0, 1.0, 3.0)
    assert histogram(Lengths([], {}, 60.0)) is None
    assert histogram(Lengths([1.0, 2.0], {}, 60.0)) is None


def test_the_kept_inputs_have_every_number_and_where_it_comes_from():
    now = watch_now()
    now.threshold_tokens = told(19_400.0)
    kept = feed(now, NOW_MS).as_json()
    assert kept["observed"]["threshold_tokens"] == 19_400.0
    assert len(kept["observed"]["lengths"]["counts"]) == len(kept["observed"]["lengths"]["bounds"]) + 1
    assert {each["name"]: each["origin"] for each in kept["readings"]}["threshold_tokens"] == "telemetry"
