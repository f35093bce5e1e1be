"""Traffic as documents have it: every kind taken, told apart, and brought into a scenario's result."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.engine import arrivals, fitting, lengths
from planner.entries import check
from planner.entries.traffic import Traffic
from planner.evaluation import evaluate, optimize, whatif
from planner.scenario import load, parse
from tests.examples import examples
from tests.planner.documents import BASE, shipped

modest = examples(20)
LOG_NORMAL = {"distribution": "truncated_log_normal", "mu": 9.9, "sigma": 1.0, "min": 128, "max": 131072}
GAMMA = {"distribution": "gamma", "shape": 0.8, "mean": 20000, "min": 128, "max": 131072}
PARETO = {"distribution": "pareto", "alpha": 0.9, "min": 512, "max": 131072}
MIXTURE = {"distribution": "mixture", "components": [{**LOG_NORMAL, "weight": 0.25}, {**PARETO, "weight": 0.75}]}
RECORD = {"distribution": "empirical", "samples": [500, 9000, 60000], "counts": [10, 5, 1]}
OUTPUT = {"distribution": "correlated", "log_intercept": 3, "log_slope": 0.3, "sigma": 0.5, "min": 1, "max": 4096}
BY_LENGTH = {"reuse": "by_length", "tokens": [1000, 100_000], "hit_ratio": [0.1, 0.6]}
RECORDED = {
    "reuse": "recorded",
    "block_tokens": 512,
    "token_hit_ratio": 0.4,
    "uncached": {"samples": [0, 488, 30_000], "counts": [3, 5, 2]},
}
ARRIVALS = [
    {"process": "poisson"},
    {"process": "renewal", "cv": 2.5},
    {"process": "mmpp", "multipliers": [1, 8], "sojourn_s": [60, 5]},
    {"process": "diurnal", "amplitude": 0.5, "peak_hour": 15},
    {"process": "recorded", "interval_s": 60, "rate_rps": [1, 0, 3.5]},
]


def entry(**fields):
    return {"name": "chat", "input_tokens": LOG_NORMAL, "output_tokens": 1024, **fields}


def scenario(**fields):
    """The case study with other traffic."""
    document = shipped()
    document["traffic"].update(fields)
    return parse(document)


inputs = st.one_of(
    st.builds(lambda shape, mean: {**GAMMA, "shape": shape, "mean": mean}, st.floats(0.2, 20), st.floats(1000, 50_000)),
    st.builds(lambda alpha: {**PARETO, "alpha": alpha}, st.floats(0.1, 5)),
    st.builds(
        lambda share: {
            "distribution": "mixture",
            "components": [{**LOG_NORMAL, "weight": share}, {**GAMMA, "weight": 1 - share}],
        },
        st.floats(0.01, 0.99),
    ),
    st.lists(st.tuples(st.integers(1, 131072), st.integers(1, 10**9)), min_size=1, max_size=20).map(
        lambda pairs: {
            "distribution": "empirical",
            "samples": [length for length, _ in pairs],
            "counts": [count for _, count in pairs],
        }
    ),
)
traffics = st.fixed_dictionaries(
    {
        "input_tokens": inputs,
        "output_tokens": st.sampled_from([700, GAMMA | {"mean": 400, "min": 1, "max": 4096}, OUTPUT, RECORD]),
        "arrivals": st.sampled_from(ARRIVALS),
        "prefix": st.sampled_from([{"reuse": "none"}, BY_LENGTH]),
        "rate_rps": st.none() | st.floats(0.01, 100),
        "trace": st.none() | st.just("ab" * 32),
    }
)


@modest
@given(traffics)
def test_any_traffic_comes_back_from_yaml_and_json_as_an_entry_and_in_a_scenario(traffic):
    for write in (files.as_yaml, files.as_json):
        back = files.parse(write(entry(**traffic)))
        assert back == entry(**traffic)
        assert check("traffic", back) == check("traffic", entry(**traffic))
    complete = scenario(**traffic)
    back = parse(files.parse(files.as_yaml(complete.document())))
    assert back.document() == complete.document()
    assert evaluate(back) == evaluate(complete)


@modest
@given(traffics)
def test_any_traffic_has_a_result_that_json_can_hold(traffic):
    for found in (whatif(scenario(**traffic)), optimize(scenario(**traffic))):
        assert json.dumps(found, allow_nan=False)


def test_what_today_is_left_out_means_poisson_arrivals_and_no_reuse():
    traffic = Traffic.model_validate(entry())
    assert traffic.arrivals.engine() == arrivals.Poisson()
    assert traffic.arrivals == Traffic.model_validate(entry(arrivals={})).arrivals
    assert traffic.prefix.reuse == "none"
    assert traffic.rate_rps is traffic.trace is None
    stated = {"arrivals": {"process": "poisson"}, "prefix": {"reuse": "none"}, "trace": None}
    assert evaluate(scenario(**stated)) == evaluate(load(BASE))


@pytest.mark.parametrize(
    ("document", "engine"),
    [
        (LOG_NORMAL, lengths.TruncatedLogNormal(9.9, 1.0, 128, 131072)),
        (GAMMA, lengths.TruncatedGamma(0.8, 25000, 128, 131072)),
        ({**GAMMA, "mean": None, "scale": 25000}, lengths.TruncatedGamma(0.8, 25000, 128, 131072)),
        (PARETO, lengths.TruncatedPareto(0.9, 512, 131072)),
    ],
)
def test_a_distribution_is_the_engines(document, engine):
    assert Traffic.model_validate(entry(input_tokens=document)).input_tokens.lengths() == engine
    assert Traffic.model_validate(entry(output_tokens=document)).mean_output_tokens() == lengths.mean(engine)


def test_arrivals_are_the_engines():
    found = [Traffic.model_validate(entry(arrivals=each)).arrivals.engine() for each in ARRIVALS]
    assert found[:4] == [
        arrivals.Poisson(), arrivals.Renewal(2.5), arrivals.Mmpp2((1, 8), (60, 5)), arrivals.Diurnal(0.5, 15),
    ]  # fmt: skip
    assert found[4].mean_rps == 1.5


def test_a_fit_is_a_document_that_is_taken_as_the_same_distribution():
    drawn = lengths.Mixture(
        (0.4, 0.6), (lengths.TruncatedPareto(2.0, 100, 5000), lengths.TruncatedGamma(4.0, 5000, 2000, 1e5))
    ).quantile((np.arange(2000) + 0.5) / 2000)
    candidates = fitting.report(drawn)
    assert {found.parameters["distribution"] for found in candidates} >= {"truncated_log_normal", "gamma", "mixture"}
    for found in candidates:
        taken = Traffic.model_validate(entry(input_tokens=found.parameters)).input_tokens.lengths()
        at = np.geomspace(100, 1e5, 50)
        assert taken.between(0, at) == pytest.approx(found.distribution.between(0, at), abs=1e-9)


def test_decode_is_held_to_the_mean_output():
    """Eq. 5: Θ_pd-d = N_d · BS_max / (T_decode · E[L_out])."""
    outputs = {"distribution": "empirical", "samples": [100, 1100], "counts": [1, 3]}
    theta = evaluate(scenario(output_tokens=outputs))["theta_rps"]["pd_d"]
    assert theta == pytest.approx(5 * 20 / (0.025 * (100 + 3 * 1100) / 4))


def test_outputs_that_go_with_the_prompts_count_whole_prompts():
    record = {"distribution": "empirical", "samples": [1000, 10_000]}
    output = {**OUTPUT, "log_intercept": 0, "log_slope": 0.5, "sigma": 0.1, "min": 1, "max": 100_000}
    expected = (np.sqrt(1000) + np.sqrt(10_000)) / 2 * np.exp(0.1**2 / 2)
    found = scenario(input_tokens=record, output_tokens=output, prefix=BY_LENGTH)
    assert found.parsed.traffic.mean_output_tokens() == pytest.approx(expected)


def test_recorded_reuse_takes_the_place_of_the_prompts_and_says_so():
    found = evaluate(scenario(prefix=RECORDED))
    assert found["offload_fraction"] == pytest.approx(0.2)
    assert found["mean_offloaded_tokens"] == pytest.approx(30_000)
    assert found["mean_local_tokens"] == pytest.approx((3 * 1 + 5 * 488) / 8)  # wholly cached: one token is left
    assert any("Lengths are incremental" in note for note in found["notes"])
    assert not any("incremental" in note for note in evaluate(load(BASE))["notes"])


def test_reuse_by_length_leaves_the_rest_of_each_prompt():
    """Between its points the hit ratio is straight over ln l: at 10,000 tokens halfway between 1,000 and 100,000."""
    record = {"distribution": "empirical", "samples": [500, 10_000, 1_000_000]}
    found = scenario(input_tokens=record, prefix=BY_LENGTH).parsed.traffic.incremental_lengths()
    assert found.samples == pytest.approx([500 * 0.9, 10_000 * 0.65, 1_000_000 * 0.4])


def test_a_cache_that_holds_a_part_of_every_prompt_lets_more_through():
    level = {"reuse": "by_length", "tokens": [1000], "hit_ratio": [0.3]}
    bare, cached = optimize(load(BASE)), optimize(scenario(prefix=level))
    assert cached["lambda_max_rps"] > bare["lambda_max_rps"]
    assert cached["ttft_unloaded_s"]["mean"] < bare["ttft_unloaded_s"]["mean"]
    none = {**level, "hit_ratio": [0.0]}
    assert evaluate(scenario(prefix=none))["lambda_max_rps"] == pytest.approx(
        evaluate(load(BASE))["lambda_max_rps"], rel=2e-3
    )


def kinds(document):
    return evaluate(parse(document))["evidence"]["stages"]


def test_a_number_rests_on_the_reuse_and_on_the_prompts_where_they_enter():
    document = shipped()
    document["traffic"]["prefix"] = RECORDED
    document["provenance"]["traffic.prefix"] = {"kind": "estimated", "source": "a guess"}
    assert kinds(document)["prfaas"] == "estimated"
    document["provenance"]["traffic.prefix"] = {"kind": "measured", "source": "the trace"}
    document["provenance"]["traffic.input_tokens"] = {"kind": "user", "source": "a guess"}
    assert kinds(document)["prfaas"] != "user"  # of the prompts nothing is left
    document["traffic"]["output_tokens"] = OUTPUT
    assert kinds(document)["pd_d"] == "user"  # but the outputs go with them


def test_the_parts_of_a_mixture_are_one_figure():
    figures = scenario(input_tokens=MIXTURE).figures()
    assert "traffic.input_tokens.components" in figures
    assert not any("None" in path for path in figures)


UNCACHED = {**RECORDED, "uncached": {"samples": [5, 200_000]}}
BAD = [
    ({"input_tokens": {**GAMMA, "scale": 5}}, "input_tokens", "either mean or scale"),
    ({"input_tokens": {**GAMMA, "mean": None}}, "input_tokens", "either mean or scale"),
    ({"input_tokens": {**GAMMA, "shape": 0}}, "input_tokens.shape", "at least 0.01"),
    ({"input_tokens": {**GAMMA, "mean": 0.1}}, "input_tokens", "no request falls between"),
    ({"input_tokens": {**PARETO, "alpha": -1}}, "input_tokens.alpha", "at least 0.001"),
    ({"input_tokens": {**PARETO, "sigma": 1}}, "input_tokens.sigma", "allowed: distribution, alpha, min, max"),
    ({"input_tokens": {**MIXTURE, "components": []}}, "input_tokens.components", "at least 1"),
    (
        {"input_tokens": {**MIXTURE, "components": [{**PARETO, "weight": 0.4}]}},
        "input_tokens",
        "weights must sum to 1, got 0.4",
    ),
    (
        {"input_tokens": {**MIXTURE, "components": [{**PARETO, "weight": 1, "mu": 1}]}},
        "input_tokens.components.0.mu",
        "allowed: distribution, alpha, min, max, weight",
    ),
    (
        {"input_tokens": {**MIXTURE, "components": [{**RECORD, "weight": 1}]}},
        "input_tokens.components.0.distribution",
        "must be one of 'truncated_log_normal', 'gamma', 'pareto'",
    ),
    ({"input_tokens": {**RECORD, "counts": [1, 2]}}, "input_tokens", "as many counts as samples"),
    ({"input_tokens": {**RECORD, "counts": [1, 0, 2]}}, "input_tokens.counts.1", "at least 1"),
    ({"input_tokens": {**RECORD, "counts": [1, 1.5, 2]}}, "input_tokens.counts.1", "whole number"),
    ({"output_tokens": None}, "output_tokens", "must be a number"),
    ({"output_tokens": {"distribution": "zipf"}}, "output_tokens.distribution", "'mixture', 'correlated'"),
    ({"output_tokens": {"mean": 5}}, "output_tokens.distribution", "is missing"),
    ({"output_tokens": {**PARETO, "beta": 5}}, "output_tokens.beta", "allowed: distribution, alpha, min, max"),
    ({"output_tokens": {**OUTPUT, "sigma": 0}}, "output_tokens.sigma", "at least 0.001"),
    ({"output_tokens": {**OUTPUT, "max": 1}}, "output_tokens", "needs 0 < min < max"),
    ({"arrivals": {"process": "renewal"}}, "arrivals.cv", "is missing"),
    ({"arrivals": {"cv": 2}}, "arrivals.process", "is missing"),
    ({"arrivals": {**ARRIVALS[2], "multipliers": [0, 0]}}, "arrivals", "nor both 0"),
    ({"arrivals": {**ARRIVALS[2], "multipliers": [1]}}, "arrivals.multipliers", "at least 2"),
    ({"arrivals": {**ARRIVALS[3], "amplitude": 1.5}}, "arrivals.amplitude", "at most 1"),
    ({"arrivals": {**ARRIVALS[4], "rate_rps": [0, 0]}}, "arrivals", "not all 0"),
    ({"prefix": {"reuse": "all"}}, "prefix.reuse", "'none', 'by_length', 'recorded'"),
    ({"prefix": {**BY_LENGTH, "hit_ratio": [0.1]}}, "prefix", "as many hit ratios as tokens"),
    ({"prefix": {**BY_LENGTH, "tokens": [1000, 1000]}}, "prefix", "tokens must rise, but 1000 is followed by 1000"),
    ({"prefix": {**BY_LENGTH, "hit_ratio": [0.1, 1.1]}}, "prefix.hit_ratio.1", "at most 1"),
    ({"prefix": {**RECORDED, "uncached": {"samples": []}}}, "prefix.uncached.samples", "at least 1"),
    ({"prefix": UNCACHED}, None, "reaches 200000 tokens, but input_tokens only 131072"),
    ({"trace": ""}, "trace", "at least 1"),
]


@pytest.mark.parametrize(("fields", "field", "said"), BAD, ids=[f"{field}-{said:.25}" for _, field, said in BAD])
@pytest.mark.parametrize("where", ["entry", "scenario"])
def test_impossible_traffic_is_refused_with_its_field_and_what_is_allowed(where, fields, field, said):
    with pytest.raises(DocumentError) as refused:
        check("traffic", entry(**fields)) if where == "entry" else scenario(**fields)
    place = "" if where == "entry" else "traffic"
    expected = ".".join(filter(None, [place, field])) or ""
    assert [(e.field or "", e.message) for e in refused.value.errors if said in e.message], refused.value.errors
    assert expected in [error.field or "" for error in refused.value.errors]
