"""What a simulation is given: arrivals in blocks, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from planner.engine.arrivals import Diurnal, Mmpp2, Poisson, Recorded, Renewal
from planner.engine.controller import all_remote, reallocation
from planner.engine.curves import LogLogCurve
from planner.engine.sessions import chat
from planner.engine.simulation import Caching, Decoding, Experiment, Path, Prefill, Transport
from planner.engine.simulation.kernel import advance
from planner.engine.simulation.requests import blocks, taking
from planner.engine.simulation.run import replicate
from planner.engine.simulation.tcp import Tcp
from planner.engine.simulation.weather import Weather, Window
from tests.engine.case_study import homogeneous, prfaas_pd
from tests.engine.prompts import Tree

# --- arrivals in blocks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "process",
    [
        Poisson(),
        Renewal(0.5),
        Renewal(4.0),
        Mmpp2((1.0, 5.0), (40.0, 10.0)),
        Mmpp2((0.0, 1.0), (0.05, 0.05)),
        Recorded(60.0, [1.0, 0.0, 4.0]),
    ],
)
def test_blocks_have_the_rate_and_the_dispersion_of_the_process(process):
    rate, count, window_s = 5.0, 400_000, 180.0
    take = taking(blocks(process, rate, default_rng(1), default_rng(2)))
    times = np.concatenate([take(count // 4) for _ in range(4)])
    assert np.all(np.diff(times) >= 0)
    counts = np.bincount((times // window_s).astype(int))[:-1]
    long = process.index_of_dispersion(rate)
    assert counts.mean() == pytest.approx(rate * window_s, rel=0.03 * max(1.0, np.sqrt(long / 4)))
    expected = process.index_of_dispersion(rate, window_s) if isinstance(process, Mmpp2) else long
    assert counts.var() / counts.mean() == pytest.approx(expected, rel=0.2)


def test_blocks_of_a_day_rise_and_fall_with_it():
    process, rate = Diurnal(0.8, 14.0), 1.0
    times = taking(blocks(process, rate, default_rng(1), default_rng(2)))(11 * 86_400)
    times = times[times < 10 * 86_400]
    counts = np.bincount((times % 86_400 // 3600).astype(int), minlength=24) / 10
    assert counts == pytest.approx(3600 * process.rate_at((np.arange(24) + 0.5) * 3600, rate), rel=0.07)


# --- bad input ---------------------------------------------------------------------------------------------------


TREE = Tree(10, 2, 3, 512, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate_rps": 0.0}, "rate must be positive"),
        ({"rate_rps": np.nan}, "rate must be positive"),
        ({"requests": 0}, "requests must be"),
        ({"warm_up": 1.0}, "warm_up"),
        ({"output_scv": -1.0}, "scv of outputs"),
        ({"window_s": 0.0}, "window in seconds"),
        ({"window_s": 1e-6}, "take 0.001 s at least"),
        ({"arrivals": Mmpp2((1.0, 2.0), (1e-9, 1e-9))}, "take Poisson"),
        ({"deployment": homogeneous(n_p=2.5)}, "N_p must be whole"),
        ({"deployment": homogeneous(n_d=0)}, "decode needs an instance"),
        ({"deployment": homogeneous(), "rule": all_remote()}, "without a PrfaaS cluster"),
        ({"best_tokens": (1.0, 2.0)}, "one t for each N_p"),
        ({"caching": Caching(1e9, 1e9)}, "something in common"),
        ({"caching": Caching(1e9, 1e9), "prompts": TREE, "prefill": Prefill(batch_tokens=9)}, "choose one"),
    ],
)
def test_an_experiment_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Experiment(**({"deployment": prfaas_pd(), "rate_rps": 1.0} | changes))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Transport(0), "chunks"),
        (lambda: Transport(paths=()), "paths must be from 1"),
        (lambda: Transport(paths=(Path(), Path(1e9))), "each needs a bandwidth"),
        (lambda: Path(-1.0), "not be negative"),
        (lambda: Path(connection_bps=0.0), "connection"),
        (lambda: Path(rtt_s=-1.0), "round trip"),
        (lambda: Path(rtt_s=np.inf), "round trip"),
    ],
)
def test_a_link_that_makes_no_sense_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Decoding(base_s=0.01), "need decode by iteration"),
        (lambda: Decoding(iterations=True, request_s=-1.0), "request_s"),
        (lambda: Decoding(memory_bytes=0.0), "memory_bytes"),
        (lambda: Caching(-1.0, 0.0), "not be negative"),
        (lambda: Caching(0.0, 0.0, block_tokens=0), "block_tokens"),
        (lambda: Caching(0.0, 0.0, state_every=-1), "state_every"),
    ],
)
def test_decode_and_caches_that_make_no_sense_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_prefix_caches_need_a_kvcache_that_grows():
    constant = LogLogCurve([1.0, 100_000.0], [1e9, 1e9])
    experiment = Experiment(prfaas_pd(s_kv=constant), 1.0, prompts=TREE, caching=Caching(1e9, 1e9), requests=5)
    with pytest.raises(ValueError, match="grows with the prompt"):
        replicate(experiment, 1)


def test_arrivals_of_an_unknown_kind_are_refused():
    with pytest.raises(TypeError, match="cannot be simulated"):
        replicate(Experiment(homogeneous(), 1.0, arrivals=object()), 1)


def test_the_event_loop_is_compiled_once_whatever_is_simulated():
    """Another type or layout of any array would take as long again as the first compilation."""
    sessions = Experiment(
        prfaas_pd(3_000.0), 1.0, requests=200, prompts=chat(), caching=Caching(1e12, 1e12), warm_up=0.0
    )
    plain = Experiment(prfaas_pd(), 1.0, requests=200, warm_up=0.0)
    tcp = Path(tcp=Tcp(8, 0.02), weather=Weather(windows=(Window(1.0, 2.0, 1e9),)))
    with_more = replace(
        plain, transport=Transport(4, (tcp,)), decoding=Decoding(True), reallocation=reallocation(), output_scv=1.0
    )
    for experiment in (
        plain,
        sessions,
        replace(sessions, caching=None),
        with_more,
        replace(plain, deployment=homogeneous()),
    ):
        replicate(experiment, 1)
    assert len(advance.signatures) == 1
