"""Policy blind from the document on: what it carries, what optimize finds, what it rests on, and what is refused."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner import catalog, scenario
from planner.documents.errors import DocumentError
from planner.engine.simulation.work import replicated
from planner.evaluation import evaluate, optimize, problem, whatif
from planner.management import report
from planner.procurement import document as procurement
from planner.procurement import questions
from planner.scenario import load, parse
from planner.simulating import document as simulations
from planner.simulating import result as simulated
from planner.simulating.studies.quantities import policies
from tests.examples import examples
from tests.planner.documents import BASE, documents

SPLIT = ["clusters.pd.prefill_instances", "clusters.pd.decode_instances"]


def blind(share=0.5, free=("routing.remote_share", *SPLIT), name=BASE, **more):
    routing = {"policy": "blind", "threshold_tokens": None, "remote_share": share}
    fields = {f"routing.{field}": value for field, value in routing.items()} | {"free": list(free)}
    return load(name, fields | more)


def asked(**changes):
    return simulations.parse(
        {"scenario": blind(0.4).document(), "load": 0.7, "requests": 5_000, "replications": 2} | changes,
        catalog.SHIPPED,
    )


def refused(**fields):
    with pytest.raises(DocumentError) as caught:
        load(BASE, {path.replace("__", "."): value for path, value in fields.items()})
    return str(caught.value)


# --- the result --------------------------------------------------------------------------------------------------


def test_a_result_names_the_policy_and_its_share():
    found = evaluate(blind(0.4))
    assert (found["policy"], found["remote_share"], found["offload_fraction"]) == ("blind", 0.4, 0.4)
    assert found["threshold_tokens"] is None
    assert found["mean_offloaded_tokens"] == found["mean_local_tokens"] == pytest.approx(27_486, abs=1)
    by_length = evaluate(load(BASE))
    assert (by_length["policy"], by_length["remote_share"]) == ("threshold", None)


@examples(15)
@given(documents(), st.sampled_from([(0.0, "all_local", None), (1.0, "all_remote", 0.0)]))
def test_with_all_on_one_side_the_result_is_that_of_the_policy_that_sends_all_there(document, given_):
    share, policy, threshold = given_
    assume(len(document["clusters"]) == 2)
    document["free"] = []
    document["routing"] = {"policy": "blind", "remote_share": share}
    ours = evaluate(parse(document))
    document["routing"] = {"policy": policy, "threshold_tokens": threshold}
    theirs = evaluate(parse(document))
    for key in ("policy", "remote_share", "threshold_tokens", "evidence"):
        del ours[key], theirs[key]
    assert ours == theirs


@examples(15)
@given(documents(), st.floats(0.0, 1.0), st.sampled_from(["exact", "paper"]))
def test_any_share_of_any_deployment_has_a_result_that_is_json(document, share, form):
    assume(len(document["clusters"]) == 2)
    document["routing"] = {"policy": "blind", "remote_share": share}
    document["free"] = ["routing.remote_share", *SPLIT]
    found = optimize(parse(document), form)
    json.dumps([found, whatif(parse(document), form)], allow_nan=False)
    assert found["lambda_max_rps"] >= found["given"]["lambda_max_rps"] * (1 - 1e-9)


def test_the_share_is_evidence_until_it_was_found():
    of = load(BASE).document()
    of["routing"], of["free"] = {"policy": "blind", "remote_share": 0.4}, ["routing.remote_share"]
    of["provenance"]["routing"] = {"kind": "user", "source": "a guess"}
    given_, found = evaluate(parse(of))["evidence"], optimize(parse(of))["evidence"]
    assert {given_[name] for name in ("offload_fraction", "lambda_max_rps", "ttft_unloaded_s")} == {"user"}
    assert (found["offload_fraction"], found["lambda_max_rps"]) == ("published", "inferred")


def test_without_a_threshold_there_is_no_curve_over_it():
    around = whatif(blind())
    assert around["threshold_sweep"] is None
    assert around["split_sweep"]["best_threshold_tokens"] is None
    assert around["split_sweep"]["lambda_max_rps"][3] == pytest.approx(around["result"]["lambda_max_rps"])


def test_the_terminal_says_the_share_in_the_place_of_the_threshold():
    text = report.lines(evaluate(blind(0.4)))
    assert "remote share       40.00% of requests, whatever their lengths" in text
    assert "threshold" not in text


# --- the best share ----------------------------------------------------------------------------------------------


def test_optimize_fills_the_best_share_into_the_scenario():
    best = optimize(blind(0.1))
    assert best["varied"] == ["routing.remote_share", *SPLIT]
    filled = best["scenario_document"]
    assert filled["routing"]["remote_share"] == best["remote_share"] == best["offload_fraction"]
    assert filled["provenance"]["routing.remote_share"]["kind"] == "estimated"
    assert evaluate(parse(filled))["lambda_max_rps"] == best["lambda_max_rps"]
    assert best["given"]["remote_share"] == 0.1
    # decode binds at 4 + 4: 4 instances of 20 requests, each of 1024 tokens of 25 ms
    assert best["lambda_max_rps"] == pytest.approx(4 * 20 / (0.025 * 1024))
    assert best["lambda_max_rps"] < optimize(load(BASE))["lambda_max_rps"]


def test_what_is_not_free_stays():
    assert optimize(blind(0.3, free=SPLIT))["remote_share"] == 0.3
    assert not problem(blind(0.3, free=SPLIT), "exact").free_share
    best = optimize(blind(0.3, free=["routing.remote_share"]))
    assert best["instances"] == {"prfaas": 4, "prefill": 3, "decode": 5}
    rates = [evaluate(blind(share / 100))["lambda_max_rps"] for share in range(101)]
    assert max(rates) <= best["lambda_max_rps"] <= max(rates) * 1.01


# --- refusals ----------------------------------------------------------------------------------------------------

BLIND = {"routing__policy": "blind", "routing__threshold_tokens": None, "routing__remote_share": 0.5, "free": []}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"routing__remote_share": None}, "routing.remote_share: is missing: policy blind needs it, from 0 to 1"),
        ({"routing__threshold_tokens": 19_400}, "routing.threshold_tokens: 19400.0 must be null: policy blind"),
        ({"routing__policy": "all_remote"}, "routing.remote_share: 0.5 must be null: policy all_remote"),
        ({"routing__policy": "all_local"}, "routing.remote_share: 0.5 must be null: policy all_local"),
        ({"routing__remote_share": -0.1}, "routing.remote_share: -0.1 must be at least 0"),
        ({"free": ["routing.threshold_tokens"]}, "cannot be varied here; allowed: routing.remote_share, clusters.pd"),
    ],
)
def test_what_contradicts_the_policy_is_refused(changes, said):
    assert said in refused(**BLIND | changes)


def test_a_share_needs_a_cluster_that_it_goes_to():
    with pytest.raises(DocumentError, match="needs a cluster of role prfaas"):
        blind(name="case-study-homogeneous", free=())


def test_a_share_cannot_be_freed_where_lengths_decide():
    assert "cannot be varied here; allowed: routing.threshold_tokens" in refused(free=["routing.remote_share"])


# --- elsewhere ---------------------------------------------------------------------------------------------------


def test_a_simulation_of_it_offloads_the_share():
    of = asked()
    runs = [replicated(simulations.part(of, index), lambda *news: None) for index in range(2)]
    found = simulated.document(of, runs)
    assert found["steady"]["offload_fraction"] == 0.4
    assert found["offload_fraction"]["mean"] == pytest.approx(0.4, abs=0.02)
    assert set(found["series"]["threshold_tokens"]) == {None}
    json.dumps(found, allow_nan=False)


def test_a_policy_that_moves_t_is_refused_and_those_of_one_side_are_not():
    with pytest.raises(DocumentError, match=r"needs routing\.policy threshold in the scenario"):
        asked(policy="bandwidth_aware")
    assert policies(asked()) == ["as_given", "all_local", "all_remote"]
    everything = asked(scenario=blind(1.0).document())
    assert policies(everything) == ["as_given", "all_local"]


def test_roles_that_change_leave_the_share_as_it_is():
    assert asked(roles={}).experiment.best_tokens == ()


def test_what_is_bought_in_its_place_is_routed_by_length_and_said_to_be():
    prices = [{"name": "h200", "usd_per_gpu_hour": 2.0}, {"name": "h20", "usd_per_gpu_hour": 1.0}]
    given_ = {"problem": "equal_cost", "scenario": blind(0.5).document(), "prices": prices}
    found = questions.answer_all(procurement.parse(given_, catalog.SHIPPED))
    by_length = questions.answer_all(
        procurement.parse(given_ | {"scenario": scenario.load(BASE).document()}, catalog.SHIPPED)
    )
    assert found["given"]["lambda_max_rps"] == pytest.approx(evaluate(blind(0.5))["lambda_max_rps"])
    assert found["best"]["lambda_max_rps"] == pytest.approx(by_length["best"]["lambda_max_rps"])
    assert any("routed by length" in note for note in found["notes"])
