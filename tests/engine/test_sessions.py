"""Generated sessions: what must hold request by request, and means against closed forms and plain enumeration."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence

from planner.engine.arrivals import Diurnal, Mmpp2, Poisson, Recorded, Renewal
from planner.engine.lengths import Empirical, TruncatedLogNormal
from planner.engine.sessions import RUN, Sessions, agents, chat, earlier, means, uncached_lengths
from planner.engine.simulation import prefix_cache
from planner.engine.simulation.prefix_cache import new_pool
from tests.engine.compiling import from_python
from tests.examples import examples

matched, touch_and_keep = from_python(prefix_cache.matched), from_python(prefix_cache.touch_and_keep)
SEED = 20_260_429
PLAIN = Sessions(3, 1_000, Empirical([100]), Empirical([50]), Empirical([30]), 5.0, 20.0)
"""Constant lengths."""
PROCESSES = [
    Poisson(),
    Renewal(3.0),
    Mmpp2((1.0, 10.0), (300.0, 60.0)),
    Diurnal(0.8, 15.0),
    Recorded(60.0, [1.0, 0.0, 5.0]),
]


def started(sessions=PLAIN, rate_rps=20.0, arrivals=PROCESSES[0], block_tokens=16, seed=SEED):
    return sessions.start(rate_rps, arrivals, block_tokens, SeedSequence(seed))


def successors(turns):
    """Pairs of turns of a session, one after the other."""
    ordered = turns[np.lexsort((turns["turn"], turns["session"]))]
    before, after = ordered[:-1], ordered[1:]
    same = (before["session"] == after["session"]) & (before["turn"] + 1 == after["turn"])
    return before[same], after[same]


# --- request by request ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions", [PLAIN, chat(), agents(), replace(agents(), think_cv=0.3, most_tokens=60_000)])
def test_a_prompt_is_the_one_before_with_its_answer_and_what_was_added(sessions):
    turns = started(sessions).turns(100_000)
    before, after = successors(turns)
    assert before.size > 10_000
    added = after["prompt"] - before["prompt"] - before["output"]
    assert math.floor(sessions.added.shortest) <= added.min() <= added.max() <= math.ceil(sessions.added.longest)
    assert np.all(after["arrival_s"] >= before["arrival_s"])
    assert np.array_equal(after["system"], before["system"])
    first = turns["prompt"][turns["turn"] == 0] - sessions.system_tokens
    assert math.floor(sessions.first.shortest) <= first.min() <= first.max() <= math.ceil(sessions.first.longest)
    assert np.max(turns["prompt"] + turns["output"]) <= sessions.most_tokens
    assert turns["output"].min() >= 1


def test_constant_lengths_give_the_prompt_of_every_turn():
    turns = started().turns(10_000)
    assert np.array_equal(turns["prompt"], 1_100 + 80 * turns["turn"])
    assert set(turns["output"].tolist()) == {30}


@pytest.mark.parametrize("arrivals", PROCESSES)
def test_requests_come_in_the_order_of_time_from_time_0_on(arrivals):
    times_s = started(arrivals=arrivals).next(200_000).arrival_s
    assert times_s[0] >= 0
    assert np.all(np.diff(times_s) >= 0)


@pytest.mark.parametrize("arrivals", PROCESSES)
def test_the_same_seed_gives_the_same_requests_however_many_are_asked_for(arrivals):
    counts = [1, 0, 7, 70_000, 3, 29_989]
    once, pieces = started(arrivals=arrivals), started(arrivals=arrivals)
    parts = [pieces.next(count) for count in counts]
    for whole, *some in zip(once.next(sum(counts)), *parts, strict=True):
        assert np.array_equal(whole, np.concatenate(some))


def test_another_seed_gives_other_requests():
    assert not np.any(started(seed=1).next(100).arrival_s == started(seed=2).next(100).arrival_s)


@pytest.mark.parametrize("block_tokens", [1, 16, 512])
def test_blocks_are_whole_and_named_so_that_no_two_runs_meet(block_tokens):
    sessions = agents()
    turns = started(sessions, block_tokens=block_tokens).turns(50_000)
    prompts = started(sessions, block_tokens=block_tokens).next(50_000)
    assert np.array_equal(prompts.blocks, turns["prompt"] // block_tokens)
    assert np.array_equal(prompts.blocks_after, (turns["prompt"] + turns["output"]) // block_tokens)
    assert set(prompts.shared.tolist()) == {sessions.system_tokens // block_tokens}
    assert prompts.blocks_after.max() < RUN
    assert not np.any(prompts.chain % RUN)
    assert not np.any(prompts.system % RUN)
    assert prompts.system.max() < prompts.chain.min()
    assert np.unique(prompts.chain).size == np.unique(turns["session"]).size


def test_an_endless_pool_has_what_the_turn_before_left():
    sessions, pool = agents(), new_pool(math.inf, 1.0)
    turns, prompts = started(sessions, block_tokens=512).turns(20_000), started(sessions, block_tokens=512).next(20_000)
    left = {}
    for at, (session, turn) in enumerate(zip(turns["session"].tolist(), turns["turn"].tolist(), strict=True)):
        names = (prompts.chain[at], prompts.shared[at], prompts.system[at])
        if turn == 0 or (session, turn - 1) in left:
            expected = left.get((session, turn - 1), int(prompts.shared[at]))
            assert at < 1000 or matched(pool, np.empty(0, np.int64), *names, prompts.blocks[at]) == expected
        touch_and_keep(pool, np.empty(0, np.int64), *names, prompts.blocks_after[at], 0, 0)
        left[session, turn] = int(prompts.blocks_after[at])


# --- over time ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrivals", [Poisson(), Renewal(3.0), Recorded(60.0, [1.0, 0.0, 5.0])])
@pytest.mark.parametrize("sessions", [PLAIN, chat(), replace(agents(), most_tokens=60_000)])
def test_the_mean_rate_is_the_one_asked_for(sessions, arrivals):
    count, rate = 400_000, 50.0
    times_s = started(sessions, rate, arrivals).next(count).arrival_s
    # sessions are independent: the count's variance is that of their number, and of their turns, each about 1
    deviation = math.sqrt((arrivals.index_of_dispersion(1.0) + 1) * sessions.mean_turns / count)
    assert count / times_s[-1] == pytest.approx(rate, rel=4 * deviation)


def test_time_0_is_in_the_steady_state():
    sessions, window_s, rate, seeds = replace(PLAIN, mean_turns=10.0, think_s=10.0), 5.0, 20.0, 60
    found = [started(sessions, rate, seed=seed).turns(1_000) for seed in range(seeds)]
    early = np.concatenate([turns[turns["arrival_s"] < window_s] for turns in found])
    assert early.size == pytest.approx(seeds * window_s * rate, rel=0.06)
    # of a geometric number of turns, a request has as many before it as its session has after the first
    assert early["turn"].mean() == pytest.approx(9.0, rel=0.06)


def test_sessions_begin_at_the_hours_of_the_process():
    arrivals = Diurnal(1.0, 6.0)
    turns = started(rate_rps=2.0, arrivals=arrivals, sessions=PLAIN).turns(400_000)
    begins = turns["arrival_s"][turns["turn"] == 0]
    begins = begins[begins < 2 * 86_400]
    angle = 2 * np.pi * (begins / 86_400 - 0.25)
    assert np.cos(angle).mean() == pytest.approx(0.5, abs=0.02)  # of the density 1 + cos
    assert np.sin(angle).mean() == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("arrivals", PROCESSES)
def test_a_process_from_an_earlier_time_0_has_the_same_rates(arrivals):
    before, by_s = earlier(arrivals, 12_345.6)
    assert by_s >= 12_345.6
    times_s = np.linspace(0, 500_000, 1_001) + 0.5
    assert before.rate_at(times_s + by_s, 3.0) == pytest.approx(arrivals.rate_at(times_s, 3.0), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("cv", "sessions"), [(1.0, chat()), (1.5, agents()), (0.2, replace(agents(), think_cv=0.2))])
def test_times_of_thinking_have_their_mean_and_variation(cv, sessions):
    before, after = successors(started(sessions, 200.0).turns(400_000))
    # of sessions that began early enough, so that long times are not cut off by the end
    early = before["arrival_s"] < before["arrival_s"].max() / 2
    gaps_s = (after["arrival_s"] - before["arrival_s"])[early]
    assert gaps_s.mean() == pytest.approx(sessions.think_s, rel=0.02)
    assert gaps_s.std() / gaps_s.mean() == pytest.approx(cv, rel=0.02)


def test_what_waits_is_bounded_by_the_sessions_that_are_open():
    requests = started(agents(), 200.0)
    most = []
    for _ in range(4):
        requests.next(1)
        most.append(max(requests.waiting for _ in range(100) if requests.next(4_096)))
    open_sessions = 200 * 8.0  # Little: one of which a request comes each 8 s
    assert max(most) < 31 * open_sessions + 2 * 2**16
    assert most[-1] < 1.2 * most[0]


# --- means -------------------------------------------------------------------------------------------------------


def test_means_of_constant_lengths_are_geometric_sums():
    turns = 0.8 ** np.arange(13)  # the thirteenth turn's context is 1,100 + 12 · 80 + 30
    found = means(replace(PLAIN, most_tokens=2_095))
    assert found.turns == pytest.approx(turns.sum(), rel=1e-9)
    assert found.prompt_tokens == pytest.approx(turns @ (1_100 + 80 * np.arange(13)) / turns.sum(), rel=1e-9)
    assert found.output_tokens == pytest.approx(30, rel=1e-9)


def enumerated(sessions):
    """Turns, tokens of prompts and of answers of a session on average: over all lengths, turn by turn."""

    def shares(lengths):
        return {n: c / lengths.total for n, c in Counter(lengths.samples.astype(int).tolist()).items()}

    first, added, output = (shares(each) for each in (sessions.first, sessions.added, sessions.output))
    prompts = Counter({sessions.system_tokens + n: share for n, share in first.items()})
    turns = tokens = answers = 0.0
    while prompts:
        later = Counter()
        for prompt, share in prompts.items():
            for answer, likely in output.items():
                if prompt + answer > sessions.most_tokens:
                    continue
                turns += share * likely
                tokens += share * likely * prompt
                answers += share * likely * answer
                for more, as_likely in added.items():
                    later[prompt + answer + more] += share * likely * as_likely * (1 - 1 / sessions.mean_turns)
        prompts = later
    return turns, tokens / turns, answers / turns


LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=4).map(Empirical)


@examples(25)
@given(LENGTHS, LENGTHS, LENGTHS, st.integers(0, 50), st.integers(0, 200), st.floats(1.0, 50.0))
def test_means_are_those_of_plain_enumeration(first, added, output, system, room, mean_turns):
    sessions = Sessions(1, system, first, added, output, mean_turns, 1.0, most_tokens=system + 80 + room)
    assert means(sessions) == pytest.approx(enumerated(sessions), rel=1e-7)


@pytest.mark.parametrize("sessions", [chat(), agents(), agents(65_536), replace(chat(8_192), mean_turns=200.0)])
def test_requests_have_the_means(sessions):
    turns, expected = started(sessions, 500.0).turns(600_000), means(sessions)
    assert turns["output"].mean() == pytest.approx(expected.output_tokens, rel=0.02)
    assert turns["prompt"].mean() == pytest.approx(expected.prompt_tokens, rel=0.02)


# --- increments --------------------------------------------------------------------------------------------------


def test_what_an_endless_cache_leaves_of_constant_lengths_is_known():
    found = uncached_lengths(PLAIN, 1, SeedSequence(SEED), 100_000)
    assert found.samples.tolist() == [50, 100]  # what was added, or the first input
    assert found.requests[1] / found.total == pytest.approx(1 / 5, rel=0.03)
    unkept = uncached_lengths(PLAIN, 1, SeedSequence(SEED), 100_000, answers_kept=False)
    assert unkept.samples.tolist() == [80, 100]


def test_only_whole_blocks_are_spared():
    found = uncached_lengths(replace(PLAIN, mean_turns=2.0), 512, SeedSequence(SEED), 100_000)
    # of the first turn 1,100 - 512; of the second 1,180 - 1,024, and so on
    second = found.samples.tolist().index(1_180 - 1_024)
    first = found.samples.tolist().index(1_100 - 512)
    assert found.requests[first] / found.total == pytest.approx(1 / 2, rel=0.02)
    assert found.requests[second] / found.total >= 0.98 / 4


def test_a_state_of_the_system_prompt_is_there_only_at_its_intervals():
    sessions = replace(PLAIN, mean_turns=1.0)
    for state_every, left in ((None, 1_100 - 62 * 16), (0, 1_100), (8, 1_100 - 56 * 16), (100, 1_100)):
        found = uncached_lengths(sessions, 16, SeedSequence(SEED), 1_000, state_every=state_every)
        assert found.samples.tolist() == [left]


def test_increments_are_far_shorter_than_prompts_where_agents_work():
    found = uncached_lengths(agents(), 512, SeedSequence(SEED))
    assert found.partial_sums[0][-1] < 0.05 * means(agents()).prompt_tokens


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"systems": 0}, r"systems must be from 1 to 1,048,576, got 0"),
        ({"mean_turns": 0.5}, r"mean_turns must be from 1 to 10,000, got 0\.5"),
        ({"think_s": 0.0}, r"think_s must be positive and finite, got 0"),
        ({"think_cv": math.nan}, r"think_cv must be positive and finite, got nan"),
        ({"system_tokens": -1}, r"needs 0 <= system_tokens < most_tokens <= 4,194,304, got -1"),
        ({"most_tokens": 1_129}, r"most_tokens must hold the longest first turn, 1,130, got 1,129"),
    ],
)
def test_sessions_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(PLAIN, **changes)


def test_a_rate_or_blocks_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="the rate must be positive and finite, got 0"):
        started(rate_rps=0.0)
    longest = replace(PLAIN, most_tokens=2**22)
    with pytest.raises(ValueError, match="blocks of 4 tokens are too small for 4,194,304 in a session"):
        started(longest, block_tokens=4)


def test_a_session_of_one_turn_is_a_request():
    sessions = replace(PLAIN, mean_turns=1.0, first=TruncatedLogNormal(5.0, 1.0, 1, 5_000))
    turns = started(sessions).turns(20_000)
    assert not turns["turn"].any()
    assert np.unique(turns["session"]).size == turns.size
