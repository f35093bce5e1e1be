"""Documents that are taken: the shipped ones, references, overrides, and the way out and back."""

import json

import pytest
from hypothesis import given

from planner.catalog import files
from planner.evaluation import evaluate
from planner.scenario import SHIPPED, DocumentError, load, parse
from tests.examples import examples
from tests.planner.documents import BASE, documents, shipped

modest = examples(20)


def exported(tmp_path, text):
    path = tmp_path / "scenario"
    path.write_text(text, encoding="utf-8")
    return load(str(path))


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("write", [files.as_yaml, files.as_json])
def test_a_shipped_scenario_written_to_a_file_is_the_same_scenario(tmp_path, name, write):
    given_one = load(name)
    back = exported(tmp_path, write(given_one.document()))
    assert back.document() == given_one.document()
    assert evaluate(back) == evaluate(given_one)


@modest
@given(documents())
def test_any_document_comes_back_from_yaml_and_json_with_the_same_result(document):
    scenario = parse(document)
    for write in (files.as_yaml, files.as_json):
        back = parse(files.parse(write(scenario.document())))
        assert back.document() == scenario.document()
        assert evaluate(back) == evaluate(scenario)


@modest
@given(documents())
def test_the_document_of_a_scenario_is_plain_json_and_complete(document):
    complete = parse(document).document()
    assert json.loads(json.dumps(complete, allow_nan=False)) == complete
    assert parse(complete).document() == complete


def test_the_shipped_scenarios_are_the_three_deployments_of_the_case_study():
    counts = {}
    for name in SHIPPED:
        instances = evaluate(load(name))["instances"]
        counts[name] = (instances["prfaas"], instances["prefill"], instances["decode"])
    assert counts == {
        "case-study-prfaas-pd": (4, 3, 5),
        "case-study-homogeneous": (0, 9, 3),
        "case-study-naive": (4, 0, 8),
    }


def test_the_shipped_scenarios_hold_the_published_threshold_and_free_what_the_paper_searched():
    split = ["clusters.pd.prefill_instances", "clusters.pd.decode_instances"]
    assert shipped()["routing"]["threshold_tokens"] == 19400
    assert shipped()["free"] == ["routing.threshold_tokens", *split]
    assert shipped("case-study-homogeneous")["free"] == split
    assert shipped("case-study-naive")["free"] == []


def test_references_are_replaced_by_the_catalogues_entries():
    document = shipped()
    document.update(model="internal-1t-hybrid", traffic="case-study")
    document["clusters"][0]["hardware"] = "h200"
    complete = parse(document).document()
    assert complete["traffic"]["input_tokens"]["mu"] == 9.90
    assert complete["clusters"][0]["hardware"]["name"] == "h200"
    assert [profile["seconds"][-1] for profile in complete["model"]["profiles"]] == [7.40, 21.15]


def test_the_kvcache_of_table_5_is_held_in_bytes():
    size = shipped()["model"]["s_kv"]
    assert size["tokens"] == [1024, 8192, 32768, 131072]
    assert size["bytes"] == pytest.approx([mib * 2**20 for mib in (190.8, 308.9, 701.3, 2316.3)], rel=1e-12)


def test_a_parsed_document_does_not_change_with_the_one_it_came_from():
    document = shipped()
    scenario = parse(document)
    document["links"][0]["bandwidth_bps"] = 1.0
    scenario.document()["links"][0]["bandwidth_bps"] = 2.0
    assert scenario.document()["links"][0]["bandwidth_bps"] == 100e9


def test_parse_leaves_its_document_as_it_was():
    document = shipped()
    parse(document, {"decode.step_s": 0.05})
    assert document == shipped()


def test_an_override_changes_one_field_and_no_other():
    before, after = shipped(), load(BASE, {"links.wan.bandwidth_bps": 6e9}).document()
    assert after["links"][0].pop("bandwidth_bps") == 6e9
    before["links"][0].pop("bandwidth_bps")
    before.pop("provenance")
    after.pop("provenance")
    assert after == before


def test_an_override_may_name_an_entry_of_the_catalogue():
    changed = load("case-study-naive", {"clusters.pd.hardware": "h200"}).document()
    assert changed["clusters"][1]["hardware"] == {"name": "h200", "title": "NVIDIA H200"}


def test_an_override_of_a_field_that_was_left_out_puts_it_there():
    assert load(BASE, {"slo.tokens_per_s": 50}).document()["slo"]["tokens_per_s"] == 50


@pytest.mark.parametrize(
    ("path", "reached"),
    [
        ("links.lan.bandwidth_bps", "wan"),
        ("cluster.pd.instances", "clusters"),
        ("clusters.0.instances", "prfaas, pd"),
        ("clusters.pd.instances.x", "nothing"),
        ("clusters.pd", "prfaas, pd"),
        ("", "allowed"),
        ("..", "clusters"),
    ],
)
def test_an_override_of_a_path_that_leads_nowhere_says_what_is_there(path, reached):
    with pytest.raises(DocumentError) as refused:
        load(BASE, {path: 1})
    assert reached in str(refused.value)


def test_achieved_bandwidth_goes_before_nominal_bandwidth():
    result = evaluate(load(BASE, {"links.wan.achieved_bps": 6e9}))
    assert result["link_usable_bps"] == 6e9
    assert result["binding"] == ["link"]


@pytest.mark.parametrize("name", ["no-such-scenario", "", "a" * 5000, "a\0b", "."])
def test_a_name_that_is_neither_shipped_nor_a_file_is_refused_with_the_shipped_names(name):
    with pytest.raises(DocumentError) as refused:
        load(name)
    assert all(known in str(refused.value) for known in SHIPPED)
