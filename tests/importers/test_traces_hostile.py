"""Wrong, damaged and enormous logs: refused with line and column, or read to the same as plain ones; never a crash."""

import gzip
import json
import tracemalloc
from datetime import datetime

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.documents.errors import DocumentError
from planner.importers import reading, traces
from planner.importers.traces import timeline
from planner.importers.traces.tables import Table
from tests.examples import examples
from tests.importers.trace_logs import AZURE, PLAIN, chunks, inspected, lines, mooncake, refused, write

# --- numbers -----------------------------------------------------------------------------------------------------

WRONG_TOKENS = {
    "-5": "must not be negative",
    "12.5": "must be a whole number",
    "3.000": "has separators of thousands, or a fraction of three digits; write 3000",
    "1.234.567": "write 1234567",
    "1'024": "write 1024",
    "NaN": "is no number",
    "inf": "is no number",
    "1e3": "must be a whole number",
    "0x10": "must be a whole number",
    "": "is empty",
    "1,5": "has 4 cells where the header has 3",
    "1000000001": "must be at most 1,000,000,000 tokens",
    "9" * 5000: "must be at most 1,000,000,000 tokens",
    "１２": "must be a whole number",
}


@pytest.mark.parametrize("cell", WRONG_TOKENS, ids=lambda cell: cell[:12])
def test_a_cell_that_is_no_number_of_tokens_is_named_with_line_and_column(tmp_path, cell):
    found = refused(tmp_path, PLAIN + f"0,10,5\n1,{cell},5\n")
    assert found.startswith("line 3")
    assert WRONG_TOKENS[cell] in found
    assert "column" not in found or "input_tokens" in found


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("-1", "must not be negative"),
        ("nan", "is no number"),
        ("yesterday", "must be a time"),
        ("1e300", "later than any clock"),
        ("", "is empty"),
        ("2024-02-30 00:00:00", "mixes clocks"),
    ],
)
def test_a_cell_that_is_no_time_is_named(tmp_path, cell, said):
    found = refused(tmp_path, PLAIN + f"0,10,5\n{cell},10,5\n")
    assert found.startswith("line 3, arrival_s")
    assert said in found


@pytest.mark.parametrize("moment", ["2024-02-30 00:00:00", "2024-01-01 25:00:00", "1969-12-31 00:00:00", "2024-01-01"])
def test_a_moment_that_never_was_is_refused(tmp_path, moment):
    assert refused(tmp_path, AZURE + f"2024-01-01 00:00:00,10,5\n{moment},10,5\n").startswith("line 3, TIMESTAMP")


@pytest.mark.parametrize(
    "value",
    [-1, 1.5, float("nan"), float("inf"), True, None, "7", [], 10**9 + 1, 10**400],
    ids=lambda value: str(value)[:12],
)
def test_a_value_that_is_no_number_of_tokens_is_named_with_line_and_key(tmp_path, value):
    wrong = mooncake(1)[0] | {"input_length": value}
    text = lines(*mooncake(2)) + json.dumps(wrong) + "\n"
    assert refused(tmp_path, text).startswith("line 3, input_length")


@pytest.mark.parametrize("value", [-1, float("nan"), True, None, [], 10**40, "soon"])
def test_a_value_that_is_no_time_is_named_with_line_and_key(tmp_path, value):
    text = lines(*mooncake(2)) + json.dumps(mooncake(1)[0] | {"timestamp": value}) + "\n"
    assert refused(tmp_path, text).startswith("line 3, timestamp")


def test_hashes_that_are_none_are_named(tmp_path):
    for value in (None, 5, [None], [1.5], [[1]], [True]):
        text = lines(*mooncake(2)) + json.dumps(mooncake(1)[0] | {"hash_ids": value}) + "\n"
        assert refused(tmp_path, text).startswith("line 3, hash_ids")
    missing = {key: value for key, value in mooncake(1)[0].items() if key != "hash_ids"}
    said = "hash_ids: is missing; other lines have it"
    assert refused(tmp_path, lines(*mooncake(2), missing)) == f"line 3, {said}"
    assert refused(tmp_path, lines(missing, *mooncake(2))) == f"line 1, {said}"


def test_hashes_that_begin_far_into_the_file_are_not_dropped(tmp_path):
    plain = [{"timestamp": 1000 * row, "input_length": 600, "output_length": 5} for row in range(20_000)]
    late = mooncake(1, timestamp=20_000_000)
    assert "line 20001, hash_ids: is there, but not on the first lines" in refused(tmp_path, lines(*plain, *late))


def test_lists_elsewhere_on_a_line_are_not_taken_for_hashes(tmp_path):
    odd = '{"timestamp": 3000, "input_length": 600, "output_length": 5, "hash_ids": null, "others": [7, 8]}\n'
    assert refused(tmp_path, lines(*mooncake(2)) + odd).startswith("line 3, hash_ids")


# --- shape -------------------------------------------------------------------------------------------------------


def test_mistakes_are_collected_up_to_twenty(tmp_path):
    with pytest.raises(DocumentError) as caught:
        inspected(tmp_path, PLAIN + "0,1,1\n" + "0,x,1\n" * 5 + "0,1,1,1\n")
    assert [error.field for error in caught.value.errors] == [
        *(f"line {line}, input_tokens" for line in range(3, 8)),
        "line 8",
    ]
    with pytest.raises(DocumentError) as caught:
        inspected(tmp_path, PLAIN + "0,x,1\n" * 500)
    assert len(caught.value.errors) == 20


def test_broken_lines_are_named(tmp_path):
    for text, said in (
        (PLAIN + "0,1,1\n1,1\n", "line 3: has 2 cells where the header has 3"),
        (PLAIN + '0,1,1\n1,"1,1\n', "line 3: has a quotation mark"),
        (PLAIN, "line 1: is a header without rows"),
        ("arrival_s,input_tokens,input_tokens,output_tokens\n0,1,1,1\n", "is the name of two columns"),
        (lines(*mooncake(2)) + '{"timestamp": 1,\n', "line 3: is no JSON"),
        (
            lines(*mooncake(2)) + '{"timestamp": 1, "timestamp": 2, "input_length": 1, "output_length": 1}\n',
            "line 3: has the key",
        ),
        (lines(*mooncake(2)) + "[1]\n", "line 3: [1] must be an object"),
        (
            lines(*mooncake(2)) + '{"input_length": 5, "output_length": 5, "hash_ids": [1]}\n',
            "line 3, timestamp: is missing",
        ),
        ('{"timestamp": 1\n{"timestamp": 2}\n', "line 1: is no JSON"),
        (PLAIN + "0,0,5\n1,5,0\n", "has no request that was answered"),
    ):
        assert said in refused(tmp_path, text)


def test_damaged_files_are_refused_before_anything_is_given_for_whole(tmp_path):
    whole = (PLAIN + "".join(f"{row},{row % 97 + 1},5\n" for row in range(50_000))).encode()
    assert "cut short" in refused(tmp_path, gzip.compress(whole)[:-1000])
    assert "line 40001" in refused(tmp_path, whole.replace(b"39999,", b"39999,\xff"))
    assert "longer than" in refused(tmp_path, whole + b"1," + b"5" * 70 * 2**20)
    assert "line 50002: is longer than 4 MiB" in refused(tmp_path, whole + b"1," + b"5" * 5 * 2**20 + b",5\n")


def test_of_a_first_row_that_cannot_be_read_the_real_reason_is_told(tmp_path):
    assert refused(tmp_path, PLAIN + "1," + "5" * 10 * 2**20 + ",5\n") == "line 2: is longer than 4 MiB"
    rows = PLAIN + "".join(f"{row}.{row * 7919 % 9973},{row * 6007 % 9001 + 1},5\n" for row in range(5000))
    packed = gzip.compress(rows.encode())
    assert "the gzip file ends here" in refused(tmp_path, packed[:60])
    assert "the gzip file ends here" in refused(tmp_path, packed[:200])


def test_a_zip_bomb_of_requests_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "FREE", 2**20)
    assert "zip bomb" in refused(tmp_path, gzip.compress((PLAIN + "0,1,1\n" * 2_000_000).encode(), 9))


@given(st.binary(max_size=120), st.integers(0, 200))
@settings(examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_to_a_log_is_refused_or_read(tmp_path, junk, place):
    for text in ((AZURE + "2024-05-10 00:00:00,1,1\n" * 4).encode(), lines(*mooncake(3)).encode()):
        path = write(tmp_path, text[:place] + junk + text[place:])
        try:
            rows = traces.inspect(path, {})["rows"]
        except DocumentError as problem:
            told = [str(error) for error in problem.errors]
            assert all(told)
        else:
            assert rows >= 1


# --- clocks ------------------------------------------------------------------------------------------------------


def plain_rows(*seconds):
    return PLAIN + "".join(f"{second},10,5\n" for second in seconds)


STEADY = [round(10 + 0.7 * row, 3) for row in range(60)]


@pytest.mark.parametrize(
    "then",
    [
        [second * 1000 for second in (52.0, 52.7, 53.4)],
        [second * 10**6 for second in (52.0, 52.7, 53.4)],
        [1_700_000_052.0, 1_700_000_052.7],
        [0.052, 0.0527],
        [53.0 + 30 * 86_400, 54.0 + 30 * 86_400],
        [52_700],
    ],
)
def test_a_clock_that_changes_its_unit_or_beginning_is_refused_at_the_line(tmp_path, then):
    found = refused(tmp_path, plain_rows(*STEADY, *then))
    assert found.startswith("line 62: mixes clocks or units")


def test_a_change_of_unit_is_seen_in_a_short_log_too(tmp_path):
    assert "line 6: mixes clocks" in refused(tmp_path, plain_rows(1, 2, 3, 4, 5_000, 6_000, 7_000))
    assert "line 6: mixes clocks" in refused(tmp_path, plain_rows(1_000, 2_000, 3_000, 4_000, 5, 6, 7))


def test_dates_that_fall_back_to_a_clock_from_zero_are_refused(tmp_path):
    assert "line 5" in refused(tmp_path, plain_rows(1_700_000_000, 1_700_000_001, 1_700_000_002, 3))


def test_a_clock_set_back_from_summer_time_is_named_as_such(tmp_path):
    hour = [f"2026-10-25 02:{minute:02}:00,10,5\n" for minute in range(0, 60, 5)]
    said = refused(tmp_path, AZURE + "".join(hour + hour))
    assert "line 14: goes back in time by 3,300 s: perhaps a clock that was set back from summer time" in said


def test_going_back_by_more_than_a_late_line_is_refused(tmp_path):
    assert "line 62: goes back in time by 1,000 s" in refused(
        tmp_path, plain_rows(*(second + 5_000 for second in STEADY), STEADY[-1] + 4_000)
    )


@pytest.mark.parametrize(
    "seconds",
    [
        [0, 0.001, 0.002, 5, 9, 7200, 7201],
        [5, 45, 118, 60_000, 60_010],
        [0.5 * row for row in range(50)] + [3 * 86_400 + row for row in range(50)],
        [0, 0, 0, 0, 1, 1_000, 1_001],
    ],
)
def test_long_silences_are_no_change_of_clock(tmp_path, seconds):
    assert inspected(tmp_path, plain_rows(*seconds))["rows"] == len(seconds)


def test_slight_disorder_is_sorted_and_counted(tmp_path):
    found = chunks(tmp_path, PLAIN + "10,1,5\n14,2,5\n11,3,5\n12,4,5\n15,5,5\n")[0]
    assert found.input_tokens.tolist() == [1, 3, 4, 2, 5]
    notes = inspected(tmp_path, PLAIN + "10,1,5\n14,2,5\n11,3,5\n12,4,5\n15,5,5\n")["notes"]
    assert any(note.startswith("2 requests did not stand in the order") for note in notes)


def test_disorder_across_everything_that_waits_is_sorted_like_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(timeline, "GATHERED", 1_000)
    rng = np.random.default_rng(4)
    times = np.arange(150_000) * 0.1 + 10
    late = times + rng.exponential(30, times.size)
    order = np.argsort(late, kind="stable")
    rows = "".join(f"{times[row]:.1f},{row % 1000 + 1},5\n" for row in order)
    found = chunks(tmp_path, PLAIN + rows)
    assert len(found) > 1
    arrivals = np.concatenate([chunk.arrival_ns for chunk in found])
    assert np.all(np.diff(arrivals) >= 0)
    assert arrivals.size == 150_000
    assert np.concatenate([chunk.input_tokens for chunk in found]).tolist() == [
        row % 1000 + 1 for row in range(150_000)
    ]


def test_more_disorder_than_can_wait_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(timeline, "GATHERED", 1_000)
    monkeypatch.setattr(timeline, "HELD", 2_000)
    rows = "".join(f"{100 + row * 1e-6:.6f},5,5\n" for row in range(100_000))
    assert "goes back in time" in refused(tmp_path, PLAIN + rows + "100.000001,5,5\n")


# --- two ways to the same ----------------------------------------------------------------------------------------

NUMBER = st.integers(0, 10**9).map(str)
SECONDS = st.one_of(
    st.integers(0, 10**7).map(str),
    st.decimals(0, 10**6, allow_nan=False, places=12).map(lambda value: f"{value:f}"),
    st.from_regex(r"[0-9]{1,6}\.[0-9]{0,14}", fullmatch=True),
)
WALL = st.builds(
    lambda moment, fraction, zone: f"{moment:%Y-%m-%d %H:%M:%S}{fraction}{zone}",
    st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)),
    st.sampled_from(["", ".5", ".123456789", ".0000001"]),
    st.just(""),
)


@given(st.lists(st.tuples(SECONDS, NUMBER, NUMBER), min_size=1, max_size=12), st.sampled_from(["s", "ms", "us", "ns"]))
@examples(80)
def test_what_is_read_at_once_is_what_is_read_cell_by_cell(rows, unit):
    text = f"arrival_{unit},input_tokens,output_tokens\n" + "".join(",".join(row) + "\n" for row in rows)
    block = reading.Block(1, text.encode())
    table = Table(block, {})
    below = reading.Block(2, text.encode().split(b"\n", 1)[1])
    quick, slow = table._at_once(below), table._one_by_one(below)
    if quick is not None:
        for name in ("arrival_ns", "input_tokens", "output_tokens"):
            assert np.array_equal(getattr(quick.chunk, name), getattr(slow.chunk, name)), name
        assert np.array_equal(quick.lines, slow.lines)


@given(st.lists(WALL, min_size=1, max_size=8))
def test_dates_read_at_once_are_those_read_cell_by_cell(moments):
    text = AZURE + "".join(f"{moment},5,5\n" for moment in moments)
    table = Table(reading.Block(1, text.encode()), {})
    below = reading.Block(2, text.encode().split(b"\n", 1)[1])
    quick = table._at_once(below)
    assert quick is not None
    assert np.array_equal(quick.chunk.arrival_ns, table._one_by_one(below).chunk.arrival_ns)


# --- size --------------------------------------------------------------------------------------------------------


def big(tmp_path, rows, name):
    path = tmp_path / name
    with path.open("w") as file:
        file.write(PLAIN)
        for row in range(rows):
            file.write(f"{row * 0.25},{row * 7919 % 30_000 + 1},{row % 500 + 1}\n")
    return path


def test_memory_does_not_grow_with_the_number_of_requests(tmp_path, monkeypatch):
    monkeypatch.setattr(timeline, "GATHERED", 10_000)
    monkeypatch.setattr(reading, "BLOCK", 2**17)

    def peak(path):
        tracemalloc.start()
        traces.inspect(path, {})
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    small, large = (big(tmp_path, rows, str(rows)) for rows in (40_000, 240_000))
    peak(small)
    assert peak(large) < 1.25 * peak(small)


def test_progress_is_told_to_the_end_and_not_too_often(tmp_path):
    path = big(tmp_path, 300_000, "large")
    told = []
    traces.inspect(path, {}, lambda *each: told.append(each))
    assert told[-1][:2] == (path.stat().st_size, path.stat().st_size)
    assert len(told) <= 12
    assert all(done <= total for done, total, _ in told)


def test_chunks_have_at_most_so_many_rows_and_are_the_same_every_time(tmp_path):
    reader = traces.open_trace(big(tmp_path, 300_000, "large"), {})
    first, again = list(reader.chunks()), list(reader.chunks())
    assert [chunk.rows for chunk in first] == [chunk.rows for chunk in again]
    assert sum(chunk.rows for chunk in first) == 300_000
    assert max(chunk.rows for chunk in first) <= 250_000
