"""A table of lengths and times: `tokens,seconds`, under the names that people give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.documents.errors import refuse
from planner.importers.base import Assumption, Choices, Mapped
from planner.importers.profiles.groups import ambiguous, chosen
from planner.importers.profiles.rows import UNITS_S, Results, Row, bounded, few
from planner.importers.tables import Record, checked_header, plain, quoted, records


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": _words(
        "tokens input_tokens isl length lengths input_len input_length input_sequence_length prompt_tokens prompt_len "
        "prompt_length seq_len sequence_length prefill_tokens random_input_len l"
    ),
    "new_tokens": _words("new_tokens new l_new uncached_tokens incremental_tokens"),
    "cached_tokens": _words("cached_tokens cached l_cached cached_len prefix_tokens prefix_len"),
    "concurrency": _words("batch batch_size concurrency max_concurrency num_concurrent_requests"),
    "output_tokens": _words("output_tokens osl output_len output_length random_output_len"),
    "requests": _words("requests num_requests completed request_count count"),
}
TIMES: Mapping[str, tuple[str, ...]] = {
    "ttft_s": _words(
        "seconds s time ttft t_prefill prefill prefill_time prefill_latency prefill_seconds mean_ttft ttft_mean "
        "avg_ttft ttft_avg time_to_first_token mean_time_to_first_token latency"
    ),
    "tpot_s": _words("tpot mean_tpot tpot_mean avg_tpot time_per_output_token itl mean_itl inter_token_latency"),
}
SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "model": _words("model model_name model_id model_path"),
    "system": _words("system hardware gpu device accelerator"),
}
"""What was measured, where a table says it: a profile is of one."""
SUFFIXES = {"ms": 1e-3, "us": 1e-6, "s": 1.0, "sec": 1.0, "seconds": 1.0, "milliseconds": 1e-3}
SAY_SECONDS = {"seconds", "s", "prefill_seconds"}


def time_column(name: str) -> tuple[str, float] | None:
    """Which time a column holds and how many seconds one of it is: 0 where its name says no unit; None if it is none.

    The unit is the last part of the name: ttft_ms, `TTFT (ms)`, prefill_s.
    """
    base = plain(name)
    for ours, theirs in TIMES.items():
        if base in SAY_SECONDS and base in theirs:
            return ours, 1.0
        head, _, tail = base.rpartition("_")
        if head in theirs and tail in SUFFIXES:
            return ours, SUFFIXES[tail]
        if base in theirs:
            return ours, 0.0
    return None


def columns(header: Sequence[str]) -> dict[str, str]:
    """Our fields to their columns. Raises DocumentError where two columns are the same thing."""
    found: dict[str, str] = {}
    for name in header:
        timed = time_column(name)
        ours = timed[0] if timed else next((key for key, theirs in NAMES.items() if plain(name) in theirs), None)
        if ours is None:
            continue
        if ours in found:
            raise refuse(f"column {name}", None, f"is the same as column {found[ours]}; leave one of them out")
        found[ours] = name
    return found


def is_table(header: Sequence[str]) -> bool:
    """Whether the first row of a CSV names a length and a time."""
    names = {plain(name) for name in header}
    times = [time_column(name) for name in header]
    return any(time and time[0] == "ttft_s" for time in times) and bool(
        names & {*NAMES["input_tokens"], *NAMES["new_tokens"]}
    )


def read(header: tuple[int, list[str]], below: Iterable[tuple[int, list[str]]], choices: Choices) -> Results:
    """The table. Raises DocumentError naming line and column."""
    line, names = header
    found = columns(checked_header(line, names))
    scale = {ours: _scale(found[ours], line) for ours in TIMES if ours in found}
    include = _include_cached(found, choices)
    subjects = {ours: name for ours, theirs in SUBJECTS.items() for name in names if plain(name) in theirs}
    every = bounded(_row(record, found, scale, include, subjects) for record in records(names, below))
    if not every:
        raise refuse(f"line {line}", None, "is the only line: there are no points below the header")
    rows = chosen(every, choices)
    alone = {} if ambiguous(rows) else rows[0].group
    unused = [name for name in names if name not in {*found.values(), *subjects.values()}]
    assumptions = []
    if "cached_tokens" in found and "input_tokens" in found:
        told = f"whether {found['input_tokens']} counts the tokens of {found['cached_tokens']} too"
        assumptions.append(Assumption("tokens_include_cached", "yes" if include else "no", told, ("yes", "no")))
    return Results(
        format="CSV of lengths and times",
        rows=rows,
        mapping=tuple(Mapped(name, ours, _how(ours, scale)) for ours, name in {**found, **subjects}.items()),
        notes=(*few(rows), *([f"columns not used: {quoted(unused)}"] if unused else [])),
        assumptions=tuple(assumptions),
        model=alone.get("model"),
        system=alone.get("system"),
        provenance="user",
    )


def _how(ours: str, scale: Mapping[str, float]) -> str:
    return next((unit for unit, factor in UNITS_S.items() if ours in scale and factor == scale[ours]), "")


def _scale(column: str, line: int) -> float:
    timed = time_column(column)
    if timed is None or timed[1] == 0:
        raise refuse(f"line {line}, {column}", None, f"says no unit; call it {plain(column)}_s or {plain(column)}_ms")
    return timed[1]


def _include_cached(found: Mapping[str, str], choices: Choices) -> bool:
    """Whether lengths count the cached tokens too, as engines' own figures do."""
    if "input_tokens" in found and "new_tokens" in found:
        raise refuse(f"column {found['new_tokens']}", None, f"is given beside {found['input_tokens']}; leave one out")
    if "new_tokens" in found:
        return False
    said = choices.get("tokens_include_cached", "yes")
    if said not in ("yes", "no"):
        raise refuse("tokens_include_cached", said, "must be yes or no")
    return said == "yes"


def _row(
    record: Record, found: Mapping[str, str], scale: Mapping[str, float], include: bool, subjects: Mapping[str, str]
) -> Row:
    def value(ours: str, lowest: float = 0.0) -> float | None:
        return record.number(found[ours], lowest) if ours in found else None

    def needed(ours: str) -> float:
        number = value(ours)
        if not number:
            place = record.place(found[ours])
            raise refuse(place, number, "is empty" if number is None else "must be greater than 0")
        return number

    tokens = needed("input_tokens" if "input_tokens" in found else "new_tokens")
    cached = value("cached_tokens")
    if cached and not include:
        tokens += cached
    if cached and cached >= tokens:
        raise refuse(
            record.place(found["cached_tokens"]), cached, f"must be less than the {tokens:g} tokens of the prompt"
        )
    concurrency, requests, tpot = value("concurrency", 1.0), value("requests"), value("tpot_s")
    return Row(
        place=f"line {record.line}",
        input_tokens=tokens,
        ttft_s=needed("ttft_s") * scale["ttft_s"],
        tpot_s=tpot * scale["tpot_s"] if tpot else None,
        output_tokens=value("output_tokens"),
        concurrency=concurrency,
        requests=_all_failed(record, found, requests),
        cached_tokens=cached,
        alone=concurrency in (None, 1.0),
        group={ours: record.cells[name] for ours, name in subjects.items()},
    )


def _all_failed(record: Record, found: Mapping[str, str], requests: float | None) -> int | None:
    if requests == 0:
        raise refuse(record.place(found["requests"]), 0, "all requests failed: leave this line out")
    return None if requests is None else int(requests)
