"""A gain divided among its causes: every step a deployment that carries what is said of it, the sum the whole gain."""

import math
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import catalog, comparison, evaluation
from planner.comparing.attribution import METRICS, Question, attribution
from planner.documents import paths
from planner.engine.throughput import Form
from planner.scenario import DocumentError, parse
from planner.scenario.build import deployment
from tests.engine.case_study import H20, H200
from tests.examples import examples
from tests.planner.documents import documents, shipped

HOMOGENEOUS, NAIVE, PRFAAS_PD = "case-study-homogeneous", "case-study-naive", "case-study-prfaas-pd"
PRICES = [{"name": "h200", "usd_per_gpu_hour": 2.1}, {"name": "h20", "usd_per_gpu_hour": 1.05}]


def mean_seconds(curve):
    """E[T] over the case study's lengths, by the trapezoidal rule over ln L."""
    at = np.linspace(np.log(128), np.log(131072), 200_001)
    density = np.exp(-((at - 9.90) ** 2) / 2)
    return np.trapezoid(density * curve(np.exp(at)), at) / np.trapezoid(density, at)


T_H200, T_H20 = mean_seconds(H200), mean_seconds(H20)
DECODE_RPS = 20 / (0.025 * 1024)


def asked(*scenarios, **changes):
    document = {"name": "asked", "scenarios": list(scenarios), "prices": PRICES, **changes}
    return comparison.parse(document, catalog.SHIPPED)


def attributed(baseline=HOMOGENEOUS, candidate=PRFAAS_PD, form="exact", prices=PRICES, **question):
    one, other = (shipped(each) if isinstance(each, str) else each for each in (baseline, candidate))
    return attribution(asked(one, other, form=form, prices=prices), Question(other["name"], **question))


def changed(name=PRFAAS_PD, as_name="changed", **fields):
    """A shipped scenario under another name with fields set; __ stands for the dots of a path."""
    document = shipped(name)
    for path, value in fields.items():
        paths.put(document, path.replace("__", "."), value)
    return {**document, "name": as_name}


def shares(result):
    return {each["factor"]: each["share"] for each in result["factors"]}


def values(result):
    return {each["factor"]: each["value"] for each in result["steps"]}


# --- the case study ----------------------------------------------------------------------------------------------


def test_the_case_study_differs_in_chips_split_routing_and_link():
    result = attributed()
    assert [each["factor"] for each in result["factors"]] == ["chips", "split", "routing", "link"]
    assert [each["factor"] for each in attributed(NAIVE)["factors"]] == ["split", "routing"]
    assert [each["factor"] for each in attributed(candidate=NAIVE)["factors"]] == ["chips", "split", "link"]


def test_the_baseline_with_some_of_its_instances_apart_carries_what_it_carries():
    result = attributed()
    assert result["from"] == pytest.approx(9 / T_H20, rel=1e-6)
    assert result["from"] == pytest.approx(result["start"]["given_value"], rel=1e-9)
    assert "4 of its instances apart" in result["start"]["words"]


def test_every_step_carries_what_its_machines_do_by_hand():
    found = values(attributed())
    assert found["chips"] == pytest.approx(min(4 / T_H200 + 5 / T_H20, 3 * DECODE_RPS), rel=1e-6)
    assert found["chips"] == pytest.approx(2.34375)
    assert found["split"] == pytest.approx(min(4 / T_H200 + 3 / T_H20, 5 * DECODE_RPS), rel=1e-6)
    assert found["routing"] == found["link"] == pytest.approx(evaluation.evaluate(parse(shipped()))["lambda_max_rps"])


def test_another_order_takes_other_steps_to_the_same_shares():
    one, other = attributed(), attributed(order=["link", "routing", "split", "chips"])
    assert shares(one) == shares(other)
    assert [each["factor"] for each in other["steps"]] == other["order"] == ["link", "routing", "split", "chips"]
    assert values(other)["routing"] != pytest.approx(values(one)["routing"])
    assert values(other)["chips"] == pytest.approx(one["to"], rel=1e-12)


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ends", [(HOMOGENEOUS, PRFAAS_PD), (HOMOGENEOUS, NAIVE), (PRFAAS_PD, HOMOGENEOUS)])
def test_shares_add_up_and_every_step_lies_in_its_range(ends, metric, tuned):
    result = attributed(*ends, metric=metric, tuned=tuned)
    assert math.fsum(shares(result).values()) == pytest.approx(result["to"] - result["from"], rel=1e-12)
    assert result["total"] == result["to"] - result["from"]
    ranges = {each["factor"]: (each["least"], each["greatest"]) for each in result["factors"]}
    for each in result["steps"]:
        least, greatest = ranges[each["factor"]]
        assert least <= each["change"] <= greatest


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("form", ["exact", "paper"])
def test_every_step_can_be_opened_and_carries_what_is_said(form, tuned):
    result = attributed(form=form, tuned=tuned)
    for each in (result["start"], *result["steps"]):
        opened = evaluation.evaluate(parse(each["scenario_document"]), form)
        assert opened["lambda_max_rps"] == pytest.approx(each["value"], rel=1e-12)
        assert set(opened["binding"]) == set(each["bound_by"])


def test_scheduling_is_the_split_and_routing_together():
    result = attributed(NAIVE)
    (group,) = result["groups"]
    assert group["share"] == pytest.approx(result["total"], rel=1e-12)
    assert group["factors"] == ["split", "routing"]


def test_tuned_ends_are_the_best_that_a_threshold_or_a_share_makes_of_them():
    result = attributed(tuned=True)
    free = {**shipped(), "free": ["routing.threshold_tokens"]}
    best = evaluation.optimize(parse(free))["lambda_max_rps"]
    assert result["to"] == pytest.approx(best, rel=1e-9)
    assert result["from"] == pytest.approx(9 / T_H20, rel=1e-6)
    assert result["end"]["words"] == "at its best threshold"
    assert result["end"]["given_value"] < result["to"]


def test_a_threshold_that_leaves_requests_to_nobody_is_told_and_tuned_away():
    given, tuned = attributed(NAIVE), attributed(NAIVE, tuned=True)
    assert shares(given)["routing"] < 0 < shares(tuned)["routing"]
    assert any(note.startswith("Nothing is carried by case-study-prfaas-pd--routing") for note in given["notes"])
    assert not any("Nothing is carried" in note for note in tuned["notes"])


def test_a_million_tokens_cost_what_the_machines_cost_by_what_they_carry():
    result = attributed(metric="usd_per_million_tokens")
    tokens = 27_486 + 1024
    assert result["from"] == pytest.approx(96 * 1.05 / (9 / T_H20 * tokens * 3600) * 1e6, rel=1e-4)
    chips_usd_per_h = 32 * 2.1 + 64 * 1.05
    assert values(result)["chips"] == pytest.approx(chips_usd_per_h / (2.34375 * tokens * 3600) * 1e6, rel=1e-4)


def test_ttft_goes_from_the_published_value_to_the_published_value():
    result = attributed(metric="ttft_p90_s")
    assert result["from"] == pytest.approx(9.73, abs=0.005)
    assert result["to"] == pytest.approx(3.51, abs=0.005)


def test_the_sentence_has_the_points_of_every_factor():
    result = attributed()
    assert "+53.6 %" in result["sentence"]
    for each in result["factors"]:
        assert f"{abs(100 * each['share'] / result['from']):.1f} points" in result["sentence"]


def test_a_result_names_the_weakest_evidence_of_its_hybrids():
    assert attributed()["provenance"] == "inferred"  # the H20's profile and decode, from table 6
    assert attributed(metric="usd_per_million_tokens")["provenance"] == "user"  # prices that nobody gave a source for


# --- hybrids -----------------------------------------------------------------------------------------------------


def test_a_hybrid_keeps_the_source_of_every_figure():
    chips = parse(attributed()["steps"][0]["scenario_document"])
    candidate = parse(shipped())
    assert chips.name == "case-study-prfaas-pd--chips"
    assert chips.provenance("model.profiles.internal-1t-hybrid-h200x8") == candidate.provenance(
        "model.profiles.internal-1t-hybrid-h200x8"
    )
    assert chips.provenance("links.wan.bandwidth_bps")["kind"] == "estimated"
    assert chips.provenance("routing.remote_share")["kind"] == "estimated"
    counted = chips.provenance("clusters.prfaas.instances")
    assert counted["kind"] == "published"
    assert "4 of 9 prefill instances written apart" in counted["source"]


def test_other_names_of_clusters_and_links_are_no_difference():
    document = shipped()
    names = {"prfaas": "far", "pd": "near", "wan": "cable"}
    for each in (*document["clusters"], *document["links"]):
        each["name"] = names[each["name"]]
    document["links"][0] |= {"from": "far", "to": "near"}
    parts = [path.split(".") for path in document["provenance"]]
    renamed = [".".join(names.get(part, part) for part in each) for each in parts]
    document["provenance"] = dict(zip(renamed, document["provenance"].values(), strict=True))
    document["free"] = []
    found = attributed(candidate=document)
    assert shares(found) == shares(attributed())
    last = parse(found["steps"][-1]["scenario_document"])
    assert last.provenance("links.cable.bandwidth_bps") == parse(document).provenance("links.cable.bandwidth_bps")


def test_one_difference_has_the_whole_gain():
    result = attributed(candidate=changed(links__wan__bandwidth_bps=5e9), baseline=PRFAAS_PD)
    assert [each["factor"] for each in result["factors"]] == ["link"]
    assert shares(result)["link"] == result["total"] < 0
    assert result["steps"][0]["bound_by"] == ["link"]


def test_without_a_difference_there_is_nothing_to_divide():
    result = attributed(PRFAAS_PD, changed())
    assert result["factors"] == result["steps"] == result["groups"] == []
    assert result["total"] == 0


def test_of_a_whole_that_is_rounding_there_are_no_shares():
    """Both send what is long to the same chips, so that P90 is the same; split and routing undo one another."""
    result = attributed(PRFAAS_PD, NAIVE, metric="ttft_p90_s")
    assert result["total"] == pytest.approx(0, abs=1e-12)
    assert abs(shares(result)["split"]) > 0.5
    assert [each["share_of_total"] for each in (*result["factors"], *result["groups"])] == [None] * 3


def test_a_fleet_of_another_size_keeps_the_proportion_of_its_split():
    bigger = changed(HOMOGENEOUS, clusters__pd__instances=20)
    bigger["clusters"][0] |= {"prefill_instances": 15, "decode_instances": 5}
    result = attributed(HOMOGENEOUS, bigger)
    assert [each["factor"] for each in result["factors"]] == ["fleet"]
    assert result["to"] == pytest.approx(15 / T_H20, rel=1e-6)


def test_fleet_and_split_are_two_causes_where_the_proportion_differs():
    bigger = changed(HOMOGENEOUS, clusters__pd__instances=20)
    bigger["clusters"][0] |= {"prefill_instances": 10, "decode_instances": 10}
    result = attributed(HOMOGENEOUS, bigger, order=["split", "fleet"])
    assert values(result)["split"] == pytest.approx(6 / T_H20, rel=1e-6)  # 12 instances as 10/10
    assert values(result)["fleet"] == pytest.approx(10 / T_H20, rel=1e-6)


def test_a_fleet_too_small_for_both_roles_is_refused():
    small = changed(HOMOGENEOUS, "small", clusters__pd__instances=1)
    small["clusters"][0] |= {"prefill_instances": 1, "decode_instances": 0}
    with pytest.raises(DocumentError, match="'small' has 1 in its PD cluster, which cannot be split as the 9/3"):
        attributed(small, HOMOGENEOUS)


def test_decode_goes_with_the_chips_of_the_pd_cluster():
    faster = changed(HOMOGENEOUS)
    faster["clusters"][0]["hardware"] = {"name": "h200", "title": ""}
    faster["decode"] = {"max_batch": 40, "step_s": 0.02}
    result = attributed(HOMOGENEOUS, faster)
    assert [each["factor"] for each in result["factors"]] == ["chips"]
    assert result["to"] == pytest.approx(min(9 / T_H200, 3 * 40 / (0.02 * 1024)), rel=1e-6)


def test_a_router_that_sends_more_away_than_is_best_keeps_its_policy():
    wasteful = changed(NAIVE)
    wasteful["clusters"][1] |= {"prefill_instances": 3, "decode_instances": 5}
    result = attributed(wasteful, PRFAAS_PD)
    assert result["start"]["scenario_document"]["routing"]["policy"] == "all_remote"
    assert result["from"] == pytest.approx(4 / T_H200, rel=1e-6)
    assert attributed(wasteful, PRFAAS_PD, tuned=True)["from"] == pytest.approx(4 / T_H200 + 3 / T_H20, rel=1e-6)


def test_caches_of_a_baseline_that_stands_in_one_place_are_one():
    reuse = {"reuse": "by_length", "tokens": [1000, 100_000], "hit_ratio": [0.3, 0.5], "remote_share": 0.4}
    result = attributed(changed(HOMOGENEOUS, "one", traffic__prefix=reuse), changed(traffic__prefix=reuse))
    assert result["start"]["scenario_document"]["routing"]["prefix"] == "best"
    assert result["from"] == pytest.approx(result["start"]["given_value"], rel=1e-9)
    assert shares(result)["cache"] < 0  # PrfaaS prefills again what it does not hold


def test_names_of_hybrids_fit_whatever_the_scenarios_are_called():
    result = attributed(candidate={**shipped(), "name": "n" * 100}, tuned=True)
    assert all(len(each["scenario_document"]["name"]) <= 100 for each in result["steps"])
    assert result["steps"][0]["scenario_document"]["name"].endswith("--tuned-chips")


@examples(25)
@given(documents(), st.integers(0, 12), st.integers(0, 12), st.sampled_from(Form), st.booleans())
def test_any_deployment_without_prfaas_is_the_same_with_some_of_it_apart(document, n_p, n_d, form, tuned):
    remote = {**document, "name": "candidate"}
    one = {**deepcopy(document), "name": "baseline", "links": [], "free": []}
    one["clusters"] = [document["clusters"][-1] | {"prefill_instances": n_p, "decode_instances": n_d}]
    one["clusters"][0]["instances"] = n_p + n_d
    one["routing"] = {"policy": "all_local", "threshold_tokens": None}
    one["provenance"] = {}
    try:
        result = attributed(one, remote, form.value, tuned=tuned)
    except DocumentError as problem:  # too few instances for the proportion of the other
        assert "cannot be split" in str(problem)  # noqa: PT017
        return
    assert result["from"] == pytest.approx(evaluation.evaluate(parse(one), form.value)["lambda_max_rps"], rel=1e-9)
    assert math.fsum(shares(result).values()) == pytest.approx(result["total"], rel=1e-9, abs=1e-12)
    for each in result["steps"]:
        opened = evaluation.evaluate(parse(each["scenario_document"]), form.value)
        assert opened["lambda_max_rps"] == pytest.approx(each["value"], rel=1e-12)


def test_a_share_that_is_given_and_not_the_best_stays_as_it_is():
    fixed = changed(routing={"policy": "blind", "threshold_tokens": None, "remote_share": 0.2}, free=[])
    result = attributed(fixed, PRFAAS_PD)
    assert deployment(parse(result["start"]["scenario_document"])).remote_share == 0.2
    assert result["from"] == pytest.approx(3 / T_H20 / 0.8, rel=1e-6)


# --- what cannot be ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("traffic__output_tokens", 2048, "traffic.output_tokens"),
        ("decode__step_s", 0.05, "decode.step_s"),
        ("decode__max_batch", 10, "decode.max_batch"),
        ("traffic__input_tokens__mu", 9.0, "traffic.input_tokens"),
        ("model__name", "another", "model.name"),
    ],
)
def test_two_workloads_are_refused_by_the_field_in_which_they_differ(path, value, told):
    with pytest.raises(DocumentError, match=rf"candidate: 'changed' .* and changed differ in {told}"):
        attributed(candidate=changed(**{path: value}))


def test_a_candidate_is_one_of_the_comparison_and_not_its_baseline():
    both = asked(HOMOGENEOUS, PRFAAS_PD)
    for name in (HOMOGENEOUS, "nobody", None, ["x"]):
        with pytest.raises(DocumentError, match=f"must be one of the comparison beside its baseline: {PRFAAS_PD}"):
            attribution(both, Question(name))


@pytest.mark.parametrize("order", [[], ["chips"], ["chips", "split", "routing", "fleet"], ["chips"] * 4])
def test_an_order_names_every_factor_that_differs(order):
    with pytest.raises(DocumentError, match=r"order: .*once: chips, split, routing, link"):
        attributed(order=order)


def test_without_a_price_there_is_no_share_of_cost_and_the_reason_is_told():
    one, other = shipped(HOMOGENEOUS), changed()
    other["clusters"][0]["hardware"] = {"name": "nobody-sells", "title": ""}
    other["model"]["profiles"][0]["hardware"] = "nobody-sells"
    result = attributed(one, other, metric="usd_per_million_tokens")
    assert result["undefined"] == "Nobody says what nobody-sells costs: give a price in USD a GPU-hour."
    assert result["total"] is result["from"] is result["factors"][0]["share"] is result["steps"][0]["change"] is None
    assert attributed(one, other)["undefined"] is None


def test_where_a_deployment_carries_nothing_its_tokens_have_no_price():
    result = attributed(NAIVE, metric="usd_per_million_tokens")
    assert "carry nothing, so that their tokens have no price" in result["undefined"]
    assert result["sentence"] == result["undefined"]
    assert attributed(NAIVE, metric="usd_per_million_tokens", tuned=True)["undefined"] is None


def test_tokens_of_a_deployment_that_carries_next_to_nothing_have_no_price():
    trickle = changed(links__wan__bandwidth_bps=1e-300)
    result = attributed(trickle, HOMOGENEOUS, metric="usd_per_million_tokens")
    assert "carry nothing, so that their tokens have no price" in result["undefined"]
    assert result["start"]["value"] is result["to"] is None


def test_one_chip_has_one_price():
    one, other = shipped(HOMOGENEOUS), shipped()
    one["prices"] = [{"name": "h20", "usd_per_gpu_hour": 1.0}]
    other["prices"] = [{"name": "h20", "usd_per_gpu_hour": 2.0}]
    with pytest.raises(DocumentError, match=r"prices.h20: is 1 USD in case-study-homogeneous and 2 in"):
        attributed(one, other, prices=[PRICES[0]], metric="usd_per_million_tokens")
