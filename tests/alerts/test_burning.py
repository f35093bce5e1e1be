"""Burn rates against what they are by hand."""

import numpy as np
import pytest

from monitoring.alerts import kinds
from monitoring.alerts.burning import bad_share, combined, shares_of
from monitoring.alerts.evaluator import Alerting
from monitoring.models import AlertRule, Frame, Source, Watch
from monitoring.readings import Histogram, Point
from monitoring.storage.writer import Writer
from monitoring.wire import Mapped, packed
from tests.alerts.snapshots import T0, rule, snapshot, watch

SPEC = kinds.defaults("burn")  # TTFT within 10 s for 95 %; fires at 14.4 and 6
BOUNDS = (1.0, 10.0, 60.0)
HOURS = {3600, 300, 21_600, 1800}


@pytest.mark.parametrize(
    ("slo", "counts", "share"),
    [
        (10.0, [6, 3, 1, 0], 0.1),
        (10.0, [0, 0, 0, 4], 1.0),
        (5.5, [0, 8, 0, 0], 0.5),  # in the middle of 1 … 10
        (0.25, [4, 0, 0, 4], 0.875),  # a quarter of the first bucket is within it
        (100.0, [1, 1, 1, 1], 0.25),  # beyond the last bound it is not known: counted as above
        (10.0, [0, 0, 0, 0], None),
    ],
)
def test_the_share_above_an_slo_is_linear_within_its_bucket(slo, counts, share):
    assert bad_share(np.array(BOUNDS), np.array(counts, float), slo) == share


@pytest.mark.parametrize(
    ("shares", "value", "pair"),
    [
        # All requests slow burns 1 / 0.05 = 20 times; the slow pair's level is the nearer one.
        (dict.fromkeys(HOURS, 1.0), 20 / 6, "slow"),
        # It is over since five minutes: the short window ends the fast pair, not yet the slow one.
        ({3600: 0.9, 300: 0.0, 21_600: 0.9, 1800: 0.8}, 16 / 6, "slow"),
        # A spike that is short: the long window does not yet say that it matters.
        ({3600: 0.05, 300: 1.0, 21_600: 0.01, 1800: 0.1}, 1 / 14.4, "fast"),
        ({3600: 0.72, 300: 0.9, 21_600: 0.12, 1800: 0.9}, 14.4 / 14.4, "fast"),
    ],
)
def test_both_windows_of_a_pair_must_burn(shares, value, pair):
    found = combined(SPEC, shares)
    assert found.value == pytest.approx(value)
    assert found.pair == pair


def test_a_pair_of_which_a_window_is_not_known_says_nothing():
    assert combined(SPEC, {3600: None, 300: 1.0, 21_600: None, 1800: None}) is None


# --- from what is stored -----------------------------------------------------------------------------------------


def told(source, minutes, quick, slow, begins_min=0, before=(0, 0), **labels):
    """A counter of requests, so many quick and slow ones a minute; what it comes to."""
    points = [
        Point(
            T0 + (begins_min + at) * 60_000,
            Histogram(BOUNDS, (0.0, before[0] + quick * at, before[1] + slow * at, 0.0)),
        )
        for at in range(minutes + 1)
    ]
    mapped = Mapped("ttft_s", "histogram", tuple(labels.items()), tuple(points))
    Frame.objects.create(source=source, received_ms=T0, points=len(points), payload=packed([mapped]))
    writer = Writer()
    while writer.drain().frames:
        pass
    return before[0] + quick * minutes, before[1] + slow * minutes


@pytest.mark.django_db
def test_shares_come_from_what_is_stored_and_a_rule_fires_and_clears_by_them():
    source = Source.objects.create(name="router")
    ended = told(source, 60, 60, 0)
    told(source, 60, 30, 30, 60, ended)
    shares = shares_of("all", 10.0, T0 + 120 * 60_000)
    assert shares[300] == pytest.approx(0.5, rel=0.01)
    assert shares[1800] == pytest.approx(0.5, rel=0.01)
    assert shares[3600] == pytest.approx(0.5, rel=0.02)
    assert shares[21_600] == pytest.approx(0.25, rel=0.02)
    # Burns of 5 (a quarter over six hours) and 10 times: 5 of 4 on the slow pair.
    rule("burn", slo_s=10.0, target=0.95, fast=14.4, slow=4.0, clear=0.9)
    alerting = Alerting()
    taken = snapshot(7200, watch("all"))
    alerting(taken)
    assert [each.state for each in taken.alerts] == ["firing"]
    assert taken.alerts[0].value == pytest.approx(1.25, rel=0.02)
    assert "its budget burns 5 times over 6 h and 10 times over 30 min; from 4 on both it fires" in taken.alerts[0].text
    AlertRule.objects.update(spec=SPEC | {"slow": 12.0})
    taken = snapshot(7201, watch("all"))
    alerting(taken)
    assert taken.alerts == []


@pytest.mark.django_db
def test_a_watch_burns_by_its_own_clusters_and_one_that_is_gone_by_nothing():
    source = Source.objects.create(name="router")
    told(source, 60, 60, 0, cluster="east")
    told(source, 60, 0, 60, cluster="west")
    Watch.objects.create(name="east", clusters=["east"])
    assert shares_of("east", 10.0, T0 + 3_600_000)[300] == pytest.approx(0.0)
    assert shares_of("gone", 10.0, T0 + 3_600_000) == dict.fromkeys(HOURS)
