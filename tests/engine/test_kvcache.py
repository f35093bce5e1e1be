"""S_kv from layers: closed forms of every group, and what holds whatever the groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.curves import LinearCurve
from planner.engine.kvcache import KV_DTYPES, Attention, Compressed, Index, KvCache, Latent, Recurrent, cache

small = st.integers(1, 200)
windows = st.none() | st.integers(1, 100_000)
attentions = st.builds(Attention, small, small, small, small, windows)
latents = st.builds(Latent, small, st.integers(1, 1024), st.integers(0, 128), st.none() | st.integers(1, 2000))
indices = st.builds(Index, small, st.integers(1, 500))
compressions = st.builds(
    Compressed, small, st.sampled_from([0, 4, 128]), small, st.integers(0, 200), st.integers(1, 4096), small
)
states = st.builds(
    Recurrent,
    small,
    st.lists(small, min_size=1, max_size=3).map(tuple),
    st.sampled_from(["float32", "bf16"]),
    st.integers(0, 5000),
    st.integers(1, 8),
)
caches = st.lists(attentions | latents | indices | compressions | states, min_size=1, max_size=6).map(cache)
dtypes = st.sampled_from(KV_DTYPES)
tokens = st.integers(1, 2_000_000)


def bytes_at(groups: KvCache, length: float, dtype: str = "bf16", block: int = 1) -> float:
    return float(groups.s_kv(length, dtype, block))


def test_gqa_keeps_a_key_and_a_value_of_two_bytes_for_each_kv_head():
    llama = cache([Attention(layers=80, kv_heads=8, key_dim=128, value_dim=128)])
    assert bytes_at(llama, 1000) == 80 * 8 * (128 + 128) * 2 * 1000
    assert bytes_at(llama, 1000, "fp8") == 80 * 8 * (128 + 128) * 1000


def test_a_window_is_request_level_and_stops_growing_at_its_width():
    windowed = cache([Attention(layers=3, kv_heads=2, key_dim=64, value_dim=32, window_tokens=128)])
    assert windowed.bytes_per_token("bf16") == 0
    assert windowed.request_level_bytes([1, 127, 128, 129, 10_000], "bf16").tolist() == [
        3 * 2 * 96 * 2 * tokens for tokens in (1, 127, 128, 128, 128)
    ]


def test_mla_keeps_one_latent_vector_and_the_rotary_key_whatever_the_heads():
    assert bytes_at(cache([Latent(61, 512, 64)]), 1) == 61 * 576 * 2
    assert bytes_at(cache([Latent(61, 512, 64)]), 1, "fp8") == 61 * 576
    assert bytes_at(cache([Latent(61, 512, 64, fp8_bytes=656)]), 1, "fp8") == 61 * 656


def test_index_keys_have_one_size_in_every_dtype():
    assert bytes_at(cache([Index(61, 132)]), 100) == bytes_at(cache([Index(61, 132)]), 100, "fp8") == 61 * 132 * 100


def test_compressed_layers_keep_entries_a_window_and_their_compressors_state():
    four = cache([Compressed(30, 4, 584, 132, 128, 81_920)])
    assert bytes_at(four, 4096) == 30 * ((584 + 132) * 1024 + 584 * 128 + 81_920)
    assert bytes_at(four, 4096) == bytes_at(four, 4096, "fp8")
    alone = cache([Compressed(2, 0, 584, 0, 128, 0)])
    assert bytes_at(alone, 4096) == 2 * 584 * 128


def test_a_recurrent_state_does_not_depend_on_length_or_kv_dtype():
    kda = cache([Recurrent(20, (32, 128, 128), "float32", conv_channels=12_288, conv_kernel=4)])
    expected = 20 * (32 * 128 * 128 * 4 + 12_288 * 3 * 2)
    assert {bytes_at(kda, length, dtype) for length in (1, 10**6) for dtype in KV_DTYPES} == {expected}
    halved = cache([Recurrent(20, (32, 128, 128), "bf16", conv_channels=12_288, conv_kernel=4)])
    assert bytes_at(kda, 1) - bytes_at(halved, 1) == 20 * 32 * 128 * 128 * 2


def test_a_short_convolution_keeps_all_but_one_of_its_inputs():
    assert bytes_at(cache([Recurrent(10, (), "float32", conv_channels=2048, conv_kernel=3)]), 1) == 10 * 2 * 2048 * 2


def test_a_model_that_keeps_nothing_is_refused():
    with pytest.raises(ValueError, match="no layer keeps any state"):
        cache([Recurrent(1, (), "float32")])


@given(caches, tokens, dtypes, st.integers(1, 1024))
def test_the_parts_add_up_to_the_whole(groups, length, dtype, block):
    parts = groups.block_level_bytes(length, dtype, block) + groups.request_level_bytes(length, dtype)
    assert bytes_at(groups, length, dtype, block) == parts > 0


@given(caches, tokens, tokens, dtypes)
def test_a_longer_prompt_never_leaves_less(groups, one, other, dtype):
    shorter, longer = sorted((one, other))
    assert bytes_at(groups, shorter, dtype) <= bytes_at(groups, longer, dtype)


@given(caches, tokens, dtypes, st.integers(1, 1024))
def test_blocks_round_the_block_level_part_up_to_whole_blocks_and_nothing_else(groups, length, dtype, block):
    rounded = -(-length // block) * block
    assert groups.block_level_bytes(length, dtype, block) == pytest.approx(groups.bytes_per_token(dtype) * rounded)
    assert groups.block_level_bytes(length, dtype, block) == groups.block_level_bytes(rounded, dtype)


@given(caches, dtypes, st.integers(2, 2_000_000), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_straight_lines_through_the_points_are_exact(groups, dtype, longest, places):
    at, sizes = groups.points(dtype, longest)
    lengths = 1 + np.array(places) * (longest - 1)
    assert at[0] == 1
    assert at[-1] == longest
    assert np.interp(lengths, at, sizes) == pytest.approx(groups.s_kv(lengths, dtype), rel=1e-12)


@given(caches, dtypes, st.floats(1, 10**6))
def test_the_points_make_a_curve_however_short_the_longest_prompt(groups, dtype, longest):
    curve = LinearCurve(*groups.points(dtype, longest))
    assert float(curve(1.0)) == bytes_at(groups, 1, dtype)


@given(caches, dtypes, st.lists(tokens, min_size=2, max_size=8))
def test_many_lengths_at_once_are_the_single_ones(groups, dtype, lengths):
    table = np.array(lengths)[:, np.newaxis]
    assert groups.s_kv(table, dtype).shape == (len(lengths), 1)
    assert groups.s_kv(table, dtype).ravel().tolist() == [bytes_at(groups, length, dtype) for length in lengths]


@given(caches, tokens)
def test_fp8_never_keeps_more_than_bf16_unless_it_is_packed_so(groups, length):
    plain = cache([Latent(g.layers, g.kv_lora_rank, g.rope_dim) if isinstance(g, Latent) else g for g in groups.groups])
    assert bytes_at(plain, length, "fp8") <= bytes_at(plain, length)
