"""The statistics against plain loops and published figures; nothing here reads a file."""

import tracemalloc
import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.traces import Blocks, Chunk, Histogram, InfiniteCache, Statistics, decode, encode, spread, tick_ns
from planner.engine.traces.prefix import Seen
from planner.engine.traces.rates import Bins, Gaps, Windows
from tests.examples import examples

WIDE = st.integers(-(2**63), 2**63 - 1)
PROMPTS = st.lists(st.lists(st.integers(0, 12), max_size=6), min_size=1, max_size=30)


def column(values):
    return np.array(values, dtype=np.int64)


def blocks(lists, block_tokens=16, sizes=None):
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
    return Blocks(column([each for prompt in lists for each in prompt]), offsets, block_tokens, sizes)


def chunk(rows, arrivals=None, lists=None):
    arrivals = column(np.arange(rows) * 10**9 if arrivals is None else arrivals)
    return Chunk(arrivals, column([32] * rows), column([8] * rows), blocks(lists) if lists else None)


# --- histograms --------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3_000) | st.integers(10**6, 10**9), min_size=1, max_size=60), st.integers(1, 7))
@examples(60)
def test_a_histogram_has_the_mean_and_percentiles_of_the_values_themselves(values, size):
    histogram = Histogram()
    for start in range(0, len(values), size):
        histogram.add(column(values[start : start + size]))
    percents = [0, 10, 50, 90, 99, 100]
    assert histogram.count == len(values)
    assert histogram.total == sum(values)
    assert histogram.percentiles(percents) == pytest.approx(np.percentile(values, percents), rel=1e-12)
    distinct, counts = np.unique(values, return_counts=True)
    assert histogram.values[0].tolist() == distinct.tolist()
    assert histogram.values[1].tolist() == counts.tolist()


def test_totals_beyond_64_bits_are_exact():
    histogram = Histogram()
    for _ in range(20):
        histogram.add(np.full(50_000, 10**9))
    assert histogram.total == 10**15
    histogram._above *= 10**5
    assert histogram.total == 10**20


def test_more_different_giant_lengths_than_any_log_has_are_refused():
    with pytest.raises(ValueError, match="different values"):
        Histogram().add(np.arange(2**20, 2**20 + 1_000_001))


# --- prefix cache ------------------------------------------------------------------------------------------------


def cached_by_a_loop(prompts, block_tokens, lengths):
    seen, found = set(), []
    for prompt, length in zip(prompts, lengths, strict=True):
        matched = 0
        while matched < len(prompt) and prompt[matched] in seen:
            matched += 1
        found.append(min(length, matched * block_tokens))
        seen.update(prompt)
    return found


@given(PROMPTS, st.integers(1, 8), st.booleans())
def test_prefix_hits_are_those_of_a_loop_however_the_trace_is_cut(prompts, size, far_apart):
    prompts = [[each * 10**15 if far_apart else each for each in prompt] for prompt in prompts]
    lengths = [16 * len(prompt) - 3 if prompt else 5 for prompt in prompts]
    cache, found = InfiniteCache(), []
    for start in range(0, len(prompts), size):
        part = slice(start, start + size)
        found += cache.cached_tokens(blocks(prompts[part]), column(lengths[part])).tolist()
    assert found == cached_by_a_loop(prompts, 16, lengths)
    assert cache.blocks == len({each for prompt in prompts for each in prompt})


def test_blocks_with_sizes_of_their_own_count_as_many_tokens_as_they_have():
    cached = InfiniteCache().cached_tokens(
        blocks([[1, 2], [1, 2], [1, 3]], 1, column([100, 20, 100, 20, 100, 7])), column([150, 110, 300])
    )
    assert cached.tolist() == [0, 110, 100]


def test_a_cache_that_is_full_says_so_and_stops():
    cache = InfiniteCache(most_blocks=5)
    assert cache.cached_tokens(blocks([list(range(6))]), column([96])).tolist() == [0]
    assert cache.full
    assert cache.cached_tokens(blocks([[1]]), column([16])) is None


@given(st.lists(st.sets(st.integers(-100, 100), max_size=20), max_size=12))
def test_a_set_in_runs_is_a_set(parts):
    ours, plain = Seen(), set()
    for part in parts:
        ours.add(column(sorted(part - plain)))
        plain |= part
    assert len(ours) == len(plain)
    tried = np.arange(-110, 110)
    assert ours.contains(tried).tolist() == [value in plain for value in tried.tolist()]


# --- arrivals ----------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 300 * 10**9), min_size=2, max_size=80), st.integers(1, 9))
def test_gaps_and_counts_in_windows_are_those_of_the_whole_trace_however_it_is_cut(arrivals, size):
    arrivals = column(sorted(arrivals))
    gaps, windows, bins = Gaps(), Windows(10), Bins()
    for start in range(0, arrivals.size, size):
        gaps.add(arrivals[start : start + size])
        for counted in (windows, bins):
            counted.add(arrivals[start : start + size] - arrivals[0])
    span = int(arrivals[-1] - arrivals[0])
    assert gaps.span_s == span / 1e9
    plain = np.diff(arrivals) / 1e9
    if plain.sum():
        assert gaps.cv == pytest.approx(plain.std() / plain.mean(), rel=1e-6, abs=1e-6)
    whole = span // (10 * 10**9)
    counts = np.bincount((arrivals - arrivals[0]) // (10 * 10**9))[:whole]
    if whole and counts.sum():
        expected = {"mean": counts.mean(), "max": counts.max(), "index_of_dispersion": counts.var() / counts.mean()}
        assert windows.summary() == pytest.approx(expected, abs=1e-9)
    rate = bins.rate()
    assert (rate is None) == (span == 0)


@pytest.mark.parametrize("duration_s", [0.05, 7, 3_600, 86_400 * 365])
def test_the_rate_over_time_holds_every_request_in_at_most_600_bins(duration_s):
    arrivals = np.linspace(0, duration_s * 1e9, 50_000).astype(np.int64)
    bins = Bins()
    for part in np.array_split(arrivals, 7):
        bins.add(part)
    rate = bins.rate()
    assert rate.rate_rps.size <= 600
    assert rate.rate_rps[:-1].mean() == pytest.approx(50_000 / duration_s, rel=0.01)
    assert rate.rate_rps[-1] == pytest.approx(50_000 / duration_s, rel=0.2)


def test_arrivals_that_fall_from_chunk_to_chunk_are_refused():
    statistics = Statistics()
    statistics.add(chunk(3))
    with pytest.raises(ValueError, match="must rise"):
        statistics.add(chunk(3))


def test_a_poisson_process_has_a_variation_and_dispersion_of_one():
    arrivals = np.cumsum(np.random.default_rng(5).exponential(0.1, 200_000) * 1e9).astype(np.int64)
    statistics = Statistics()
    for part in chunk(arrivals.size, arrivals).pieces(30_000):
        statistics.add(part)
    assert statistics.gaps.cv == pytest.approx(1, abs=0.02)
    assert statistics.windows[10].summary()["index_of_dispersion"] == pytest.approx(1, abs=0.1)
    assert statistics.gaps.lull_s is None


def test_a_gap_longer_than_all_else_is_a_lull():
    gaps = Gaps()
    gaps.add(column([0, 10**8, 2 * 10**8, 7 * 86_400 * 10**9, 7 * 86_400 * 10**9 + 10**8]))
    assert gaps.lull_s == pytest.approx(7 * 86_400 - 0.2)
    steady = Gaps()
    steady.add(column([5 * 10**9, 45 * 10**9, 118 * 10**9]))
    assert steady.lull_s is None


# --- ticks -------------------------------------------------------------------------------------------------------


def test_a_clock_of_three_seconds_is_seen_and_spread_to_a_poisson_like_process():
    rng = np.random.default_rng(3)
    arrivals = np.sort(rng.integers(0, 1200, 12_000)) * 3 * 10**9
    assert tick_ns(arrivals) == 3 * 10**9
    found = spread(arrivals, 3 * 10**9, 0)
    assert np.all(np.diff(found) >= 0)
    assert np.all(found // (3 * 10**9) == arrivals // (3 * 10**9))
    gaps = np.diff(found)
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.05)


def test_spreading_does_not_depend_on_how_the_trace_is_cut():
    arrivals = np.repeat(np.arange(50) * 10**9, 7)
    whole = spread(arrivals, 10**9, 0)
    parts = [spread(arrivals[:70], 10**9, 0, int(arrivals[70])), spread(arrivals[70:], 10**9, 70)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_a_tick_that_comes_early_is_not_overtaken():
    arrivals = np.repeat(column([0, 3_000, 5_990, 9_000]) * 10**6, 200)
    found = spread(arrivals, 3 * 10**9, 0)
    assert np.all(np.diff(found) >= 0)
    assert found[599] < 9 * 10**9


@pytest.mark.parametrize(
    "arrivals",
    [
        np.cumsum(np.random.default_rng(1).exponential(1e9, 5_000)).astype(np.int64),
        np.zeros(5_000, dtype=np.int64),
        np.repeat(np.cumsum(np.random.default_rng(2).integers(1, 10**10, 500)), 10),
        np.arange(1_000) * 10**9,
    ],
)
def test_other_clocks_are_not_taken_for_ticking_ones(arrivals):
    assert tick_ns(arrivals) is None


# --- storage -----------------------------------------------------------------------------------------------------


@given(st.data())
@examples(60)
def test_a_chunk_comes_back_from_its_bytes_as_it_was(data):
    rows = data.draw(st.integers(0, 12))
    columns = [column(data.draw(st.lists(WIDE, min_size=rows, max_size=rows))) for _ in range(3)]
    lists = data.draw(st.none() | st.lists(st.lists(WIDE, max_size=5), min_size=rows, max_size=rows))
    sizes = None
    if lists is not None and data.draw(st.booleans()):
        count = sum(len(each) for each in lists)
        sizes = column(data.draw(st.lists(WIDE, min_size=count, max_size=count)))
    sessions = data.draw(st.none() | st.lists(WIDE, min_size=rows, max_size=rows))
    given_chunk = Chunk(
        *columns,
        blocks=None if lists is None else blocks(lists, 512, sizes),
        sessions=None if sessions is None else column(sessions),
    )
    found = decode(encode(given_chunk))
    for name in ("arrival_ns", "input_tokens", "output_tokens", "sessions"):
        assert np.array_equal(getattr(found, name), getattr(given_chunk, name)), name
    assert (found.blocks is None) == (lists is None)
    if found.blocks is not None:
        assert found.blocks.block_tokens == 512
        for name in ("ids", "offsets", "sizes"):
            assert np.array_equal(getattr(found.blocks, name), getattr(given_chunk.blocks, name)), name


@given(st.data())
def test_other_bytes_are_refused(data):
    whole = encode(chunk(5, lists=[[1, 2]] * 5))
    broken = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    if broken:
        broken[data.draw(st.integers(0, len(broken) - 1))] ^= data.draw(st.integers(1, 255))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with suppress(ValueError):  # a changed number may still be a chunk
            decode(bytes(broken))


def test_columns_of_different_lengths_and_offsets_that_lead_nowhere_are_refused():
    with pytest.raises(ValueError, match="one length"):
        Chunk(column([1]), column([1, 2]), column([1]))
    with pytest.raises(ValueError, match="offsets"):
        Blocks(column([1, 2]), column([0, 1]), 16)
    with pytest.raises(ValueError, match="tokens"):
        Blocks(column([1]), column([0, 1]), 0)


# --- memory ------------------------------------------------------------------------------------------------------


def test_statistics_take_no_more_memory_for_more_requests():
    def peak(parts):
        rng = np.random.default_rng(9)
        statistics = Statistics()
        tracemalloc.start()
        for part in range(parts):
            rows = 20_000
            arrivals = np.sort(rng.integers(part * 10**12, (part + 1) * 10**12, rows))
            statistics.add(Chunk(arrivals, rng.integers(1, 100_000, rows), rng.integers(1, 2_000, rows)))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(40) < 1.1 * peak(4)
