"""What is said of a difference: clear, no difference, or that so many replications cannot tell."""

import pytest
from scipy import stats

from planner.management import possible
from planner.management.study_report import _difference
from planner.simulating.studies import verdict


@pytest.mark.parametrize(
    ("low", "high", "base", "judged"),
    [
        (0.1, 0.3, 7.0, "clear"),
        (-0.3, -0.1, 7.0, "clear"),
        (-28.0, 90.0, 7.0, "within_chance"),
        (-0.2, 0.2, 7.0, "within_chance"),
        (-0.1, 0.1, 7.0, "no_difference"),
        (-0.1, 0.1, 4.0, "within_chance"),
        (0.0, 0.0, 0.0, "no_difference"),
        (None, None, 7.0, None),
    ],
)
def test_only_a_narrow_interval_about_nothing_is_no_difference(low, high, base, judged):
    assert verdict.verdict(low, high, base) == judged


def test_35_seconds_against_7_are_not_called_the_same_where_three_replications_scatter():
    off, given = [7.0, 90.0, 8.0], [7.0, 7.1, 6.9]
    low, high = stats.ttest_rel(off, given).confidence_interval(0.95)
    assert low < 0 < high
    assert verdict.verdict(low, high, 7.0) == "within_chance"
    assert verdict.untold(3) == "cannot be told apart from chance with 3 replications"


def test_differences_of_before_verdicts_are_not_called_none():
    assert [verdict.of({"is_clear": clear}) for clear in (True, False, None)] == ["clear", "within_chance", None]
    assert verdict.of({"is_clear": False, "verdict": "no_difference"}) == "no_difference"


@pytest.mark.parametrize(
    ("low", "high", "judged", "said"),
    [
        (-30.0, 86.0, "within_chance",
         "+28.000 s [-30.000, +86.000]  cannot be told apart from chance with 3 replications"),
        (-0.01, 56.01, "no_difference", "+28.000 s [-0.010, +56.010]  no difference"),
        (20.0, 36.0, "clear", "+28.000 s [+20.000, +36.000]  +400.0%"),
        (None, None, None, "+28.000 s, of one replication: it may be chance"),
    ],
)  # fmt: skip
def test_the_terminal_says_the_same(low, high, judged, said):
    found = {"mean": 28.0, "low": low, "high": high, "share": 4.0, "is_clear": None, "verdict": judged}
    assert _difference(found, "{:+.3f} s", 3) == said


def test_what_is_rounded_to_nothing_has_no_sign():
    found = {"mean": -1e-9, "low": -2e-9, "high": 1e-9, "share": 0.0, "is_clear": False, "verdict": "no_difference"}
    assert _difference(found, "{:+.3f} s", 3) == "0.000 s [0.000, 0.000]  no difference"


def test_bounds_are_shown_as_far_as_they_can_be():
    assert possible.clipped({"mean": 0.97, "low": 0.91, "high": 1.03}, 1.0) == {"mean": 0.97, "low": 0.91, "high": 1.0}
    assert possible.clipped({"mean": 0.2, "low": -0.4, "high": 0.8}) == {"mean": 0.2, "low": 0.0, "high": 0.8}
    assert str(possible.within(-0.0)) == "0.0"
    assert possible.within(None) is None
