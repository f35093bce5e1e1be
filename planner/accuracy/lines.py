"""One measured figure beside what was predicted for it, and what many of them say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planner.engine import accuracy
from planner.entries.measurement import MEASURED

TTFT = ("ttft_mean_s", "ttft_p50_s", "ttft_p90_s", "ttft_p99_s")
type Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """A figure of one run. `lower` and `upper` are what was predicted: alike for a point, None where nothing is."""

    run: int
    """Its place among the runs, the first being 1."""
    quantity: str
    measured: float
    input_tokens: float
    output_tokens: float | None
    concurrency: float | None
    rate_rps: float | None
    lower: float | None = None
    upper: float | None = None
    is_extrapolated: bool = False
    """Whether what was predicted lies outside what the profile was measured for."""
    evidence: str = ""
    """The kind of evidence that the prediction rests on."""
    reason: str = ""
    """Why it is compared with nothing."""

    @property
    def is_point(self) -> bool:
        """Whether one value was predicted."""
        return self.lower is not None and self.lower == self.upper

    @property
    def error(self) -> float | None:
        """Relative, of the nearer bound where bounds were predicted; None where nothing was, or 0 was measured."""
        if self.lower is None or self.upper is None or self.measured <= 0:
            return None
        return float(accuracy.errors_of_bounds(self.lower, self.upper, self.measured))

    @property
    def place(self) -> str:
        """Of bounds: `within`, or on which side of them the measurement lies."""
        error = self.error
        if error is None or self.is_point:
            return ""
        return "within" if error == 0 else "above" if error < 0 else "below"

    def as_json(self) -> Document:
        """Every field, and what follows from them."""
        return asdict(self) | {"is_point": self.is_point, "error": self.error, "place": self.place}


def summaries(lines: Sequence[Line]) -> Document:
    """By quantity and by length what the errors of points come to, and where bounds have their measurements."""
    points = [line for line in lines if line.is_point and line.error is not None]
    reasons = Counter((line.quantity, line.reason) for line in lines if line.reason)
    return {
        "by_quantity": [row for quantity in MEASURED if (row := _of_quantity(quantity, points))],
        "by_length": [row for quantity in MEASURED for row in _by_length(quantity, points)],
        "bounds": [row for quantity in MEASURED if (row := _of_bounds(quantity, lines))],
        "not_compared": [
            {"quantity": quantity, "reason": reason, "count": count} for (quantity, reason), count in reasons.items()
        ],
    }


def summarised(errors: Sequence[float]) -> Document | None:
    """Count, bias, RMS and the largest as a document; null of none."""
    found = accuracy.summary(errors)
    return asdict(found) if found else None


def _errors(quantity: str, lines: Sequence[Line]) -> tuple[list[float], list[float]]:
    """Lengths in tokens and errors of the lines of a quantity."""
    found = [(line.input_tokens, line.error) for line in lines if line.quantity == quantity and line.error is not None]
    return [length for length, _ in found], [error for _, error in found]


def _of_quantity(quantity: str, points: Sequence[Line]) -> Document | None:
    found = summarised(_errors(quantity, points)[1])
    return {"quantity": quantity, **found} if found else None


def _by_length(quantity: str, points: Sequence[Line]) -> list[Document]:
    return [
        {"quantity": quantity, "from_tokens": each.lower, "to_tokens": each.upper, **asdict(each.summary)}
        for each in accuracy.by_length(*_errors(quantity, points))
    ]


def _of_bounds(quantity: str, lines: Sequence[Line]) -> Document | None:
    """How many measurements lie within their bounds, and how far the others are from the nearer one."""
    bounded = [line for line in lines if line.quantity == quantity and line.place]
    found = summarised([line.error for line in bounded if line.error is not None])
    places = Counter(line.place for line in bounded)
    counts = {place: places[place] for place in ("within", "above", "below")}
    return {"quantity": quantity, **counts, **found} if found else None
