"""The curves around a scenario agree with the scenario evaluated at their points."""

import json

import pytest
from hypothesis import given

from planner.evaluation import evaluate, whatif
from planner.scenario import load, parse
from tests.examples import examples
from tests.planner.documents import BASE, documents

modest = examples(25)
STAGES = ("prfaas", "link", "pd_p", "pd_d")


@pytest.fixture(scope="module", params=["exact", "paper"])
def form(request):
    return request.param


def at_threshold(threshold, form):
    return evaluate(load(BASE, {"routing.threshold_tokens": threshold}), form)


def test_the_threshold_sweep_agrees_with_evaluate_at_its_points(form):
    sweep = whatif(load(BASE), form)["threshold_sweep"]
    for index in range(0, len(sweep["threshold_tokens"]), 20):
        result = at_threshold(sweep["threshold_tokens"][index], form)
        assert sweep["lambda_max_rps"][index] == pytest.approx(result["lambda_max_rps"], rel=1e-9)
        assert sweep["egress_bps"][index] == pytest.approx(result["egress_bps"], rel=1e-9, abs=1e-3)
        for stage in STAGES:
            state = result["stages"][stage]
            expected = state and state["lambda_rps"]
            assert sweep[f"{stage}_lambda_rps"][index] == (expected and pytest.approx(expected, rel=1e-9))


def test_the_split_sweep_agrees_with_evaluate_at_the_given_threshold(form):
    sweep = whatif(load(BASE), form)["split_sweep"]
    assert sweep["prefill_instances"] == list(range(9))
    assert sweep["decode_instances"] == list(range(8, -1, -1))
    for n_p, n_d, rate in zip(
        *(sweep[k] for k in ("prefill_instances", "decode_instances", "lambda_max_rps")), strict=True
    ):
        split = {"clusters.pd.prefill_instances": n_p, "clusters.pd.decode_instances": n_d}
        assert rate == pytest.approx(evaluate(load(BASE, split), form)["lambda_max_rps"], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("form_", "published"), [("paper", 3.199), ("exact", 3.139)])
def test_the_best_of_the_split_sweep_is_the_published_optimum(form_, published):
    sweep = whatif(load(BASE), form_)["split_sweep"]
    top = max(range(9), key=lambda n_p: sweep["best_lambda_max_rps"][n_p])
    assert top == 3
    assert sweep["best_lambda_max_rps"][top] == pytest.approx(published, rel=1e-3)
    assert sweep["best_threshold_tokens"][top] == pytest.approx(19_650, rel=5e-3)


def test_the_prfaas_and_the_local_curve_cross_at_the_published_threshold():
    sweep = whatif(load(BASE), "paper")["threshold_sweep"]
    pairs = zip(sweep["prfaas_lambda_rps"], sweep["pd_p_lambda_rps"], strict=True)
    above = [remote is None or (local is not None and remote > local) for remote, local in pairs]
    first = above.index(True)
    assert not any(above[:first])
    assert all(above[first:])
    assert sweep["threshold_tokens"][first - 1] <= 19_625 <= sweep["threshold_tokens"][first]


def test_the_histogram_has_the_published_share_above_the_threshold():
    lengths = whatif(load(BASE))["lengths"]
    edges = lengths["edges_tokens"]
    assert (edges[0], edges[-1]) == (pytest.approx(128), pytest.approx(131_072))
    first = next(index for index, edge in enumerate(edges) if edge >= 19_400)
    assert sum(lengths["share"][first:]) <= 0.4957 <= sum(lengths["share"][first - 1 :])


def test_without_prfaas_there_is_no_threshold_to_sweep():
    around = whatif(load("case-study-homogeneous"))
    assert around["threshold_sweep"] is None
    assert around["split_sweep"]["best_lambda_max_rps"] is None
    assert around["split_sweep"]["best_threshold_tokens"] is None
    assert len(around["split_sweep"]["lambda_max_rps"]) == 13


@modest
@given(documents())
def test_the_curves_of_any_scenario_are_whole_and_agree(document):
    scenario = parse(document)
    around = whatif(scenario)
    assert json.dumps(around, allow_nan=False)
    assert around["result"] == evaluate(scenario)
    lengths, split, sweep = around["lengths"], around["split_sweep"], around["threshold_sweep"]
    assert len(lengths["edges_tokens"]) == len(lengths["share"]) + 1
    assert sum(lengths["share"]) == pytest.approx(1, abs=1e-9)
    assert min(lengths["share"]) >= -1e-12
    given_split = split["prefill_instances"].index(scenario.parsed.clusters[-1].prefill_instances)
    assert split["lambda_max_rps"][given_split] == pytest.approx(
        around["result"]["lambda_max_rps"], rel=1e-9, abs=1e-300
    )
    counts = {len(column) for column in split.values() if column is not None}
    assert counts == {scenario.parsed.clusters[-1].instances + 1}
    if sweep is None:
        return
    assert {len(column) for column in sweep.values()} == {len(sweep["threshold_tokens"])}
    assert sweep["threshold_tokens"] == sorted(sweep["threshold_tokens"])
    for index, most in enumerate(sweep["lambda_max_rps"]):
        rates = [sweep[f"{stage}_lambda_rps"][index] for stage in STAGES]
        assert most == min(rate for rate in rates if rate is not None)
