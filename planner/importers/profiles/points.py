"""From what was measured to the points of a profile: only prefill that waited for nobody, unless somebody says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import floor, log2
from typing import Any

from planner.documents.errors import DocumentError, refuse
from planner.importers.base import Assumption, Choices
from planner.importers.profiles.rows import Row

CELLS_AN_OCTAVE = 4
"""Single requests are joined to means over lengths of one cell: within a quarter of a doubling, 19 %."""
MOST_POINTS = 1000
LOADED = "use_loaded"
LOADS: Mapping[str, Callable[[Row], float | None]] = {
    "concurrency": lambda row: row.concurrency,
    "request_rate": lambda row: row.requested_rate_rps,
}
"""What requests waited for, by the choice of one of several."""


@dataclass(frozen=True, slots=True)
class Points:
    """Points of T_prefill, of prefill on a cached prefix, and of decode steps, as a profile's document has them."""

    tokens: list[float]
    seconds: list[float]
    cached: list[dict[str, float]]
    decode: list[dict[str, float | None]]
    notes: tuple[str, ...]
    assumptions: tuple[Assumption, ...]


def prefill_points(rows: Sequence[Row], choices: Choices) -> Points:
    """The points that the rows and the choices give; there may be fewer than two.

    Raises DocumentError on a choice that cannot be, and where several concurrencies have to be told apart.
    """
    usable, notes, assumptions = _usable(rows, choices)
    plain = [row for row in usable if not row.cached_tokens]
    means = [_mean(group) for group in _same(plain, _cell)]
    if len(means) > MOST_POINTS:
        raise refuse(
            "tokens", len(means), f"different lengths; a profile takes at most {MOST_POINTS}: join some of them"
        )
    behind = [row for row in usable if row.cached_tokens]
    return Points(
        tokens=[length for length, _ in means],
        seconds=[seconds for _, seconds in means],
        cached=_cached(behind),
        decode=_decode(rows),
        notes=(*notes, *_joined(plain), *_idle(rows)),
        assumptions=assumptions,
    )


def _usable(rows: Sequence[Row], choices: Choices) -> tuple[list[Row], list[str], tuple[Assumption, ...]]:
    """The rows that may stand for prefill."""
    said = choices.get(LOADED, "no")
    if said not in ("yes", "no"):
        raise refuse(LOADED, said, "must be yes or no")
    crowded = [row for row in rows if not row.alone]
    if not crowded:
        return list(rows), [], ()
    told = "whether TTFT that has waiting for other requests in it may stand for prefill"
    assumption = Assumption(LOADED, said, told, ("no", "yes"))
    if said == "no":
        alone = [row for row in rows if row.alone]
        note = f"{len(crowded)} of {len(rows)} rows may have had other requests in flight and give no points"
        return alone, [f"{note}; set {LOADED}=yes to take them all the same"], (assumption,)
    chosen = _one_load(rows, choices)
    return chosen, [_loaded_note(chosen)], (assumption,)


def _loaded_note(rows: Sequence[Row]) -> str:
    size = rows[0].concurrency
    flight = "an unknown number of requests" if size is None else f"{size:.4g} requests"
    return f"TTFT was measured with {flight} in flight: queueing is in it, and T_prefill is overstated"


def _one_load(rows: Sequence[Row], choices: Choices) -> list[Row]:
    """Points at several concurrencies or request rates are no curve: the rows of the one that is chosen."""
    left = list(rows)
    for choice, load in LOADS.items():
        if choice in choices:
            kept = [row for row in left if _said(load(row)) == choices[choice]]
            if not kept:
                raise refuse(choice, choices[choice], f"was not measured; there are {_loads(left, load)}")
            left = kept
    for choice, load in LOADS.items():
        if len({_said(load(row)) for row in left}) > 1:
            raise refuse(choice, None, f"has to be chosen, the file has several: {_loads(left, load)}")
    return left


def _loads(rows: Sequence[Row], load: Callable[[Row], float | None]) -> str:
    there = sorted({load(row) for row in rows}, key=lambda value: value or 0.0)
    return ", ".join(dict.fromkeys(_said(value) for value in there))


def _said(load: float | None) -> str:
    return "unknown" if load is None else f"{load:.6g}"


def _cell(row: Row) -> tuple[float, ...]:
    """What is joined to one point: the same length; of single requests, which scatter, lengths of one cell."""
    if not row.per_request:
        return (row.input_tokens, 0)
    return (2 ** (floor(CELLS_AN_OCTAVE * log2(row.input_tokens)) / CELLS_AN_OCTAVE), 1)


def _same(rows: Iterable[Row], key: Callable[[Row], tuple[float, ...]]) -> list[list[Row]]:
    return [list(group) for _, group in groupby(sorted(rows, key=key), key=key)]


def _weighted(rows: Sequence[Row], quantity: Callable[[Row], float]) -> float:
    """The mean over requests; a row that does not say how many it stands for counts once."""
    if len(rows) == 1:
        return quantity(rows[0])
    weights = [row.requests or 1 for row in rows]
    return sum(weight * quantity(row) for weight, row in zip(weights, rows, strict=True)) / sum(weights)


def _mean(rows: Sequence[Row]) -> tuple[float, float]:
    return _weighted(rows, lambda row: row.input_tokens), _weighted(rows, lambda row: row.ttft_s)


def _joined(rows: Sequence[Row]) -> list[str]:
    """Which rows were averaged, and how far apart they lay."""
    singles = [row for row in rows if row.per_request]
    notes = []
    if singles:
        cells = len(_same(singles, _cell))
        notes.append(f"{len(singles)} requests are joined to {cells} points, each the mean over lengths within 19 %")
    for group in _same([row for row in rows if not row.per_request], _cell):
        times = [row.ttft_s for row in group]
        if len(group) > 1:
            spread = f"{min(times):.4g} to {max(times):.4g} s"
            notes.append(f"{group[0].input_tokens:g} tokens stand in {len(group)} rows, {spread}: their mean is taken")
    return notes[:20]


def _cached(rows: Sequence[Row]) -> list[dict[str, float]]:
    """Points of new tokens behind cached ones; single requests are joined as above, in both lengths."""

    def key(row: Row) -> tuple[float, ...]:
        cached = row.cached_tokens or 0.0
        if not row.per_request:
            return (row.input_tokens - cached, cached)
        return tuple(floor(CELLS_AN_OCTAVE * log2(max(size, 1))) for size in (row.input_tokens - cached, cached))

    return [
        {
            "new_tokens": _weighted(group, lambda row: row.input_tokens - (row.cached_tokens or 0.0)),
            "cached_tokens": _weighted(group, lambda row: row.cached_tokens or 0.0),
            "seconds": _weighted(group, lambda row: row.ttft_s),
        }
        for group in _same([row for row in rows if row.input_tokens - (row.cached_tokens or 0.0) >= 1], key)
    ]


def _decode(rows: Sequence[Row]) -> list[dict[str, float | None]]:
    """Time per output token against requests in flight and the mean context, half of the output behind the prompt."""

    def context(row: Row) -> float:
        return row.input_tokens + (row.output_tokens or 0.0) / 2

    def key(row: Row) -> tuple[float, ...]:
        return (row.concurrency or 0.0, 0.0 if row.per_request else context(row))

    timed = [row for row in rows if row.tpot_s and row.concurrency and row.concurrency >= 1]
    return [
        {
            "batch": group[0].concurrency,
            "context_tokens": _weighted(group, context),
            "seconds": _weighted(group, lambda row: row.tpot_s or 0.0),
        }
        for group in _same(timed, key)
    ]


def _idle(rows: Sequence[Row]) -> list[str]:
    """A decode step has a batch of one at least; a mean in flight below it counts the time without requests."""
    found = [row.concurrency for row in rows if row.tpot_s and row.concurrency and row.concurrency < 1]
    if not found:
        return []
    return [
        f"{len(found)} rows with {min(found):.3g} to {max(found):.3g} requests in flight give no decode steps: the "
        "mean counts times without any, and no step has a batch below 1"
    ]


def as_points(points: Points) -> dict[str, Any] | None:
    """`tokens` and `seconds` where they make a curve: at least two lengths."""
    return {"tokens": points.tokens, "seconds": points.seconds} if len(points.tokens) > 1 else None


def too_few(points: Points) -> DocumentError:
    """The error of a profile without a curve, with the reasons that the notes have."""
    why = "; ".join(points.notes)
    remedy = "put the results at several lengths into one file, one JSON object a line, or into a CSV tokens,seconds"
    message = f"usable lengths, and a profile needs two at least; {remedy}" + (f" ({why})" if why else "")
    return refuse("prefill.tokens", len(points.tokens), message)
