"""A recorded trace, replayed request by request with a prefix cache."""

import numpy as np
import pytest

from planner.engine.controller import all_local
from planner.engine.simulation import CacheRouting, Caching, Experiment
from planner.engine.simulation.prompts import RecordedPrompts
from planner.engine.simulation.run import replicate
from planner.engine.traces import joined
from planner.importers import traces
from tests.engine.case_study import prfaas_pd
from tests.shared_data import SHARED, needs_shared_data

ENDLESS = 1e18


def mooncake():
    chunk = joined(list(traces.open_trace(SHARED / "traces" / "mooncake_conversation_trace.jsonl.gz", {}).chunks()))
    columns = chunk.arrival_ns / 1e9, chunk.input_tokens, chunk.output_tokens
    return RecordedPrompts(*columns, chunk.blocks.ids, chunk.blocks.offsets, chunk.blocks.block_tokens, 0.0)


def spared(rate_rps, state_every):
    """Share of all tokens of the trace that caches without an end spare, and the tokens."""
    caching = Caching(ENDLESS, ENDLESS, 512, CacheRouting.BEST, state_every=state_every)
    prompts = mooncake()
    experiment = Experiment(
        prfaas_pd(),
        rate_rps,
        requests=prompts.arrival_s.size,
        warm_up=0.0,
        prompts=prompts,
        caching=caching,
        rule=all_local(),
    )
    sums = replicate(experiment, 1).sums
    return sums["cached_tokens"].sum() / sums["prompt_tokens"].sum(), sums["prompt_tokens"].sum()


@needs_shared_data
def test_at_leisure_endless_caches_spare_what_was_published_but_for_blocks_that_are_not_full():
    share, tokens = spared(0.01, state_every=1)
    assert tokens == 144_793_823  # the trace's own total
    assert share == pytest.approx(0.3736, abs=5e-4)
    assert share < 0.3736


@needs_shared_data
def test_states_of_whole_prompts_alone_spare_less():
    assert spared(0.01, state_every=0)[0] < spared(0.01, state_every=1)[0]


def test_a_trace_is_replayed_in_proportion_to_the_rate_and_ends():
    four = RecordedPrompts(
        np.array([0.0, 1.0, 3.0, 4.0]),
        np.full(4, 1000),
        np.full(4, 10),
        np.zeros(0, np.int64),
        np.zeros(5, np.int64),
        1,
        0.0,
    )
    assert four.rate_rps == 1.0
    experiment = Experiment(prfaas_pd(), 2.0, requests=4, warm_up=0.0, prompts=four)
    assert replicate(experiment, 1, record=True).record["arrival_s"].tolist() == [0.0, 0.5, 1.5, 2.0]
    with pytest.raises(ValueError, match="at most 4"):
        Experiment(prfaas_pd(), 2.0, requests=5, prompts=four)
