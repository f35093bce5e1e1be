"""Series with which no other one has to do: from the message to the store their points go as columns, all at once.

Most series are the only ones that tell their quantity: there are no aliases to choose from and nothing to add up. What
becomes of them is worked out once, and a number given to it; from then on all points of a message are converted at
once. Whatever is not that plain (histograms, values that say nothing, what shares its quantity) goes the long way, and
a series goes it again as soon as another one turns out to tell the same. Both ways have the same results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from monitoring.mapping.compiling import Labels, Target
from monitoring.readings import Reading
from monitoring.wire import NEVER, Columns, Key, packed_key, packed_keys, unpacked_keys

type Array = NDArray[np.float64]
type Ints = NDArray[np.int64]
type StartKey = tuple[str, Labels]
"""Metric and labels by which a process's start is found."""

LONG_WAY = -1
"""Instead of a number."""
FEWEST = 4
"""Readings for which columns are worth their while."""
KINDS = ("gauge", "counter", "delta")
"""Of what goes straight."""
_TRAITS = np.dtype(
    [("scale", "f8"), ("is_gauge", "?"), ("is_counter", "?"), ("epoch", "i8"), ("start", "i8"), ("newest_ms", "i8")]
)
_NOT_TOLD = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Parted:
    """A message's points that are plain, and the places of the readings that are not."""

    rest: list[int]
    numbers: Ints
    """Of each reading."""
    sizes: Ints
    """How many points it has."""
    ts_ms: Ints
    value: Array
    """In our unit."""
    start_ms: Ints
    """As it was told; NEVER where it was not."""


@dataclass(slots=True)
class Straight:
    """What is remembered of the plain series of one source, by number."""

    keys: list[bytes] = field(default_factory=list)
    """Each a packed `Key`."""
    start_keys: list[StartKey] = field(default_factory=list)
    starts: dict[StartKey, int] = field(default_factory=dict)
    """Where they stand in `start_keys`."""
    traits: NDArray[np.void] = field(default_factory=lambda: np.zeros(0, _TRAITS))

    def number(self, target: Target, kind: str, wrap_bits: int) -> int:
        """A new number for what becomes of a series, or LONG_WAY."""
        rule = target.rule
        if kind not in KINDS or rule.unknown or any("\0" in value for _, value in target.labels):
            return LONG_WAY
        try:
            key = packed_key(Key(rule.signal, kind, target.labels, wrap_bits))
        except UnicodeEncodeError:  # half of a pair of surrogates: the long way says so
            return LONG_WAY
        number = len(self.keys)
        self.keys.append(key)
        if number >= self.traits.size:
            self.traits = np.append(self.traits, np.zeros(max(64, self.traits.size), _TRAITS))
        its = (rule.scale, kind == "gauge", kind == "counter", target.epoch, self._start(target), NEVER)
        self.traits[number] = its
        return number

    def _start(self, target: Target) -> int:
        """The number of its process's start; NEVER where its system tells none."""
        metric = target.system.start_metric or target.system.uptime_metric
        if metric is None:
            return NEVER
        key = metric, target.start_key
        if key not in self.starts:
            self.starts[key] = len(self.start_keys)
            self.start_keys.append(key)
        return self.starts[key]

    def key(self, number: int) -> Key:
        """What a series is."""
        return unpacked_keys(packed_keys([self.keys[number]]))[0]

    def newest_ms(self, number: int) -> int | None:
        """The time of a series' last point in the last message that had it."""
        found = int(self.traits["newest_ms"][number])
        return None if found == NEVER else found

    def part(self, readings: Sequence[Reading], numbers: Sequence[int]) -> Parted | None:
        """The plain ones' points; `numbers` are those of the readings' series. None if too few readings are plain."""
        rest = [at for at, number in enumerate(numbers) if number == LONG_WAY]
        plain = readings
        if rest:
            plain = [reading for reading, number in zip(readings, numbers, strict=True) if number != LONG_WAY]
            numbers = [number for number in numbers if number != LONG_WAY]
        if len(plain) < FEWEST:
            return None
        points = [point for reading in plain for point in reading.points]
        sizes = np.array([len(reading.points) for reading in plain])
        try:
            ts_ms = np.array([point.ts_ms for point in points], np.int64)
            value = np.array([point.value for point in points], float)
            told = [NEVER if point.start_ms is None else point.start_ms for point in points]
            start_ms = np.array(told, np.int64)
        except (OverflowError, TypeError):
            return None
        found = np.array(numbers)
        traits = self.traits[np.repeat(found, sizes)]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = value * traits["scale"]
            fit = np.isfinite(scaled) & (traits["is_gauge"] | (value >= 0))
        if not fit.all() or not sizes.all():
            return self._part_again(readings, rest, found, sizes, fit)
        return Parted(rest, found, sizes, ts_ms, scaled, start_ms)

    def _part_again(
        self, readings: Sequence[Reading], rest: list[int], numbers: Ints, sizes: Ints, fit: NDArray[np.bool_]
    ) -> Parted | None:
        """Without the readings of which a value is not fit, or that have none."""
        bad = np.repeat(np.arange(sizes.size), sizes)[~fit]
        numbers = numbers.copy()
        numbers[bad] = LONG_WAY
        numbers[sizes == 0] = LONG_WAY
        left = iter(numbers.tolist())
        apart = set(rest)
        return self.part(readings, [LONG_WAY if at in apart else next(left) for at in range(len(readings))])

    def columns(self, parted: Parted, starts: Mapping[StartKey, int]) -> Columns:
        """The points as a frame keeps them; `starts` is since when each process has been counting."""
        at = parted.numbers
        last = parted.ts_ms[np.cumsum(parted.sizes) - 1]
        self.traits["newest_ms"][at] = np.maximum(self.traits["newest_ms"][at], last)
        traits = self.traits[np.repeat(at, parted.sizes)]
        begun = _begun(parted.start_ms, self._told(traits["start"], starts), traits["epoch"])
        start_ms = np.where(traits["is_counter"], begun, parted.start_ms)
        return Columns(
            series=packed_keys([self.keys[number] for number in at.tolist()]),
            sizes=parted.sizes.astype("<i8").tobytes(),
            ts_ms=parted.ts_ms.astype("<i8").tobytes(),
            value=parted.value.astype("<f8").tobytes(),
            start_ms=start_ms.astype("<i8").tobytes(),
        )

    def _told(self, wanted: Ints, starts: Mapping[StartKey, int]) -> Ints:
        """Since when their process has been counting, by the numbers of starts."""
        if (wanted == NEVER).all():
            return np.full(wanted.size, _NOT_TOLD)
        numbers, where = np.unique(wanted, return_inverse=True)
        keys = (None if number == NEVER else self.start_keys[number] for number in numbers.tolist())
        return np.array([_NOT_TOLD if key is None else starts.get(key, _NOT_TOLD) for key in keys], np.int64)[where]


def _begun(own: Ints, told: Ints, epoch: Ints) -> Ints:
    """Of counters, as the long way has it: their own start, else their process's; with the mark of what they count."""
    # A start of 0 is no time where the process tells one.
    start = np.where((told != _NOT_TOLD) & (own <= 0), told, own)
    is_told = (own != NEVER) | (told != _NOT_TOLD)
    return np.where(is_told, start // 1000 * 1000 + epoch % 1000, 1 + epoch % 10**9)
