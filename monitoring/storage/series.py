"""Series by what they are: found, or made when their first sample comes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from monitoring.models import Series
from monitoring.readings import Histogram
from monitoring.storage.rollups import Ints
from monitoring.wire import Mapped, unpacked_keys

MOST_OF_SHAPES = 1_000_000
"""Series of all shapes that are remembered, each as often as it is in one; beyond them all are forgotten."""
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
        self._by_id: dict[int, Known] = {}
        self._shapes: dict[tuple[int, bytes], Ints] = {}
        self._of_shapes = 0

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
            known = Known(row.pk, row.kind, row.wrap_bits)
            self._known[by_digest[digest]] = self._by_id[row.pk] = known

    def __getitem__(self, key: Wanted) -> Known:
        return self._known[key]

    def of_ids(self, ids: Iterable[int]) -> list[Known]:
        """The series of these ids, all of which were met."""
        return [self._by_id[each] for each in ids]

    def ids(self, source_id: int, series: bytes) -> Ints:
        """Of the series of columns. A sender has few shapes of frames, and each is looked up once."""
        shape = source_id, hashlib.sha256(series).digest()
        found = self._shapes.get(shape)
        if found is None:
            keys = unpacked_keys(series)
            wanted = [Wanted(source_id, each.signal, each.kind, each.labels, None) for each in keys]
            self.find(zip(wanted, (each.wrap_bits for each in keys), strict=True))
            found = np.array([self._known[each].id for each in wanted], np.int64)
            self._remember(shape, found)
        return found

    def _remember(self, shape: tuple[int, bytes], ids: Ints) -> None:
        self._of_shapes += ids.size
        if self._of_shapes > MOST_OF_SHAPES:
            self._shapes.clear()
            self._of_shapes = ids.size
        self._shapes[shape] = ids

    def clear(self) -> None:
        """Forgets: what was made in a transaction that failed is not there."""
        self._known.clear()
        self._by_id.clear()
        self._shapes.clear()
        self._of_shapes = 0

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
