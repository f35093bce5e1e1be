"""The Pareto front: what no other deployment beats, however the points come in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.engine.front import Shard, at_rate, rates, unbeaten
from planner.engine.latency import Circumstances
from tests.engine.test_equal_cost import space

standings = st.lists(
    st.tuples(
        st.sampled_from([1.0, 2.0, 3.0]), st.sampled_from([10.0, 20.0, 30.0, 40.0]), st.sampled_from([1.0, 2.0, 3.0])
    ),
    max_size=12,
)


def beats(one, other):
    """Whether one is as good in all three and better in some."""
    a, b = ((-rate, usd, seconds) for rate, usd, seconds in (one, other))
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


@settings(deadline=None)
@given(standings, st.randoms())
def test_the_front_is_what_nothing_beats_in_any_order(found, random):
    front = [found[at] for at in unbeaten(found)]
    assert not any(beats(one, other) for one in found for other in front)
    assert len(set(front)) == len(front)
    for each in found:
        assert each in front or any(beats(one, each) for one in front)
    shuffled = list(found)
    random.shuffle(shuffled)
    assert [shuffled[at] for at in unbeaten(shuffled)] == front


def test_at_one_rate_less_waiting_costs_more():
    small = space(most_prfaas=12, most_pd=16)
    told = []
    found = at_rate(Shard(small, 2.0, 0.9, Circumstances()), lambda *news: told.append(news))
    kept = unbeaten([(point.rate_rps, point.usd_per_h, point.ttft.p90) for point in found.points])
    front = [found.points[at] for at in kept]
    assert len(front) >= 5
    costs, seconds = [point.usd_per_h for point in front], [point.ttft.p90 for point in front]
    assert costs == sorted(costs)
    assert seconds == sorted(seconds, reverse=True)
    assert costs[0] == pytest.approx(80)
    assert told[-1][0] == told[-1][1]
    assert found.tried > 100


def test_a_rate_that_nothing_carries_has_no_points():
    assert at_rate(Shard(space(most_prfaas=1, most_pd=2), 50.0, 0.9, Circumstances()), lambda *news: None).points == ()


def test_rates_go_up_to_the_greatest():
    assert rates(4.0, 4).tolist() == [1.0, 2.0, 3.0, 4.0]
