"""A gain divided among its causes: the axioms of Shapley's division, and games whose division is known."""

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.attribution import causes, shares, steps

amounts = st.floats(-1e6, 1e6)


@st.composite
def games(draw, most=4):
    """Values of every subset of up to `most` causes."""
    count = draw(st.integers(1, most))
    return draw(st.lists(amounts, min_size=2**count, max_size=2**count))


def scale(values):
    return max(map(abs, values)) or 1.0


def test_the_glove_game_gives_the_lone_glove_two_thirds():
    # Shapley's own example: one left glove (cause 0), two right ones; a pair is worth 1.
    values = [1.0 if mask & 1 and mask & 6 else 0.0 for mask in range(8)]
    found = shares(values)
    assert found.shapley == pytest.approx((2 / 3, 1 / 6, 1 / 6), rel=1e-15)
    assert (found.least, found.greatest) == ((0, 0, 0), (1, 1, 1))


def test_a_game_of_two_is_the_mean_of_its_two_orders():
    found = shares([2.0, 3.0, 2.5, 5.0])
    assert found.shapley == (1.75, 1.25)
    assert (found.least, found.greatest) == ((1.0, 0.5), (2.5, 2.0))
    assert steps([2.0, 3.0, 2.5, 5.0], [0, 1]) == [1.0, 2.0]
    assert steps([2.0, 3.0, 2.5, 5.0], [1, 0]) == [0.5, 2.5]


@given(games(most=8))
def test_the_shares_add_up_to_the_whole_difference_to_the_last_digits(values):
    found = shares(values)
    ulps = math.ulp(max(map(abs, found.shapley)))
    assert abs(math.fsum([*found.shapley, values[0], -values[-1]])) <= ulps


@given(games())
def test_a_share_is_the_mean_over_all_orders_and_every_step_lies_in_its_range(values):
    found, count = shares(values), causes(values)
    orders = list(permutations(range(count)))
    told = [dict(zip(order, steps(values, order), strict=True)) for order in orders]
    for cause in range(count):
        mean = math.fsum(each[cause] for each in told) / len(orders)
        assert found.shapley[cause] == pytest.approx(mean, rel=1e-12, abs=1e-12 * scale(values))
        assert min(each[cause] for each in told) == found.least[cause]
        assert max(each[cause] for each in told) == found.greatest[cause]


@given(games(), st.data())
def test_causes_that_do_the_same_get_the_same(values, data):
    count = causes(values)
    first, second = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))

    def swapped(mask):
        bits = [mask >> cause & 1 for cause in range(count)]
        bits[first], bits[second] = bits[second], bits[first]
        return sum(bit << cause for cause, bit in enumerate(bits))

    alike = [(values[mask] + values[swapped(mask)]) / 2 for mask in range(len(values))]
    found = shares(alike).shapley
    assert found[first] == pytest.approx(found[second], rel=1e-12, abs=1e-12 * scale(values))


@given(games(), amounts)
def test_a_cause_that_always_adds_the_same_gets_just_that(values, added):
    found = shares([*values, *(value + added for value in values)])
    tiny = 1e-12 * max(scale(values), abs(added))
    assert found.shapley[-1] == pytest.approx(added, rel=1e-12, abs=tiny)
    assert found.shapley[:-1] == pytest.approx(shares(values).shapley, rel=1e-12, abs=tiny)


@given(st.data(), st.integers(1, 4))
def test_shares_of_a_sum_are_sums_of_shares(data, count):
    one, two = (data.draw(st.lists(amounts, min_size=2**count, max_size=2**count)) for _ in range(2))
    both = shares([a + b for a, b in zip(one, two, strict=True)]).shapley
    apart = [a + b for a, b in zip(shares(one).shapley, shares(two).shapley, strict=True)]
    assert both == pytest.approx(apart, rel=1e-12, abs=1e-12 * (scale(one) + scale(two)))


def test_without_causes_there_is_nothing_to_divide():
    assert shares([3.0]).shapley == ()
    assert steps([3.0], []) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], "got 0"),
        ([1.0, 2.0, 3.0], "got 3"),
        ([0.0] * 512, "at most 8 causes"),
        ([1.0, math.inf], "finite"),
        ([1.0, math.nan], "finite"),
    ],
)
def test_what_is_no_game_is_refused(values, said):
    with pytest.raises(ValueError, match=said):
        shares(values)


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 2], [0, 1, 2]])
def test_an_order_names_every_cause_once(order):
    with pytest.raises(ValueError, match="each of 2 causes once"):
        steps([0.0, 1.0, 2.0, 3.0], order)
