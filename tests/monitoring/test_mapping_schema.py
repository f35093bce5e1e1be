"""Mappings as documents: what is refused, and how it is said."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.mapping import MappingError, parse, shipped
from monitoring.mapping.schema import Rule
from monitoring.signals import TOLD

HEAD = {"name": "own", "version": 1, "title": "Own", "source": "read in a test"}


def with_rule(**fields):
    return {**HEAD, "rules": [{"metric": "m", "signal": "requests", **fields}]}


def refusal(document):
    with pytest.raises(MappingError) as raised:
        parse(document)
    return "; ".join(raised.value.errors)


def test_a_mapping_is_read_from_yaml():
    text = (
        "name: own\nversion: 2\ntitle: Own\nsource: a test\nrules:\n- {metric: m, signal: link_egress_bits, scale: 8}\n"
    )
    mapping = parse(text)
    assert (mapping.version, mapping.rules[0].scale) == (2, 8.0)


def test_a_number_with_an_exponent_is_a_number_as_people_write_it():
    text = (
        "name: own\nversion: 1\ntitle: Own\nsource: a test\nrules: [{metric: m, signal: link_capacity_bps, scale: 1e6}]"
    )
    assert parse(text).rules[0].scale == 1_000_000.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"signal": "request"}, "rule 1 ('m'): signal: request is no signal of ours; allowed: link_egress_bits"),
        ({"labels": {"route": "far"}}, "labels.route: far is not allowed; allowed: remote, local"),
        ({"labels": {"link": "a"}}, "labels: link is not a label of this signal; allowed: datacenter"),
        ({"rename": {"device": "link"}}, "rename.device: link is not a label"),
        ({"values": {"route": {"x": "local"}}}, "values: route is not a label that `rename` gives; allowed: none"),
        ({"scale": -8}, "scale: -8: input should be greater than 0"),
        ({"kind": "gauge"}, "kind: gauge is not what requests is; allowed: counter"),
        ({"aggregate": "max"}, "aggregate: max is for gauges"),
        ({"wrap_bits": 32, "scale": 10}, "scale: 10 must be a power of two"),
        ({"one_of": "a"}, "one_of and choice belong together"),
        ({"signal": "ttft_s", "take": "sum"}, "take: sum of a histogram is a counter, ttft_s is a histogram"),
        ({"matric": "m"}, "matric is not a field here; allowed: metric, signal"),
        ({"scale": "8"}, "scale: '8': input should be a valid number"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_by_number_metric_and_field(fields, said):
    assert said in refusal(with_rule(**fields))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "is no YAML"),
        ("just words", "must be a table of fields"),
        ("a: &x [1]\nb: *x", "line 2: references"),
        ("name: own", "rules is missing"),
        ("- " * 5000, "is no YAML"),
        ("x" * 300_000, "at most 262,144 are read"),
    ],
)
def test_a_text_that_is_no_mapping_is_refused(text, said):
    assert said in refusal(text)


def test_many_mistakes_are_told_up_to_a_number():
    document = {**HEAD, "rules": [{"metric": f"m{at}", "signal": "nothing"} for at in range(100)]}
    assert "and 80 more" in refusal(document)


def test_every_shipped_mapping_is_named_like_its_file_and_tells_its_source():
    engines = ["dynamo", "llm-d", "mooncake", "nixl", "prfaas", "sglang", "trtllm", "vllm"]
    machines = ["dcgm", "if-mib", "node-exporter", "openconfig"]
    assert sorted(shipped()) == sorted(engines + machines)
    assert all(mapping.source for mapping in shipped().values())


def test_our_own_names_cover_every_signal_that_others_may_tell():
    assert [rule.signal for rule in shipped()["prfaas"].rules] == list(TOLD)


def test_every_shipped_rule_has_a_condition_or_a_metric_of_its_own():
    for mapping in shipped().values():
        told = [(rule.metric, rule.signal, str(rule.where)) for rule in mapping.rules]
        assert len(told) == len(set(told)), mapping.name


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS, inner, max_size=3), max_leaves=8
)
RULES = st.dictionaries(st.sampled_from([*Rule.model_fields, "other"]), ANYTHING, max_size=6)


@given(st.fixed_dictionaries({"rules": st.lists(RULES | ANYTHING, max_size=3)}, optional=dict.fromkeys(HEAD, ANYTHING)))
def test_whatever_a_document_holds_it_is_read_or_refused_in_words(document):
    with suppress(MappingError):
        parse(document)


@given(st.text(max_size=60) | st.text("{}[]:,&*!|>'\"-?#% \n\tab1", max_size=60))
def test_whatever_a_text_holds_it_is_read_or_refused_in_words(text):
    with pytest.raises(MappingError):
        parse(text)
