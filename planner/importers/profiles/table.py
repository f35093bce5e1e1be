"""A table of lengths and times: `tokens,seconds`, under the names that people give them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
    "concurrency": _words(
        "batch batch_size concurrency max_concurrency num_concurrent_requests concurrent_requests concurrent_users "
        "users num_users clients num_clients streams"
    ),
    "requested_rate_rps": _words(
        "request_rate request_rate_rps requested_rate qps target_qps rps rate arrival_rate requests_per_second"
    ),
    "output_tokens": _words(
        "output_tokens osl output_len output_length output_sequence_length random_output_len num_output_tokens "
        "completion_tokens generated_tokens"
    ),
    "requests": _words("requests num_requests completed request_count count"),
    "successful": _words("successful successful_requests num_successful num_successful_requests successes succeeded"),
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
    "backend": _words("backend engine framework inference_engine serving_engine"),
    "backend_version": _words("backend_version engine_version framework_version"),
    "tp": _words("tp tp_size tensor_parallel tensor_parallel_size tensor_parallelism"),
    "pp": _words("pp pp_size pipeline_parallel_size"),
    "ep": _words("ep ep_size moe_ep_size expert_parallel_size"),
    "gpus": _words("gpus num_gpus n_gpus gpu_count"),
    "quant": _words("quant quantization precision dtype gemm_quant_mode"),
    "cache_hit_rate": _words("cache_hit_rate prefix_cache_hit_rate prefix_hit_rate kv_cache_hit_rate hit_rate"),
}
"""What was measured, where a table says it: a profile is of one."""
SUFFIXES = {"ms": 1e-3, "us": 1e-6, "s": 1.0, "sec": 1.0, "seconds": 1.0, "milliseconds": 1e-3}
SAY_SECONDS = {"seconds", "s", "prefill_seconds"}
SAY_NO_STAGE = {"seconds", "s", "time", "latency"}
"""Times that may be those of prefill or of the whole request."""
COUNTS = ("input_tokens", "new_tokens", "cached_tokens", "output_tokens", "requests", "successful")
"""Columns of whole numbers."""


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


@dataclass(frozen=True, slots=True)
class _Table:
    """Which column holds what."""

    found: Mapping[str, str]
    subjects: Mapping[str, str]
    scale: Mapping[str, float]
    """Seconds of one of each time."""
    include_cached: bool

    def number(self, record: Record, ours: str, lowest: float = 0.0) -> float | None:
        """What a line has in one of our fields, None where it has nothing. Raises DocumentError."""
        if ours not in self.found:
            return None
        value = record.number(self.found[ours], lowest)
        return value if value is None or ours not in COUNTS else _counted(record, self.found[ours], value)

    def needed(self, record: Record, ours: str) -> float:
        """As `number`, and greater than 0. Raises DocumentError."""
        value = self.number(record, ours)
        if not value:
            place = record.place(self.found[ours])
            raise refuse(place, value, "is empty" if value is None else "must be greater than 0")
        return value

    def failed(self, record: Record) -> str:
        """Where a line says that none of its requests came through, empty where it does not."""
        counts = [ours for ours in ("successful", "requests") if self.number(record, ours) == 0]
        return record.place(self.found[counts[0]]) if counts else ""


def _counted(record: Record, column: str, value: float) -> float:
    """A whole number; `1.024` is a thousand to some, and a fraction of a token to nobody. Raises DocumentError."""
    text = record.cells[column]
    if re.fullmatch(r"[-+]?\d{1,3}(\.\d{3})+", text):
        plainly = text.replace(".", "")
        raise refuse(record.place(column), text, f"has a point for thousands, or a fraction; write {plainly}")
    if value != int(value):
        raise refuse(
            record.place(column), text, "must be a whole number, without separators of thousands; round a mean"
        )
    return value


def read(header: tuple[int, list[str]], below: Iterable[tuple[int, list[str]]], choices: Choices) -> Results:
    """The table. Raises DocumentError naming line and column."""
    line, names = header
    found = columns(checked_header(line, names))
    scale = {ours: _scale(found[ours], line) for ours in TIMES if ours in found}
    subjects = {ours: name for ours, theirs in SUBJECTS.items() for name in names if plain(name) in theirs}
    table = _Table(found, subjects, scale, _include_cached(found, choices))
    failed: list[str] = []
    every = bounded(_row(record, table) for record in _measured(records(names, below), table, failed))
    if not every and failed:
        raise refuse(failed[0], 0, "all requests failed: there is nothing measured here; run the benchmark again")
    if not every:
        raise refuse(f"line {line}", None, "is the only line: there are no points below the header")
    rows = chosen(every, choices)
    alone = {} if ambiguous(rows) else rows[0].group
    return Results(
        format="CSV of lengths and times",
        rows=rows,
        mapping=tuple(Mapped(name, ours, _how(ours, scale)) for ours, name in {**found, **subjects}.items()),
        notes=(*few(rows), *_notes(names, table, failed, alone)),
        assumptions=_assumptions(table),
        model=alone.get("model"),
        system=alone.get("system"),
        engine=" ".join(filter(None, (alone.get("backend"), alone.get("backend_version")))),
        gpus=_gpus(alone),
        precision=alone.get("quant", ""),
        provenance="user",
    )


def _gpus(alone: Mapping[str, str]) -> int | None:
    """GPUs of one instance, where nothing but tensors is divided among them."""
    tp = alone.get("tp", "") if alone.get("pp", "1") == alone.get("ep", "1") == "1" else ""
    text = alone.get("gpus") or tp
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 else None


def _measured(every: Iterable[Record], table: _Table, failed: list[str]) -> Iterator[Record]:
    """The lines with a request that came through; of the others, `failed` gets the places that say so."""
    for record in every:
        place = table.failed(record)
        if place:
            failed.append(place)
        else:
            yield record


def _notes(names: Sequence[str], table: _Table, failed: Sequence[str], alone: Mapping[str, str]) -> Iterator[str]:
    """What gives no points, and what the points are not."""
    if failed:
        yield f"{len(failed)} lines without a request that came through are left out"
    hits = alone.get("cache_hit_rate", "")
    if not re.fullmatch(r"0*\.?0*\s*%?", hits):
        yield f"measured at a cache hit rate of {hits}: part of the prompts was cached, and T_prefill is understated"
    unused = [name for name in names if name not in {*table.found.values(), *table.subjects.values()}]
    if unused:
        yield f"columns not used: {quoted(unused)}"


def _assumptions(table: _Table) -> tuple[Assumption, ...]:
    found = table.found
    if not ("cached_tokens" in found and "input_tokens" in found):
        return ()
    told = f"whether {found['input_tokens']} counts the tokens of {found['cached_tokens']} too"
    return (Assumption("tokens_include_cached", "yes" if table.include_cached else "no", told, ("yes", "no")),)


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


def _row(record: Record, table: _Table) -> Row:
    tokens = table.needed(record, "input_tokens" if "input_tokens" in table.found else "new_tokens")
    cached = table.number(record, "cached_tokens")
    if cached and not table.include_cached:
        tokens += cached
    if cached and cached >= tokens:
        place = record.place(table.found["cached_tokens"])
        raise refuse(place, cached, f"must be less than the {tokens:g} tokens of the prompt")
    output = table.number(record, "output_tokens")
    _check_stage(record, table.found["ttft_s"], output)
    concurrency, rate = table.number(record, "concurrency", 1.0), _rate(record, table)
    requests, tpot = table.number(record, "successful"), table.number(record, "tpot_s")
    requests = table.number(record, "requests") if requests is None else requests
    return Row(
        place=f"line {record.line}",
        input_tokens=tokens,
        ttft_s=table.needed(record, "ttft_s") * table.scale["ttft_s"],
        tpot_s=tpot * table.scale["tpot_s"] if tpot else None,
        output_tokens=output,
        concurrency=concurrency,
        requests=None if requests is None else int(requests),
        cached_tokens=cached,
        requested_rate_rps=rate or None if rate != math.inf else None,
        # at no rate all requests are sent at once, as far as the concurrency lets them
        alone=concurrency == 1 if rate == math.inf else not rate and concurrency in (None, 1.0),
        group={ours: record.cells[name] for ours, name in table.subjects.items()},
    )


def _check_stage(record: Record, column: str, output: float | None) -> None:
    """Raises DocumentError where a time may be that of the whole request."""
    base = plain(column)
    if output and output > 1 and (base in SAY_NO_STAGE or base.rpartition("_")[0] in SAY_NO_STAGE):
        message = f"may be of the whole request, with {output:g} output tokens; call it ttft_s or ttft_ms if it ends at"
        raise refuse(record.place(column), record.cells[column], f"{message} the first token, or e2e_s if it does not")


def _rate(record: Record, table: _Table) -> float | None:
    """Requests a second that were sent, infinite where all came at once. Raises DocumentError."""
    column = table.found.get("requested_rate_rps", "")
    if record.cells.get(column, "").lower() in ("inf", "infinity"):
        return math.inf
    return table.number(record, "requested_rate_rps")
