"""What the writer remembers of each series: its last sample, and its rollups that are still open."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from monitoring.storage import tables
from monitoring.storage.rollups import MS, RESOLUTIONS_S, Array, Ints, Rows
from monitoring.storage.series import Known
from monitoring.storage.told import KINDS

ROWS_OF = ("min", "max", "sum", "count", "last", "last_ms", "span_ms")


class Memory:
    """Arrays by slot; a series has a slot from its first sample on."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything: the next sample of a series has it read again."""
        self.slots: dict[int, int] = {}
        self.days: set[int] = set()
        self.last_ms: Ints = np.empty(0, np.int64)
        self.last_value: Array = np.empty(0)
        self.last_start: Ints = np.empty(0, np.int64)
        self.wrap_bits: Ints = np.empty(0, np.int64)
        self.kind: Ints = np.empty(0, np.int64)
        """By KINDS."""
        self.bucket: dict[int, Ints] = {each: np.empty(0, np.int64) for each in RESOLUTIONS_S}
        self.open: dict[int, Array] = {each: np.empty((len(ROWS_OF), 0)) for each in RESOLUTIONS_S}

    def forget(self, series: Iterable[int]) -> None:
        """Has these read again: something was changed beneath their last sample."""
        for each in series:
            slot = self.slots.get(each)
            if slot is not None:
                self._load({each: slot})

    def meet(self, given: Iterable[Known]) -> None:
        """Gives slots to series that have none; what is stored of them is read."""
        new = {known.id: known for known in given if known.id not in self.slots}
        if not new:
            return
        slots = {series: len(self.slots) + at for at, series in enumerate(new)}
        self.slots |= slots
        self._grow(len(self.slots))
        for series, slot in slots.items():
            self.wrap_bits[slot] = new[series].wrap_bits
            self.kind[slot] = KINDS[new[series].kind]
        self._load(slots)

    def _grow(self, size: int) -> None:
        room = max(size - self.last_ms.size, self.last_ms.size, 64) if size > self.last_ms.size else 0
        if not room:
            return
        self.last_ms = np.append(self.last_ms, np.full(room, -1))
        self.last_value = np.append(self.last_value, np.full(room, np.nan))
        self.last_start = np.append(self.last_start, np.full(room, -1))
        self.wrap_bits = np.append(self.wrap_bits, np.zeros(room, np.int64))
        self.kind = np.append(self.kind, np.zeros(room, np.int64))
        for each in RESOLUTIONS_S:
            self.bucket[each] = np.append(self.bucket[each], np.full(room, -1))
            self.open[each] = np.append(self.open[each], np.full((len(ROWS_OF), room), np.nan), axis=1)

    def _load(self, slots: dict[int, int]) -> None:
        for slot in slots.values():
            self.last_ms[slot], self.last_start[slot] = -1, -1
            for each in RESOLUTIONS_S:
                self.bucket[each][slot] = -1
        for series, ts_ms, value, start_ms, _ in tables.newest(list(slots)):
            slot = slots[series]
            self.last_ms[slot] = ts_ms
            self.last_value[slot] = np.nan if value is None else value
            self.last_start[slot] = -1 if start_ms is None else start_ms
            for each in RESOLUTIONS_S:
                bucket = ts_ms // (each * MS) * each * MS
                if row := tables.rollup(series, each, bucket):
                    self.bucket[each][slot] = bucket
                    self.open[each][:, slot] = [np.nan if part is None else part for part in row[: len(ROWS_OF)]]

    def opened(self, rows: Rows, slots: Ints, resolution_s: int) -> tuple[np.ndarray, Rows]:
        """Which of the rows go on with an open one, and those open ones, for all of them."""
        goes_on = self.bucket[resolution_s][slots] == rows.bucket_ms
        low, high, total, count, last, last_ms, span_ms = self.open[resolution_s][:, slots]
        whole = [np.nan_to_num(part).astype(np.int64) for part in (last_ms, span_ms)]
        return goes_on, Rows(rows.series, rows.bucket_ms, low, high, total, count, last, *whole)

    def keep(self, rows: Rows, slots: Ints, resolution_s: int) -> None:
        """Remembers the last row of each series as its open one; rows are in the order of series and time."""
        last = np.append(slots[1:] != slots[:-1], True)
        at = slots[last]
        self.bucket[resolution_s][at] = rows.bucket_ms[last]
        self.open[resolution_s][:, at] = [np.asarray(getattr(rows, name), float)[last] for name in ROWS_OF]
