"""The simulator against queueing theory, the formula's limits and the approximation; and what it reports."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy.optimize import brentq

from planner.engine.arrivals import Mmpp2, Recorded, Renewal
from planner.engine.controller import all_local, all_remote, bandwidth_aware, reallocation, static
from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, Link, PdCluster, PrfaasCluster
from planner.engine.latency import Circumstances, under_load
from planner.engine.lengths import TruncatedLogNormal
from planner.engine.queueing import erlang_c
from planner.engine.simulation import Choice, Decoding, Experiment, Order, Path, Prefill, Transport, goodput, report
from planner.engine.simulation.faults import Failures, Faults, Place
from planner.engine.simulation.histogram import percentile
from planner.engine.simulation.report import estimate
from planner.engine.simulation.requests import Requests
from planner.engine.simulation.run import replicate
from planner.engine.simulation.tcp import Tcp
from planner.engine.simulation.weather import Recording, Weather, Window
from planner.engine.throughput import Stage, evaluate
from tests.engine.case_study import DECODE, homogeneous, naive, prfaas_pd
from tests.engine.queues import mean_wait_md

SEED = 7
BEST_T = 19_652.0
NO_TIME = LogLogCurve([1.0, 2.0], [1e-9, 1e-9])


def measured(experiment, replications=10, seed=SEED):
    return report(experiment, [replicate(experiment, seed, index) for index in range(replications)])


def contains(found, truth, within):
    """Whether the truth is in the interval, and the interval no wider than `within`, relative to the truth."""
    return found.low <= truth <= found.high and found.high - found.low <= 2 * within * truth


# --- queueing theory ---------------------------------------------------------------------------------------------


def decode_queue(servers, rate, scv, **changes):
    """Requests that only decode, each for a second on average."""
    deployed = replace(
        homogeneous(),
        pd=PdCluster(1000, 1, NO_TIME),
        decode=Decode(max_batch=servers, step_s=1e-7, output_tokens=1e7),
    )
    return Experiment(deployed, rate, output_scv=scv, **({"requests": 200_000} | changes))


@pytest.mark.parametrize(("servers", "busy"), [(1, 0.5), (1, 0.8), (4, 0.9), (20, 0.9), (100, 0.95)])
def test_exponential_service_waits_as_in_m_m_c(servers, busy):
    found = measured(decode_queue(servers, busy * servers, 1.0)).waits[Stage.PD_D]
    share = float(erlang_c(busy * servers, servers))
    assert contains(found.mean_s, share / (servers * (1 - busy)), 0.15)
    assert contains(found.share, share, 0.06)


@pytest.mark.parametrize(("servers", "busy"), [(1, 0.8), (4, 0.9), (20, 0.9)])
def test_constant_service_waits_as_in_m_d_c(servers, busy):
    found = measured(decode_queue(servers, busy * servers, 0.0)).waits[Stage.PD_D]
    assert contains(found.mean_s, mean_wait_md(servers, busy), 0.1)


def test_bursts_wait_as_in_g_m_1():
    """sigma = A*(1 - sigma) of the gaps' transform at the rate of service (Kendall, 1953)."""
    process, rate = Renewal(2.0), 0.7
    shape = process.variation**-2
    sigma = brentq(lambda s: s - (1 + (1 - s) / (shape * rate)) ** -shape, 1e-9, 1 - 1e-9)
    found = measured(decode_queue(1, rate, 1.0, arrivals=process)).waits[Stage.PD_D]
    assert contains(found.mean_s, sigma / (1 - sigma), 0.1)
    assert contains(found.share, sigma, 0.02)


LENGTHS = TruncatedLogNormal(8.0, 1.0, 128, 65_536)
PER_TOKEN = 1e-4


def moments():
    """E[S] and E[S²] of service in proportion to the length."""
    powers = [lambda length: PER_TOKEN * length, lambda length: (PER_TOKEN * length) ** 2]
    return LENGTHS.partial_expectations(powers, np.inf)[0]


def test_one_instance_waits_as_in_m_g_1():
    """Pollaczek and Khinchine: the mean wait is rate · E[S²] / 2(1 - rho)."""
    first, second = moments()
    rate = 0.7 / first
    proportional = LogLogCurve([100.0, 1000.0], [100 * PER_TOKEN, 1000 * PER_TOKEN])
    deployed = replace(homogeneous(), lengths=LENGTHS, pd=PdCluster(1, 1000, proportional))
    found = measured(Experiment(deployed, rate, requests=200_000))
    assert contains(found.waits[Stage.PD_P].mean_s, rate * second / 2 / 0.3, 0.06)
    assert contains(found.waits[Stage.PD_P].share, 0.7, 0.01)
    assert contains(found.utilisation[Stage.PD_P], 0.7, 0.01)


def link_alone(rate, **path):
    """Transfers that take a time in proportion to the length, and nothing else takes any."""
    sizes = LogLogCurve([100.0, 1000.0], [100 * PER_TOKEN / 8, 1000 * PER_TOKEN / 8])
    deployed = prfaas_pd(
        0.0,
        1,
        1000,
        lengths=LENGTHS,
        s_kv=sizes,
        prfaas=PrfaasCluster(1000, NO_TIME),
        link=Link(1.0),
        decode=Decode(1000, 1e-7, 1.0),
    )
    return Experiment(deployed, rate, requests=200_000, transport=Transport(1, (Path(**path),)))


def test_the_link_is_shared_as_in_m_g_1_ps():
    """The mean sojourn is E[S]/(1 - rho) whatever the distribution, and x/(1 - rho) of those of size x."""
    first, _ = moments()
    experiment = link_alone(0.7 / first)
    found = measured(experiment)
    assert contains(found.waits[Stage.LINK].mean_s, first / 0.3, 0.05)
    assert contains(found.utilisation[Stage.LINK], 0.7, 0.01)
    assert contains(found.egress_bps, 0.7, 0.01)
    record = replicate(experiment, SEED, record=True).record[experiment.uncounted :]
    assert np.all(record["route"] == 1)


def test_a_transfer_of_any_size_is_slowed_in_the_same_ratio():
    first, _ = moments()
    experiment = link_alone(0.7 / first)
    slowed = []
    for index in range(8):
        run = replicate(experiment, SEED, index, record=True)
        from_tokens = tokens_of(experiment, index) * PER_TOKEN
        tail = run.record["landed_s"] - run.record["end_s"]
        cuts = np.quantile(from_tokens, [0.25, 0.5, 0.75])
        part = np.searchsorted(cuts, from_tokens)
        slowed.append([tail[part == k].sum() / from_tokens[part == k].sum() for k in range(4)])
    for found in np.array(slowed).T:
        assert contains(estimate(found), 1 / 0.3, 0.06)


def tokens_of(experiment, index):
    return Requests(experiment, SeedSequence(SEED, spawn_key=(index,))).next(experiment.requests).tokens


def test_capped_transfers_are_as_many_servers():
    """Each gets a fifth at most: with few of them nothing is shared, as in a queue of five servers."""
    first, _ = moments()
    found = measured(link_alone(0.05 / first, connection_bps=0.2), 4)
    assert found.waits[Stage.LINK].mean_s.mean == pytest.approx(5 * first, rel=0.02)


def test_ninety_five_of_a_hundred_intervals_hold_the_truth():
    experiment = decode_queue(1, 0.6, 1.0, requests=20_000)
    truth = 0.6 / 0.4
    held = sum(
        (found := measured(experiment, 5, seed).waits[Stage.PD_D].mean_s).low <= truth <= found.high
        for seed in range(120)
    )
    assert 106 <= held < 120  # 114 expected, with a standard deviation of 2.4


def test_the_shortest_first_wait_less_on_average_and_the_longest_more():
    """All are in the system for the same work, so shorter ones gain what longer ones lose."""
    experiment = Experiment(homogeneous(n_p=4, n_d=40), 0.85 * evaluate(homogeneous(4, 40)).lambda_max_rps)
    fcfs, shortest = (measured(replace(experiment, prefill=Prefill(order)), 3) for order in Order)
    assert shortest.ttft_s.mean.high < fcfs.ttft_s.mean.low
    assert shortest.ttft_s.p99.mean > fcfs.ttft_s.p99.mean
    assert shortest.utilisation[Stage.PD_P].mean == pytest.approx(fcfs.utilisation[Stage.PD_P].mean, rel=1e-3)


# --- the formula's limits ----------------------------------------------------------------------------------------

SLOW_LINK = prfaas_pd(BEST_T, n_prfaas=8, bandwidth_bps=6e9)


@pytest.mark.parametrize("deployment", [prfaas_pd(BEST_T), homogeneous(), naive(), SLOW_LINK])
def test_near_lambda_max_stages_are_as_busy_as_the_formula_says(deployment):
    formula = evaluate(deployment)
    found = measured(Experiment(deployment, 0.99 * formula.lambda_max_rps, requests=400_000), 3)
    for stage, busy in found.utilisation.items():
        assert busy.mean == pytest.approx(0.99 * formula.utilisation(stage), rel=0.01)
    assert found.offload_fraction.mean == pytest.approx(formula.offload_fraction, rel=0.01)
    assert found.egress_bps.mean == pytest.approx(0.99 * formula.egress_bps, rel=0.01)
    binding = [found.utilisation[stage].mean for stage in formula.binding]
    assert all(0.97 < busy < 1 for busy in binding)


@pytest.mark.parametrize("deployment", [prfaas_pd(BEST_T), homogeneous(), naive()])
def test_beyond_lambda_max_the_binding_stage_is_full_and_carries_lambda_max(deployment):
    """Where one stage binds, what is completed is what it can do."""
    formula = evaluate(deployment)
    found = measured(Experiment(deployment, 1.1 * formula.lambda_max_rps, requests=100_000), 2)
    assert not found.stable
    assert max(found.utilisation[stage].mean for stage in formula.binding) == pytest.approx(1.0, abs=1e-3)
    assert found.growth_rps.mean == pytest.approx(found.rate_rps.mean - found.throughput_rps.mean, rel=0.05)


@pytest.mark.parametrize("deployment", [prfaas_pd(BEST_T), homogeneous(), naive()])
def test_without_load_ttft_less_tail_slot_and_step_is_the_formulas(deployment):
    found = measured(
        Experiment(
            deployment, 0.002, requests=100_000, transport=Transport(paths=(Path(rtt_s=0.1),)), window_s=3_600.0
        ),
        3,
    )
    p, tail = found.offload_fraction.mean, found.waits.get(Stage.LINK)
    rest = (p * tail.mean_s.mean if tail else 0.0) + found.waits[Stage.PD_D].mean_s.mean + DECODE.step_s
    assert found.ttft_s.mean.mean - rest == pytest.approx(evaluate(deployment).ttft.mean, rel=0.01)
    assert found.waits[Stage.PD_D].mean_s.mean == 0.0


def test_without_load_ttft_is_the_formulas_with_everything_on():
    """Turns and paths that nobody else takes, batches of one, roles and faults that hardly change."""
    paths = tuple(Path(50e9, tcp=Tcp(8, rtt_s=0.02, window_bytes=2**26, loss=1e-8)) for _ in range(2))
    experiment = Experiment(
        prfaas_pd(BEST_T),
        0.002,
        window_s=3_600.0,
        rule=bandwidth_aware(BEST_T, 2 * BEST_T),
        prefill=Prefill(choice=Choice.SHORTEST_QUEUE, chunk_tokens=8_192),
        transport=Transport(paths=paths),
        decoding=Decoding(iterations=True, base_s=0.02, request_s=0.005, memory_bytes=1e12),
        reallocation=reallocation(),
        faults=Faults(failures=tuple(Failures(place, 1e7, 100.0) for place in Place)),
    )
    found = measured(experiment, 3)
    rest = found.offload_fraction.mean * found.waits[Stage.LINK].mean_s.mean + 0.025
    assert found.ttft_s.mean.mean - rest == pytest.approx(evaluate(experiment.deployment).ttft.mean, rel=0.01)


@pytest.mark.parametrize("deployment", [homogeneous(), prfaas_pd(BEST_T)])
def test_without_load_the_percentiles_are_the_formulas_too(deployment):
    found, formula = measured(Experiment(deployment, 0.002, window_s=3_600.0), 3).ttft_s, evaluate(deployment).ttft
    for ours, theirs in ((found.p50, formula.p50), (found.p90, formula.p90), (found.p99, formula.p99)):
        assert ours.mean - DECODE.step_s == pytest.approx(theirs, rel=0.03)


@pytest.mark.parametrize(
    ("deployment", "rate_rps", "how", "within"),
    [
        # with what the approximation itself is off by: see test_latency
        (prfaas_pd(BEST_T), 1.5, {}, 0.03),
        (prfaas_pd(BEST_T), 2.2, {}, 0.05),
        (prfaas_pd(BEST_T), 2.8, {}, 0.12),
        (homogeneous(), 1.5, {}, 0.03),
        (naive(), 1.8, {}, 0.05),
        (prfaas_pd(BEST_T), 2.0, {"arrivals": Renewal(2.0)}, 0.12),
        (prfaas_pd(BEST_T), 1.4, {"arrivals": Mmpp2((1.0, 3.0), (600.0, 200.0))}, 0.25),
    ],
)
def test_the_approximation_is_as_near_as_it_says(deployment, rate_rps, how, within):
    found = measured(Experiment(deployment, rate_rps, requests=200_000, **how), 4).ttft_s
    said = under_load(deployment, rate_rps, Circumstances(**how))
    ours = np.array([one.mean for one in (found.mean, found.p50, found.p90, found.p99)])
    assert [said.mean, said.p50, said.p90, said.p99] == pytest.approx(ours, rel=within)


# --- transport and control ---------------------------------------------------------------------------------------


def tail_s(requests=20_000, chunks=16, **path):
    experiment = Experiment(
        naive(), 0.01, requests=requests, transport=Transport(chunks, (Path(**path),)), window_s=3_600.0
    )
    return measured(experiment, 1).waits[Stage.LINK].mean_s.mean


def test_layers_that_are_sent_early_leave_a_shorter_tail():
    whole, two, many = (tail_s(*each) for each in ((400_000, 1), (400_000, 2), (20_000, 1000)))
    sizes = naive().s_kv
    mean_bits = 8 * float(naive().lengths.partial_expectations([sizes], np.inf)[0][0])
    state_bits = 8 * 163 * 2**20  # what is left of S_kv at no tokens
    assert whole == pytest.approx(mean_bits / 100e9, rel=0.01)
    assert two == pytest.approx((mean_bits + state_bits) / 2 / 100e9, rel=0.02)
    assert many == pytest.approx(state_bits / 100e9, rel=0.03)


def test_half_a_round_trip_is_added():
    assert tail_s(rtt_s=0.3) - tail_s() == pytest.approx(0.15)


def test_an_endless_link_is_one_that_is_much_too_fast():
    endless, fast = (
        replicate(Experiment(prfaas_pd(BEST_T, bandwidth_bps=bps), 2.5, requests=5_000), SEED, record=True).record
        for bps in (np.inf, 1e18)
    )
    assert np.all(endless["landed_s"] == endless["end_s"])
    assert endless["decode_s"] == pytest.approx(fast["decode_s"], rel=1e-9)


def test_a_clusters_own_cards_bind_as_the_formula_says():
    """Four instances of 1 Gbit/s each behind a link of a hundred."""
    deployed = prfaas_pd(BEST_T, prfaas=PrfaasCluster(4, prfaas_pd().prfaas.t_prefill, egress_bps=1e9))
    formula = evaluate(deployed)
    assert formula.binding == (Stage.LINK,)
    below, above = (measured(Experiment(deployed, load * formula.lambda_max_rps), 2) for load in (0.95, 1.05))
    assert below.stable
    assert not above.stable
    assert above.egress_bps.mean == pytest.approx(4e9, rel=1e-3)


def brown_out_at(rule):
    """The link of the case study at 1.8 req/s, from 100 to 6 Gbps for an hour."""
    hour = Path(weather=Weather(windows=(Window(3600, 7200, 6e9),)))
    return Experiment(
        prfaas_pd(19_400.0), 1.8, requests=18_000, warm_up=0.0, rule=rule, transport=Transport(paths=(hour,))
    )


def test_the_bandwidth_aware_threshold_carries_what_a_static_one_does_not():
    fixed = measured(brown_out_at(static(19_400)), 8)
    aware = measured(brown_out_at(bandwidth_aware(19_400, 40_000)), 8)
    assert aware.ttft_s.p90.high < fixed.ttft_s.p90.low / 4
    during = slice(int(4500 / aware.series.bin_s), int(7000 / aware.series.bin_s))
    assert 24e3 < aware.series.threshold_tokens[during].mean() < 34e3  # the formula's best is 28.8K
    assert aware.series.threshold_tokens[-2] < 21e3
    assert np.all(fixed.series.threshold_tokens == 19_400)
    assert aware.series.egress_max_bps[during].max() <= 6e9 * (1 + 1e-9)


def test_policies_route_as_they_are_called():
    base = Experiment(prfaas_pd(19_400.0), 0.5, requests=5_000)
    shares = [measured(replace(base, rule=rule), 1).offload_fraction.mean for rule in (all_local(), all_remote(), None)]
    assert shares[:2] == [0.0, 1.0]
    assert shares[2] == pytest.approx(0.496, abs=0.02)


# --- what is reported --------------------------------------------------------------------------------------------


def test_percentiles_are_within_half_a_percent_of_those_of_every_request():
    experiment = Experiment(prfaas_pd(BEST_T), 2.7, requests=100_000)
    run = replicate(experiment, SEED, record=True)
    record = run.record[experiment.uncounted :]
    ttft = record["decode_s"] + DECODE.step_s - record["arrival_s"]
    for q in (0.01, 0.5, 0.9, 0.99, 0.999, 1.0):
        exact = np.quantile(ttft, q, method="inverted_cdf")
        assert percentile(run.histograms.sum(axis=0), q) == pytest.approx(exact, rel=0.005)
        share = (ttft <= 1.004 * exact).mean(), (ttft <= 0.996 * exact).mean()
        assert share[1] <= goodput([run], exact).share.mean <= share[0]
    assert run.sums["ttft_s"].sum() == pytest.approx(ttft.sum(), rel=1e-9)
    assert run.sums["requests"].tolist() == np.bincount(record["route"]).tolist()


@pytest.mark.parametrize(
    ("load", "stable"), [(0.5, True), (0.9, True), (0.95, True), (1.03, False), (1.2, False), (3.0, False)]
)
def test_a_load_that_cannot_be_carried_is_called_unstable(load, stable):
    rate = load * evaluate(prfaas_pd(BEST_T)).lambda_max_rps
    assert measured(Experiment(prfaas_pd(BEST_T), rate, requests=60_000), 4).stable is stable


@pytest.mark.parametrize(("requests", "longer"), [(100, 1), (200, 1), (1_000, 20), (5_000, 20)])
def test_decode_that_only_fills_up_in_a_short_run_is_not_unstable(requests, longer):
    given = prfaas_pd(BEST_T)
    # as many slots for as much longer answers: Λ_max stays, and more requests are there when it is full
    decode = Decode(longer * DECODE.max_batch, DECODE.step_s, longer * DECODE.output_tokens)
    deployment = replace(given, decode=decode)
    for seed in range(5):
        experiment = Experiment(deployment, 0.85 * evaluate(deployment).lambda_max_rps, requests=requests)
        assert report(experiment, [replicate(experiment, seed)]).stable, seed


def test_the_stage_that_grows_is_named():
    found = measured(Experiment(SLOW_LINK, 1.1 * evaluate(SLOW_LINK).lambda_max_rps, requests=50_000), 4)
    grows = {stage: one.mean for stage, one in found.growth_by_stage_rps.items()}
    assert max(grows, key=grows.get) is Stage.LINK
    assert found.growth_by_stage_rps[Stage.LINK].low > 0


def test_requests_that_nothing_can_finish_are_unstable():
    dead = Path(weather=Weather(windows=(Window(50, 1e9),)))
    experiment = Experiment(
        prfaas_pd(BEST_T),
        1.0,
        requests=2_000,
        rule=all_remote(),
        failover=False,
        transport=Transport(paths=(dead,)),
    )
    found = measured(experiment, 2)
    assert not found.stable
    assert found.unfinished > 3_000


def test_a_report_of_one_replication_has_no_intervals():
    found = measured(Experiment(homogeneous(), 1.0, requests=2_000), 1)
    assert found.ttft_s.mean.low is None
    assert found.stable
    assert set(found.waits) == {Stage.PD_P, Stage.PD_D}
    assert set(found.ttft_by_route_s) == {"local"}
    with pytest.raises(ValueError, match="at least one replication"):
        report(Experiment(homogeneous(), 1.0), [])


def test_a_single_request_is_reported():
    found = measured(Experiment(homogeneous(), 1.0, requests=1, warm_up=0.0), 1)
    assert found.requests == 1
    assert found.ttft_s.p50.mean == pytest.approx(found.ttft_s.mean.mean, rel=0.005)


def test_replications_travel_and_their_order_does_not_matter():
    weather = Weather(recording=Recording(60.0, [2e10, 3e10]))
    experiment = Experiment(prfaas_pd(BEST_T), 2.0, requests=5_000, transport=Transport(paths=(Path(weather=weather),)))
    experiment = pickle.loads(pickle.dumps(experiment))  # noqa: S301
    runs = [replicate(experiment, SEED, index) for index in range(3)]
    away = [pickle.loads(pickle.dumps(run)) for run in reversed(runs)]  # noqa: S301
    one, other = report(experiment, runs), report(experiment, away)
    assert replace(one, series=None) == replace(other, series=None)
    assert np.array_equal(one.series.egress_bps, other.series.egress_bps)


def test_egress_over_time_follows_the_arrivals():
    process = Recorded(3600.0, [1.0, 3.0])
    found = measured(Experiment(prfaas_pd(BEST_T), 1.0, arrivals=process, requests=40_000), 3)
    series = found.series
    middles = (np.arange(series.egress_bps.size) + 0.5) * series.bin_s
    p_bits = evaluate(prfaas_pd(BEST_T)).egress_bps / evaluate(prfaas_pd(BEST_T)).lambda_max_rps
    inside = (middles % 3600 > 300) & (middles % 3600 < 3300)
    for part, rate in ((0, 0.5), (1, 1.5)):
        some = inside & (middles // 3600 % 2 == part) & (middles < 30_000)
        assert series.egress_bps[some].mean() == pytest.approx(rate * p_bits, rel=0.05)
    assert np.all(series.egress_min_bps <= series.egress_bps)
    assert np.all(series.egress_bps <= series.egress_max_bps)


def test_memory_does_not_grow_with_the_requests():
    few, many = (len(pickle.dumps(replicate(Experiment(homogeneous(), 1.5, requests=n), 1))) for n in (20_000, 400_000))
    assert many <= few * 1.5
