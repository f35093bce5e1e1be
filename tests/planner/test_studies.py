"""Studies as documents: read, run, put together from parts, refused by field; and as a command."""

import json
from functools import cache

import pytest

from planner import catalog, evaluation, scenario, tasks
from planner.documents.errors import DocumentError
from planner.engine.simulation.work import replicated
from planner.simulating import document as simulations
from planner.simulating import result as simulation_result
from planner.simulating.studies import document, quantities, result
from planner.simulating.studies.features import FEATURES
from tests.planner.test_commands import refusal, said

CASE, ALONE = "case-study-prfaas-pd", "case-study-homogeneous"
SHARED = ("scenario", "seed", "series", "version")


def simulation(name=CASE, overrides=None, **changes):
    given = {"scenario": scenario.load(name, overrides).document(), "load": 0.7, "requests": 3000, "replications": 3}
    return {key: value for key, value in (given | changes).items() if value is not ...}


def sweep(vary, values=None, of=None, **more):
    given = {"kind": "sweep", "simulation": of or simulation(), "vary": vary} | more
    return given if values is None else given | {"values": values}


def ablation(features=None, of=None):
    given = {"kind": "ablation", "simulation": of or simulation(policy="bandwidth_aware")}
    return given if features is None else given | {"features": features}


def parsed(given):
    return document.parse(given, catalog.SHIPPED)


@cache
def _computed(text):
    return replicated(simulations.part(simulations.loaded(json.loads(text)["simulation"]), json.loads(text)["index"]),
                      lambda *news: None)  # fmt: skip


def studied(given):
    asked = parsed(given)
    each = len(asked.variants)
    runs = [_computed(json.dumps(part)) for part in document.parts(asked)]
    return result.document(asked, [runs[at::each] for at in range(each)])


def refused(given):
    with pytest.raises(DocumentError) as caught:
        parsed(given)
    return str(caught.value)


# --- what is simulated -------------------------------------------------------------------------------------------


def test_each_variant_is_bit_for_bit_the_simulation_of_its_own():
    found = studied(sweep("load", [0.5, 0.8]))
    for load, variant in zip((0.5, 0.8), found["variants"], strict=True):
        asked = simulations.parse(simulation(load=load), catalog.SHIPPED)
        alone = simulation_result.document(
            asked, [replicated(simulations.part(asked, index), lambda *news: None) for index in range(3)]
        )
        assert {key: variant[key] for key in alone if key not in SHARED} == {
            key: value for key, value in alone.items() if key not in SHARED
        }


def test_variants_that_are_the_same_differ_by_exactly_nothing():
    # without a link it makes no difference how a KVCache would be sent
    found = studied(sweep("chunks", [16, 4], simulation(ALONE)))
    one, same = found["variants"]
    assert one["differences"] is None
    assert same["differences"].keys() >= {"ttft_mean_s", "ttft_p90_s", "throughput_rps", "egress_bps"}
    for difference in same["differences"].values():
        assert (difference["mean"], difference["low"], difference["high"]) == (0.0, 0.0, 0.0)
        assert difference["is_clear"] is False


def test_paired_differences_see_what_two_intervals_hide():
    found = studied(ablation(["pipelining"], simulation(requests=8000)))
    given, after = found["variants"]
    # The link's tail is longer by what is sent after the prefill; the means' intervals overlap all the same.
    assert after["ttft_s"]["mean"]["low"] < given["ttft_s"]["mean"]["high"]
    difference = after["differences"]["ttft_mean_s"]
    assert difference["is_clear"]
    assert 0 < difference["low"] < difference["high"] < 0.2
    assert difference["mean"] == pytest.approx(after["ttft_s"]["mean"]["mean"] - given["ttft_s"]["mean"]["mean"])
    assert difference["share"] == pytest.approx(difference["mean"] / given["ttft_s"]["mean"]["mean"])


def test_all_but_sweeps_of_the_load_keep_the_rate_of_the_simulation_as_given():
    asked = parsed(sweep("bandwidth_bps", [6e9, 50e9, 100e9]))
    rate = asked.base.experiment.rate_rps
    assert rate == pytest.approx(0.7 * evaluation.evaluate(scenario.load(CASE))["lambda_max_rps"])
    each = [document.simulation(asked, variant).experiment for variant in asked.variants]
    assert [experiment.rate_rps for experiment in each] == [rate] * 3
    assert [experiment.deployment.link.usable_bps for experiment in each] == [6e9, 50e9, 100e9]


def test_bandwidth_takes_the_place_of_what_the_link_was_seen_to_carry():
    seen = simulation(overrides={"links.wan.achieved_bps": 40e9})
    asked = parsed(sweep("bandwidth_bps", [20e9, 40e9, 80e9], seen))
    each = [document.simulation(asked, variant).experiment for variant in asked.variants]
    assert [experiment.deployment.link.usable_bps for experiment in each] == [20e9, 40e9, 80e9]
    assert asked.baseline == 1


@pytest.mark.parametrize(
    ("vary", "values", "read"),
    [
        ("threshold_tokens", [15_000, 25_000.0], lambda asked: asked.experiment.deployment.threshold_tokens),
        ("arrivals_cv", [0.5, 4], lambda asked: asked.experiment.arrivals.variation),
        ("rate_rps", [1.0, 2.0], lambda asked: asked.experiment.rate_rps),
        ("policy", ["all_remote", "bandwidth_aware"], lambda asked: asked.run.policy),
        ("chunks", [1, 16], lambda asked: asked.run.chunks),
        ("scenario.decode.step_s", [0.02, 0.03], lambda asked: asked.experiment.deployment.decode.step_s),
        ("scenario.links.wan.bandwidth_bps", [1e10, 2e10], lambda asked: asked.experiment.deployment.link.usable_bps),
    ],
)
def test_what_is_varied_is_all_that_changes(vary, values, read):
    asked = parsed(sweep(vary, values))
    each = [document.simulation(asked, variant) for variant in asked.variants]
    assert [read(one) for one in each] == values
    assert {(one.run.seed, one.run.requests, one.run.replications) for one in each} == {(1, 3000, 3)}


def test_ablations_turn_each_feature_off_by_itself():
    tcp = {"connections": 8, "window_bytes": 2**22}
    everything = simulation(policy="bandwidth_aware", overrides={"links.wan.rtt_s": 0.04}, tcp=tcp, roles={})
    asked = parsed(ablation(of=everything))
    assert asked.study.features == ["pipelining", "connections", "bandwidth_awareness", "long_term_control"]
    given, after, one, fixed, still = [document.simulation(asked, variant) for variant in asked.variants]
    assert (given.run.chunks, given.run.policy, given.run.tcp.connections) == (16, "bandwidth_aware", 8)
    assert (after.run.chunks, after.run.policy) == (1, "bandwidth_aware")
    # a window of 4 MiB each 40 ms
    assert one.experiment.transport.paths[0].transfer_bps == pytest.approx(8 * 4 * 2**20 / 0.04)
    assert one.run.tcp.window_bytes == 2**22
    assert (fixed.run.chunks, fixed.run.policy) == (16, "as_given")
    assert still.experiment.reallocation is None
    assert given.experiment.reallocation is not None


def test_only_what_is_on_is_ablated_unless_it_is_named():
    assert parsed(ablation(of=simulation())).study.features == ["pipelining"]
    said = refused(ablation(["pipelining", "bandwidth_awareness"], simulation()))
    assert said == "features: 'bandwidth_awareness' is not on in this simulation: it needs policy bandwidth_aware"


def test_features_are_in_one_table_under_their_names():
    assert all(name == feature.name and feature.title and feature.said for name, feature in FEATURES.items())
    assert all(name == quantity.name and quantity.title for name, quantity in quantities.QUANTITIES.items())


# --- values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vary", quantities.QUANTITIES)
def test_without_values_there_are_some_that_suit(vary):
    asked = parsed(sweep(vary, of=simulation(requests=100, replications=1)))
    assert len(asked.study.values) >= 4
    assert asked.raw["values"] == asked.study.values
    assert len(set(asked.study.values)) == len(asked.study.values)


def test_a_load_that_is_varied_need_not_be_given():
    assert parsed(sweep("load", [0.3, 0.6], simulation(load=...))).study.values == [0.3, 0.6]
    assert "simulation.load: needs either load" in refused(sweep("policy", of=simulation(load=...)))


def test_a_range_keeps_its_ends_and_goes_in_steps_or_in_ratios():
    loads = parsed(sweep("load", range={"lowest": 0.123456, "highest": 0.9, "points": 3})).study.values
    assert loads == [0.123456, 0.512, 0.9]
    widths = parsed(sweep("bandwidth_bps", range={"lowest": 1e9, "highest": 1e11, "points": 3})).study.values
    assert widths == [1e9, 1e10, 1e11]


def test_policies_are_those_that_the_scenario_can_have():
    assert parsed(sweep("policy")).study.values == ["as_given", "all_local", "all_remote", "bandwidth_aware"]
    everything_remote = simulation("case-study-naive")
    assert "all_remote" not in parsed(sweep("policy", of=everything_remote)).study.values


def test_values_that_are_named_may_be_the_same_policy_under_two_names():
    named = sweep("policy", ["as_given", "all_local"])
    assert parsed(named).study.values == ["as_given", "all_local"]


@pytest.mark.parametrize(
    ("given", "baseline"),
    [
        (sweep("load", [0.5, 0.7]), None),
        (sweep("rate_rps", [1.0, 2.0]), None),
        (sweep("threshold_tokens", [15_000, 19_400, 25_000]), 1),
        (sweep("threshold_tokens", [15_000, 25_000]), 0),
        (sweep("arrivals_cv", [0.5, 1, 4]), 1),
        (sweep("policy", ["all_remote", "as_given"]), 0),
        (ablation(), 0),
    ],
)
def test_variants_are_held_against_the_one_as_given_or_else_the_first(given, baseline):
    assert parsed(given).baseline == baseline


# --- results -----------------------------------------------------------------------------------------------------


def test_a_sweep_of_the_load_says_where_the_knee_is():
    found = studied(sweep("load", [0.1, 0.6, 0.95, 1.3], simulation(requests=20_000)))
    low, middle, high, beyond = found["variants"]
    assert [variant["stable"] for variant in found["variants"]] == [True, True, True, False]
    knee = found["knee"]
    assert knee["ttft_p90_s"] == 2 * low["ttft_s"]["p90"]["mean"]
    assert middle["ttft_s"]["p90"]["mean"] < knee["ttft_p90_s"] < high["ttft_s"]["p90"]["mean"]
    assert (knee["within"], knee["beyond"]) == (0.6, 0.95)
    assert 0.6 < knee["at"] < 0.95
    assert {each["differences"] for each in (low, middle, high, beyond)} == {None}
    assert found["baseline"] is None
    assert "1 of 4 variants are not stable" in found["notes"][0]


def test_a_lowest_load_that_queues_already_is_told_of():
    found = studied(sweep("load", [0.6, 0.9]))
    assert found["notes"] == [
        "The lowest load, 60 %, may queue already: from a lower one on, the knee would come earlier."
    ]


def test_what_is_not_stable_has_no_difference_of_ttft():
    found = studied(sweep("threshold_tokens", [19_400, 100_000], simulation(load=0.85)))
    differences = found["variants"][1]["differences"]
    assert not found["variants"][1]["stable"]
    assert "throughput_rps" in differences
    assert not [name for name in differences if name.startswith(("ttft", "goodput"))]


def test_a_promise_has_differences_of_its_goodput():
    found = studied(ablation(["pipelining"], simulation(ttft_within_s=5.0)))
    difference = found["variants"][1]["differences"]["goodput_rps"]
    given, after = (variant["goodput"]["rate_rps"]["mean"] for variant in found["variants"])
    assert difference["mean"] == pytest.approx(after - given)


def test_one_replication_alone_leaves_differences_open():
    found = studied(ablation(["pipelining"], simulation(replications=1)))
    difference = found["variants"][1]["differences"]["ttft_mean_s"]
    assert (difference["low"], difference["high"], difference["is_clear"]) == (None, None, None)


def test_it_rests_on_the_weakest_kind_of_any_variant():
    assert studied(ablation(["pipelining"]))["provenance"] == "inferred"
    found = studied(sweep("threshold_tokens", [19_000, 19_400]))
    assert found["provenance"] == "user"
    asked = parsed(sweep("threshold_tokens", [19_000, 19_400]))
    varied = document.simulation(asked, asked.variants[0]).scenario
    assert varied.provenance("routing.threshold_tokens") == {"kind": "user", "source": "varied in a study"}


def test_a_job_is_cut_into_replications_and_merged_to_the_same():
    asked = parsed(ablation(of=simulation(policy="bandwidth_aware", replications=2)))
    given = json.loads(json.dumps(asked.frozen()))
    whole, kind = tasks.IN_PARTS["study"], tasks.KINDS["replication"]
    parts = whole.parts(given)
    assert whole.part == "replication"
    assert [part["index"] for part in parts] == [0, 0, 0, 1, 1, 1]
    results = []
    for part in parts:
        posed = kind.problem(part)
        answered = kind.result(part, posed, kind.function(posed, lambda *news: None))
        results.append(json.loads(json.dumps(answered, allow_nan=False)))
    found = json.loads(json.dumps(whole.merge(given, results), allow_nan=False))
    assert found == json.loads(json.dumps(studied(ablation(of=simulation(policy="bandwidth_aware", replications=2)))))


def test_a_study_that_still_runs_says_what_its_variants_say_so_far():
    asked = parsed(ablation(["pipelining"]))
    runs = [_computed(json.dumps(part)) for part in document.parts(asked)]
    only = result.together(asked, [result.outcome(asked, 1, runs[1:2])])
    assert [variant["name"] for variant in only["variants"]] == ["pipelining"]
    assert only["variants"][0]["differences"] is None
    both = result.together(asked, [result.outcome(asked, 0, runs[0:5:2]), result.outcome(asked, 1, runs[1:4:2])])
    assert both["variants"][1]["differences"]["ttft_mean_s"]["low"] is not None


# --- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "sweep"}, "simulation: is missing"),
        (sweep("load") | {"kind": "guess"}, "kind: 'guess' must be one of"),
        ({"kind": "sweep", "simulation": simulation()}, "vary: is missing: what a sweep varies, as load"),
        (sweep("load", [0.5, 0.7]) | {"features": ["pipelining"]}, "features: is a field of an ablation"),
        (ablation() | {"vary": "load"}, "vary: is a field of a sweep"),
        (sweep("load", [0.5]), "values: [0.5] needs at least 2 entries"),
        (sweep("load", [0.5] * 41), "takes at most 40 entries"),
        (sweep("load", [0.5, 11]), "values: 11 must be at most 10"),
        (sweep("load", [0.5, "much"]), "values: 'much' must be a number"),
        (sweep("load", [0.5, 0.7], range={"lowest": 1.0, "highest": 2.0, "points": 3}), "range: stands beside values"),
        (sweep("load", range={"lowest": 1.0, "highest": 0.5, "points": 3}), "range.highest: 0.5 must be above the low"),
        (sweep("load", range={"lowest": 1.0, "highest": 2.0, "points": 1}), "range.points: 1 must be at least 2"),
        (sweep("load", [0.5, 0.7, 0.5]), "values.2: 0.5 is there already; give each value once"),
        (sweep("chunks", [4, 16, 4.0]), "values.2: 4.0 is there already"),
        (sweep("policy", ["as_given", "as_given"]), "values.1: 'as_given' is there already"),
        (sweep("policy", of=simulation(ALONE)), "vary: 'policy' needs a cluster of role prfaas, and policies"),
        (sweep("policy", ["as_given", "random"]), "values: 'random' must be one of"),
        (sweep("threshold_tokens", [-5.0, 10.0]), "values: -5.0 must be at least 0"),
        (sweep("chunks", [True, 4]), "values.0: True must be"),
        (sweep("chunks", [None, 4]), "values.0"),
        (sweep("chunks", [[1], 4]), "values.0"),
        (sweep("chunks"), "values: is missing: what chunks is in each variant"),
        (sweep("seed", [1, 2]), "vary: 'seed' cannot be varied; known: load"),
        (sweep("nonsense", [1, 2]), "vary: 'nonsense' cannot be varied"),
        (sweep("scenario.decode.speed.now", [1, 2]), "vary: 'scenario.decode.speed.now' leads nowhere"),
        (sweep("brown_out.bps", [1, 2]), "vary: 'brown_out.bps' leads nowhere"),
        (sweep("bandwidth_bps", of=simulation(ALONE)), "vary: 'bandwidth_bps' needs a link"),
        (sweep("threshold_tokens", of=simulation(ALONE)), "vary: 'threshold_tokens' needs routing.policy threshold"),
        (sweep("load", of=simulation(requests=5)), "simulation.requests: 5 must be at least 100"),
        (sweep("load", of=simulation(scenario=...)), "simulation.scenario: is missing"),
        (sweep("load", of=simulation(replications=200)), "simulation.replications: 200 makes 3,600 of 18 variants"),
        (ablation(["magic"]), "features: 'magic' is not a feature; known: pipelining"),
        (ablation([]), "features: [] needs at least 1 entries"),
        (ablation(of=simulation(ALONE)), "features: has nothing to turn off in this simulation"),
        (sweep("load") | {"nonsense": 1}, "nonsense: 1 is not a field here"),
    ],
)
def test_mistakes_are_told_by_field(given, said):
    assert said in refused(given)


# --- the command -------------------------------------------------------------------------------------------------

FEW = ("--requests", "2000", "--replications", "2")


def test_the_command_sweeps_and_prints_the_document():
    found = json.loads(said("study", CASE, "--vary", "load", "--values", "0.1", "0.7", *FEW, "--json"))
    of = simulation(load=0.85, requests=2000, replications=2, policy="as_given", order="fcfs", chunks=16, warm_up=0.05)
    assert found == json.loads(json.dumps(studied(sweep("load", [0.1, 0.7], of))))


def test_the_command_prints_a_table_for_people():
    text = said("study", CASE, "--vary", "load", "--range", "0.1", "1.3", "3", *FEW)
    for words in ("10 % of Λ_max", "130 % of Λ_max", "NOT STABLE", "TTFT P90, s", "knee", "2 times its value"):
        assert words in text


def test_the_command_ablates_all_that_is_on_or_what_is_named():
    text = said("study", CASE, "--ablate", "--policy", "bandwidth_aware", *FEW)
    assert "Without: Layer-wise pipelining" in text
    assert "Without: Bandwidth-aware routing" in text
    assert "against Everything on" in text
    assert "Without: Bandwidth-aware" not in said("study", CASE, "--ablate", "pipelining", *FEW)


@pytest.mark.django_db
def test_the_command_refuses_in_one_line():
    assert refusal("study", CASE, "--ablate", "copies") == (
        "features: 'copies' is not on in this simulation: it needs caches with copies, and routing best or by_bandwidth"
    )
    assert refusal("study", CASE, "--vary", "load", "--values", "0.5", "x").startswith("values: 'x' must be a number")
    assert refusal("study", "no-such", "--ablate").startswith("scenario: 'no-such'")
