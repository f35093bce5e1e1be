import gzip
import os
import tracemalloc
import zlib
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from planner.documents.errors import DocumentError
from planner.importers import reading
from tests.importers.trace_logs import write

ROWS = b"".join(b"%d,%d\n" % (row, row * row) for row in range(20_000))


def read(tmp_path, content):
    return list(reading.lines(write(tmp_path, content)))


def refused(tmp_path, content):
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, content)
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"a\nb\n",
        b"a\nb",
        b"a\r\nb\r\n",
        b"a\rb",
        b"\xef\xbb\xbfa\nb\n",
        "a\nb".encode("utf-16"),
        b"\xfe\xff" + "a\r\nb\r\n".encode("utf-16-be"),
        gzip.compress(b"a\nb\n"),
        gzip.compress(b"a\n") + gzip.compress(b"b\n"),
        gzip.compress(b"a\nb\n") + b"\0" * 512,
        zstandard.compress(b"a\nb\n"),
        zstandard.compress(b"a\n") + zstandard.compress(b"b\n"),
        gzip.compress("a\r\nb".encode("utf-16")),
    ],
)
def test_every_line_break_encoding_and_compression_gives_the_same_lines(tmp_path, content):
    assert read(tmp_path, content) == [(1, "a"), (2, "b")]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=20), min_size=1)
)
def test_lines_come_out_as_they_went_in(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "file"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes(("\r\n".join(texts) + "\r\n").encode(encoding))
        if not texts[0].startswith("\ufeff"):
            assert [text for _, text in reading.lines(path)] == texts


def test_line_breaks_survive_the_borders_of_what_is_read_at_once(tmp_path):
    content = b"".join(b"%07d\r\n" % row for row in range(400_000))
    for padding in (b"", b"x", b"xy"):
        found = read(tmp_path, padding + content)
        assert len(found) == 400_000
        assert found[-1] == (400_000, "0399999")


def test_a_directory_a_missing_file_a_device_and_an_empty_file_are_refused(tmp_path):
    for path, said in (
        (tmp_path, "is a directory"),
        (tmp_path / "none", "no such file"),
        (write(tmp_path, b""), "is empty"),
        (write(tmp_path, gzip.compress(b"")), "is empty"),
        (write(tmp_path, b"\xef\xbb\xbf"), "is empty"),
    ):
        with pytest.raises(DocumentError, match=said) as caught:
            list(reading.lines(path))
        assert caught.value.errors[0].field == path.name
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DocumentError, match="no regular file"):
        list(reading.lines(pipe))


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path, b"a\n")

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", denied)
    with pytest.raises(DocumentError, match="cannot be read: permission denied"):
        list(reading.lines(path))


def test_what_is_no_text_is_refused_with_line_and_offset(tmp_path):
    assert "line 3: is not UTF-8" in refused(tmp_path, b"a\nb\n\xe9t\xe9\n")
    assert "byte 4" in refused(tmp_path, b"a\nb\n\xe9t\xe9\n")
    assert "line 2: has a NUL byte" in refused(tmp_path, b"a\nb\0\n")
    assert "UTF-32" in refused(tmp_path, "a".encode("utf-32"))
    assert "UTF-16" in refused(tmp_path, b"\xff\xfea\0\n\0b")
    assert "ZIP" in refused(tmp_path, b"PK\x03\x04" + b"x" * 50)


@pytest.mark.parametrize("compress", [lambda data: gzip.compress(data, 1), zstandard.compress])
def test_a_compressed_file_that_is_cut_short_is_refused_with_the_line_reached(tmp_path, compress):
    data = compress(ROWS)
    found = refused(tmp_path, data[: len(data) * 3 // 4])
    assert "cut short" in found
    assert 1 < int(found.removeprefix("line ").split(":")[0]) < 20_000


def test_damaged_compressed_data_are_refused(tmp_path):
    data = bytearray(gzip.compress(ROWS))
    data[len(data) // 2] ^= 0xFF
    assert "gzip data are broken" in refused(tmp_path, bytes(data))
    data = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(ROWS))
    data[len(data) // 2] ^= 0xFF
    assert "zstd data are broken" in refused(tmp_path, bytes(data))
    assert "broken" in refused(tmp_path, gzip.compress(b"a\n") + b"junk")


def test_an_endless_line_is_refused_in_little_memory(tmp_path):
    path = write(tmp_path, gzip.compress(b"a\n" + b"x" * 200_000_000, 1))
    tracemalloc.start()
    with pytest.raises(DocumentError, match="line 2: is longer than 4 MiB"):
        list(reading.lines(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * 2**20


def test_a_zip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "FREE", 2**20)
    for compressed in (gzip.compress(b"1,2\n" * 1_000_000, 9), zstandard.compress(b"1,2\n" * 1_000_000)):
        assert "zip bomb" in refused(tmp_path, compressed)
    monkeypatch.setattr(reading, "FREE", 256 * 2**20)
    monkeypatch.setattr(reading, "LARGEST", 2**21)
    assert "is larger than" in refused(tmp_path, b"1,2\n" * 1_000_000)


def test_progress_is_told_in_bytes_of_the_file_on_the_disk(tmp_path):
    path = write(tmp_path, gzip.compress(ROWS))
    told = []
    list(reading.lines(path, told.append))
    assert told[-1] == path.stat().st_size


def test_small_texts_and_json_are_limited(tmp_path):
    path = write(tmp_path, b"[1]\n")
    assert reading.text(path, 4) == "[1]\n"
    with pytest.raises(DocumentError, match="larger than"):
        reading.text(path, 2)
    assert reading.json_document(path) == [1]


def test_json_takes_nan_and_refuses_repeated_keys_depth_and_what_is_none(tmp_path):
    found = reading.json_document(write(tmp_path, b'{"a": NaN, "b": Infinity}'))
    assert found["a"] != found["a"]
    assert found["b"] == float("inf")
    for content, said in (
        (b'{"a": 1,\n "a": 2}', "'a' twice"),
        (b"[" * 1_000_000, "nested too deep"),
        (b'{"a":' * 1_000_000, "nested too deep"),
        (b'{\n"a": }', "line 2: is no JSON at column 6"),
        (b"[" + b"9" * 5000 + b"]", "thousands of digits"),
    ):
        with pytest.raises(DocumentError, match=said):
            reading.json_document(write(tmp_path, content))


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail_otherwise(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "file"
    for data in (content, b"\x1f\x8b" + content, zlib.compress(content, wbits=31)[:-3], b"\x28\xb5\x2f\xfd" + content):
        path.write_bytes(data)
        with suppress(DocumentError):
            list(reading.lines(path))


def test_half_of_a_surrogate_pair_is_refused_by_its_line():
    with pytest.raises(DocumentError, match="line 3: has broken Unicode"):
        reading.json_value('{"session_id": "\\ud800"}', "log.jsonl", 3)
    assert reading.json_value('{"a": "\\ud83d\\ude00"}', "log.jsonl") == {"a": "😀"}
