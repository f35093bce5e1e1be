"""Generated sessions: requests that come back with a longer prompt, which begins with all that was said before.

A prompt is a system prompt that many sessions have, the user's first input, and then turn by turn the answer and what
is added to it. Arrivals are open-loop: between those of two turns passes a time of thinking, whether or not the first
one has been answered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import ArrayLike, NDArray

from planner.engine.arrivals import Arrivals, Diurnal, Recorded
from planner.engine.curves import Array
from planner.engine.lengths import Empirical, LengthDistribution, TruncatedLogNormal
from planner.engine.simulation.prompts import NO_BLOCKS, Int64, Prompts
from planner.engine.simulation.requests import blocks

RUN = 2**20
"""Ids of blocks that a system prompt or a session has for itself."""
MOST_TOKENS = 2**22
MOST_TURNS = 10_000.0
HORIZON = 8.0
"""Sessions begin so many times before 0 as they last on average: e^-8 of the requests at time 0 would be older."""
A_LOT = 2**16
"""Turns that are drawn at once, on average."""
DAMPING = 1e-8
"""How much of what lies beyond the range of a Fourier transform is mistaken for something within it."""

COUNTED = ("prompt", "output", "session", "turn", "system")
TURN = np.dtype([("arrival_s", float), *((name, np.int64) for name in COUNTED)])
type Turns = NDArray[np.void]
"""Records of `TURN`."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """What sessions are like. Lengths are rounded to whole tokens, one at least; a constant is an `Empirical` of one.

    The number of turns is geometric, but a session ends before the turn that would make its context, the prompt with
    its answer, longer than `most_tokens`.
    """

    systems: int
    """Different system prompts, each as frequent as the others."""
    system_tokens: int
    """In each of them."""
    first: LengthDistribution
    """Tokens of the user's first input."""
    added: LengthDistribution
    """Tokens that each later turn adds to prompt and answer of the one before."""
    output: LengthDistribution
    """Tokens of each answer."""
    mean_turns: float
    """If no session were to end for its length."""
    think_s: float
    """Mean time between the arrivals of two turns, ..."""
    think_cv: float = 1.0
    """... gamma-distributed, exponential with 1."""
    most_tokens: int = 131_072

    def __post_init__(self) -> None:
        """Raises ValueError on numbers out of range, and on a first turn that may be longer than a session."""
        if not 1 <= self.systems <= RUN:
            raise ValueError(f"systems must be from 1 to {RUN:,}, got {self.systems}")
        if not 1 <= self.mean_turns <= MOST_TURNS:
            raise ValueError(f"mean_turns must be from 1 to {MOST_TURNS:,.0f}, got {self.mean_turns:g}")
        for name, value in (("think_s", self.think_s), ("think_cv", self.think_cv)):
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value:g}")
        if not 0 <= self.system_tokens < self.most_tokens <= MOST_TOKENS:
            got = f"got {self.system_tokens:,} and {self.most_tokens:,}"
            raise ValueError(f"needs 0 <= system_tokens < most_tokens <= {MOST_TOKENS:,}, {got}")
        first = self.system_tokens + math.ceil(self.first.longest) + math.ceil(self.output.longest)
        if first > self.most_tokens:
            raise ValueError(f"most_tokens must hold the longest first turn, {first:,}, got {self.most_tokens:,}")

    @property
    def longest_tokens(self) -> int:
        """No prompt is longer."""
        return self.most_tokens

    @property
    def most_requests(self) -> float:
        """They never end."""
        return math.inf

    @property
    def named_blocks(self) -> Int64:
        """None: the ids of blocks are counted."""
        return NO_BLOCKS

    def start(self, rate_rps: float, arrivals: Arrivals, block_tokens: int, seed: SeedSequence) -> SessionRequests:
        """Endless requests of a mean rate; sessions begin by the process. See `SessionRequests`."""
        return SessionRequests(self, rate_rps, arrivals, block_tokens, seed)


def chat(most_tokens: int = 131_072) -> Sessions:
    """People who write: few turns, a minute between two, answers longer than questions. Estimated, not measured."""
    return Sessions(
        systems=8,
        system_tokens=1_024,
        first=TruncatedLogNormal(math.log(200), 1.2, 4, most_tokens // 4),
        added=TruncatedLogNormal(math.log(100), 1.0, 4, most_tokens // 4),
        output=TruncatedLogNormal(math.log(300), 0.8, 1, most_tokens // 16),
        mean_turns=4.0,
        think_s=60.0,
        most_tokens=most_tokens,
    )


def agents(most_tokens: int = 131_072) -> Sessions:
    """Programs that call tools: many turns at short intervals, small increments on a long prefix. Estimated."""
    return Sessions(
        systems=8,
        system_tokens=8_192,
        first=TruncatedLogNormal(math.log(2_000), 1.0, 64, most_tokens // 4),
        added=TruncatedLogNormal(math.log(600), 1.0, 16, most_tokens // 4),
        output=TruncatedLogNormal(math.log(200), 0.8, 1, most_tokens // 16),
        mean_turns=30.0,
        think_s=8.0,
        think_cv=1.5,
        most_tokens=most_tokens,
    )


# --- what follows without drawing --------------------------------------------------------------------------------


class Means(NamedTuple):
    """What sessions have on average, with those that end for their length."""

    turns: float
    """Of a session; the others are of a request."""
    prompt_tokens: float
    output_tokens: float


@lru_cache(maxsize=32)
def means(sessions: Sessions) -> Means:
    """In closed form, up to rounding: with q = 1 - 1 / mean_turns, and hats for generating functions of tokens,

    how many turns of a session have a prompt of n tokens is the coefficient of z^n in z^system · f̂ / (1 - q · â · ô).
    Kept, as each replication asks again.
    """
    size = sessions.most_tokens + 1
    first, added, output = (_probabilities(each, size) for each in (sessions.first, sessions.added, sessions.output))
    points = 2 ** (2 * size - 1).bit_length()
    # on a circle of a smaller radius, what comes round once is as good as nothing: Abate and Whitt,
    # Numerical inversion of probability generating functions, Operations Research Letters 12 (1992) 245-251
    damped = DAMPING ** (np.arange(size) / points)
    f, a, o = (np.fft.rfft(each * damped, points) for each in (first, added, output))
    series = np.fft.irfft(f / (1 - (1 - 1 / sessions.mean_turns) * a * o), points)[:size] / damped
    turns, prompts = series[: size - sessions.system_tokens], np.arange(sessions.system_tokens, size)
    fits = np.cumsum(output)[sessions.most_tokens - prompts]
    answers = np.cumsum(output * np.arange(size))[sessions.most_tokens - prompts]
    total = float(turns @ fits)
    return Means(total, float((turns * prompts) @ fits) / total, float(turns @ answers) / total)


def _probabilities(lengths: LengthDistribution, size: int) -> Array:
    """Of each number of tokens below `size`."""
    edges = np.arange(size) + 0.5
    edges[0] = 0.0
    return np.concatenate([[0.0], lengths.between(edges[:-1], edges[1:])])


def _whole(lengths: LengthDistribution, share: Array) -> Int64:
    """Lengths in whole tokens."""
    return _rounded(lengths.quantile(share))


def _rounded(lengths: ArrayLike) -> Int64:
    """Whole tokens, one at least."""
    tokens: Int64 = np.maximum(np.ceil(np.asarray(lengths) - 0.5), 1.0).astype(np.int64)
    return tokens


# --- drawing -----------------------------------------------------------------------------------------------------


class _Streams:
    """Random numbers, a stream for each purpose."""

    def __init__(self, seed: SeedSequence) -> None:
        streams = [default_rng(child) for child in seed.spawn(8)]
        self.starts, self.thinning, self.systems, self.turns, self.first, self.added, self.output, self.think = streams


class _Open(NamedTuple):
    """Sessions that go on, in arrays of shape (sessions,)."""

    number: Int64
    system: Int64
    left: Int64
    """Turns to come, ..."""
    turn: Int64
    """... those there were, ..."""
    context: Int64
    """... with so many tokens, ..."""
    arrival_s: Array
    """... and when the last of them came; before the first one, its own time."""


def _drawn(sessions: Sessions, starts_s: Array, number: int, stride: int, streams: _Streams) -> Turns:
    """All turns of sessions that start at some times, numbered from `number` on; `stride` turns of each at a time.

    So hardly more are drawn than a session has before its length ends it, however many it might have had.
    """
    count = starts_s.size
    system = streams.systems.integers(sessions.systems, size=count)
    left = streams.turns.geometric(1 / sessions.mean_turns, count)
    none = np.zeros(count, dtype=np.int64)
    going = _Open(number + np.arange(count), system, left, none, none + sessions.system_tokens, starts_s)
    parts = [np.empty(0, dtype=TURN)]
    while going.left.size:
        turns, going = _advanced(sessions, going, stride, streams)
        parts.append(turns)
    return np.concatenate(parts)


def _advanced(sessions: Sessions, going: _Open, stride: int, streams: _Streams) -> tuple[Turns, _Open]:
    """The next turns of each session, and the sessions that then go on."""
    now = np.minimum(going.left, stride)
    begins, total = np.cumsum(now) - now, int(now.sum())
    owner, ends = np.repeat(np.arange(now.size), now), begins + now - 1
    first = begins[going.turn == 0]
    later = np.ones(total, dtype=bool)
    later[first] = False
    added, gaps_s = np.zeros(total, dtype=np.int64), np.zeros(total)
    added[first] = _whole(sessions.first, streams.first.random(first.size))
    added[later] = _whole(sessions.added, streams.added.random(total - first.size))
    gaps_s[later] = _gaps(sessions, total - first.size, streams.think)
    output = _whole(sessions.output, streams.output.random(total))
    context = going.context[owner] + _within(added + output, begins, owner)
    turns = np.empty(total, dtype=TURN)
    turns["arrival_s"] = going.arrival_s[owner] + _within(gaps_s, begins, owner)
    turns["prompt"], turns["output"] = context - output, output
    turns["session"], turns["system"] = going.number[owner], going.system[owner]
    turns["turn"] = going.turn[owner] + np.arange(total) - begins[owner]
    on = (going.left > now) & (context[ends] < sessions.most_tokens)
    last = (going.left - now, going.turn + now, context[ends], turns["arrival_s"][ends])
    after = _Open(*(each[on] for each in (going.number, going.system, *last)))
    return turns[context <= sessions.most_tokens], after


def _gaps(sessions: Sessions, count: int, stream: Generator) -> Array:
    square = sessions.think_cv**2
    return stream.standard_gamma(1 / square, count) * (sessions.think_s * square)


def _within[T: np.generic](each: NDArray[T], begins: Int64, owner: Int64) -> NDArray[T]:
    """Running sums within each session."""
    sums = np.cumsum(each)
    sums -= (sums[begins] - each[begins])[owner]
    return sums


def _stride(turns: float) -> int:
    """Turns of a session that are drawn at once, where it has so many on average."""
    return math.ceil(2 * turns)


class SessionRequests:
    """An endless row of sessions' requests by arrival: the same seed gives the same, however many are asked for.

    Sessions have begun long before time 0, as in a steady state: `HORIZON` times as long as they last. Of the process
    by which they begin, time 0 stays where it was. What waits for its time is no more than the turns to come of the
    sessions that are open.
    """

    def __init__(
        self, sessions: Sessions, rate_rps: float, arrivals: Arrivals, block_tokens: int, seed: SeedSequence
    ) -> None:
        """Raises ValueError on a rate that is not positive, and on blocks so small that ids would meet."""
        if not 0 < rate_rps < math.inf:
            raise ValueError(f"the rate must be positive and finite, got {rate_rps:g}")
        if not sessions.most_tokens // RUN < block_tokens:
            raise ValueError(f"blocks of {block_tokens} tokens are too small for {sessions.most_tokens:,} in a session")
        self._sessions, self._block_tokens, self._streams = sessions, block_tokens, _Streams(seed)
        turns = means(sessions).turns
        start_rps, self._stride = rate_rps / turns, _stride(turns)
        # how long a session lasts from any of its requests back to its beginning, on average and not less
        lasting_s = sessions.think_s * (turns - 1 + max(sessions.think_cv, 1.0) ** 2)
        before, self._before_s = earlier(arrivals, HORIZON * lasting_s)
        self._starts = blocks(before, start_rps, self._streams.starts, self._streams.thinning)
        self._started, self._number = np.empty(0), 0
        self._lot_s = A_LOT / rate_rps
        self._lot, self._waiting = 0, dict[int, list[Turns]]()
        self._now, self._at = np.empty(0, dtype=TURN), 0

    @property
    def waiting(self) -> int:
        """Turns that are drawn already, and not yet asked for."""
        return sum(part.size for parts in self._waiting.values() for part in parts) + self._now.size - self._at

    def next(self, count: int) -> Prompts:
        """The next so many."""
        turns, sessions, size = self.turns(count), self._sessions, self._block_tokens
        return Prompts(
            arrival_s=turns["arrival_s"],
            tokens=turns["prompt"],
            output=turns["output"],
            chain=(turns["session"] + sessions.systems) * RUN,
            system=turns["system"] * RUN,
            shared=np.full(count, sessions.system_tokens // size),
            blocks=turns["prompt"] // size,
            blocks_after=(turns["prompt"] + turns["output"]) // size,
        )

    def turns(self, count: int) -> Turns:
        """The same as records, with the number of each one's session and turn, both from 0."""
        parts, missing = [np.empty(0, dtype=TURN)], count
        while missing:
            if self._at == self._now.size:
                self._now, self._at = self._next_lot(), 0
            parts.append(self._now[self._at : self._at + missing])
            self._at += parts[-1].size
            missing -= parts[-1].size
        return np.concatenate(parts)

    def _next_lot(self) -> Turns:
        """All turns of the next stretch of time in which there is one, by arrival."""
        parts: list[Turns] = []
        while not parts:
            self._draw(self._starts_until((self._lot + 1) * self._lot_s))
            parts = self._waiting.pop(self._lot, [])
            self._lot += 1
        turns = np.concatenate(parts)
        return turns[np.argsort(turns["arrival_s"], kind="stable")]

    def _starts_until(self, until_s: float) -> Array:
        """Sessions that begin before a time and were not handed out yet."""
        parts = [self._started]
        while not parts[-1].size or parts[-1][-1] < until_s:
            parts.append(next(self._starts))
        starts = np.concatenate(parts)
        count = int(np.searchsorted(starts, until_s))
        self._started = starts[count:]
        return starts[:count]

    def _draw(self, starts_s: Array) -> None:
        """Puts the turns of sessions where their time will come, but for those before time 0."""
        turns = _drawn(self._sessions, starts_s, self._number, self._stride, self._streams)
        self._number += starts_s.size
        lots = np.floor(turns["arrival_s"] / self._lot_s).astype(np.int64)
        turns["arrival_s"] -= self._before_s
        order = np.argsort(lots, kind="stable")
        order = order[turns["arrival_s"][order] >= 0]
        lots = lots[order]
        for part in np.split(np.arange(order.size), np.flatnonzero(np.diff(lots)) + 1):
            if part.size:
                # never before this lot, whatever rounding says
                self._waiting.setdefault(max(int(lots[part[0]]), self._lot), []).append(turns[order[part]])


def earlier(arrivals: Arrivals, by_s: float) -> tuple[Arrivals, float]:
    """The process as seen from an earlier time 0, and by how much: of a record, by whole intervals, and not by less."""
    if isinstance(arrivals, Diurnal):
        return replace(arrivals, peak_hour=(arrivals.peak_hour + by_s / 3600) % 24), by_s
    if isinstance(arrivals, Recorded):
        intervals = math.ceil(by_s / arrivals.interval_s)
        return Recorded(arrivals.interval_s, np.roll(arrivals.recorded_rps, intervals)), intervals * arrivals.interval_s
    return arrivals, by_s


def uncached_lengths(
    sessions: Sessions,
    block_tokens: int,
    seed: SeedSequence,
    requests: int = 200_000,
    *,
    answers_kept: bool = True,
    state_every: int | None = None,
) -> Empirical:
    """What of each prompt an endless cache leaves to be prefilled, of whole sessions that have so many requests.

    Whole blocks of the prompt before are there, with its answer if that is kept, and those of the system prompt. Of a
    model with request-level states, the latter only up to the last of every `state_every` blocks; 0 for none of them.
    """
    mean_turns = means(sessions).turns
    count = math.ceil(requests / mean_turns)
    turns = _drawn(sessions, np.zeros(count), 0, _stride(mean_turns), _Streams(seed))
    turns = turns[np.lexsort((turns["turn"], turns["session"]))]
    shared = sessions.system_tokens // block_tokens
    if state_every is not None:
        shared = shared // state_every * state_every if state_every else 0
    before = turns["prompt"] + (turns["output"] if answers_kept else 0)
    cached = np.concatenate([[0], before[:-1] // block_tokens])
    cached = np.where(turns["turn"] == 0, shared, cached)
    lengths, counts = np.unique(turns["prompt"] - cached * block_tokens, return_counts=True)
    return Empirical(lengths.astype(float), counts)
