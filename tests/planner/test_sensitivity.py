"""Tornado, heat map, uncertainty and growth of a comparison: the case study by hand, and what is asked and refused."""

import json
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from planner import catalog, comparison, evaluation
from planner.comparing.break_even import heat_map
from planner.comparing.growth import grown
from planner.comparing.inputs import inputs, subject
from planner.comparing.questions import GrowthAsked, HeatMapAsked, SensitivityAsked, UncertaintyAsked, read
from planner.comparing.sensitivity import tornado
from planner.comparing.uncertainty import uncertainty
from planner.documents.errors import DocumentError
from planner.scenario import parse
from tests.engine.case_study import H20
from tests.examples import examples
from tests.planner.documents import documents, shipped

HOMOGENEOUS, NAIVE, PRFAAS_PD = "case-study-homogeneous", "case-study-naive", "case-study-prfaas-pd"
CASE = catalog.entry("comparisons", "case-study")
PROFILE_H20, PROFILE_H200 = "t_prefill.internal-1t-hybrid-h20x8", "t_prefill.internal-1t-hybrid-h200x8"
WITHOUT_ERRORS = {"measured": 0.0, "published": 0.0, "inferred": 0.0, "estimated": 0.0, "user": 0.0}


def asked(*scenarios, **changes):
    document = {**CASE, **changes}
    if scenarios:
        document |= {"scenarios": list(scenarios), "baseline": None}
        document["baseline"] = scenarios[0] if isinstance(scenarios[0], str) else scenarios[0]["name"]
    return comparison.parse(document, catalog.SHIPPED)


def renamed(name, source=PRFAAS_PD, **fields):
    return parse(shipped(source), {"name": name, **fields}).document()


def told(problem):
    return [(each.field, each.message) for each in problem.value.errors]


def outcome(result, name):
    return next(each for each in result["outcomes"] if each["outcome"] == name)


def bars(result, name):
    return {each["input"]: each for each in outcome(result, name)["bars"]}


# --- inputs ------------------------------------------------------------------------------------------------------


def test_every_input_has_its_value_unit_place_and_origin():
    case = asked()
    known = {each.name: each for each in inputs(case, case.scenarios[2], subject(case, case.scenarios[2]))}
    step = known["decode_step"]
    assert (step.value, step.unit, step.path, step.kind) == (0.025, "s", "decode.step_s", "inferred")
    assert known["prompt_tokens"].value == pytest.approx(27_486, abs=0.5)
    assert known[PROFILE_H20].value == pytest.approx(float(H20(known["prompt_tokens"].value)))
    assert known[PROFILE_H20].kind == "inferred"
    assert (known["price.h200"].value, known["price.h200"].kind) == (2.1, "inferred")
    assert {name for name, each in known.items() if each.is_decision} == {"threshold", "n_prfaas", "n_p", "n_d"}


def test_the_same_figure_of_the_same_source_has_one_key_and_another_value_or_source_another():
    typed = renamed("typed", **{"decode.step_s": 0.025})
    quicker = renamed("quicker", **{"decode.step_s": 0.02})
    case = asked(PRFAAS_PD, HOMOGENEOUS, typed, quicker)
    known = [{each.name: each.key for each in inputs(case, one, subject(case, one))} for one in case.scenarios]
    for name in (PROFILE_H20, "s_kv", "prompt_tokens", "max_batch", "price.h20"):
        assert len({each[name] for each in known}) == 1
    steps = [each["decode_step"] for each in known]
    assert steps[0] == steps[1]
    assert len(set(steps)) == 3


def test_a_profile_that_both_sides_use_is_one_figure_that_moves_both():
    """As T_prefill is the same on either side, so that Λ_max is in proportion to it where prefill binds alone."""
    same = renamed("same", **{"clusters.prfaas.hardware": "h20", "clusters.pd.decode_instances": 400,
                              "clusters.pd.instances": 403})  # fmt: skip
    result = tornado(asked(same, HOMOGENEOUS), SensitivityAsked())
    assert [each["name"] for each in result["inputs"] if each["name"].startswith("t_prefill")] == [PROFILE_H20]
    for name, elasticity in (("lambda_max_rps", -1.0), ("ttft_p90_s", 1.0)):
        assert bars(result, name)[PROFILE_H20]["elasticity"] == pytest.approx(elasticity, rel=1e-6)


def test_elasticities_of_cost_to_all_prices_add_up_to_one():
    priced = renamed("priced", **{"links.wan.price": {"usd_per_gb": 0.002, "usd_per_month": 9000}})
    case = asked(priced, HOMOGENEOUS, power={"usd_per_kwh": 0.12, "pue": 1.3})
    result = tornado(case, SensitivityAsked())
    prices = ["price.h200", "price.h20", "electricity", "link.usd_per_gb", "link.usd_per_month"]
    found = [bars(result, "usd_per_million_tokens")[name]["elasticity"] for name in prices]
    assert min(found) > 0
    assert sum(found) == pytest.approx(1.0, rel=1e-6)
    assert not any(bars(result, "lambda_max_rps")[name]["has_influence"] for name in prices)


@pytest.mark.parametrize(
    ("changes", "name", "reason"),
    [
        ({"links.wan.bandwidth_bps": "unlimited"}, "bandwidth", "is unlimited"),
        ({"routing": {"policy": "all_remote"}, "free": []}, "threshold", "no threshold"),
        (
            {"traffic.input_tokens": {"distribution": "empirical", "samples": [900.0, 30000.0]}},
            "prompt_sigma",
            "log-normal",
        ),
        ({"routing.threshold_tokens": 0}, "threshold", "is 0"),
    ],
)
def test_what_cannot_be_varied_says_why(changes, name, reason):
    case = asked(renamed("changed", **changes), HOMOGENEOUS)
    found = next(each for each in tornado(case, SensitivityAsked())["inputs"] if each["name"] == name)
    assert not found["varies"]
    assert reason in found["reason"]


def test_under_a_router_that_knows_no_lengths_the_share_is_an_input_and_t_is_not():
    blind = renamed("blind", **{"routing": {"policy": "blind", "remote_share": 0.5}, "free": []})
    found = bars(tornado(asked(blind, HOMOGENEOUS), SensitivityAsked(retuned=True)), "lambda_max_rps")
    assert "threshold" not in found
    assert found["remote_share"]["low_input"] == pytest.approx(0.4)


# --- tornado -----------------------------------------------------------------------------------------------------


def test_a_bar_is_what_an_evaluation_with_that_value_says():
    result = tornado(asked(), SensitivityAsked(scenario=PRFAAS_PD))
    for name, path, value in (
        ("threshold", "routing.threshold_tokens", 19_400),
        ("decode_step", "decode.step_s", 0.025),
        ("prompt_sigma", "traffic.input_tokens.sigma", 1.0),
    ):
        for end, factor in (("low", 0.8), ("high", 1.2)):
            expected = evaluation.evaluate(parse(shipped(), {path: factor * value}))
            assert bars(result, "lambda_max_rps")[name][end] == pytest.approx(expected["lambda_max_rps"], rel=1e-9)
            assert bars(result, "ttft_p90_s")[name][end] == pytest.approx(expected["ttft_unloaded_s"]["p90"], rel=1e-9)


def test_the_widest_bar_comes_first_and_those_without_influence_last():
    found = outcome(tornado(asked(), SensitivityAsked(scenario=PRFAAS_PD)), "lambda_max_rps")
    widths = [(bar["has_influence"], bar["spread"]) for bar in found["bars"]]
    assert widths == sorted(widths, reverse=True)
    assert found["bars"][0]["input"] == "n_prfaas"
    still = [bar for bar in found["bars"] if not bar["has_influence"]]
    assert {"s_kv", "bandwidth", "price.h20"} <= {bar["input"] for bar in still}
    assert all(bar["low"] == pytest.approx(found["value"]) for bar in still)


def test_a_fall_on_both_sides_is_as_wide_as_the_deeper_one():
    """At 19,400 tokens t is near its best: either way less is carried."""
    found = outcome(tornado(asked(), SensitivityAsked(scenario=PRFAAS_PD)), "lambda_max_rps")
    bar = bars({"outcomes": [found]}, "lambda_max_rps")["threshold"]
    assert max(bar["low"], bar["high"]) < found["value"]
    assert bar["spread"] == pytest.approx(found["value"] - min(bar["low"], bar["high"]))


def test_retuned_is_never_worse_and_does_not_depend_on_the_given_threshold():
    found = outcome(tornado(asked(), SensitivityAsked(scenario=PRFAAS_PD, retuned=True)), "lambda_max_rps")
    for bar in found["bars"]:
        assert bar["retuned"]["low"] >= bar["low"] * (1 - 1e-9)
        assert bar["retuned"]["high"] >= bar["high"] * (1 - 1e-9)
    threshold = bars({"outcomes": [found]}, "lambda_max_rps")["threshold"]["retuned"]
    assert threshold["low"] == pytest.approx(found["retuned_value"])
    assert threshold["high"] == pytest.approx(found["retuned_value"])


def test_an_own_range_takes_the_place_of_the_share():
    own = [{"input": "n_d", "low": 0.25, "high": 3.0}]
    found = bars(tornado(asked(), read(SensitivityAsked, {"ranges": own, "share": 0.1})), "lambda_max_rps")
    assert (found["n_d"]["low_factor"], found["n_d"]["high_input"]) == (0.25, 9.0)
    assert found["n_p"]["low_factor"] == pytest.approx(0.9)


def test_a_rate_that_one_end_does_not_carry_has_no_ttft_there():
    question = SensitivityAsked(scenario=PRFAAS_PD, loaded=True, rate_rps=3.0)
    result = tornado(asked(), question)
    assert bars(result, "ttft_p90_loaded_s")["n_prfaas"]["low"] is None
    assert outcome(result, "ttft_p90_loaded_s")["bars"][0]["spread"] is None
    json.dumps(result, allow_nan=False)


def test_without_a_price_cost_is_null_and_a_note_says_so():
    case = asked(prices=[])
    case = comparison.parse({**case.document(), "listed": [], "prices": []}, Unpriced())
    result = tornado(case, SensitivityAsked())
    assert outcome(result, "usd_per_million_tokens")["value"] is None
    assert any("costs" in note for note in result["notes"])
    with pytest.raises(DocumentError) as problem:
        heat_map(case, HeatMapAsked())
    assert told(problem)[0][0] == "outcome"
    assert outcome(uncertainty(case, UncertaintyAsked()), "usd_per_million_tokens")["beats"] is None


class Unpriced:
    """The shipped catalogue without its offers."""

    def prices(self, hardware):
        return []

    def __getattr__(self, name):
        return getattr(catalog.SHIPPED, name)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scenario": "none"}, "scenario"),
        ({"ranges": [{"input": "colour", "low": 0.5, "high": 2}]}, "ranges.colour"),
        ({"ranges": [{"input": "threshold", "low": 0.5, "high": 2}]}, "ranges.threshold"),
        ({"ranges": [{"input": "n_d", "low": 2, "high": 0.5}]}, "ranges.0"),
        ({"share": 1.5}, "share"),
        ({"load": 1.0}, "load"),
    ],
)
def test_a_question_that_cannot_be_answered_names_its_field(body, field):
    with pytest.raises(DocumentError) as problem:
        tornado(asked(), read(SensitivityAsked, body))
    assert told(problem)[0][0] == field


# --- heat map ----------------------------------------------------------------------------------------------------


def test_the_ranking_flips_at_the_price_ratio_by_hand():
    """(32 r + 64) / Λ_A = 96 / Λ_B, in prices of an H20: r = (96 Λ_A / Λ_B − 64) / 32."""
    rates = {name: evaluation.evaluate(parse(shipped(name)))["lambda_max_rps"] for name in (PRFAAS_PD, HOMOGENEOUS)}
    by_hand = (96 * rates[PRFAAS_PD] / rates[HOMOGENEOUS] - 64) / 32
    result = heat_map(asked(), HeatMapAsked())
    ties = {each["input"]: each for each in result["break_even"]}
    for name, ratio in (("price.h200", by_hand), ("price.h20", 1 / by_hand)):
        assert ties[name]["price_ratios"][0]["ratio"] == pytest.approx(ratio, rel=1e-9)
    assert ties["price.h200"]["at"] == pytest.approx(1.05 * by_hand, rel=1e-9)
    assert "2.61 × price of h20" in ties["price.h200"]["sentence"]
    assert (result["leader"], result["x"]["input"]) == (PRFAAS_PD, "price.h200")
    assert ties["s_kv"]["factor"] is None


def test_what_both_have_moves_in_both_and_decisions_in_one():
    result = heat_map(asked(), HeatMapAsked(outcome="lambda_max_rps"))
    moves = [(each["input"], each["moves_in"]) for each in result["break_even"]]
    assert (PROFILE_H20, [PRFAAS_PD, HOMOGENEOUS]) in moves
    assert (PROFILE_H200, [PRFAAS_PD]) in moves
    assert [names for name, names in moves if name == "n_d"] == [[PRFAAS_PD], [HOMOGENEOUS]]


def test_notes_name_deployments_by_their_titles():
    both = asked(renamed("a", title="One"), renamed("b", title="Other"))
    assert heat_map(both, HeatMapAsked())["notes"][0].startswith("The ratio is Other over One; a figure")


def test_a_common_figure_can_be_moved_in_one_scenario_alone():
    x = {"input": PROFILE_H20, "scenario": HOMOGENEOUS}
    result = heat_map(asked(), read(HeatMapAsked, {"outcome": "ttft_p90_s", "x": x, "points": 3}))
    assert result["x"]["moves_in"] == [HOMOGENEOUS]
    # the baseline's TTFT is in proportion to it
    middle = result["ratio"][1]
    assert middle[0] / middle[1] == pytest.approx(2.0, rel=1e-9)


def test_the_break_even_line_passes_through_the_ties_of_its_axes():
    result = heat_map(asked(), read(HeatMapAsked, {"y": {"input": "price.h20"}, "points": 41}))
    tie = next(each["factor"] for each in result["break_even"] if each["input"] == "price.h200")
    (line,) = result["ties"]
    nearest = min(line, key=lambda point: abs(np.log(point["y_factor"])))
    assert nearest["x_factor"] / nearest["y_factor"] == pytest.approx(tie, rel=1e-3)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"first": "none"}, "first"),
        ({"first": HOMOGENEOUS}, "first"),
        ({"second": "none"}, "second"),
        ({"x": {"input": "colour"}}, "x.input"),
        ({"x": {"input": "n_d"}}, "x.scenario"),
        ({"y": {"input": "n_d", "scenario": NAIVE}}, "y.scenario"),
        ({"y": {"input": "n_prfaas", "scenario": HOMOGENEOUS}}, "y.scenario"),
        ({"x": {"input": "s_kv", "low": 2, "high": 1}}, "x"),
        ({"points": 42}, "points"),
        ({"outcome": "colour"}, "outcome"),
        ({"outcome": "ttft_p90_loaded_s"}, "outcome"),
    ],
)
def test_a_map_that_cannot_be_drawn_names_its_field(body, field):
    with pytest.raises(DocumentError) as problem:
        heat_map(asked(), read(HeatMapAsked, body))
    assert told(problem)[0][0] == field


# --- uncertainty -------------------------------------------------------------------------------------------------


def uncertain(case, **question):
    return uncertainty(case, read(UncertaintyAsked, question))


def test_the_same_question_has_the_same_answer_bit_for_bit_and_another_seed_another():
    assert uncertain(asked(), draws=200) == uncertain(asked(), draws=200)
    assert uncertain(asked(), draws=200) != uncertain(asked(), draws=200, seed=2)


def test_a_scenarios_draws_do_not_depend_on_its_company():
    alone = outcome(uncertain(asked(HOMOGENEOUS, PRFAAS_PD), draws=300), "lambda_max_rps")["spread"]
    among = outcome(uncertain(asked(NAIVE, PRFAAS_PD, HOMOGENEOUS), draws=300), "lambda_max_rps")["spread"]
    assert alone[1] == among[1]
    assert alone[0] == among[2]


def test_the_same_deployment_twice_ties_in_every_draw():
    result = uncertain(asked(PRFAAS_PD, renamed("copy")), draws=200)
    for name in ("lambda_max_rps", "usd_per_million_tokens", "ttft_p90_s"):
        assert outcome(result, name)["beats"] == [[0.5, 0.5], [0.5, 0.5]]
        assert outcome(result, name)["best"] == [0.5, 0.5]


def test_a_common_figure_does_not_put_in_doubt_who_is_better():
    """More of everything carries more, whatever the figures, though each may carry what the other does."""
    more = {"clusters.pd.instances": 15, "clusters.pd.prefill_instances": 11, "clusters.pd.decode_instances": 4}
    result = uncertain(asked(HOMOGENEOUS, renamed("more", HOMOGENEOUS, **more)), draws=500)
    found = outcome(result, "lambda_max_rps")
    assert found["beats"][1][0] == 1.0
    assert found["spread"][0]["p95"] > found["spread"][1]["p05"]


def test_with_figures_of_their_own_the_probability_is_the_normal_distributions():
    """Decode alone binds in both: Λ ∝ 1 / step, and the steps are typed, so that ln Λ differ by √2 · 10 %."""
    wide = {"clusters.pd.prefill_instances": 2000 - 3, "clusters.pd.instances": 2000}
    ones = [
        renamed(name, HOMOGENEOUS, **wide, **{"clusters.pd.decode_instances": 3, "decode.step_s": step})
        for name, step in (("quick", 0.024), ("slow", 0.025))
    ]
    result = uncertain(asked(*ones), draws=4000, sigmas={**WITHOUT_ERRORS, "user": 0.10}, uncertain_prices=False)
    found = outcome(result, "lambda_max_rps")
    expected = ndtr(np.log(25 / 24) / (0.10 * np.sqrt(2)))
    assert found["beats"][0][1] == pytest.approx(expected, abs=4 * found["beats_error"][0][1])
    spread = found["spread"][1]
    assert spread["p95"] / spread["as_given"] == pytest.approx(np.exp(0.10 * 1.645), rel=0.02)


def test_without_errors_every_draw_is_the_result_as_given():
    result = uncertain(asked(), draws=100, sigmas=WITHOUT_ERRORS)
    for each in result["outcomes"]:
        for spread in each["spread"]:
            assert [spread["p05"], spread["mean"]] == pytest.approx([spread["as_given"]] * 2, rel=1e-9)


def test_prices_may_be_taken_as_given_and_decisions_always_are():
    given_prices = {each["name"]: each for each in uncertain(asked(), draws=100, uncertain_prices=False)["inputs"]}
    uncertain_prices = {each["name"]: each for each in uncertain(asked(), draws=100)["inputs"]}
    assert given_prices["price.h200"]["sigma"] == 0.0
    assert uncertain_prices["price.h200"]["sigma"] == 0.15
    assert uncertain_prices["threshold"]["sigma"] == 0.0
    assert uncertain_prices[PROFILE_H20]["used_in"] == [HOMOGENEOUS, NAIVE, PRFAAS_PD]


def test_too_many_draws_of_a_profile_that_falls_are_refused():
    document = shipped()
    tokens = [1000.0 + 100 * at for at in range(400)]
    seconds = [1.0 + 0.01 * (at % 2) + at / 100 for at in range(400)]
    for profile in document["model"]["profiles"]:
        profile |= {"tokens": tokens, "seconds": seconds}
    case = asked({**document, "name": "wavy"}, HOMOGENEOUS)
    with pytest.raises(DocumentError) as problem:
        uncertain(case, draws=5000)
    assert told(problem)[0][0] == "draws"
    with pytest.raises(DocumentError) as problem:
        heat_map(case, HeatMapAsked(first=HOMOGENEOUS, second="wavy", outcome="ttft_p90_s"))
    assert told(problem)[0][0] == "outcome"


@pytest.mark.parametrize("draws", [100, 1000])
def test_errors_that_leave_no_lengths_are_refused(draws):
    narrow = renamed("narrow", **{"traffic.input_tokens.sigma": 0.001})
    with pytest.raises(DocumentError) as problem:
        uncertain(asked(narrow, HOMOGENEOUS), draws=draws, sigmas={"published": 1.0, "user": 0.0})
    assert told(problem)[0][0] == "sigmas"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"draws": 20_001}, "draws"),
        ({"draws": 99}, "draws"),
        ({"seed": -1}, "seed"),
        ({"sigmas": {"measured": -0.1}}, "sigmas.measured"),
        ({"sigmas": {"guessed": 0.1}}, "sigmas.guessed"),
        ({"sigmas": {"user": "much"}}, "sigmas.user"),
    ],
)
def test_assumptions_that_are_none_name_their_field(body, field):
    with pytest.raises(DocumentError) as problem:
        uncertain(asked(), **body)
    assert told(problem)[0][0] == field


# --- growth ------------------------------------------------------------------------------------------------------


def test_what_is_carried_is_the_lesser_of_the_traffic_and_lambda():
    result = grown(asked(), GrowthAsked())
    for each in result["scenarios"]:
        for speed in each["speeds"]:
            for cell in speed["cells"]:
                assert cell["carried_rps"] == min(cell["traffic"] * each["base_rps"], speed["lambda_max_rps"])
                assert max(cell["utilisation"].values()) == pytest.approx(cell["carried_rps"] / speed["lambda_max_rps"])


def test_the_base_is_the_offered_rate_or_else_85_percent_of_lambda():
    offered = renamed("offered", **{"traffic.rate_rps": 1.5})
    result = grown(asked(PRFAAS_PD, offered), GrowthAsked())
    most = evaluation.evaluate(parse(shipped()))["lambda_max_rps"]
    assert [each["base_rps"] for each in result["scenarios"]] == [pytest.approx(0.85 * most), 1.5]
    assert "85" in result["scenarios"][0]["base"]
    assert result["scenarios"][1]["base"] == "traffic.rate_rps"


def test_egress_of_the_case_study_and_the_multiple_at_which_the_link_saturates():
    """12 of 100 Gbps at Λ_max, so that the link saturates at 100 / 12 of it; decode does at 3.906 req/s."""
    most = evaluation.evaluate(parse(shipped()))
    found = grown(asked(), GrowthAsked(traffic=[1 / 0.85], chips=[1.0]))["scenarios"][2]
    (speed,) = found["speeds"]
    assert speed["cells"][0]["egress_bps"] == pytest.approx(most["egress_bps"], rel=1e-9)
    assert speed["saturates_at"]["link"] == pytest.approx(100e9 / most["egress_bps"] / 0.85, rel=1e-9)
    assert speed["saturates_at"]["pd_d"] == pytest.approx(3.90625 / found["base_rps"], rel=1e-9)
    assert found["link_binds_from"]["as_given"] is None
    assert found["link_binds_from"]["other_stages_aside"] == pytest.approx(100e9 / most["egress_bps"], rel=1e-9)
    assert found["binds_before_link"] == ["pd_d"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"links.wan.achieved_bps": 0.0}, "Its link is down: nothing crosses it, however fast chips are."),
        ({"links.wan.bandwidth_bps": "unlimited"}, "Its link never binds: it is unlimited."),
        (
            {"clusters.pd.prefill_instances": 0, "clusters.pd.decode_instances": 8},
            "Its link never binds: nothing crosses it.",
        ),
    ],
)
def test_a_link_that_nothing_can_fill_is_told(changed, said):
    found = grown(asked(PRFAAS_PD, renamed("changed", **changed)), GrowthAsked())
    assert found["scenarios"][1]["sentence"] == said


def test_with_retuned_thresholds_no_less_is_carried():
    given_t, best = (
        grown(asked(), GrowthAsked(retuned=retuned))["scenarios"][2]["speeds"] for retuned in (False, True)
    )
    assert all(b["lambda_max_rps"] >= a["lambda_max_rps"] for a, b in zip(given_t, best, strict=True))


@pytest.mark.parametrize(
    ("body", "field"),
    [({"traffic": []}, "traffic"), ({"chips": [1000.0]}, "chips.0"), ({"chips": [1.0] * 9}, "chips")],
)
def test_growth_that_cannot_be_shown_names_its_field(body, field):
    with pytest.raises(DocumentError) as problem:
        grown(asked(), read(GrowthAsked, body))
    assert told(problem)[0][0] == field


# --- anything ----------------------------------------------------------------------------------------------------


@given(documents(), st.sampled_from(["exact", "paper"]))
@examples(5)
def test_any_scenario_is_answered_in_plain_numbers(document, form):
    other = {**deepcopy(document), "name": "other"}
    other["decode"]["step_s"] *= 1.1
    case = asked(document, other, form=form)
    question = SensitivityAsked(retuned=True, loaded=True)
    for result in (
        tornado(case, question),
        heat_map(case, HeatMapAsked(outcome="lambda_max_rps", points=3)),
        uncertain(case, draws=100),
        grown(case, GrowthAsked(retuned=True)),
    ):
        json.dumps(result, allow_nan=False)
