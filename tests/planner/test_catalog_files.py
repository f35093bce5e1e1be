"""YAML and JSON files: what people mean by a number is one, and nothing ambiguous is taken."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import catalog
from planner.catalog import files
from tests.examples import examples

modest = examples(100)
printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
numberlike = st.from_regex(r"[-+]?[0-9_.:]{1,4}([eE][-+]?[0-9]{1,2})?", fullmatch=True)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | printable
    | numberlike,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(printable | numberlike, inner, max_size=4),
    max_leaves=10,
)


def read(tmp_path, content):
    path = tmp_path / "scenario.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return files.read(path)


def refusal(tmp_path, content):
    with pytest.raises(files.Unreadable) as refused:
        read(tmp_path, content)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@modest
@given(plain)
def test_whatever_is_written_as_yaml_is_read_back_as_it_was(value):
    assert files.parse(files.as_yaml(value)) == value


@pytest.mark.parametrize(
    "text", ["6e9", "1e5", "010", "\x85", "a\u2028b", "a\n\nb", " a ", "a: b", "#", "null", "no", "\ufeffa"]
)
def test_text_that_yaml_could_take_for_something_else_stays_what_it_is(text):
    assert files.parse(files.as_yaml({text: text})) == {text: text}


@modest
@given(plain)
def test_whatever_is_written_as_json_is_read_back_as_it_was(value):
    assert files.parse(files.as_json(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6e9", 6e9),
        ("6E9", 6e9),
        ("-6e+9", -6e9),
        ("6.5e-3", 0.0065),
        ("6.", 6.0),
        (".5", 0.5),
        ("1_000_000", 1_000_000),
        ("0", 0),
        ("-7", -7),
        ("100000000000", 10**11),
    ],
)
def test_a_number_in_any_notation_is_a_number(text, value):
    assert files.parse(f"a: {text}") == {"a": value}
    assert type(files.parse(f"a: {text}")["a"]) is type(value)


@pytest.mark.parametrize("text", ["010", "0x10", "0b1", "1:30", "2026-01-01", "e9", "1e", "1e5.5", "6 e9"])
def test_what_yaml_would_take_for_another_number_stays_text(text):
    assert files.parse(f"a: {text}") == {"a": text}


def test_yamls_own_infinity_is_not_text():
    assert files.parse("a: [.inf, -.inf]") == {"a": [math.inf, -math.inf]}


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: 2\na: 3\n", 3), ("x:\n  - a: 1\n    a: 2\n", 3), ('{"a": 1,\n "a": 2}', 2), ("{a: 1, a: 2}", 1)],
)
def test_a_key_that_stands_twice_is_refused_with_its_line(tmp_path, text, line):
    said = refusal(tmp_path, text)
    assert f"line {line}, column" in said
    assert "'a' stands twice" in said


def test_aliases_are_refused_so_that_a_billion_laughs_stay_one(tmp_path):
    laughs = "a: &a [lol, lol]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert "line 2" in refusal(tmp_path, laughs)
    assert "aliases are not taken" in refusal(tmp_path, laughs)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("a: [1, 2", "line 1, column 4: did not find expected ',' or ']'"),
        ("a: b: c", "line 1"),
        ("\tb: 1", "line 1"),
        ("a: \x00", "control characters are not allowed"),
        ("--- 1\n--- 2", "line 2"),
        ("? [1]\n: 2", "unhashable"),
        ("[" * 100_000, "line 1, column 1001: exceeded maximum nesting depth"),
        ("a: &x 1\nb: *x", "line 2"),
        ("9" * 5000, "digits"),
    ],
)
def test_a_text_that_is_not_one_document_is_refused_in_one_line(tmp_path, text, said):
    assert said in refusal(tmp_path, text)


@pytest.mark.parametrize(("text", "kind"), [("", "empty"), ("[1]", "list"), ("42", "int"), ("just words", "str")])
def test_a_document_that_is_no_table_is_refused(tmp_path, text, kind):
    assert f"must be a table of fields, is {kind}" in refusal(tmp_path, text)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbfa: 1") == {"a": 1}
    assert read(tmp_path, b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("content", [b"a: \xff", "a: é".encode("latin-1"), "a: 1".encode("utf-16")])
def test_a_file_that_is_not_utf_8_is_refused(tmp_path, content):
    assert "not UTF-8 text" in refusal(tmp_path, content)


def test_a_missing_file_and_a_directory_are_refused_by_name(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(files.Unreadable, match=str(path)):
            files.read(path)


def test_a_file_beyond_64_mib_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    with pytest.raises(files.Unreadable, match="larger than 64 MiB"):
        files.read(path)


def test_a_yaml_text_of_more_values_than_any_document_has_is_refused_at_the_first_beyond_them(monkeypatch):
    assert files.MOST_NODES == 1_000_000
    monkeypatch.setattr(files, "MOST_NODES", 1000)
    assert files.parse("- 1\n" * 999) == [1] * 999  # and the list itself
    with pytest.raises(files.Unreadable, match=r"line 1000, column 3: more than 1,000 values and keys"):
        files.parse("- 1\n" * 100_000)


def test_a_key_that_stands_twice_is_found_in_one_pass_and_quoted_in_short():
    """Looking for each of them among all would take 10,000,000,000 steps."""
    keys = "".join(f'"{index}":1,' for index in range(100_000))
    with pytest.raises(files.Unreadable, match="'9' stands twice"):
        files.parse_json(f'{{{keys}"9":1}}')
    for read in (files.parse_json, files.parse):
        with pytest.raises(files.Unreadable) as refused:
            read(f'{{"{"k" * 1000}": 1, "{"k" * 1000}": 2}}')
        assert len(str(refused.value)) < 150


@pytest.mark.parametrize(("text", "said"), [("NaN", "NaN"), ("[-Infinity]", "-Infinity"), ('{"a":1,"a":1}', "twice")])
def test_strict_json_has_no_nan_no_infinity_and_no_key_twice(text, said):
    with pytest.raises(files.Unreadable, match=said):
        files.parse_json(text)


def test_json_that_holds_nan_is_never_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.as_json({"a": math.nan})


def test_every_entry_of_the_catalogue_can_be_read_and_bears_its_own_name():
    for kind in ("models", "hardware", "profiles", "traffic", "links", "prices", "scenarios"):
        assert catalog.names(kind)
        assert all(catalog.entry(kind, name)["name"] == name for name in catalog.names(kind))


def test_an_entry_that_a_reader_changes_is_not_changed_for_the_next():
    catalog.entry("hardware", "h20")["title"] = "mine"
    catalog.published()["scenarios"].clear()
    assert catalog.entry("hardware", "h20")["title"] == "NVIDIA H20"
    assert len(catalog.published()["scenarios"]) == 3


@pytest.mark.parametrize("name", ["none", "../hardware/h20", "", "h20.yaml"])
def test_a_name_outside_the_catalogue_is_refused_with_those_in_it(name):
    with pytest.raises(catalog.NotInCatalogue) as refused:
        catalog.entry("hardware", name)
    assert {"h20", "h200"} < set(refused.value.known)


def test_the_published_figures_are_those_of_table_6():
    table = catalog.published()["scenarios"]
    assert [row["lambda_max_rps"] for row in table.values()] == [3.24, 2.11, 2.45]
    assert [row["ratio"] for row in table.values()] == [1.54, 1.00, 1.16]
    assert [row["ttft_unloaded_s"] for row in table.values()] == [
        {"mean": 2.22, "p90": 3.51},
        {"mean": 4.44, "p90": 9.73},
        {"mean": 1.74, "p90": 3.51},
    ]


@pytest.mark.parametrize(
    ("model", "tokens", "gpus", "bps", "within"),
    [
        ("minimax-m2.5", 32768, 512, 3.8e12, 0.02),
        ("qwen3-235b", 32768, 512, 2.1e12, 0.02),
        ("ring-2.5-1t", 32768, 512, 166e9, 0.005),
        ("ring-2.5-1t", 131072, 512, 93e9, 0.005),
        ("ring-2.5-1t", 131072, 10_000, 1.8e12, 0.02),
    ],
)
def test_table_3_and_equation_2_give_the_bandwidths_that_the_paper_names(model, tokens, gpus, bps, within):
    table = catalog.published()["kv_throughput"]
    row = next(row for row in table["models"] if row["name"] == model)
    rate = row["bps"][table["tokens"].index(tokens)]
    assert gpus / table["gpus_per_instance"] * rate == pytest.approx(bps, rel=within)


def test_what_stands_twice_is_written_twice_since_aliases_are_not_read():
    origin = {"kind": "user", "source": "set by hand"}
    document = {"a": origin, "b": origin}
    assert files.parse(files.as_yaml(document)) == document


@pytest.mark.parametrize("text", ["a: !!bool zz", "a: !!timestamp zz"])
def test_a_value_that_is_not_what_its_tag_says_is_refused(text):
    with pytest.raises(files.Unreadable, match="not of the type that its tag says"):
        files.parse(text)


def test_a_device_is_no_document():
    with pytest.raises(files.Unreadable, match="is no regular file"):
        files.read(Path("/dev/zero"))
