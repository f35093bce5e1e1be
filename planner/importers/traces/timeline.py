"""Requests of a file in the order of their arrival, on one clock that begins with the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from planner.documents.errors import refuse
from planner.engine.traces import Chunk, joined, spread
from planner.engine.traces.chunk import Int64
from planner.importers.traces.batch import Batch, Clock

DISORDER_S = 600
"""Requests are often logged when they end; one that stands so much too late is on another clock."""
GATHERED = 250_000
HELD = 500_000
"""Requests that wait for earlier ones at most; with block hashes, as many as have HELD_IDS of them."""
GATHERED_IDS, HELD_IDS = 4_000_000, 8_000_000
FACTORS = (10**3, 10**6, 10**9)
FEWEST, STRIDE = 4, 30
"""Requests before a change of unit that can be told from chance, and by how much the gaps behind it are longer."""
EPOCH_NS = 10**18
"""September 2001: later times of a clock that began near 0 are dates."""
WEEK_NS, ABSURD = 7 * 86_400 * 10**9, 10_000


class Timeline:
    """Sorts, joins and spreads batches; memory is bounded, since only so much disorder is taken."""

    def __init__(self, clock: Clock, tick_ns: int | None) -> None:
        """`tick_ns` of a clock whose requests are to be spread over its ticks."""
        self._clock, self._tick = clock, tick_ns
        self._jumps = Jumps()
        self._waiting: list[tuple[Int64, Chunk]] = []
        self._size = [0, 0]
        self._latest = self._released = -1
        self._rows = 0
        self._first = 0
        self.origin_ns: int | None = None
        self.disordered = 0
        self.left_out: Counter[str] = Counter()
        self.told: Counter[str] = Counter()

    def push(self, batch: Batch) -> Iterator[Chunk]:
        """What can be told in order now. Raises DocumentError where clocks are mixed."""
        batch = batch.counted()
        self.left_out.update({reason: count for reason, count in batch.left_out.items() if count})
        self.told.update({how: count for how, count in batch.told.items() if count})
        if not batch.chunk.rows:
            return
        times = batch.chunk.arrival_ns
        if not self._clock.wall:
            self._jumps.check(times, batch.lines)
        before = np.maximum.accumulate(np.append(self._latest, times))
        self._refuse_old(batch, times, before[:-1])
        self.disordered += int((times < before[:-1]).sum())
        self._latest = int(before[-1])
        self._waiting.append((batch.lines, batch.chunk))
        self._size[0] += batch.chunk.rows
        self._size[1] += batch.chunk.blocks.ids.size if batch.chunk.blocks else 0
        if self._size[0] >= GATHERED or self._size[1] >= GATHERED_IDS:
            yield from self._release(self._latest - DISORDER_S * 10**9)

    def finish(self) -> Iterator[Chunk]:
        """The rest."""
        if self._waiting:
            yield from self._release(None)

    @property
    def span_s(self) -> float:
        """From the first arrival to the last, by the file's clock."""
        return (self._latest - self._first) / 1e9

    @property
    def last_s(self) -> float:
        """The last arrival by the trace's clock, not spread."""
        return (self._latest - (self.origin_ns or 0)) / 1e9

    def _refuse_old(self, batch: Batch, times: Int64, before: Int64) -> None:
        late = np.flatnonzero((before - times > DISORDER_S * 10**9) | (times < self._released))
        if late.size:
            first = int(late[0])
            back = (int(before[first]) - int(times[first])) / 1e9
            why = "clocks or units are mixed, or files were joined; sort it first"
            if self._clock.wall and 3000 <= back <= 3600:
                why = "perhaps a clock that was set back from summer time; write the times with their zone"
            said = f"goes back in time by {back:,.6g} s: {why}"
            raise refuse(f"line {batch.lines[first]}", None, said)

    def _release(self, up_to_ns: int | None) -> Iterator[Chunk]:
        """Chunks of what arrived up to then, or of everything; the others wait on."""
        chunk = joined([chunk for _, chunk in self._waiting])
        if np.any(np.diff(chunk.arrival_ns) < 0):
            chunk = chunk.take(np.argsort(chunk.arrival_ns, kind="stable"))
        times = chunk.arrival_ns
        cut = chunk.rows if up_to_ns is None else int(np.searchsorted(times, up_to_ns, "right"))
        if up_to_ns is not None and self._overfull(chunk, cut):
            # requests of the same time stay together: they are spread over a tick together
            cut = int(np.searchsorted(times, times[cut + (chunk.rows - cut) // 2])) or chunk.rows
        following = int(times[cut]) if cut < chunk.rows else None
        released, held = chunk.take(np.arange(cut)), chunk.take(np.arange(cut, chunk.rows))
        lines = np.zeros(held.rows, dtype=np.int64)
        self._waiting = [(lines, held)] if held.rows else []
        self._size = [held.rows, held.blocks.ids.size if held.blocks else 0]
        if released.rows:
            self._released = int(released.arrival_ns[-1])
            yield from self._placed(released, following).pieces()

    def _overfull(self, chunk: Chunk, cut: int) -> bool:
        ids = int(chunk.blocks.offsets[-1] - chunk.blocks.offsets[cut]) if chunk.blocks else 0
        return chunk.rows - cut > HELD or ids > HELD_IDS

    def _placed(self, chunk: Chunk, following_ns: int | None) -> Chunk:
        """On the trace's clock: from its first request on where the file's clock is the wall's."""
        if self.origin_ns is None:
            self._first = int(chunk.arrival_ns[0])
            self.origin_ns = self._first if self._clock.wall else 0
        times = chunk.arrival_ns - self.origin_ns
        if self._tick:
            following = None if following_ns is None else following_ns - self.origin_ns
            times = spread(times, self._tick, self._rows, following)
        self._rows += chunk.rows
        return Chunk(times, chunk.input_tokens, chunk.output_tokens, chunk.blocks, chunk.sessions)


class Jumps:
    """Finds where a clock of numbers changes its unit or its beginning."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._longest = 0
        self._rows = 0

    def check(self, times: Int64, lines: Int64) -> None:
        """Raises DocumentError at the line of a jump."""
        before = np.append(times[0] if self._last is None else self._last, times[:-1])
        gaps = times - before
        longest = np.maximum.accumulate(np.append(self._longest, gaps))[:-1]
        rows = self._rows + np.arange(times.size)
        for found, said in (
            ((before < EPOCH_NS // 10) & (times >= EPOCH_NS), "from a clock that begins near 0 to dates"),
            ((before >= EPOCH_NS) & (times < EPOCH_NS // 10), "from dates to a clock that begins near 0"),
            (self._by_factor(times, before, longest) & (rows >= FEWEST), "by a thousand times or a power of it"),
            (
                (gaps > WEEK_NS) & (gaps > ABSURD * np.maximum(longest, 1)) & (rows >= FEWEST),
                "by more than a week at once",
            ),
        ):
            if found.any():
                first = int(np.flatnonzero(found)[0])
                jump = f"{before[first] / 1e9:,.9g} s to {times[first] / 1e9:,.9g} s"
                raise refuse(f"line {lines[first]}", None, f"mixes clocks or units: times jump {said}, from {jump}")
        self._last, self._longest = int(times[-1]), int(max(longest[-1], gaps[-1]))
        self._rows += times.size

    @staticmethod
    def _by_factor(times: Int64, before: Int64, longest: Int64) -> NDArray[np.bool_]:
        """Where a time is the one that was to come, but in another unit."""
        found = np.zeros(times.size, dtype=bool)
        # three of the longest gaps: a longer step would be a jump in any unit
        slack = 3.0 * np.maximum(longest, 1)
        # what follows such a step goes on in the new unit; without it, only a step that can be nothing else counts
        after = np.lib.stride_tricks.sliding_window_view(np.append(times, times[[-1]].repeat(3)), 4).max(axis=1) - times
        certain = (after > STRIDE * longest) | (slack < 0.2 * before)
        for factor in FACTORS:
            up = (before > 0) & (times >= factor * 0.999 * before) & (times <= factor * (before + slack)) & certain
            down = (times > 0) & (times * factor >= 0.999 * before) & (times * factor <= before + slack)
            found |= (np.abs(times - before) > slack) & (up | (down & (times < before)))
        return found
