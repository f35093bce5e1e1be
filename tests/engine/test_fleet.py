"""Several PrfaaS clusters, PD clusters and links: against one of each, and against everything tried."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine import fleet, search, throughput
from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode
from planner.engine.fleet import Fleet, FleetLink, FleetPd, FleetPrfaas, Route, filling, sharing
from planner.engine.fleet.limits import limit
from planner.engine.lengths import Empirical, TruncatedLogNormal
from planner.engine.throughput import Form, Stage
from tests.engine.case_study import DECODE, H20, H200, LENGTHS, S_KV, TOKENS, prfaas_pd
from tests.examples import examples

ENDLESS = float("inf")
FAST = LogLogCurve(TOKENS, [0.3, 0.5, 1.0, 3.0])
"""A chip that is ahead of H200 the more, the longer the prompt."""
SHORTER = TruncatedLogNormal(8.5, 1.2, 128, 131072)


ONE_ROUTE = (Route("prfaas", "link"),)


def pd(name="pd", share=1.0, instances=8, n_p=None, routes=ONE_ROUTE, lengths=LENGTHS, t_prefill=H20):
    return FleetPd(name, share, instances, n_p, lengths, S_KV, t_prefill, DECODE, tuple(routes))


def remote(name="prfaas", instances=4, t_prefill=H200, serves=("pd", "a", "b", "c")):
    return FleetPrfaas(name, instances, dict.fromkeys(serves, t_prefill))


def case_study(n_p=None, n_prfaas=4, bandwidth_bps=100e9, **changes):
    return Fleet((remote(instances=n_prfaas),), (FleetLink("link", bandwidth_bps),), (pd(n_p=n_p, **changes),))


def two_by_two(routes_a="rs", routes_b="rs", bandwidth_bps=100e9):
    """Two PD clusters and the PrfaaS clusters r (4 × H200) and s (2 faster), each pair with a link of its own."""
    ways = {k: [Route(r, r + k) for r in names] for k, names in (("a", routes_a), ("b", routes_b))}
    return Fleet(
        (remote("r"), remote("s", 2, FAST)),
        tuple(FleetLink(r + k, bandwidth_bps) for r in "rs" for k in "ab"),
        (pd("a", 0.6, 8, routes=ways["a"]), pd("b", 0.4, 6, routes=ways["b"], lengths=SHORTER)),
    )


def most(of):
    return fleet.best(of).lambda_max_rps


# --- one of each is the deployment that the rest of the engine knows --------------------------------------------


def test_one_of_each_is_the_case_study():
    found = fleet.best(case_study())
    one = search.best(search.Problem(prfaas_pd(), Form.EXACT, free_threshold=True, free_split=True))
    assert found.lambda_max_rps == pytest.approx(one.lambda_max_rps, rel=1e-9)
    assert found.pd[0].threshold_tokens == pytest.approx((one.threshold_tokens,), rel=1e-9)
    assert (found.pd[0].prefill_instances, found.pd[0].decode_instances) == (3, 5)
    assert found.pd[0].ttft_mean_s == pytest.approx(one.ttft_mean_s, rel=1e-9)
    assert found.lambda_max_rps == pytest.approx(3.139, abs=5e-4)
    assert found.pd[0].threshold_tokens[0] == pytest.approx(19_652, abs=1)
    assert set(found.binding) == {(Stage.PRFAAS, "prfaas"), (Stage.PD_P, "pd")}


lengths = st.one_of(
    st.builds(TruncatedLogNormal, st.floats(7, 11), st.floats(0.3, 2), st.just(128), st.just(131072)),
    st.lists(st.floats(200, 1e5), min_size=1, max_size=12).map(Empirical),
)


@examples(15)
@given(
    st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.sampled_from([0.0, 2e9, 6e9, 1e11, ENDLESS]), lengths
)
def test_one_of_each_carries_what_the_search_of_one_deployment_finds(n_p, n_d, n_prfaas, bandwidth_bps, traffic):
    deployment = prfaas_pd(n_p=n_p, n_d=n_d, n_prfaas=n_prfaas, bandwidth_bps=bandwidth_bps, lengths=traffic)
    for n_p_given in (None, n_p):
        one = search.best(search.Problem(deployment, Form.EXACT, True, free_split=n_p_given is None))
        asked = case_study(n_p_given, n_prfaas, bandwidth_bps, instances=n_p + n_d, lengths=traffic)
        assert most(asked) == pytest.approx(one.lambda_max_rps, rel=1e-9)


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("threshold", [0.0, 9000.0, 19400.0, 131072.0])
def test_a_point_of_one_of_each_is_evaluated_as_a_deployment_is(form, threshold):
    found = fleet.evaluate(case_study(), [[threshold]], [3], form)
    one = throughput.evaluate(prfaas_pd(threshold), form)
    assert found.lambda_max_rps == pytest.approx(one.lambda_max_rps, rel=1e-12)
    assert {kind: rate for (kind, _), rate in found.stage_lambda_rps.items()} == pytest.approx(one.stage_lambda_rps)
    assert found.egress_bps["link"] == pytest.approx(one.egress_bps, rel=1e-12)
    assert found.pd[0].ttft_mean_s == pytest.approx(one.ttft.mean, rel=1e-12)
    assert found.pd[0].shares[1] == pytest.approx(one.offload_fraction)


# --- parts of a whole --------------------------------------------------------------------------------------------


def shared(*parts):
    """PD clusters of (share, instances, N_p), all served by one PrfaaS cluster over one link: 12 × the case."""
    clusters = [pd(name, *part) for name, part in zip("abc", parts, strict=False)]
    return Fleet((remote(instances=48),), (FleetLink("link", 1200e9),), tuple(clusters))


@pytest.mark.parametrize(
    "parts",
    [
        [(0.5, 48, 18), (0.5, 48, 18)],
        [(1 / 3, 32, 12), (2 / 3, 64, 24)],
        [(1 / 6, 16, 6), (1 / 3, 32, 12), (1 / 2, 48, 18)],
    ],
)
def test_parts_that_share_a_prfaas_cluster_carry_what_the_whole_does(parts):
    whole = fleet.best(shared((1.0, 96, 36)))
    found = fleet.best(shared(*parts))
    assert found.lambda_max_rps == pytest.approx(whole.lambda_max_rps, rel=1e-9)
    assert found.egress_bps["link"] == pytest.approx(whole.egress_bps["link"], rel=1e-9)
    for part in found.pd:
        assert part.threshold_tokens == pytest.approx(whole.pd[0].threshold_tokens, rel=1e-9)
        assert part.ttft_mean_s == pytest.approx(whole.pd[0].ttft_mean_s, rel=1e-9)


def test_halves_whose_splits_are_whole_numbers_of_their_own_carry_no_more_than_the_whole():
    whole, halves = most(shared((1.0, 96, None))), most(shared((0.5, 48, None), (0.5, 48, None)))
    assert 0.97 * whole < halves <= whole * (1 + 1e-9)


def test_a_shared_prfaas_cluster_goes_to_who_needs_it():
    """Each PD cluster keeps what its own PD-P can carry; the one with fewer instances a request sends more away."""
    found = fleet.best(
        Fleet((remote(),), (FleetLink("link", 100e9),), (pd("a", 0.5, n_p=4), pd("b", 0.5, instances=6, n_p=2)))
    )
    rich, poor = found.pd
    assert rich.shares[1] < poor.shares[1]
    assert {(Stage.PRFAAS, "prfaas"), (Stage.PD_P, "a"), (Stage.PD_P, "b")} == set(found.binding)


def test_shares_and_egress_add_up():
    found = fleet.best(two_by_two())
    assert found.lambda_max_rps == pytest.approx(
        fleet.evaluate(
            two_by_two(), [part.threshold_tokens for part in found.pd], [part.prefill_instances for part in found.pd]
        ).lambda_max_rps
    )
    for part in found.pd:
        assert sum(part.shares) == pytest.approx(1)
    beyond = LENGTHS.partial_expectations([S_KV], found.pd[0].threshold_tokens, S_KV.kinks)[1][0]
    bits = 8 * 0.6 * (beyond[0] - beyond[1])  # what a request brings to r, and over its link to a
    assert found.egress_bps["ra"] == pytest.approx(found.lambda_max_rps * bits, rel=1e-9)


# --- against everything tried ------------------------------------------------------------------------------------


def tried(of, count):
    """Λ_max of the best of all splits and of `count` thresholds a route, by loops over everything; two PD clusters."""
    loads, local, decode = [], [], []
    for part in of.pd:
        grid = np.unique([0.0, *part.lengths.quantile(np.linspace(0, 1, count))])
        cuts = list(itertools.combinations_with_replacement(grid, len(part.routes)))
        curves = [part.t_prefill, part.s_kv, *(of.remote_curve(part, route) for route in part.routes)]
        kinks = np.concatenate([curve.kinks for curve in curves])
        edges = np.array([[*each, 1e9] for each in cuts])
        below = part.share * part.lengths.partial_expectations(curves, edges, kinks)[0]
        stages = {}
        for place, route in enumerate(part.routes):
            taken = below[:, :, place + 1] - below[:, :, place]
            stages[route.prfaas] = stages.get(route.prfaas, 0.0) + taken[2 + place]
            stages[route.link] = stages.get(route.link, 0.0) + 8 * taken[1]
        loads.append(stages)
        n_p = np.arange(part.instances + 1) if part.prefill_instances is None else np.array([part.prefill_instances])
        local.append(divided(n_p[:, np.newaxis], below[0, :, 0]))
        decode.append((part.instances - n_p) * part.decode.instance_rps / part.share)
    has = {each.name: each.instances for each in of.prfaas} | {each.name: each.usable_bps for each in of.links}
    remote_rps = np.full((local[0].shape[1], local[1].shape[1]), ENDLESS)
    for name, capacity in has.items():
        both = np.add.outer(
            *(np.broadcast_to(part.get(name, 0.0), each.shape[1]) for part, each in zip(loads, local, strict=True))
        )
        remote_rps = np.minimum(remote_rps, divided(capacity, both))
    best = 0.0
    for one, other in itertools.product(range(local[0].shape[0]), range(local[1].shape[0])):
        rates = np.minimum(np.minimum(remote_rps, local[0][one][:, np.newaxis]), local[1][other])
        best = max(best, min(rates.max(), decode[0][one], decode[1][other]))
    return best


def divided(capacity, work):
    """A rate; rounding may have left a little work, or less than none, where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(work > 1e-12, capacity / work, ENDLESS)


powers = st.builds(
    lambda start, power: LogLogCurve([256, 65536], [start, start * 256**power]),
    st.floats(0.05, 0.5),
    st.floats(0.3, 1.3),
)
recorded = st.lists(st.integers(256, 65536), min_size=1, max_size=6).map(lambda each: Empirical(np.array(each, float)))
smooth = st.builds(TruncatedLogNormal, st.floats(6, 10), st.floats(0.3, 1.5), st.just(256.0), st.just(65536.0))
decodes = st.builds(Decode, st.floats(1, 40), st.just(0.03), st.just(300.0))


@st.composite
def fleets(draw, of_lengths, policies):
    """Two PD clusters and two PrfaaS clusters on two or three links, which the routes may share in any way."""
    names = ["one", "other"]
    prfaas = tuple(
        FleetPrfaas(name, draw(st.sampled_from([2, 1, 3, 0])), {each: draw(powers) for each in names})
        for name in ["r", "s"]
    )
    links = tuple(FleetLink(name, draw(st.sampled_from([5e9, 1e9, 1e11, ENDLESS, 0.0]))) for name in ["x", "y", "z"])
    share = draw(st.floats(0.1, 0.9))
    clusters = []
    for name, part in zip(names, [share, 1 - share], strict=True):
        routes = tuple(Route(to, draw(st.sampled_from("xyz"))) for to in draw(policies))
        instances = draw(st.integers(1, 4))
        n_p = draw(st.none() | st.integers(0, instances))
        s_kv = LogLogCurve([256, 65536], [draw(st.floats(1e7, 1e9)), 3e10])
        clusters.append(
            FleetPd(name, part, instances, n_p, draw(of_lengths), s_kv, draw(powers), draw(decodes), routes)
        )
    return Fleet(prfaas, links, tuple(clusters))


any_policy = st.sampled_from(["", "r", "s", "rs", "sr"])
two_routes = st.sampled_from(["rs", "sr"])


def never_beaten(of, count):
    found, brute = fleet.best(of), tried(of, count)
    assert found.lambda_max_rps >= brute * (1 - 1e-9)
    again = fleet.evaluate(
        of, [each.threshold_tokens for each in found.pd], [each.prefill_instances for each in found.pd]
    )
    assert found == again
    return found.lambda_max_rps, brute


@examples(20)
@given(fleets(recorded, any_policy))
def test_of_recorded_lengths_the_best_is_that_of_all_thresholds_and_splits(of):
    found, brute = never_beaten(of, 100)
    assert found == pytest.approx(brute, rel=1e-9)


@examples(8)
@given(fleets(recorded, two_routes))
def test_of_recorded_lengths_on_shared_routes_the_best_is_that_of_all_thresholds_and_splits(of):
    found, brute = never_beaten(of, 100)
    assert found == pytest.approx(brute, rel=1e-9)


@examples(10)
@given(fleets(smooth, any_policy).filter(lambda of: filling.separable(of)))
def test_no_threshold_and_split_tried_carries_more_on_routes_of_their_own(of):
    never_beaten(of, 20)


@examples(5)
@given(fleets(smooth, two_routes))
def test_no_threshold_and_split_tried_carries_more_on_shared_routes(of):
    never_beaten(of, 20)


@pytest.mark.parametrize(("policies", "near"), [(("rs", "rs"), 0.98), (("sr", "r"), 0.97), (("rs", ""), 1.0)])
def test_what_is_tried_on_a_finer_grid_comes_close(policies, near):
    found, brute = never_beaten(two_by_two(*policies), 50)
    assert brute >= near * found * (1 - 1e-9)


def test_routes_of_their_own_are_filled_as_well_by_the_solver_of_shared_ones():
    of = two_by_two("sr", "r")
    assert filling.separable(of)
    tables, splits = [filling.table(of, part) for part in of.pd], [2.0, 2.0]
    filled, solved = (solver.thresholds(of, tables, splits) for solver in (filling, sharing))
    for one, other in zip(filled, solved, strict=True):
        assert one == pytest.approx(other, rel=1e-6)
    assert limit(of, filled, splits) == pytest.approx(limit(of, solved, splits), rel=1e-9)


def test_where_all_share_both_routes_whoever_gains_most_by_the_better_chip_has_it():
    """Chip s is ahead of r by a ratio that grows with the length alone: so both PD clusters cut at the same length."""
    a, b = fleet.best(two_by_two()).pd
    assert a.threshold_tokens[1] == pytest.approx(b.threshold_tokens[1], rel=1e-3)


# --- more is never less ------------------------------------------------------------------------------------------


@examples(5)
@given(fleets(recorded, any_policy), st.floats(1.0, 4.0), st.integers(0, 2))
def test_wider_links_or_more_instances_never_carry_less(of, factor, more):
    wider = replace(of, links=tuple(replace(link, usable_bps=link.usable_bps * factor) for link in of.links))
    larger = replace(of, prfaas=tuple(replace(each, instances=each.instances + more) for each in of.prfaas))
    before = most(of) * (1 - 1e-9)
    assert most(wider) >= before
    assert most(larger) >= before


@pytest.mark.parametrize("instances", [0, 1, 4])
def test_a_second_prfaas_cluster_never_carries_less(instances):
    one = case_study()
    both = Fleet(
        (*one.prfaas, remote("second", instances, FAST)),
        (*one.links, FleetLink("other", 10e9)),
        (pd(routes=[Route("prfaas", "link"), Route("second", "other")]),),
    )
    assert most(both) >= most(one)
    assert (most(both) > most(one) * 1.05) == (instances > 0)


@pytest.mark.parametrize("dead", [{"bandwidth_bps": 0.0}, {"n_prfaas": 0}])
def test_over_a_dead_route_nothing_leaves(dead):
    found, local = fleet.best(case_study(**dead)), fleet.best(case_study(routes=()))
    assert found.lambda_max_rps == local.lambda_max_rps > 0
    assert found.pd[0].shares == (1.0, 0.0)
    assert found.egress_bps == {"link": 0.0}


def test_a_dead_route_between_others_is_passed_over():
    of = two_by_two("rs", "r")
    dead = replace(of, links=tuple(replace(link, usable_bps=0.0 if link.name == "ra" else 100e9) for link in of.links))
    found = fleet.best(dead)
    assert found.pd[0].shares[1] == 0
    assert found.lambda_max_rps == pytest.approx(most(two_by_two("s", "r")), rel=1e-9)


def test_a_link_that_several_share_binds_on_their_sum():
    of = two_by_two("r", "r")
    narrow = replace(
        of, links=(FleetLink("both", 3e9),), pd=tuple(replace(each, routes=(Route("r", "both"),)) for each in of.pd)
    )
    found = fleet.best(narrow)
    assert (Stage.LINK, "both") in found.binding
    assert found.egress_bps["both"] == pytest.approx(3e9, rel=1e-9)


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Fleet((), (), (pd(share=0.9, routes=()),)), "sum to 1"),
        (lambda: Fleet((), (), (pd("a", 0.5, routes=()), pd("a", 0.5, routes=()))), "same name"),
        (lambda: case_study(routes=[Route("nowhere", "link")]), "nowhere"),
        (lambda: case_study(routes=[Route("prfaas", "nothing")]), "nothing"),
        (lambda: replace(case_study(), prfaas=(remote(serves=["a"]),)), "no T_prefill"),
        (lambda: pd(share=0.0), "share"),
        (lambda: pd(n_p=9), "from 0 to 8"),
        (lambda: FleetLink("link", -1.0), "negative"),
        (lambda: remote(instances=-1), "negative"),
        (lambda: fleet.evaluate(case_study(), [[1.0, 2.0]], [3]), "1 routes and 2 thresholds"),
        (lambda: fleet.evaluate(case_study(), [[1.0]], [9]), "from 0 to 8"),
        (lambda: fleet.evaluate(case_study(), [[1.0]], []), "each of 1 PD clusters"),
        (lambda: fleet.evaluate(case_study(), [[-1.0]], [3]), "negative"),
        (lambda: fleet.evaluate(two_by_two(), [[2.0, 1.0], [1.0, 2.0]], [3, 3]), "must not fall"),
    ],
)
def test_what_cannot_be_is_refused_and_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
