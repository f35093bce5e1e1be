"""Small systems at random, near their limits, with everything that can be switched; and what both simulators say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from numpy.random import SeedSequence

from planner.engine.arrivals import Renewal
from planner.engine.controller import bandwidth_aware, reallocation
from planner.engine.deployment import Decode, PrfaasCluster
from planner.engine.lengths import TruncatedLogNormal
from planner.engine.sessions import Sessions
from planner.engine.simulation import (
    CacheRouting,
    Caching,
    Choice,
    Decoding,
    Experiment,
    Order,
    Path,
    Prefill,
    Transport,
)
from planner.engine.simulation.faults import Failures, Fault, Faults, Place, Spares
from planner.engine.simulation.layout import UP_PRFAAS
from planner.engine.simulation.run import Simulation
from planner.engine.simulation.tcp import Tcp
from planner.engine.simulation.weather import OrnsteinUhlenbeck, Recording, Weather, Window
from tests.engine.case_study import H200, prfaas_pd
from tests.engine.prompts import Tree
from tests.engine.reference import HORIZON_S, System

LASTS = st.floats(1.0, 50.0)


def drained(experiment, seed):
    """The simulation of replication 0 after its last request."""
    simulation = Simulation(experiment, SeedSequence(seed, spawn_key=(0,)), record=True)
    assert simulation.arrive(experiment.requests)
    simulation.drain()
    return simulation


def columns(record):
    return np.column_stack([record[name] for name in record.dtype.names])


def agree(experiment, seed):
    """Whether every request met what it meets in SimPy, and whether both counted the same on the way."""
    system, simulation = System(experiment, seed), drained(experiment, seed)
    rows, record, clock = system.run(), simulation.state.record, simulation.clock
    # which of what is done at the same time is first is nobody's business
    assume(not any(each.is_tied for each in [system, *system.out, *system.back]))
    finished = (record["done_s"] > 0) & (record["done_s"] < HORIZON_S)
    assert finished.tolist() == (~np.isnan(rows[:, 0])).tolist()
    assert columns(record)[finished] == pytest.approx(rows[finished], rel=1e-9, abs=1e-9)
    if not finished.all():
        return  # and each goes on for as long as it likes
    assert simulation.state.places["count"].tolist() == [level.value for level in system.levels]
    areas = [level.area for level in system.levels[:UP_PRFAAS]]
    assert simulation.mark().areas[:UP_PRFAAS] == pytest.approx(areas, rel=1e-8, abs=1e-6)
    assert (clock["restarts"], clock["conversions"]) == (system.restarts, system.control.conversions)
    assert clock["delivered_bits"] == pytest.approx(system.delivered, rel=1e-9)
    assert clock["copied_bits"] == pytest.approx(system.caches.copied_bits if system.caches else 0.0, rel=1e-9)
    for name in ("sent_bits", "resent_bits"):
        expected = [getattr(link, name.removesuffix("_bits")) for link in system.out + system.back]
        assert simulation.state.links[name] == pytest.approx(expected, rel=1e-6, abs=1.0)


@st.composite
def paths(draw, nominal=False):
    """One link; with `nominal`, of a bandwidth of its own."""
    tcp = Tcp(
        draw(st.integers(1, 8)),
        draw(st.sampled_from([0.0, 0.05])),
        draw(st.sampled_from([np.inf, 2.0**24])),
        loss=draw(st.sampled_from([0.0, 1e-6, 1e-4])),
    )
    level = st.sampled_from([0.0, 1e9, 40e9])
    weather = Weather(
        windows=(Window(draw(LASTS), 50 + draw(LASTS), draw(level)),) * draw(st.integers(0, 1)),
        recording=draw(st.sampled_from([None, Recording(20.0, [9e9, 2e9, 4e9])])),
        fluctuation=draw(st.sampled_from([None, OrnsteinUhlenbeck(0.3, 30.0, 5.0)])),
    )
    return Path(
        bps=draw(st.floats(2e9, 20e9)) if nominal else None,
        connection_bps=draw(st.sampled_from([np.inf, 4e9])),
        rtt_s=draw(st.sampled_from([0.0, 0.3])),
        tcp=draw(st.sampled_from([None, tcp])),
        weather=draw(st.sampled_from([None, weather])),
    )


@st.composite
def transports(draw):
    some = draw(st.one_of(st.tuples(paths()), st.lists(paths(nominal=True), min_size=2, max_size=3).map(tuple)))
    return Transport(draw(st.sampled_from([1, 2, 5])), some)


PREFILLS = st.one_of(
    st.just(Prefill()),
    st.builds(
        lambda ageing, batch: Prefill(Order.SHORTEST, ageing, batch_tokens=batch),
        st.sampled_from([0.0, 0.2, 3.0]),
        st.sampled_from([0, 60_000]),
    ),
    st.builds(
        lambda choice, batch: Prefill(choice=choice, batch_tokens=batch),
        st.sampled_from([Choice.SHARED, Choice.SHORTEST_QUEUE]),
        st.sampled_from([0, 30_000, 90_000]),
    ),
    st.builds(
        lambda choice, chunk: Prefill(choice=choice, chunk_tokens=chunk),
        st.sampled_from([Choice.SHARED, Choice.SHORTEST_QUEUE]),
        st.sampled_from([2_000, 9_000]),
    ),
)


@st.composite
def decodings(draw):
    memory_bytes = draw(st.sampled_from([np.inf, 4e9]))
    if draw(st.booleans()):
        return Decoding(memory_bytes=memory_bytes)
    by_batch = draw(st.sampled_from([{}, {"base_s": 0.01, "request_s": 1e-3, "token_s": 1e-7}]))
    return Decoding(iterations=True, memory_bytes=memory_bytes, **by_batch)


@st.composite
def faults(draw, there):
    """Planned ones, and some by chance with spares; none of a place that has no instance."""
    able = [place for place, count in there.items() if count]
    planned = [
        Fault(place, draw(st.sampled_from([1, there[place], None])), begin_s, begin_s + draw(LASTS))
        for place in draw(st.lists(st.sampled_from(able), max_size=4))
        for begin_s in [draw(LASTS)]
    ]
    failures = [Failures(place, 60.0, 15.0) for place in draw(st.lists(st.sampled_from(able), max_size=2))]
    spares = [Spares(place, 1, 5.0) for place in draw(st.lists(st.sampled_from(able), max_size=1))]
    return Faults(tuple(planned), tuple(failures), tuple(spares))


@st.composite
def deployments(draw):
    n_prfaas, n_p, n_d = draw(st.integers(1, 3)), draw(st.integers(0, 3)), draw(st.integers(1, 3))
    decode = Decode(draw(st.integers(1, 12)), 0.025, draw(st.sampled_from([64, 512])))
    t, bps = draw(st.sampled_from([0.0, 8e3, 20e3])), draw(st.floats(2e9, 20e9))
    deployed = prfaas_pd(t, n_p, n_d, n_prfaas=n_prfaas, bandwidth_bps=bps, decode=decode)
    if draw(st.booleans()):
        deployed = replace(deployed, prfaas=PrfaasCluster(n_prfaas, H200, draw(st.floats(1e9, 9e9))))
    if draw(st.booleans()):
        share = draw(st.sampled_from([0.0, 0.4, 0.8, 1.0]))
        deployed = replace(deployed, threshold_tokens=np.inf, remote_share=share)
    return deployed


@st.composite
def experiments(draw, **fixed):
    """Anything at all; `fixed` names strategies for fields in place of those here."""
    deployed = draw(deployments())
    n_prfaas, n_p, n_d = deployed.prfaas.instances, deployed.pd.prefill_instances, deployed.pd.decode_instances
    t = 4e3 if deployed.remote_share is not None else max(deployed.threshold_tokens, 4e3)
    roles = st.builds(
        lambda **marks: reallocation(period_s=7.0, high=0.7, room=0.65, patience=1, **marks),
        delay_s=st.sampled_from([0.5, 12.0]),
    )
    fields = {
        "rate_rps": st.floats(0.2, 4.0),
        "arrivals": st.sampled_from([0.5, 1.0, 3.0]).map(Renewal),
        "requests": st.integers(1, 80),
        "warm_up": st.just(0.0),
        "output_scv": st.sampled_from([0.0, 1.5]),
        "rule": st.sampled_from([None, bandwidth_aware(t, 6 * t, surge=3, patience=1)]),
        "failover": st.booleans(),
        "prefill": PREFILLS,
        "transport": transports(),
        "decoding": decodings(),
        "reallocation": st.one_of(st.none(), roles),
        "faults": st.one_of(st.none(), faults({Place.PRFAAS: n_prfaas, Place.PD_P: n_p, Place.PD_D: n_d})),
        "window_s": st.floats(0.7, 9.0),
    }
    if draw(st.booleans()):
        fields["best_tokens"] = st.just(tuple(3e3 * k for k in range(1, int(n_p + n_d) + 2)))
    drawn = {name: draw(each) for name, each in (fields | fixed).items()}
    if drawn["faults"] or drawn["decoding"].memory_bytes < np.inf:
        # who leaves first of those that leave at a time, nobody can say; but who is lost first, and who has memory
        # where, may follow from it
        drawn["output_scv"] = 1.5
    if drawn["prefill"].batch_tokens and len(drawn["transport"].paths) > 1:
        # nor which of a batch takes its link first, where parts of all are there at a time
        drawn["transport"] = replace(drawn["transport"], chunks=1)
    return Experiment(deployed, **drawn)


def varied(mu, most):
    """Lengths of which hardly two are equal, so that hardly two things happen at a time."""
    return TruncatedLogNormal(mu, 0.8, 1, most)


SOURCES = st.one_of(
    st.builds(lambda branches, seed: Tree(80, branches, 7, 2000, seed), st.integers(1, 3), st.integers(0, 1000)),
    st.builds(
        lambda systems, turns: Sessions(
            systems, 5_000, varied(7.5, 6_000), varied(7.8, 5_000), varied(5.0, 1_000), turns, 8.0
        ),
        st.integers(1, 3),
        st.sampled_from([1.0, 4.0]),
    ),
)


@st.composite
def cachings(draw):
    sizes = st.sampled_from([0.0, 0.35e9, 1.1e9, 5e10])
    return Caching(
        pd_bytes=draw(sizes),
        prfaas_bytes=draw(sizes),
        block_tokens=2000,
        routing=draw(st.sampled_from(CacheRouting)),
        copies=draw(st.booleans()),
        state_every=draw(st.sampled_from([0, 1, 3])),
        keeps_answers=draw(st.booleans()),
    )


def cached_experiments(**fixed):
    """With prefix caches; neither in batches, of which it knows nothing."""
    prefills = PREFILLS.filter(lambda prefill: not prefill.batch_tokens)
    return experiments(**{"prompts": SOURCES, "caching": cachings(), "prefill": prefills} | fixed)
