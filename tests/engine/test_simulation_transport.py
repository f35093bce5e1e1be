"""Several links, TCP and what is sent again: against one link, closed forms, and the formula of Mathis."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence

from planner.engine.controller import all_remote
from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, Link, PrfaasCluster
from planner.engine.lengths import TruncatedLogNormal
from planner.engine.simulation import Experiment, Path, Transport
from planner.engine.simulation.requests import Requests
from planner.engine.simulation.run import replicate
from planner.engine.simulation.tcp import Tcp
from planner.engine.simulation.weather import Weather, Window
from tests.engine.case_study import prfaas_pd

SEED = 17
NO_TIME = LogLogCurve([1.0, 2.0], [1e-9, 1e-9])
LENGTHS = TruncatedLogNormal(8.0, 1.0, 128, 65_536)
GBPS = 1e9


def link_alone(rate_rps, *paths, bits_a_token=1e6, **changes):
    """Transfers in proportion to the length, and nothing else takes any time."""
    sizes = LogLogCurve([100.0, 1000.0], [100 * bits_a_token / 8, 1000 * bits_a_token / 8])
    deployed = prfaas_pd(
        0.0,
        1,
        1000,
        lengths=LENGTHS,
        s_kv=sizes,
        prfaas=PrfaasCluster(1000, NO_TIME),
        link=Link(GBPS),
        decode=Decode(1000, 1e-7, 1.0),
    )
    return Experiment(
        deployed, rate_rps, **({"requests": 20_000, "warm_up": 0.0, "transport": Transport(1, paths)} | changes)
    )


def mean_bits(bits_a_token=1e6):
    return bits_a_token * float(LENGTHS.partial_expectations([lambda length: length], np.inf)[0][0])


def tails(experiment):
    record = replicate(experiment, SEED, record=True).record
    return record["landed_s"] - record["end_s"]


def test_two_paths_are_one_where_each_transfer_gets_no_more_than_its_cap():
    """Half a connection's worth on either, and few of them at a time: nobody shares, so nobody can tell."""
    one = link_alone(0.02, Path(4 * GBPS, connection_bps=0.2 * GBPS))
    two = link_alone(0.02, *[Path(2 * GBPS, connection_bps=0.2 * GBPS)] * 2)
    assert tails(one) == pytest.approx(tails(two), rel=1e-9)


def test_two_paths_take_transfers_in_turn_and_are_as_full_as_one():
    load = 0.8 * 2 * GBPS / mean_bits()
    run = replicate(link_alone(load, *[Path(GBPS)] * 2), SEED)
    assert run.sent_bits.sum() == pytest.approx(run.sent_bits[0] * 2, rel=0.15)
    assert run.sent_bits.sum() / run.possible_bits.sum() == pytest.approx(0.8, abs=0.03)


def test_a_transfer_takes_the_path_that_gives_it_most():
    """Alone, always the wider one; and what is there for one is there for all at twice the time."""
    run = replicate(link_alone(0.001, Path(GBPS), Path(3 * GBPS), requests=500), SEED, record=True)
    assert run.sent_bits[0] < 0.01 * run.sent_bits[1]


def test_a_dead_path_leaves_all_to_the_other():
    dead = Path(GBPS, weather=Weather(windows=(Window(0.0, 1e9),)))
    one, two = (
        tails(link_alone(0.5 * GBPS / mean_bits(), *paths, failover=False))
        for paths in ((Path(GBPS),), (Path(GBPS), dead))
    )
    assert one == pytest.approx(two, rel=1e-6)


def test_a_path_that_fails_is_left_and_one_that_is_slow_is_shunned():
    """From 100 s to 400 s one of two equal paths carries a tenth: it gets a tenth or so of what is sent."""
    weather = Weather(windows=(Window(100.0, 400.0, 0.1 * GBPS),))
    experiment = link_alone(
        0.7 * GBPS / mean_bits(), Path(GBPS), Path(GBPS, weather=weather), requests=int(0.7 * GBPS / mean_bits() * 400)
    )
    run = replicate(experiment, SEED)
    assert run.unfinished == 0
    during = run.series["possible_bits"][12:38] / run.window_bin_s
    assert during == pytest.approx(1.1 * GBPS)


def test_a_window_of_tcp_caps_a_transfer():
    tcp = Tcp(connections=4, rtt_s=0.08, window_bytes=1e6)
    experiment = link_alone(0.01, Path(10 * GBPS, tcp=tcp), requests=2_000)
    run = replicate(experiment, SEED, record=True)
    tail = run.record["landed_s"] - run.record["end_s"]
    # four windows of a megabyte every 80 ms, and half a round trip until the last bit is there
    bits = Requests(experiment, SeedSequence(SEED, spawn_key=(0,))).next(2_000).tokens * 1e6
    assert np.median(tail / (bits / (4 * 8e6 / 0.08) + 0.04)) == pytest.approx(1.0, rel=1e-6)
    assert run.resent_bits.sum() == 0


@pytest.mark.parametrize("loss", [1e-6, 1e-4, 1e-2])
def test_a_path_that_loses_packets_sends_as_many_again(loss):
    """A connection at Mathis' rate, whose every lost packet takes the place of another."""
    tcp = Tcp(connections=8, rtt_s=0.02, loss=loss)
    run = replicate(link_alone(0.001, Path(1e15, tcp=tcp), requests=1_000), SEED, record=True)
    alone_bps = 8 * 1460 * 8 / 0.02 * np.sqrt(1.5 / loss)
    tail = run.record["landed_s"] - run.record["end_s"] - 0.01
    assert tail.mean() == pytest.approx(mean_bits() / (alone_bps * (1 - loss)), rel=0.06)
    assert run.resent_bits.sum() / run.sent_bits.sum() == pytest.approx(loss, rel=1e-6)


def test_a_window_below_what_loss_allows_sends_no_more_again_than_is_lost():
    """The path is not full, and so nobody is pushed into loss."""
    tcp = Tcp(connections=8, rtt_s=0.1, window_bytes=65_536, loss=1e-5)
    run = replicate(link_alone(0.01, Path(100 * GBPS, tcp=tcp), requests=1_000), SEED)
    assert run.resent_bits.sum() / run.sent_bits.sum() == pytest.approx(1e-5, rel=1e-6)


def test_the_more_share_a_path_the_more_is_sent_again():
    """n times as many lose n² times the share (Mathis), so the mean is of squares of the number at a time."""
    shares = []
    for connections in (8, 16, 32):
        tcp = Tcp(connections, rtt_s=0.2)
        run = replicate(link_alone(0.6 * 20 * GBPS / mean_bits(), Path(20 * GBPS, tcp=tcp)), SEED)
        shares.append(run.resent_bits.sum() / run.sent_bits.sum())
    assert shares[1] / shares[0] == pytest.approx(4.0, rel=0.02)
    assert shares[2] / shares[1] == pytest.approx(4.0, rel=0.02)


def test_a_single_transfer_over_a_narrow_path_sends_again_what_mathis_says():
    """One connection for itself on a link: 3/2 · (MSS / (RTT · rate))²."""
    tcp = Tcp(1, rtt_s=0.1)
    run = replicate(link_alone(1e-4, Path(0.02 * GBPS, tcp=tcp), requests=200), SEED, record=True)
    expected = 1.5 * (1460 * 8 / (0.1 * 0.02 * GBPS)) ** 2
    lonely = run.record["landed_s"][:-1] < run.record["arrival_s"][1:]
    assert lonely.mean() > 0.9
    assert run.resent_bits.sum() / run.sent_bits.sum() == pytest.approx(expected, rel=0.2)


def test_all_that_is_sent_is_counted_once_per_link_and_no_link_carries_more_than_it_can():
    experiment = replace(
        link_alone(1.2 * GBPS / mean_bits(), Path(GBPS), Path(0.5 * GBPS, rtt_s=0.4), Path(0.2 * GBPS)),
        rule=all_remote(),
    )
    run = replicate(experiment, SEED, record=True)
    assert np.all(run.sent_bits <= run.possible_bits * (1 + 1e-9))
    assert np.all(run.sent_bits > 0)
    assert run.unfinished == 0


def test_a_link_that_comes_back_clears_what_has_gathered_however_many_share_it():
    """With as little for each connection as there is then, nothing but timeouts gets through; something must."""
    outage = Weather(windows=(Window(100.0, 3_700.0, 0.0),))
    across = Path(tcp=Tcp(connections=64, rtt_s=0.02), weather=outage)
    deployed = prfaas_pd(0.0, 1, 40, n_prfaas=40, bandwidth_bps=4e9)
    experiment = Experiment(
        deployed, 0.3, requests=2_000, rule=all_remote(), failover=False, transport=Transport(4, (across,))
    )
    run = replicate(experiment, 1)
    assert run.unfinished == 0
    assert run.resent_bits.sum() > 0
