"""Results of vLLM's and SGLang's serving benchmarks, where they list their requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.documents.errors import refuse
from planner.engine.traces import Chunk
from planner.engine.traces.chunk import Int64
from planner.importers.base import Assumption, Choices, Mapped
from planner.importers.reading import LARGEST_JSON, Block
from planner.importers.traces import cells
from planner.importers.traces.batch import Batch, Clock, Mistakes

FAILED = "failed in the benchmark"
SUMMARY = ("duration", "completed", "total_input_tokens", "request_throughput", "mean_ttft_ms")


def is_result(value: Any) -> bool:
    """Whether it is the result of one run, with or without its requests."""
    return isinstance(value, Mapping) and ("input_lens" in value or sum(key in value for key in SUMMARY) >= 3)


class Serving:
    """The requests of one run. The whole file is in memory: it is one JSON document, or few."""

    longest_line = LARGEST_JSON

    def __init__(self, runs: Sequence[tuple[int, Mapping[str, Any]]], choices: Choices) -> None:
        """`runs` with the lines on which they begin. Raises DocumentError where no request was served."""
        self.name = "serving benchmark result"
        self.assumptions: tuple[Assumption, ...] = ()
        number = 1
        if len(runs) > 1:
            names = tuple(str(each) for each in range(1, len(runs) + 1))
            chosen = choices.get("run", names[0])
            if chosen not in names:
                raise refuse("run", chosen, f"must be a run of the file, 1 to {len(runs)}")
            number = int(chosen)
            self.assumptions = (Assumption("run", chosen, f"the file has {len(runs)} runs; one is a trace", names),)
        self._line, self._run = runs[number - 1]
        self._all = self._read()
        known = "start_times" in self._run
        self.clock = Clock(known=known, duration_s=None if known else self._duration_s())
        how = "seconds" if self.clock.known else "not recorded: evenly over `duration`, in the order they were sent"
        self.mapping = (
            Mapped("start_times" if self.clock.known else "duration", "arrivals", how),
            Mapped("input_lens", "input_tokens"),
            Mapped("output_lens", "output_tokens"),
            Mapped("errors", "", "failed requests are left out"),
        )
        self.notes = () if self.clock.known else ("the file has no times of arrival: how requests arrive is not known",)

    def rows(self, block: Block) -> Batch:
        """All requests, with the first block; see `Format`."""
        return self._all if block.line == 1 else Batch(self._all.lines[:0], self._all.chunk.take(np.arange(0)))

    def _read(self) -> Batch:
        inputs = self._list("input_lens")
        outputs = self._list("output_lens") if "output_lens" in self._run else None
        if outputs is None:
            raise refuse(f"line {self._line}, output_lens", None, "is missing: run the benchmark with --save-detailed")
        errors = self._run.get("errors")
        errors = errors if isinstance(errors, list) else []
        failed = np.array([bool(error) for error in errors] if len(errors) == len(inputs) else [False] * len(inputs))
        mistakes = Mistakes()
        columns = [
            self._column(key, values, mistakes) for key, values in (("input_lens", inputs), ("output_lens", outputs))
        ]
        times = self._times(len(inputs), mistakes)
        mistakes.check()
        failed = failed | (columns[1] == 0)
        if failed.all():
            raise refuse(f"line {self._line}", None, f"all {failed.size} requests of the benchmark failed")
        kept = np.flatnonzero(~failed)
        started = times[kept] - times[kept].min()  # the client's own clock begins anywhere
        chunk = Chunk(started, columns[0][kept], columns[1][kept])
        order = np.argsort(started, kind="stable")
        left_out = {FAILED: int(failed.sum())} if failed.any() else {}
        return Batch(np.full(kept.size, self._line), chunk.take(order), left_out)

    def _duration_s(self) -> float | None:
        value = self._run.get("duration")
        return float(value) if isinstance(value, int | float) and 0 < value < 1e9 else None

    def _list(self, key: str) -> list[Any]:
        found = self._run.get(key)
        if not isinstance(found, list) or not found:
            raise refuse(f"line {self._line}, {key}", None, "must be a list with a number for every request")
        if key != "input_lens" and len(found) != len(self._run["input_lens"]):
            there = len(self._run["input_lens"])
            raise refuse(f"line {self._line}, {key}", None, f"has {len(found)} numbers for {there} requests")
        return found

    def _column(self, key: str, values: Sequence[Any], mistakes: Mistakes) -> Int64:
        found = []
        for place, value in enumerate(values):
            right = not isinstance(value, bool) and isinstance(value, int) and 0 <= value <= cells.LONGEST
            if not right:
                mistakes.add(self._line, f"{key}.{place}", value, f"must be a whole number up to {cells.LONGEST:,}")
            found.append(value if right else 0)
        return np.array(found, dtype=np.int64)

    def _times(self, count: int, mistakes: Mistakes) -> Int64:
        if "start_times" not in self._run:
            return np.arange(count) * round((self._duration_s() or 0) * 1e9 / count)
        found = []
        for place, value in enumerate(self._list("start_times")):
            right = (
                isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < cells.LATEST_NS / 1e9
            )
            if not right:
                mistakes.add(self._line, f"start_times.{place}", value, "must be a number of seconds")
            found.append(round(value * 1e9) if right else 0)
        return np.array(found, dtype=np.int64)
