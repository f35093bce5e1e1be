"""Logs with a request on some of their lines: AIPerf's records, and SGLang's request log as JSON and as text."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from planner.documents.errors import DocumentError, refuse
from planner.engine.traces import Chunk
from planner.importers.base import Assumption, Mapped
from planner.importers.reading import LONGEST_LINE, Block, json_value
from planner.importers.traces import cells
from planner.importers.traces.batch import Batch, Clock, Mistakes, column, identity, numbered
from planner.importers.traces.cells import Wrong


class Request(NamedTuple):
    """Nanoseconds by the file's clock, tokens in and out, and the session."""

    time_ns: int
    input_tokens: int
    output_tokens: int
    session: int = 0


class Records(ABC):
    """A file that is read line by line."""

    name: str
    mapping: tuple[Mapped, ...]
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    clock = Clock(wall=True)
    longest_line = LONGEST_LINE
    has_sessions = False

    @abstractmethod
    def request(self, text: str, line: int) -> Request | str | None:
        """The request on a line; why it is left out; or None of a line about something else.

        Raises Wrong, DocumentError.
        """

    def rows(self, block: Block) -> Batch:
        """See `Format`."""
        mistakes, left_out = Mistakes(), Counter[str]()
        found: list[tuple[int, Request]] = []
        for text, line in zip(*numbered(block), strict=True):
            try:
                each = self.request(text.decode(), line)
            except Wrong as problem:
                mistakes.add(line, *problem.args)
            except DocumentError as problem:
                mistakes.add(line, None, None, problem.errors[0].message)
            else:
                if isinstance(each, str):
                    left_out[each] += 1
                elif each:
                    found.append((line, each))
        mistakes.check()
        times, inputs, outputs, sessions = (column(request[place] for _, request in found) for place in range(4))
        chunk = Chunk(times, inputs, outputs, sessions=sessions if self.has_sessions else None)
        return Batch(column(line for line, _ in found), chunk, left_out)


class _At:
    """A value in a JSON document with its dotted path."""

    def __init__(self, value: Any, path: str = "") -> None:
        self.value, self.path = value, path

    def __getitem__(self, key: str) -> _At:
        below = self.value.get(key) if isinstance(self.value, Mapping) else None
        return _At(below, f"{self.path}.{key}" if self.path else key)

    def wrong(self, message: str) -> Wrong:
        """What a line says of it."""
        return Wrong(self.path, self.value, message if self.value is not None else "is missing")

    def whole(self, most: int) -> int:
        """A whole number from 0 on. Raises Wrong."""
        value = self.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self.wrong(f"must be a whole number from 0 to {most:,}")
        return value


class AiperfRecords(Records):
    """AIPerf's `profile_export.jsonl`: one object a request, times in ns since 1970, metrics with units."""

    name = "AIPerf records JSONL"
    mapping = (
        Mapped("metadata.request_start_ns", "arrivals", "ns since 1970"),
        Mapped("metrics.input_sequence_length.value", "input_tokens"),
        Mapped("metrics.output_sequence_length.value", "output_tokens"),
        Mapped("metadata.x_correlation_id", "sessions", "a conversation that was led"),
        Mapped("metadata.benchmark_phase", "", "only profiling is read"),
    )
    has_sessions = True

    def request(self, text: str, line: int) -> Request | str | None:
        """See `Records`."""
        record = _At(json_value(text, "", line))
        metadata, metrics = record["metadata"], record["metrics"]
        if not isinstance(metadata.value, Mapping):
            raise metadata.wrong("must be a table")
        phase = metadata["benchmark_phase"].value
        if phase != "profiling":
            return f"of the phase {phase!s:.40}, not profiling"
        if metadata["was_cancelled"].value or record["error"].value:
            return "failed or cancelled"
        session = metadata["x_correlation_id"].value
        return Request(
            metadata["request_start_ns"].whole(cells.LATEST_NS),
            _aiperf_tokens(metrics["input_sequence_length"]),
            _aiperf_tokens(metrics["output_sequence_length"]),
            identity(str(session)) if session is not None else -line,
        )


def _aiperf_tokens(metric: _At) -> int:
    if metric["unit"].value not in ("tokens", None):
        raise metric["unit"].wrong("must be tokens")
    return metric["value"].whole(cells.LONGEST)


SGLANG = (
    Mapped("timestamp less e2e_latency", "arrivals", "a request is logged when it ends"),
    Mapped("meta_info.prompt_tokens", "input_tokens"),
    Mapped("meta_info.completion_tokens", "output_tokens"),
)
SGLANG_NOTE = "only the lines of finished requests are read; the log's times are local, and to the second in text logs"


class SglangJson(Records):
    """SGLang's request log with `--log-requests-format json`."""

    name = "SGLang request log (JSON)"
    mapping = SGLANG
    notes = (SGLANG_NOTE,)

    def request(self, text: str, line: int) -> Request | str | None:
        """See `Records`."""
        entry = _At(json_value(text, "", line))
        if entry["event"].value != "request.finished":
            return None
        about = entry["out"]["meta_info"]
        moment, latency = entry["timestamp"], about["e2e_latency"].value
        if not isinstance(moment.value, str) or not isinstance(latency, int | float) or not 0 <= latency < 1e6:
            raise moment.wrong("must be a date and time, with an e2e_latency in seconds")
        try:
            ended, _ = cells.wall(moment.value)
        except Wrong as problem:
            raise moment.wrong(str(problem)) from problem
        tokens = (about[key].whole(cells.LONGEST) for key in ("prompt_tokens", "completion_tokens"))
        return Request(ended - round(latency * 1e9), *tokens)


class SglangText(Records):
    """SGLang's request log as text."""

    name = "SGLang request log"
    mapping = SGLANG
    notes = (SGLANG_NOTE,)
    FINISHED = re.compile(r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)[^\]]{0,40}\].{0,40}?Finish: obj=")

    def request(self, text: str, line: int) -> Request | str | None:
        """See `Records`. What stands last on the line is the engine's; before it come texts of users."""
        began = self.FINISHED.match(text)
        if not began:
            return None
        found = [
            re.findall(rf"'{key}': ([\d.]+)", text) for key in ("e2e_latency", "prompt_tokens", "completion_tokens")
        ]
        if not all(found):
            raise Wrong(
                None, None, "is of a finished request, but without prompt_tokens, completion_tokens, e2e_latency"
            )
        try:
            ended, _ = cells.wall(began[1])
            latency = cells.nanoseconds(found[0][-1], 9)
            return Request(ended - latency, cells.tokens(found[1][-1]), cells.tokens(found[2][-1]))
        except Wrong as problem:
            raise Wrong(None, None, str(problem)) from problem


def vllm_text() -> DocumentError:
    """Why vLLM's own log is not read."""
    said = "is vLLM's log, which does not say how many tokens a request had: use a benchmark's result or a request log"
    return refuse("line 1", None, said)
