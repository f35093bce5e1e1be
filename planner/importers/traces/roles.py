"""Which column of a request log is what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.importers.base import Assumption, Choices
from planner.importers.tables import quoted
from planner.importers.traces.batch import UNITS

ROLES = ("arrival", "input", "output")
KNOWN: Mapping[str, tuple[str, ...]] = {
    "arrival": (
        *("arrival_time", "arrived_at", "arrival", "arrival_timestamp", "request_time", "request_timestamp"),
        *("start_time", "timestamp", "created_at", "datetime", "time", "ts", "t"),
    ),
    "input": (
        *("input_tokens", "prompt_tokens", "context_tokens", "request_tokens", "num_prefill_tokens", "prefill_tokens"),
        *("input_length", "prompt_length", "context_length", "input_len", "prompt_len", "input_toks", "isl"),
        *("num_input_tokens", "num_prompt_tokens", "input_sequence_length"),
    ),
    "output": (
        *("output_tokens", "completion_tokens", "generated_tokens", "response_tokens", "num_decode_tokens"),
        *("decode_tokens", "output_length", "response_length", "output_len", "output_toks", "osl", "gen_tokens"),
        *("num_output_tokens", "num_completion_tokens", "completion_length", "output_sequence_length"),
    ),
}
MEANINGS = {"arrival": "time of arrival", "input": "input tokens", "output": "output tokens"}
SUFFIXES = {"ns": "ns", "us": "us", "ms": "ms", "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s"}
ENGINE = ("throughput", "running", "waiting", "swapped", "pending", "cacheusage", "cachepct", "usage")
"""Parts of the names of columns that a time series of an engine has, and a request log has not."""
MEASURED = ("ttft", "latency", "timetofirsttoken", "percentile")
"""The same of a benchmark's summary."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The names of the columns, as the file has them, and what of it was not sure."""

    arrival: str
    input: str
    output: str
    unit: str | None = None
    """Of arrival, where its name says so."""
    assumptions: tuple[Assumption, ...] = ()


def find(names: Sequence[str], choices: Choices, line: int) -> Roles:
    """The columns by the user's choice or by their names. Raises DocumentError, by line, where there are none."""
    chosen = {role: choices.get(f"{role}_column") for role in ROLES}
    wrong = [
        FieldError(f"{role}_column", name, f"is no column of the file; it has {quoted(names)}")
        for role, name in chosen.items()
        if name and name not in names
    ]
    if wrong:
        raise DocumentError(wrong)
    found = {role: chosen[role] or _by_name(role, names) for role in ROLES}
    missing = [role for role in ROLES if not found[role]]
    if missing:
        raise _no_log(names, missing, f"line {line}")
    _check_distinct(found)
    for role, name in found.items():
        if names.count(str(name)) > 1:
            raise refuse(f"line {line}", name, f"is the name of two columns: which of them is {MEANINGS[role]}?")
    assumptions = tuple(
        Assumption(f"{role}_column", str(found[role]), f"the column of {MEANINGS[role]} of each request", tuple(names))
        for role in ROLES
    )
    arrival = str(found["arrival"])
    return Roles(arrival, str(found["input"]), str(found["output"]), _unit_of(arrival), assumptions)


def _check_distinct(found: Mapping[str, str | None]) -> None:
    """Raises DocumentError where one column is to be two things."""
    for role, name in found.items():
        other = next((each for each in found if found[each] == name), role)
        if other != role:
            raise refuse(f"{role}_column", name, f"is the column of {MEANINGS[other]} already; choose another")


def flat(name: str) -> str:
    """A name without case, blanks and signs."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _by_name(role: str, names: Iterable[str]) -> str | None:
    by_flat = {flat(name): name for name in reversed(list(names))}
    endings = ["", *SUFFIXES] if role == "arrival" else [""]
    for known in KNOWN[role]:
        for ending in endings:
            if (name := by_flat.get(flat(known) + ending)) is not None:
                return name
    return None


def _unit_of(name: str) -> str | None:
    last = re.split(r"[^a-z]+", name.lower().strip(" )]"))[-1]
    return SUFFIXES.get(last) if flat(name) != last else None


def unused_notes(names: Iterable[str], used: Iterable[str], found: Roles, *, has_blocks: bool) -> tuple[str, ...]:
    """What to say of the columns that nothing is made of, first of those that somebody may miss."""
    unused = [name for name in dict.fromkeys(names) if name not in set(used)]
    said = []
    for role, taken in (("arrival", found.arrival), ("input", found.input), ("output", found.output)):
        rivals = [name for name in unused if _by_name(role, [name])]
        if rivals:
            said.append(f"{MEANINGS[role]} are taken from {taken}, not from {quoted(rivals)}; {role}_column chooses")
    cached = [name for name in unused if "cached" in flat(name)]
    if cached:
        why = "" if has_blocks else ", which this file has not"
        said.append(f"{quoted(cached)} is not used: reuse is computed from block hashes only{why}")
    return (*said, *([f"columns not used: {quoted(unused)}"] if unused else []))


def _no_log(names: Sequence[str], missing: Sequence[str], place: str) -> DocumentError:
    if any(part in flat(name) for name in names for part in MEASURED):
        said = f"is a table of measurements, not a request log: it has no {MEANINGS[missing[0]]} of each request"
        return refuse(place, None, said)
    engine = [name for name in dict.fromkeys(names) if any(part in flat(name) for part in ENGINE)]
    if len(engine) >= 2:
        said = f"is a time series of an engine ({quoted(engine, 4)}), not a request log: it has no row for each request"
        return refuse(place, None, said)
    wanted = ", ".join(f"{role}_column" for role in missing)
    lacking = ", ".join(MEANINGS[role] for role in missing)
    listed = quoted(dict.fromkeys(names), 12)
    said = f"this is not a request log: no column of {lacking} among {listed}; choose {wanted} if there is one"
    return refuse(place, None, said)


LEAST_MS = 1000
"""Numbers with fractions from here on can be milliseconds, which few write with fractions."""


def likely_unit(times: Sequence[str], usual: str | None = None, *, has_blocks: bool = False) -> tuple[str, str]:
    """The unit that numbers say by how they are written, else the format's usual one, or seconds; and why.

    As many digits as today has in a unit are dates in it, and what has fractions counts seconds. In a format of
    milliseconds, times with block hashes stay milliseconds where they lie apart as milliseconds do.
    """
    digits = max((len(time.split(".")[0]) for time in times if time[:1].isdigit()), default=0)
    by_digits = {10: "s", 13: "ms", 16: "us", 19: "ns"}.get(digits)
    if digits < 13 and any(_has_fraction(time) for time in times):
        if usual == "ms" and has_blocks and not by_digits and _apart_as_ms(times):
            return "ms", "they have fractions, but are as large and as far apart as the format's milliseconds"
        return "s", ""
    return by_digits or usual or "s", ""


def _has_fraction(time: str) -> bool:
    """Whether digits other than 0 stand behind the point: programs write whole numbers as 27482.0 too."""
    return any(digit in "123456789" for digit in re.split("[eE]", time)[0].partition(".")[2])


def _apart_as_ms(times: Sequence[str]) -> bool:
    """Whether numbers reach a thousand, with a typical gap of at least one: in seconds, the traffic of a quiet day."""
    values = sorted(float(time) for time in times)
    gaps = [later - earlier for earlier, later in pairwise(values) if later > earlier]
    return values[-1] >= LEAST_MS and bool(gaps) and median(gaps) >= 1


def unit_assumption(choices: Choices, default: str, why: str = "") -> Assumption:
    """The unit of a clock that says none, as chosen or as assumed. Raises DocumentError on a choice that is none."""
    value = choices.get("timestamp_unit", default)
    if value not in UNITS:
        raise refuse("timestamp_unit", value, f"must be one of {', '.join(UNITS)}")
    text = "the unit of the times, which the file does not say" + (f"; {why}" if why and value == default else "")
    return Assumption("timestamp_unit", value, text, tuple(UNITS))
