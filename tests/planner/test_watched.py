"""What the planner offers to who watches: the curves of a scenario, and its profiles fitted anew from telemetry."""

import numpy as np
import pytest

from planner import store
from planner.engine.advice import Histogram
from planner.engine.curves import LogLogCurve
from planner.watched import Conflict, Refused, Seen, Unfit, Unusable, deployment_of, preview, revision_of, store_refit
from planner.watched.fitting import fitted

pytestmark = pytest.mark.django_db
CASE = "case-study-prfaas-pd"
LENGTH_BOUNDS = [float(step * 10**power) for power in (2, 3, 4) for step in (1, 1.5, 2, 3, 5, 7)] + [1e5, 1.5e5]
TIME_BOUNDS = [round(0.05 * 1.25**at, 4) for at in range(36)]
WINDOW = "telemetry of a test, one hour"


def counted(values, bounds):
    """Counts by bucket of (lower, upper], one more than bounds."""
    at = np.searchsorted(bounds, values, side="left")
    return Histogram(tuple(bounds), tuple(np.bincount(at, minlength=len(bounds) + 1).astype(float)))


def seen_of(seconds_of, low, high, requests=20_000, seed=1):
    """Requests of log-normal lengths between two, each prefilled for as long as a function says, give or take 3 %."""
    random = np.random.default_rng(seed)
    tokens = np.exp(random.normal(9.9, 1.0, 8 * requests))
    tokens = tokens[(tokens > low) & (tokens <= high)][:requests]
    seconds = seconds_of(tokens) * np.exp(random.normal(0, 0.03, tokens.size))
    return Seen(counted(tokens, LENGTH_BOUNDS), counted(seconds, TIME_BOUNDS), float(seconds.sum())), tokens


def truth(tokens):
    """Half as slow again as the old curve for short prompts, and three times for long ones."""
    return 0.3 + 2e-5 * tokens + 2e-9 * tokens**2


OLD = LogLogCurve([1024.0, 8192.0, 32768.0, 131072.0], [0.3, 0.6, 1.5, 12.0])


def test_a_fit_finds_the_curve_behind_two_histograms_that_nobody_joins():
    seen, tokens = seen_of(truth, 2_000, 120_000)
    fit = fitted(OLD, seen)
    curve = LogLogCurve(fit.tokens, fit.seconds)
    inside = np.geomspace(fit.shortest, fit.longest, 30)
    assert np.abs(curve(inside) / truth(inside) - 1).max() < 0.1
    # where requests lie within the buckets, 1.5 times as wide as long, nobody knows
    assert curve(tokens).mean() == pytest.approx(truth(tokens).mean(), rel=0.05)
    assert fit.requests == tokens.size


def test_beyond_what_was_seen_a_fit_keeps_the_shape_of_the_old_curve():
    fit = fitted(OLD, seen_of(truth, 2_000, 19_400)[0])
    curve = LogLogCurve(fit.tokens, fit.seconds)
    assert fit.longest <= 19_400
    assert not fit.is_measured
    assert curve(131_072) / curve(32_768) == pytest.approx(12.0 / 1.5, rel=1e-9)
    assert np.all(np.diff(fit.seconds) > 0)


def test_a_profile_that_is_right_is_found_again():
    fit = fitted(OLD, seen_of(OLD, 1_500, 100_000)[0])
    assert fit.ratio == pytest.approx(1.0, abs=0.03)


def test_lengths_in_the_last_bucket_reach_to_the_longest_that_the_profile_knows():
    """As vLLM's buckets for 128K tokens, of which the last ends at 100,000."""
    seen, tokens = seen_of(lambda each: 1.5 * OLD(each), 19_400, 131_072)
    lengths = counted(tokens, [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5])
    assert 0.02 < lengths.counts[-1] / lengths.total < 0.25
    fit = fitted(OLD, Seen(lengths, seen.times, seen.total_s))
    assert fit.ratio == pytest.approx(1.5, rel=0.08)  # buckets from 2 to 5 leave that much open
    assert fit.longest == 100_000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lengths, times: (counted([3000.0] * 50, LENGTH_BOUNDS), times), "needs 200"),
        (lambda lengths, times: (counted([3000.0] * 9_000, LENGTH_BOUNDS), times), "not of the same requests"),
        (lambda lengths, times: (counted([2e5] * 20_000, LENGTH_BOUNDS), times), "beyond the last bucket"),
    ],
)
def test_what_no_curve_can_be_fitted_of_is_refused_with_the_reason(change, said):
    seen, _ = seen_of(truth, 2_000, 120_000)
    lengths, times = change(seen.lengths, seen.times)
    with pytest.raises(Unfit, match=said):
        fitted(OLD, Seen(lengths, times, seen.total_s))


# --- stored scenarios ---------------------------------------------------------------------------------------------


@pytest.fixture
def catalogue(shipped, db):
    """What is shipped is stored; a test's changes are taken back with its transaction."""


def test_a_stored_scenario_is_offered_with_its_curves(catalogue):
    found = deployment_of(CASE)
    assert float(found.prefill["remote"](32_768)) == pytest.approx(1.84)
    assert float(found.prefill["local"](32_768)) == pytest.approx(4.958)
    assert found.link_bps == 100e9
    assert found.deployment.pd.decode_instances == 5


def test_a_scenario_that_changes_has_another_revision(catalogue):
    before, entry = revision_of(CASE), store.named(store.SCENARIOS, CASE)
    store.update(entry, {**entry.document, "title": "Another title"}, revision=entry.revision)
    assert revision_of(CASE) != before


def test_a_shipped_scenario_is_there_before_anything_is_stored(nothing_stored):
    assert deployment_of(CASE).revision == "shipped"


@pytest.mark.parametrize("name", ["case-study-homogeneous", "nobody", "../../etc/passwd", "pyproject.toml"])
def test_a_scenario_that_nothing_can_be_advised_by_says_why(catalogue, name):
    with pytest.raises(Unusable, match=r"no PrfaaS cluster|no scenario"):
        deployment_of(name)


def test_a_scenario_that_was_deleted_is_gone_though_it_was_shipped(catalogue):
    store.delete(store.named(store.SCENARIOS, CASE))
    with pytest.raises(Unusable, match="deleted or renamed"):
        revision_of(CASE)


@pytest.fixture
def slower(catalogue):
    """Both routes twice as slow as the profiles have it."""
    curves = deployment_of(CASE).prefill
    remote = seen_of(lambda tokens: 2 * curves["remote"](tokens), 19_400, 130_000)[0]
    local = seen_of(lambda tokens: 2 * curves["local"](tokens), 128, 19_400)[0]
    return {"remote": remote, "local": local}


def test_a_refit_is_looked_at_first_and_stores_nothing(slower):
    before = revision_of(CASE)
    found = preview(CASE, slower, WINDOW)
    assert [(each.profile, each.routes) for each in found.fitted] == [
        ("internal-1t-hybrid-h200x8", ("remote",)),
        ("internal-1t-hybrid-h20x8", ("local",)),
    ]
    assert all(each.fit.ratio == pytest.approx(2.0, rel=0.05) for each in found.fitted)
    assert revision_of(CASE) == before


def test_a_stored_refit_is_the_next_revision_of_scenario_and_profiles_with_its_telemetry_as_source(slower):
    revisions = store_refit(preview(CASE, slower, WINDOW))
    assert set(revisions) == {
        f"scenarios/{CASE}",
        "profiles/internal-1t-hybrid-h200x8",
        "profiles/internal-1t-hybrid-h20x8",
    }
    assert all(number == 2 for number in revisions.values())
    assert float(deployment_of(CASE).prefill["remote"](50_000)) == pytest.approx(2 * 2.83, rel=0.1)
    origin = store.named("profiles", "internal-1t-hybrid-h200x8").document["provenance"]["prefill"]
    assert origin["source"].startswith(f"{WINDOW}; 20000 requests, from ")
    scenario = store.named(store.SCENARIOS, CASE).document["provenance"]
    assert scenario["model.profiles.internal-1t-hybrid-h200x8"] == origin


def test_a_refit_of_one_route_leaves_the_other_and_says_why(slower):
    found = preview(CASE, {**slower, "local": "nobody sends prefill_s of local requests"}, WINDOW)
    assert found.problems == {"local": "nobody sends prefill_s of local requests"}
    assert set(store_refit(found)) == {f"scenarios/{CASE}", "profiles/internal-1t-hybrid-h200x8"}


def test_a_refit_after_somebody_elses_change_is_a_conflict_and_changes_nothing(slower):
    found = preview(CASE, slower, WINDOW)
    entry = store.named(store.SCENARIOS, CASE)
    store.update(entry, {**entry.document, "title": "Changed meanwhile"}, revision=entry.revision)
    with pytest.raises(Conflict):
        store_refit(found)
    assert store.named("profiles", "internal-1t-hybrid-h200x8").revision == 1


def test_a_refit_without_telemetry_is_refused(catalogue):
    with pytest.raises(Refused, match="nobody sends"):
        store_refit(preview(CASE, {"remote": "nobody sends it", "local": "nobody sends it"}, WINDOW))
    with pytest.raises(Refused, match="no stored scenario"):
        preview("nobody", {}, WINDOW)
