"""Documents that are refused: with the path of the field, its value, and what is allowed."""

import json
import math

import pytest
from hypothesis import given

from planner.documents.errors import FieldError
from planner.evaluation import whatif
from planner.scenario import DocumentError, load, parse
from tests.examples import examples
from tests.planner.documents import BASE, json_values, shipped, spoilt

modest = examples(150)

# path, value, what the message must say
BAD = [
    ("name", "with space", "letters, digits"),
    ("name", 7, "must be text"),
    ("title", None, "must be text"),
    ("title", "half a pair \ud800", "broken Unicode"),
    ("title", "a\x00b", "control characters"),
    ("schema_version", 2, "this version reads 1"),
    ("schema_version", True, "this version reads 1"),
    ("schema_version", "1", "this version reads 1"),
    ("model", "gpt-5", "is not in the catalogue; known: "),
    ("model", None, "must be a table"),
    ("model.s_kv.tokens", [1024], "at least 2 entries"),
    ("model.s_kv.tokens", [1024, 1024, 2048, 4096], "must rise"),
    ("model.s_kv.tokens", [8192, 1024, 32768, 131072], "must rise"),
    ("model.s_kv.tokens", [1024, 8192], "4 values for 2 lengths"),
    ("model.s_kv.bytes", [0, 1, 2, 3], "must be at least"),
    ("model.s_kv.bytes", 5, "must be a list"),
    ("model.s_kv.bytes", [4, 3, 5, 6], "falls from 4 to 3"),
    ("model.s_kv.interpolation", "cubic", "'log_log', 'quadratic' or 'linear'"),
    ("model.profiles", [], "at least 1"),
    ("model.profiles.internal-1t-hybrid-h20x8.seconds", [1, "2", 3, 4], "must be a number"),
    ("model.profiles.internal-1t-hybrid-h20x8.hardware", "b200", "profiles: h200 × 8, b200 × 8"),
    ("clusters", [], "at least 1"),
    ("clusters", {}, "must be a list"),
    ("clusters.pd.role", "decode", "'prfaas' or 'pd'"),
    ("clusters.pd.role", "prfaas", "exactly one cluster of role pd"),
    ("clusters.pd.hardware", "a100", "is not in the catalogue; known: "),
    ("clusters.pd.gpus_per_instance", 4, "has no profile"),
    ("clusters.pd.gpus_per_instance", 0, "must be at least 1"),
    ("clusters.pd.instances", -1, "must be at least 0"),
    ("clusters.pd.instances", 9, "prefill_instances + decode_instances = 3 + 5"),
    ("clusters.pd.instances", 8.5, "must be a whole number"),
    ("clusters.pd.instances", 2001, "must be at most 2000 in a PD cluster"),
    ("clusters.pd.egress_bps", 1e9, "is of PrfaaS clusters"),
    ("clusters.prfaas.egress_bps", 0, "must be at least"),
    ("clusters.prfaas.instances", 10**9, "must be at most 10000"),
    ("clusters.pd.instances", True, "must be a whole number"),
    ("clusters.pd.prefill_instances", None, "is missing"),
    ("clusters.prfaas.decode_instances", 2, "only prefills"),
    ("clusters.prfaas.prefill_instances", 3, "must equal instances"),
    ("links", [], "exactly one link"),
    ("links.wan.bandwidth_bps", -1, "from 0 to 1e18, or the word unlimited"),
    ("links.wan.bandwidth_bps", "endless", "from 0 to 1e18, or the word unlimited"),
    ("links.wan.bandwidth_bps", True, "from 0 to 1e18, or the word unlimited"),
    ("links.wan.bandwidth_bps", math.inf, "from 0 to 1e18, or the word unlimited"),
    ("links.wan.bandwidth_bps", None, "from 0 to 1e18, or the word unlimited"),
    ("links.wan.achieved_bps", 2e11, "must not exceed bandwidth_bps"),
    ("links.wan.from", "pd", "role prfaas: prfaas"),
    ("links.wan.to", "elsewhere", "role pd: pd"),
    ("traffic.input_tokens.distribution", "zipf", "'truncated_log_normal', 'empirical'"),
    ("traffic.input_tokens.sigma", 0, "must be at least 1e-06"),
    ("traffic.input_tokens.sigma", 1e-18, "must be at least 1e-06"),
    ("traffic.input_tokens.mu", math.nan, "must be a finite number"),
    ("traffic.input_tokens.max", 64, "min < max"),
    ("traffic.input_tokens.mu", 50, "no request falls between"),
    ("traffic.input_tokens", {"distribution": "empirical", "samples": []}, "at least 1"),
    ("traffic.output_tokens", 0, "must be at least 1"),
    ("traffic.output_tokens", "1024", "must be a number"),
    ("traffic.output_tokens", 10**400, "300 digits"),
    ("traffic.arrivals.process", "weibull", "'poisson'"),
    ("decode.step_s", 0, "must be at least"),
    ("decode.max_batch", math.inf, "must be"),
    ("routing.policy", "random", "'threshold', 'all_local', 'all_remote' or 'blind'"),
    ("routing.policy", "all_local", "must be null"),
    ("routing.policy", "all_remote", "must be 0 under policy all_remote"),
    ("routing.policy", "blind", "must be null: policy blind has no threshold"),
    ("routing.remote_share", 0.5, "must be null: policy threshold"),
    ("routing.remote_share", 1.5, "must be at most 1"),
    ("routing.threshold_tokens", None, "is missing"),
    ("routing.threshold_tokens", -1, "must be at least 0"),
    ("free", ["links.wan.bandwidth_bps"], "cannot be varied here; allowed: routing.threshold_tokens"),
    ("free", "routing.threshold_tokens", "must be a list"),
    ("provenance", {"decode.steps": {"kind": "user"}}, "leads nowhere; from there: max_batch, step_s"),
    ("provenance", {"decode": {"kind": "rumour"}}, "'measured', 'published', 'inferred', 'estimated' or 'user'"),
    ("provenance", {"decode": "published"}, "must be a table"),
    ("provenance", {"decode": {"kind": "measured", "source": " "}}, "so name the publication or measurement"),
    ("provenance", {1: {"kind": "user"}}, "is not text"),
]
# a mistake of two fields is told of the one that a planner would change
ELSEWHERE = {
    ("model.s_kv.tokens", "must rise"): "model.s_kv",
    ("model.s_kv.tokens", "4 values for 2 lengths"): "model.s_kv",
    ("model.profiles.internal-1t-hybrid-h20x8.hardware", "profiles: h200 × 8, b200 × 8"): "clusters.pd.hardware",
    ("clusters.pd.role", "exactly one cluster of role pd"): "clusters",
    ("clusters.pd.gpus_per_instance", "has no profile"): "clusters.pd.hardware",
    ("traffic.input_tokens.max", "min < max"): "traffic.input_tokens",
    ("traffic.input_tokens.mu", "no request falls between"): "traffic.input_tokens",
    ("routing.policy", "must be null"): "routing.threshold_tokens",
    ("routing.policy", "must be 0 under policy all_remote"): "routing.threshold_tokens",
    ("routing.policy", "must be null: policy blind has no threshold"): "routing.threshold_tokens",
}


def refusals(document, overrides=None):
    with pytest.raises(DocumentError) as refused:
        parse(document, overrides)
    return refused.value.errors


@pytest.mark.parametrize(("path", "value", "said"), BAD, ids=[f"{path}={value!r:.20}" for path, value, _ in BAD])
def test_an_impossible_value_is_refused_with_its_field_and_what_is_allowed(path, value, said):
    errors = refusals(shipped(), {path: value})
    field = ELSEWHERE.get((path, said), path)
    assert [error for error in errors if error.field.startswith(field) and said in error.message], errors


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("clusters.pd.instances", -1, "clusters.pd.instances: -1 must be at least 0"),
        ("decode.step_s", "fast", "decode.step_s: 'fast' must be a number"),
        (
            "links.wan.bandwidth_bps",
            -5,
            "links.wan.bandwidth_bps: -5 must be a number of bit/s from 0 to 1e18, or the word unlimited",
        ),
    ],
)
def test_a_refusal_is_one_line_of_field_value_and_remedy(path, value, line):
    with pytest.raises(DocumentError) as refused:
        load(BASE, {path: value})
    assert str(refused.value) == line


@pytest.mark.parametrize(
    ("place", "known"),
    [
        ("", "schema_version, name, title"),
        ("model.", "name, title, s_kv, profiles"),
        ("model.profiles.internal-1t-hybrid-h20x8.", "gpus_per_instance"),
        ("clusters.pd.", "name, role, hardware"),
        ("clusters.pd.hardware.", "name, title"),
        ("links.wan.", "name, from, to, bandwidth_bps"),
        ("traffic.input_tokens.", "distribution, mu, sigma, min, max"),
        ("decode.", "max_batch, step_s"),
        ("routing.", "policy, threshold_tokens, remote_share"),
    ],
)
def test_an_unknown_field_is_refused_with_the_known_ones(place, known):
    (error,) = refusals(shipped(), {f"{place}colour": "red"})[:1]
    assert error.field == f"{place}colour"
    assert error.value == "red"
    assert "is not a field here" in error.message
    assert known in error.message


@pytest.mark.parametrize("part", ["schema_version", "name", "model", "clusters", "traffic", "decode", "routing"])
def test_a_part_that_no_scenario_can_be_without_is_missed(part):
    document = shipped()
    del document[part]
    document["provenance"] = {}
    assert [(error.field, error.message) for error in refusals(document)] == [(part, "is missing")]


@pytest.mark.parametrize("place", ["clusters", "links", "model.profiles"])
def test_two_items_of_one_name_are_refused(place):
    document = shipped()
    holder = document
    for key in place.split("."):
        holder = holder[key]
    holder.append(dict(holder[0]))
    assert any("is named twice" in error.message for error in refusals(document))


def test_every_mistake_is_told_at_once():
    errors = refusals(shipped(), {"decode.step_s": -1, "routing.threshold_tokens": -2, "links.wan.rtt_s": -3})
    assert {(error.field, error.value) for error in errors} == {
        ("decode.step_s", -1),
        ("routing.threshold_tokens", -2),
        ("links.wan.rtt_s", -3),
    }


def test_a_pit_of_tables_is_refused_however_deep():
    pit = {}
    for _ in range(50_000):
        pit = {"a": pit}
    (error,) = refusals({**shipped(), "traffic": pit})
    assert error.field == "traffic"
    assert "nested deeper" in error.message


UNPRINTABLE = [10**400, -(10**5000), math.inf, math.nan, "x" * 10**6, list(range(10**5))]


@pytest.mark.parametrize("value", UNPRINTABLE, ids=["large", "larger", "inf", "nan", "long", "wide"])
def test_a_value_that_cannot_be_printed_in_full_is_cut_in_the_message(value):
    with pytest.raises(DocumentError) as refused:
        load(BASE, {"decode.step_s": value})
    assert str(refused.value).startswith("decode.step_s: ")
    assert len(str(refused.value)) < 200


def test_a_message_stays_on_one_line_whatever_the_document_holds():
    error = FieldError("a\nb", "c\nd", "e\ud800")
    assert str(error) == r"a\nb: 'c\nd' e\ud800"
    assert error.as_json() == {"field": r"a\nb", "value": r"c\nd", "message": r"e\ud800"}


def test_a_value_that_json_cannot_hold_is_quoted():
    assert FieldError("a", math.inf, "b").as_json()["value"] == "inf"
    assert FieldError("a", [1, 2], "b").as_json()["value"] == "[1, 2]"


def outcome(document):
    """The what-if result of a document, or the errors it is refused with."""
    try:
        return whatif(parse(document)), ()
    except DocumentError as problem:
        return None, problem.errors


@modest
@given(spoilt())
def test_a_spoilt_document_is_either_a_scenario_with_a_result_or_refused_by_field(document):
    result, errors = outcome(document)
    if errors:
        assert all(error.field is not None and error.message for error in errors), errors
        assert not any("\n" in str(error) for error in errors)
    else:
        assert json.dumps(result, allow_nan=False)


@modest
@given(json_values.filter(lambda value: isinstance(value, dict)))
def test_a_table_of_anything_is_refused(document):
    assert refusals(document)
