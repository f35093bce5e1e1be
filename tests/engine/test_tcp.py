"""TCP's bounds against the published formula, by hand, and what must hold whatever the numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from planner.engine.simulation.tcp import MOST_CONGESTION_LOSS, Tcp, congestion_loss, connection_bps, retransmitted

INF = math.inf
RATES, TRIPS, LOSSES = st.floats(1e3, 1e12), st.floats(1e-5, 1.0), st.floats(1e-12, 0.49)


def test_loss_bounds_a_connection_as_published():
    """MSS/RTT · C/√p: 11,680 bit a packet / 0.1 s · 1.2247 / 0.01 = 14.30 Mbit/s."""
    by_hand = 11_680 / 0.1 * 1.224744871391589 / 0.01
    assert connection_bps(0.1, INF, 1460, 1e-4) == pytest.approx(by_hand, rel=1e-12)
    assert by_hand == pytest.approx(14.305e6, rel=1e-4)


@pytest.mark.parametrize(
    ("mss", "rtt_ms", "loss", "gbps"),
    [(1460, 2, 1e-4, 0.584), (1460, 40, 1e-6, 0.292), (1460, 80, 1e-8, 1.46), (8960, 20, 1e-6, 3.584)],
)
def test_loss_bounds_a_connection_as_geant_tabulates_but_for_its_constant(mss, rtt_ms, loss, gbps):
    """wiki.geant.org has the table for C = 1."""
    assert connection_bps(rtt_ms / 1e3, INF, mss, loss) / 1e9 == pytest.approx(gbps * math.sqrt(1.5), rel=2e-3)


def test_a_window_goes_across_once_a_round_trip():
    """4 MiB in 100 ms: 33,554,432 bit / 0.1 s."""
    assert Tcp(connections=1, rtt_s=0.1, window_bytes=4 * 2**20).transfer_bps == pytest.approx(335_544_320)


def test_windows_that_hold_the_bandwidth_delay_product_fill_the_link():
    """100 Gbit/s over 20 ms hold 250 MB, which is 25 windows of 10 MB."""
    assert Tcp(connections=25, rtt_s=0.02, window_bytes=10e6).transfer_bps == pytest.approx(100e9)


def test_the_tighter_of_window_and_loss_rules():
    by_loss = connection_bps(0.1, INF, 1460, 1e-4)
    window = by_loss * 0.1 / 8
    assert connection_bps(0.1, 2 * window, 1460, 1e-4) == by_loss
    assert connection_bps(0.1, window / 2, 1460, 1e-4) == pytest.approx(by_loss / 2)


def test_without_a_round_trip_or_any_bound_a_transfer_is_endless():
    assert Tcp(window_bytes=65_536, loss=0.01).transfer_bps == INF
    assert Tcp(rtt_s=0.1).transfer_bps == INF


@given(RATES, TRIPS)
def test_the_loss_of_a_share_gives_that_share_again(rate, rtt):
    loss = congestion_loss(rate, rtt, 1460)
    assert 0 < loss <= MOST_CONGESTION_LOSS
    if loss < MOST_CONGESTION_LOSS:
        assert connection_bps(rtt, INF, 1460, loss) == pytest.approx(rate, rel=1e-9)


@given(LOSSES, TRIPS)
def test_a_rate_that_loss_allows_is_lost_again_so_often(loss, rtt):
    assert congestion_loss(connection_bps(rtt, INF, 1460, loss), rtt, 1460) == pytest.approx(loss, rel=1e-9)


def test_with_ten_times_the_connections_a_full_link_loses_a_hundred_times_as_much():
    """10 Gbit/s over 40 ms by 100 connections: 342 packets a round trip each, and 1.5 / 342.5² = 1.279e-5."""
    few, many = (Tcp(connections=1, rtt_s=0.04).retransmits(10e9 / n) for n in (100, 1000))
    assert few == pytest.approx(1.279e-5, rel=1e-3)
    assert many == pytest.approx(100 * few)


def test_a_link_that_is_not_full_loses_what_the_way_loses():
    for connections in range(1, 50):
        across = Tcp(connections, rtt_s=0.041, window_bytes=2**20, loss=1e-6)
        assert across.retransmits(across.transfer_bps / connections) == 1e-6
        assert across.retransmits(across.transfer_bps / 3 / (connections / 3)) == 1e-6


@given(LOSSES, TRIPS, st.floats(0.001, 1.0))
def test_less_than_a_connection_could_have_is_lost_no_less_than_the_way_does(loss, rtt, part):
    across = Tcp(rtt_s=rtt, loss=loss)
    assert loss <= across.retransmits(part * across.alone_bps) <= 1


def test_a_dead_link_loses_as_much_as_is_assumed_at_most_and_an_unknown_round_trip_says_nothing():
    assert congestion_loss(0.0, 0.04, 1460) == MOST_CONGESTION_LOSS
    assert congestion_loss(1e-300, 0.04, 1460) == MOST_CONGESTION_LOSS
    assert Tcp(connections=2).retransmits(1e9) == 0
    assert Tcp(connections=2, loss=0.01).retransmits(1e9) == 0.01


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (connection_bps, (0.0, 1e6, 1460.0, 0.1)),
        (connection_bps, (0.1, INF, 1460.0, 0.0)),
        (connection_bps, (0.1, 1e6, 1460.0, 1e-4)),
        (retransmitted, (0.0, 1e9, 0.1, 1460.0, 1e-4)),
        (retransmitted, (1e6, 1e9, 0.1, 1460.0, 1e-4)),
        (retransmitted, (1e9, 1e9, 0.1, 1460.0, 1e-4)),
        (retransmitted, (1e6, 1e18, 0.0, 1460.0, 1e-4)),
    ],
)
def test_a_function_of_numbers_compiles_as_it_stands(function, numbers):
    assert njit(function)(*numbers) == pytest.approx(function(*numbers), rel=1e-12)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("connections", 0),
        ("rtt_s", -0.1),
        ("rtt_s", INF),
        ("rtt_s", math.nan),
        ("window_bytes", 0.0),
        ("mss_bytes", 0.0),
        ("loss", 1.0),
        ("loss", -0.1),
    ],
)
def test_a_wrong_figure_is_named(field, value):
    with pytest.raises(ValueError, match=f"{field} must"):
        Tcp(**{field: value})
