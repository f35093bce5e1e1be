"""Series by what they are: found, or made when their first sample comes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from monitoring.models import Series
from monitoring.readings import Histogram
from monitoring.wire import Mapped

CHUNK = 500
"""Digests that are asked for at once: databases take so many parameters."""


@dataclass(frozen=True, slots=True)
class Known:
    """A stored series, as the writer needs it."""

    id: int
    kind: str
    wrap_bits: int


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """What a series is: the key by which it is found."""

    source_id: int
    signal: str
    kind: str
    labels: tuple[tuple[str, str], ...]
    bounds: tuple[float, ...] | None

    @property
    def digest(self) -> str:
        """The same for the same series."""
        text = json.dumps([self.source_id, self.signal, self.kind, self.labels, self.bounds])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def wanted(source_id: int, series: Mapped) -> Wanted:
    """The key of a mapped series; of a histogram its bounds belong to it."""
    first = series.points[0].value
    bounds = first.bounds if isinstance(first, Histogram) else None
    return Wanted(source_id, series.signal, series.kind, series.labels, bounds)


class Book:
    """All series that this process has met."""

    def __init__(self) -> None:
        self._known: dict[Wanted, Known] = {}

    def find(self, given: Iterable[tuple[Wanted, int]]) -> None:
        """Looks up, or makes, those that were not met yet; each with its `wrap_bits`."""
        new = {key: bits for key, bits in given if key not in self._known}
        if not new:
            return
        by_digest = {key.digest: key for key in new}
        there = self._stored(list(by_digest))
        missing = [key for digest, key in by_digest.items() if digest not in there]
        if missing:
            Series.objects.bulk_create([_row(key, new[key]) for key in missing], ignore_conflicts=True)
            there |= self._stored([key.digest for key in missing])
        for digest, row in there.items():
            self._known[by_digest[digest]] = Known(row.pk, row.kind, row.wrap_bits)

    def __getitem__(self, key: Wanted) -> Known:
        return self._known[key]

    def clear(self) -> None:
        """Forgets: what was made in a transaction that failed is not there."""
        self._known.clear()

    @staticmethod
    def _stored(digests: list[str]) -> dict[str, Series]:
        found: dict[str, Series] = {}
        for at in range(0, len(digests), CHUNK):
            some = Series.objects.filter(digest__in=digests[at : at + CHUNK])
            found |= {row.digest: row for row in some.only("digest", "kind", "wrap_bits")}
        return found


def _row(key: Wanted, wrap_bits: int) -> Series:
    return Series(
        source_id=key.source_id,
        signal=key.signal,
        kind=key.kind,
        labels=dict(key.labels),
        bounds=None if key.bounds is None else list(key.bounds),
        digest=key.digest,
        wrap_bits=wrap_bits,
    )
