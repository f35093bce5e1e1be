"""What kind of request log a file is, by what it holds; its name says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from planner.documents.errors import DocumentError, refuse
from planner.importers import reading
from planner.importers.base import Choices
from planner.importers.reading import Block
from planner.importers.tables import quoted
from planner.importers.traces.batch import Format, numbered
from planner.importers.traces.objects import Objects
from planner.importers.traces.records import AiperfRecords, SglangJson, SglangText, vllm_text
from planner.importers.traces.serving import Serving, is_result
from planner.importers.traces.tables import Table

PROMETHEUS = re.compile(rb"# (HELP|TYPE) \S|[a-zA-Z_:][\w:]*(\{[^}]*\})? [-+.\dNI][\w.+-]*( \d+)?$")
SGLANG = re.compile(rb"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
VLLM = re.compile(rb"(\(\w+[^)]*\) )?(INFO|WARNING|DEBUG|ERROR) \d\d-\d\d \d\d:\d\d:\d\d")
MEASURES = ("ttft", "latency", "throughput", "time_to_first_token", "results_", "benchmark", "load_summary")
MOST_RUNS = 10_000


def of(path: Path, choices: Choices) -> tuple[Format, Block]:
    """The format, and the first lines of the file. Raises DocumentError where it is no request log."""
    first = next(reading.blocks(path, longest=reading.LARGEST_JSON))
    texts, lines = numbered(first)
    if not texts:
        raise refuse(path.name, None, "has nothing but blank lines")
    begin = texts[0].lstrip()
    if SGLANG.match(begin):
        return SglangText(), first
    if begin[:1] in (b"{", b"["):
        return _json(path, first, choices), first
    if PROMETHEUS.match(begin):
        raise refuse(f"line {lines[0]}", None, "is a page of Prometheus metrics, not a request log")
    if VLLM.match(begin):
        raise vllm_text()
    if len(texts) == 1:
        first = _with_rows(path)
    return Table(first, choices), first


def _with_rows(path: Path) -> Block:
    """A header that stands alone, with what follows. Raises DocumentError where that is too long or cannot be read."""
    return Block(1, b"".join(block.data for block in islice(reading.blocks(path), 2)))


def _json(path: Path, first: Block, choices: Choices) -> Format:
    texts, lines = numbered(first)
    try:
        value = reading.json_value(texts[0].decode(), path.name, lines[0])
    except DocumentError:
        if len(texts) > 1 and texts[1].lstrip()[:1] == b"{" and texts[0].lstrip()[:1] == b"{":
            raise  # one object a line, and the first is broken
        return _document(path, reading.json_document(path), choices)
    if is_result(value):
        return Serving(list(_runs(path)), choices)
    if not isinstance(value, dict) or (len(texts) == 1 and _is_no_request(value)):
        return _document(path, value, choices)
    if isinstance(value.get("metadata"), Mapping) and "request_start_ns" in value["metadata"]:
        return AiperfRecords()
    if str(value.get("event")).startswith("request."):
        return SglangJson()
    return Objects(first, value, choices)


def _runs(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The results of a file with one a line. Raises DocumentError."""
    for line, text in enumerate(reading.text(path).split("\n"), 1):
        if not text.strip():
            continue
        value = reading.json_value(text, path.name, line)
        if not is_result(value) or line > MOST_RUNS:
            raise refuse(
                f"line {line}", None, f"must be a benchmark's result, as the lines before; at most {MOST_RUNS}"
            )
        if "input_lens" in value:
            yield line, value
        else:
            raise refuse(f"line {line}", None, _SUMMARY)


_SUMMARY = (
    "is a benchmark's summary without a row for each request, not a request log; "
    "save the requests too (--save-detailed, --output-details), or import it as a profile"
)


def _document(path: Path, value: Any, choices: Choices) -> Format:
    """A JSON document over several lines. Raises DocumentError where it is not a benchmark's result."""
    if isinstance(value, list):
        said = "is a JSON list, not a request log; one object a line is read, or a serving benchmark's result"
        raise refuse(path.name, None, said)
    if is_result(value) and "input_lens" in value:
        return Serving([(1, value)], choices)
    if not isinstance(value, dict):
        raise refuse(path.name, None, "is a JSON value, not a request log")
    if "model_type" in value or "architectures" in value:
        raise refuse(path.name, None, "is a model's configuration, not a request log")
    if any(measure in _words(value) for measure in MEASURES):
        raise refuse(path.name, None, _SUMMARY)
    raise refuse(path.name, None, f"is a JSON document with {quoted(value, 6)}, not a request log")


def _words(value: Mapping[str, Any]) -> str:
    """The names of its fields and of those one level below."""
    below = [key for each in value.values() if isinstance(each, Mapping) for key in each]
    return " ".join([*value, *below]).lower()


def _is_no_request(value: Mapping[str, Any]) -> bool:
    """Whether the only line of a file is no request: a configuration, or something with tables in it."""
    tables = any(isinstance(each, Mapping) for each in value.values()) and not {"metadata", "event"} & value.keys()
    return tables or "model_type" in value or "architectures" in value
