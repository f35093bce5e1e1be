"""What is said of a document stays short, and what it costs stays in proportion, whatever it holds."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from planner import exchange
from planner.documents import paths, plain
from planner.documents.errors import LONGEST_FIELD, LONGEST_MESSAGE, MOST_TOLD, DocumentError, FieldError
from planner.documents.plain import impurities
from planner.entries import check
from planner.scenario import parse
from planner.scenario.document import MOST_OVERRIDES
from tests.planner.documents import shipped

MANY, LONG = 3000, 100_000


def refusal(document, overrides=None):
    with pytest.raises(DocumentError) as refused:
        parse(document, overrides)
    return refused.value


def with_lengths(samples, **more):
    document = {**shipped(), "provenance": {}, **more}
    document["traffic"]["input_tokens"] = {"distribution": "empirical", "samples": samples}
    return document


@pytest.mark.parametrize(
    "document",
    [
        {**shipped(), **{f"k{index}": 1 for index in range(MANY)}},
        {**shipped(), "decode": dict.fromkeys(map(str, range(MANY)), "x")},
        {**shipped(), "free": ["\x00"] * MANY},
        {**shipped(), "provenance": {f"k{index}": {"kind": "user"} for index in range(2000)}},
        {**shipped(), "provenance": {f"k{index}": {"kind": "rumour"} for index in range(MANY)}},
    ],
    ids=["fields", "inner fields", "texts", "provenance", "kinds of provenance"],
)
def test_a_hundred_mistakes_are_told_and_the_others_counted(document):
    problem = refusal(document)
    assert len(problem.told) == MOST_TOLD
    assert problem.more >= 1900
    assert problem.errors[-1] == FieldError(None, None, f"has {problem.more:,} more mistakes, which are not listed")
    assert len(problem.errors) == MOST_TOLD + 1
    assert str(problem).endswith(f"{problem.more:,} more mistakes, which are not listed")


def test_a_hundred_mistakes_are_told_without_a_word_about_others():
    problem = DocumentError([FieldError("a", 1, "b")] * MOST_TOLD)
    assert (problem.errors, problem.more) == (problem.told, 0)


@pytest.mark.parametrize(
    "document",
    [
        {**shipped(), "k" * LONG: "v" * LONG},
        {**shipped(), "k" * LONG: [["\x00"] * 200] * 200},
        {**shipped(), "provenance": {"k" * LONG: {str(index): 1 for index in range(200)}}},
        {**shipped(), "clusters": [{"name": "n" * LONG, **dict.fromkeys(map(str, range(200)), 1)}]},
        {**shipped(), "free": ["v" * LONG] * 50},
        {**shipped(), "traffic": "v" * LONG},
        {**shipped(), "schema_version": "v" * LONG},
        with_lengths(["v" * LONG] * 9),
        with_lengths([-1] * LONG),
    ],
    ids=["field", "long path", "long key", "long name", "texts", "reference", "version", "text", "figures"],
)
def test_what_is_said_of_a_document_is_short(document):
    problem = refusal(document)
    told = [error.as_json() for error in problem.errors]
    assert all(len(error["field"] or "") <= LONGEST_FIELD for error in told)
    assert all(len(error["message"]) <= LONGEST_MESSAGE for error in told)
    assert len(json.dumps(told)) < MOST_TOLD * 600
    assert len(str(problem)) < MOST_TOLD * 600


def test_of_a_long_list_of_figures_the_first_mistake_is_told():
    document = with_lengths([100.0, *[-1] * MANY])
    assert [error.field for error in refusal(document).errors] == ["traffic.input_tokens.samples.1"]


def test_a_document_of_more_parts_than_any_has_is_refused_before_it_is_understood():
    tables = {**shipped(), "clusters": [{}] * (plain.MOST_PARTS + 1)}
    fields = {**shipped(), **dict.fromkeys(map(str, range(plain.MOST_PARTS)))}
    for document in (tables, fields):
        assert "has more than 100,000 tables, lists and fields" in str(refusal(document))


def test_the_longest_profile_and_a_million_lengths_are_no_more_parts_than_a_document_may_have():
    steps = [{"batch": float(batch), "seconds": 0.01} for batch in range(1, 10_001)]
    cached = [{"cached_tokens": 1.0, "new_tokens": float(tokens), "seconds": 1.0} for tokens in range(1, 10_001)]
    assert not list(impurities({"decode": steps, "prefill_cached": cached}))
    assert not list(impurities({"samples": [1.0] * 1_000_000}))


def test_a_path_is_made_of_a_place_only_where_something_is_wrong_there():
    """A list in a table of a long name would otherwise be held as often as it has items."""
    deep = {"a" * 400: {"b" * 400: [1.0] * LONG + [object()]}}
    (error,) = impurities(deep)
    assert error.field == f"{'a' * 400}.{'b' * 400}.{LONG}"


@pytest.mark.parametrize("path", ["title", "model.title", "clusters.pd.hardware.title"])
def test_a_title_is_no_longer_than_the_catalogue_keeps(path):
    assert parse(shipped(), {path: "t" * 2000})
    assert [error.field for error in refusal(shipped(), {path: "t" * 2001}).errors] == [path]


def test_more_overrides_than_anybody_sets_are_refused_at_once():
    problem = refusal(shipped(), {f"decode.k{index}": 1 for index in range(MOST_OVERRIDES + 1)})
    assert [(error.field, error.message[:20]) for error in problem.errors] == [("set", "takes at most 100 fi")]


def test_of_clusters_beyond_those_that_a_scenario_takes_no_name_is_looked_up():
    asked = []

    class Counting:
        def entry(self, kind, name):
            asked.append(name)
            return {"name": name}

        def profiles(self, model):
            return []

    with pytest.raises(DocumentError, match="takes at most 100 entries"):
        parse({**shipped(), "clusters": [{"hardware": "h20"} for _ in range(MANY)]}, catalogue=Counting())
    assert len(asked) == 100


def test_a_path_is_followed_through_as_many_items_as_a_list_of_names_has():
    items = [{"name": str(index)} for index in range(MANY)]
    assert paths.get(items, "999") == {"name": "999"}
    with pytest.raises(paths.NoSuchPath) as refused:
        paths.get(items, "1000")
    assert refused.value.known == [str(index) for index in range(20)]


def test_an_entry_of_another_kind_of_document_is_bounded_too():
    with pytest.raises(DocumentError) as refused:
        check("hardware", {"name": "x", **dict.fromkeys(map(str, range(MANY)), 1)})
    assert (len(refused.value.told), refused.value.more) == (MOST_TOLD, MANY - MOST_TOLD)


def whole(**kinds):
    return {"schema_version": 1, **kinds}


def test_a_catalogue_of_more_entries_than_a_file_takes_is_refused_before_any_is_looked_at(
    db, django_assert_num_queries
):
    halves = whole(hardware=[{}] * 5000, links=[{}] * 5001)
    with django_assert_num_queries(0), pytest.raises(DocumentError, match="has 10,001 entries; takes at most 10,000"):
        exchange.read_whole(halves)


def test_of_the_mistakes_of_many_entries_a_hundred_are_told_and_the_others_counted(db):
    bad = [{"name": f"x{index}", "tdp_w": "hot", "memory_bytes": "much"} for index in range(80)]
    with pytest.raises(DocumentError) as refused:
        exchange.read_whole(whole(hardware=bad))
    assert (len(refused.value.told), refused.value.more) == (100, 60)
    assert refused.value.told[0].field == "hardware.x0.memory_bytes"


def test_an_entry_without_a_name_is_looked_up_nowhere(db, django_assert_num_queries):
    with django_assert_num_queries(6), pytest.raises(DocumentError):  # two savepoints, and back to them
        exchange.read_whole(whole(hardware=[{}] * 50))


PRICE = {"name": "p", "hardware": "zz", "kind": "spot", "usd_per_gpu_hour": 1.0}
UNFOUND = [{"prices": [PRICE]}, {"scenarios": [{"schema_version": 1, "model": "zz"}]}]


@pytest.mark.parametrize("document", UNFOUND, ids=["prices", "scenarios"])
def test_of_what_could_be_named_instead_no_more_is_read_than_is_told(db, document):
    with CaptureQueriesContext(connection) as queries, pytest.raises(DocumentError, match="zz"):
        exchange.read_whole(whole(**document))
    listed = [query["sql"] for query in queries if "ORDER BY" in query["sql"]]
    assert listed
    assert all("LIMIT" in sql for sql in listed), listed
