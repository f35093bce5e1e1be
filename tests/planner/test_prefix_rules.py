"""Two caches: each cluster judged by itself, or the better cache copied across (section 4 of the design)."""

import numpy as np
import pytest

from planner import evaluation, scenario
from planner.documents.errors import DocumentError
from planner.engine.throughput import Form, work
from planner.scenario.build import deployment

CASE = "case-study-prfaas-pd"
TOKENS, HITS = [1024.0, 131072.0], [0.2, 0.5]


def given(remote_share=1.0, prefix="own", hits=HITS):
    reuse = {"reuse": "by_length", "tokens": TOKENS, "hit_ratio": hits, "remote_share": remote_share}
    return scenario.load(CASE, {"traffic.prefix": reuse, "routing.prefix": prefix})


def most(**how):
    return evaluation.optimize(given(**how))["lambda_max_rps"]


def test_the_less_prfaas_has_cached_the_less_is_carried_unless_the_better_cache_is_copied():
    assert most() > most(remote_share=0.5) > most(remote_share=0.0)
    assert most(remote_share=0.0, prefix="best") == pytest.approx(most())


def test_only_increments_cross_by_what_each_cache_holds():
    """Against a plain mean over prompts: the work of either side, and the bits."""
    deployed = deployment(given(remote_share=0.4))
    plain = deployment(given())
    prompts = scenario.load(CASE).parsed.traffic.input_tokens.lengths().quantile((np.arange(200_000) + 0.5) / 200_000)
    hit = np.interp(np.log(prompts), np.log(TOKENS), HITS)
    local, remote = prompts * (1 - hit), prompts * (1 - 0.4 * hit)
    t = 12_000.0
    found, away = work(deployed, np.array(t), Form.EXACT), local > t
    assert found.pd_p_s == pytest.approx(np.mean(np.where(away, 0, plain.pd.t_prefill(local))), rel=2e-3)
    assert found.prfaas_s == pytest.approx(np.mean(np.where(away, plain.prfaas.t_prefill(remote), 0)), rel=2e-3)
    assert found.link_bits == pytest.approx(8 * np.mean(np.where(away, plain.s_kv(remote), 0)), rel=2e-3)


def test_hit_ratios_that_rise_too_fast_cannot_be_told_apart_by_what_is_left():
    with pytest.raises(DocumentError, match=r"traffic.prefix.remote_share: 0.5 needs longer prompts to leave more"):
        given(remote_share=0.5, hits=[0.0, 0.999])
    assert given(remote_share=0.5, hits=[0.0, 0.999], prefix="best")
