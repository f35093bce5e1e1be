"""Drift of the profile and a refit of it, from telemetry as it is stored."""

import time

import numpy as np
import pytest

from monitoring.api.refit import FittedSerializer, PreviewSerializer
from monitoring.models import Frame, Source
from monitoring.readings import Histogram, Point
from monitoring.recommending.drifting import WINDOW_MS, Drifts, drifts
from monitoring.recommending.recommender import Recommender
from monitoring.recommending.telemetry import seen
from monitoring.storage.writer import Writer
from monitoring.wire import Mapped, packed
from planner import store
from planner.watched import deployment_of
from tests.monitoring.advised import CASE, snapshot, watch, watch_now

pytestmark = pytest.mark.django_db
LENGTH_BOUNDS = tuple(100.0 * 1.25**at for at in range(33))
TIME_BOUNDS = tuple(0.05 * 1.25**at for at in range(36))
ADDRESS = "/api/v1/live/watches/case/refit/"
T, REQUESTS, POINTS = 19_400.0, 4_000, 7


@pytest.fixture(autouse=True)
def catalogue(shipped, db):
    """Scenarios are stored; what a test changes is taken back."""


@pytest.fixture
def now_ms():
    """The end of a bucket of every resolution, so that all that is stored lies in whole ones."""
    return round(time.time()) // 600 * 600_000


def lengths_of(route):
    random = np.random.default_rng(7)
    tokens = np.exp(random.normal(9.9, 1.0, 6 * REQUESTS))
    kept = (tokens > T) & (tokens < 131_072) if route == "remote" else (tokens <= T) & (tokens > 128)
    return tokens[kept][:REQUESTS]


def grown(values, bounds):
    """Cumulative histograms at a few times, as an engine tells them."""
    counts = np.bincount(np.searchsorted(bounds, values, side="left"), minlength=len(bounds) + 1)
    shares = np.linspace(0.0, 1.0, POINTS)
    return [Histogram(bounds, tuple((counts * share).tolist()), float(values.sum() * share)) for share in shares]


def sent(now_ms, slower=1.0, kv_larger=1.0, routes=("remote", "local"), **labels):
    """Ten minutes of both routes' engines, all requests at the case study's own speed, times a factor."""
    known = deployment_of(CASE)
    times_ms = [now_ms - 590_000 + at * 95_000 for at in range(POINTS)]
    for route in routes:
        tokens = lengths_of(route)
        seconds = slower * known.prefill[route](tokens)
        own = {"route": route, "role": "prfaas" if route == "remote" else "prefill", **labels}
        series = [
            _mapped("uncached_tokens", "histogram", own, times_ms, grown(tokens, LENGTH_BOUNDS)),
            _mapped("prefill_s", "histogram", own, times_ms, grown(seconds, TIME_BOUNDS)),
        ]
        total = kv_larger * known.s_kv(tokens).sum()
        place = {"role": own["role"], **labels}
        sizes = [float(total * share) for share in np.linspace(0.0, 1.0, POINTS)]
        series.append(_mapped("kv_transfer_bytes", "counter", place, times_ms, sizes))
        source, _ = Source.objects.get_or_create(name=f"{route}-{labels.get('cluster', 'any')}")
        Frame.objects.create(source=source, received_ms=now_ms, points=3 * POINTS, payload=packed(series))
    Writer().drain()


def _mapped(signal, kind, labels, times_ms, values):
    points = tuple(Point(ts_ms, value) for ts_ms, value in zip(times_ms, values, strict=True))
    return Mapped(signal, kind, tuple(sorted(labels.items())), points)


def found(now_ms, row=None):
    return {each.what: each for each in drifts(deployment_of(CASE), window(now_ms, row or watch()))}


def window(now_ms, row):
    return seen(row, now_ms - WINDOW_MS, now_ms)


def test_what_was_stored_is_summed_by_route(now_ms):
    sent(now_ms)
    telemetry = window(now_ms, watch())
    assert telemetry.lengths["remote"].total == pytest.approx(REQUESTS)
    assert telemetry.lengths["local"].sum == pytest.approx(lengths_of("local").sum())
    assert telemetry.times["remote"].sum == pytest.approx(
        deployment_of(CASE).prefill["remote"](lengths_of("remote")).sum()
    )
    # what PD-P hands over to decode stays in its cluster
    assert telemetry.kv_bytes == pytest.approx(deployment_of(CASE).s_kv(lengths_of("remote")).sum())


def test_of_another_cluster_nothing_is_taken(now_ms):
    sent(now_ms, cluster="east")
    assert window(now_ms, watch(clusters=["west"])).lengths == {}
    assert window(now_ms, watch("other", clusters=["east"])).lengths.keys() == {"remote", "local"}


def test_histograms_of_different_bounds_are_summed_at_those_that_both_have(now_ms):
    sent(now_ms, routes=("remote",))
    source = Source.objects.create(name="coarse")
    coarse = LENGTH_BOUNDS[::4]
    points = [now_ms - 590_000 + at * 95_000 for at in range(POINTS)]
    series = _mapped(
        "uncached_tokens", "histogram", {"role": "prfaas", "route": "remote"}, points,
        grown(lengths_of("remote"), coarse),
    )  # fmt: skip
    Frame.objects.create(source=source, received_ms=now_ms, points=POINTS, payload=packed([series]))
    Writer().drain()
    together = window(now_ms, watch()).lengths["remote"]
    assert together.bounds == coarse
    assert together.total == pytest.approx(2 * REQUESTS)
    assert together.counts == pytest.approx([2 * each for each in grown(lengths_of("remote"), coarse)[-1].counts])


def test_a_profile_that_describes_what_is_seen_has_not_drifted(now_ms):
    sent(now_ms)
    told = found(now_ms)
    assert set(told) == {"prefill_s.remote", "prefill_s.local", "kv_bytes"}
    for each in told.values():
        assert each.ratio == pytest.approx(1.0, abs=0.05)
        assert each.low <= 1 <= each.high
        assert not each.is_off


def test_prefill_that_takes_half_as_long_again_and_larger_caches_are_told(now_ms):
    sent(now_ms, slower=1.5, kv_larger=2.0)
    told = found(now_ms)
    assert told["prefill_s.remote"].ratio == pytest.approx(1.5, rel=0.05)
    assert told["kv_bytes"].ratio == pytest.approx(2.0, rel=0.05)
    assert all(each.is_off for each in told.values())


def test_of_what_nobody_tells_no_drift_is_told(now_ms):
    assert found(now_ms) == {}


def test_drift_is_looked_at_twice_a_minute(now_ms, django_assert_num_queries):
    row, kept = watch(), Drifts()
    scenario = deployment_of(CASE)
    kept.of(row, scenario, now_ms)
    with django_assert_num_queries(0):
        kept.of(row, scenario, now_ms + 29_000)
    with django_assert_num_queries(1):
        kept.of(row, scenario, now_ms + 30_000)


def test_drift_stands_beside_the_advice(now_ms):
    watch()
    sent(now_ms, slower=1.5)
    now = watch_now(ts_ms=now_ms)
    Recommender()(snapshot(now, ts_ms=now_ms))
    assert now.advice.is_valid
    assert {each.what for each in now.advice.drift if each.is_off} == {"prefill_s.remote", "prefill_s.local"}


# --- refit --------------------------------------------------------------------------------------------------------


@pytest.fixture
def operator(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("ada"))
    return client


def post(client, **body):
    return client.post(ADDRESS, body, content_type="application/json")


def test_a_refit_is_looked_at_stored_and_then_nothing_has_drifted(operator, now_ms):
    row = watch()
    sent(now_ms, slower=1.5)
    between = {"start": str(now_ms - WINDOW_MS), "end": str(now_ms)}
    looked = operator.get(ADDRESS, between).json()
    assert set(looked) == set(PreviewSerializer().fields)
    assert set(looked["profiles"][0]) == set(FittedSerializer().fields)
    assert [each["profile"] for each in looked["profiles"]] == ["internal-1t-hybrid-h200x8", "internal-1t-hybrid-h20x8"]
    assert all(each["ratio"] == pytest.approx(1.5, rel=0.05) for each in looked["profiles"])
    assert store.named(store.SCENARIOS, CASE).revision == 1

    answer = post(operator, **between, revision=looked["revision"])
    assert answer.status_code == 201
    assert answer.json()["stored"][f"scenarios/{CASE}"] == 2
    assert store.named("profiles", "internal-1t-hybrid-h20x8").revision == 2
    told = found(now_ms, row)
    assert all(told[f"prefill_s.{route}"].ratio == pytest.approx(1.0, abs=0.05) for route in ("remote", "local"))
    origin = store.named("profiles", "internal-1t-hybrid-h20x8").document["provenance"]["prefill"]
    assert origin["source"].startswith("telemetry of case, ")


def test_a_refit_of_another_revision_than_was_looked_at_is_a_conflict(operator, now_ms):
    watch()
    sent(now_ms)
    answer = post(operator, start=str(now_ms - WINDOW_MS), end=str(now_ms), revision=7)
    assert answer.status_code == 409
    assert "at revision 1, not 7" in answer.json()["errors"][0]["message"]


def test_without_telemetry_a_refit_says_what_is_missing(operator):
    watch()
    assert operator.get(ADDRESS).json()["problems"] == {
        route: f"no uncached_tokens and no prefill_s of {route} requests was seen in the window"
        for route in ("remote", "local")
    }
    answer = post(operator)
    assert answer.status_code == 409
    assert "no prefill_s of remote" in answer.json()["errors"][0]["message"]


def test_a_refit_needs_somebody_who_is_known(client):
    watch()
    assert post(client).status_code == 403
    assert client.get(ADDRESS).status_code == 200


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"start": "yesterday"}, "start", "epoch milliseconds"),
        ({"start": "-30d"}, "start", "at most 7 days"),
        ({"profile": "x"}, "profile", "is not a field here"),
        ({"revision": True}, "revision", "whole number"),
        ({"start": [1]}, "start", "whole number"),
    ],
)
def test_what_a_refit_cannot_be_asked_is_refused_by_field(operator, body, field, said):
    watch()
    answer = post(operator, **body)
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["field"] == field
    assert said in error["message"]


def test_a_watch_without_a_scenario_cannot_be_refitted(operator):
    watch(scenario="")
    assert operator.get(ADDRESS).status_code == 409
    assert operator.get("/api/v1/live/watches/none/refit/").status_code == 404
