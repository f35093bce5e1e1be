"""Every figure says where it comes from, and a result says what its weakest figure rests on."""

import pytest

from planner.documents.fields import PROVENANCE_KINDS
from planner.evaluation import evaluate, optimize
from planner.scenario import SHIPPED, load, parse
from tests.planner.documents import BASE, shipped


def everything(kind):
    """The shipped document with one kind of evidence behind all of it."""
    document = shipped()
    parts = ("model", "clusters", "links", "traffic", "decode", "routing")
    document["provenance"] = {part: {"kind": kind, "source": "a test"} for part in parts}
    return document


def test_the_inferred_h20_profile_says_so():
    origin = load(BASE).provenance("model.profiles.internal-1t-hybrid-h20x8.seconds")
    assert origin["kind"] == "inferred"
    assert "Not published" in origin["source"]


def test_the_measured_profile_of_table_5_is_published():
    assert load(BASE).provenance("model.profiles.internal-1t-hybrid-h200x8.seconds")["kind"] == "published"
    assert "table 5" in load(BASE).provenance("model.s_kv.bytes")["source"]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_figure_of_a_shipped_scenario_has_a_source(name):
    scenario = load(name)
    assert scenario.figures()
    assert [path for path in scenario.figures() if "arXiv 2604.15039" not in scenario.provenance(path)["source"]] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_result_is_no_better_than_its_inferred_decode_step(name):
    assert evaluate(load(name))["provenance"] == "inferred"


@pytest.mark.parametrize("kind", PROVENANCE_KINDS)
def test_a_result_has_the_kind_that_all_its_figures_have(kind):
    assert evaluate(parse(everything(kind)))["provenance"] == kind


@pytest.mark.parametrize("weaker", PROVENANCE_KINDS[1:])
def test_one_weaker_figure_is_what_the_result_rests_on(weaker):
    document = everything("measured")
    document["provenance"]["decode.step_s"] = {"kind": weaker, "source": "a guess"}
    assert evaluate(parse(document))["provenance"] == weaker


def test_a_figure_without_a_source_counts_as_the_users():
    document = everything("measured")
    del document["provenance"]["decode"]
    assert evaluate(parse(document))["provenance"] == "user"


def test_the_nearest_entry_counts():
    document = everything("inferred")
    document["provenance"]["links.wan.bandwidth_bps"] = {"kind": "measured", "source": "iperf3"}
    scenario = parse(document)
    assert scenario.provenance("links.wan.bandwidth_bps") == {"kind": "measured", "source": "iperf3"}
    assert scenario.provenance("links.wan.rtt_s")["kind"] == "inferred"


def test_a_field_set_by_hand_is_the_users():
    scenario = load(BASE, {"links.wan.bandwidth_bps": 6e9})
    assert scenario.provenance("links.wan.bandwidth_bps") == {"kind": "user", "source": "set by hand"}
    assert scenario.provenance("links.wan")["kind"] == "published"
    assert evaluate(scenario)["provenance"] == "user"


def test_a_whole_part_set_by_hand_loses_the_sources_of_what_was_in_it():
    model = shipped()["model"]
    scenario = load(BASE, {"model": model})
    assert scenario.provenance("model.profiles.internal-1t-hybrid-h20x8.seconds")["kind"] == "user"


def test_what_does_not_enter_a_result_does_not_weaken_it():
    document = everything("measured")
    names = {"name": "renamed", "title": "Mine", "description": "of mine", "slo.tokens_per_s": 20, "free": []}
    assert evaluate(parse(document, names))["provenance"] == "measured"


def test_a_reference_brings_its_sources_even_where_the_document_has_others():
    document = everything("measured")
    del document["provenance"]["model"]
    document["model"] = "internal-1t-hybrid"
    scenario = parse(document)
    assert scenario.provenance("model.profiles.internal-1t-hybrid-h20x8")["kind"] == "inferred"
    assert scenario.provenance("traffic.output_tokens")["kind"] == "measured"


def test_a_reference_given_by_hand_keeps_the_catalogues_sources():
    scenario = load(BASE, {"traffic": "case-study"})
    assert scenario.provenance("traffic.input_tokens.mu")["kind"] == "published"


def test_an_optimum_is_marked_as_found_and_does_not_weaken_the_result():
    best = optimize(parse(everything("measured")))
    found = parse(best["scenario_document"])
    assert best["provenance"] == "measured"
    for path in best["varied"]:
        assert found.provenance(path)["kind"] == "estimated"
        assert "found by optimize, exact form" in found.provenance(path)["source"]


def test_an_optimum_saved_and_evaluated_later_is_an_estimate():
    best = optimize(parse(everything("measured")))
    assert evaluate(parse(best["scenario_document"]))["provenance"] == "estimated"


def test_each_number_names_its_own_evidence():
    """Lengths and the H200 profile are published, the H20 profile and decode are inferred."""
    known = evaluate(load("case-study-prfaas-pd"))["evidence"]
    assert known["stages"] == {"prfaas": "published", "link": "published", "pd_p": "inferred", "pd_d": "inferred"}
    assert (known["offload_fraction"], known["lambda_max_rps"]) == ("published", "inferred")
    assert evaluate(load("case-study-naive"))["evidence"]["ttft_unloaded_s"] == "published"


def test_a_stage_that_nobody_passes_rests_on_nothing():
    assert evaluate(load("case-study-naive"))["evidence"]["stages"]["pd_p"] is None


def test_a_link_without_limit_set_by_hand_is_the_users_word():
    known = evaluate(load("case-study-prfaas-pd", {"links.wan.bandwidth_bps": "unlimited"}))
    assert known["evidence"]["stages"]["link"] == "user"
    assert known["provenance"] == "user"
    assert known["evidence"]["stages"]["pd_d"] == "inferred"
