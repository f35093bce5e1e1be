"""Simulations as documents that say more: decode, prefill, caches, sessions, traces, paths, roles and faults."""

import numpy as np
import pytest

from planner import scenario
from planner.documents.errors import DocumentError
from planner.engine.simulation.work import replicated
from planner.simulating import document, sources
from planner.simulating.prompts import TracePrompts
from tests.planner.test_simulating import parsed, refused, run, simulated

ENDLESS = 1e18
CACHES = {"pd_bytes": ENDLESS, "prfaas_bytes": ENDLESS}
CHAT = {"source": "sessions", "kind": "chat"}


def short(**changes):
    return run(**({"requests": 5_000, "replications": 2} | changes))


def test_decode_by_iteration_has_the_step_as_its_tpot_and_says_what_waiting_for_it_costs():
    by_request, by_iteration = simulated(short()), simulated(short(decode={"iterations": True}))
    step = 0.025  # s, of the case study
    assert by_request["tpot_s"]["p99"] == {"mean": step, "low": None, "high": None}
    assert by_iteration["tpot_s"]["mean"]["mean"] == pytest.approx(step, rel=1e-9)
    # who comes during a step waits for its end: half a step on average, never more than one
    more = by_iteration["ttft_s"]["mean"]["mean"] - by_request["ttft_s"]["mean"]["mean"]
    assert 0.4 * step < more < step


def test_a_step_may_grow_with_the_batch_and_its_contexts():
    grows = simulated(short(decode={"iterations": True, "base_s": 0.02, "request_s": 1e-4, "token_s": 1e-8}))
    least, most = 0.02, 0.02 + 20 * 1e-4 + 20 * (131_072 + 1_024) * 1e-8
    assert least < grows["tpot_s"]["mean"]["mean"] < grows["tpot_s"]["p99"]["mean"] < most
    local, remote = (grows["tpot_by_route_s"][route]["mean"]["mean"] for route in ("local", "remote"))
    share = grows["offload_fraction"]["mean"]
    assert (1 - share) * local + share * remote == pytest.approx(grows["tpot_s"]["mean"]["mean"], rel=1e-4)


def test_memory_for_few_requests_makes_decode_wait():
    roomy, narrow = simulated(short(load=0.4)), simulated(short(load=0.4, decode={"memory_bytes": 6e9}))
    assert roomy["waits_s"]["pd_d"]["mean"] == 0
    assert narrow["waits_s"]["pd_d"]["mean"] > 0.1


def test_sessions_bring_their_own_lengths_to_the_formulas():
    asked = parsed(short(prompts=CHAT, caches=CACHES | {"state_every": 1}, rate_rps=2.0, load=...))
    found = asked.experiment.deployment
    assert found.lengths.longest < 40_000
    assert found.decode.output_tokens < 1_024
    whole = parsed(short(prompts=CHAT, rate_rps=2.0, load=...)).experiment.deployment
    mean = [float(np.average(each.lengths.samples, weights=each.lengths.requests)) for each in (found, whole)]
    assert mean[0] < mean[1] / 4


def test_caches_spare_what_sessions_have_in_common():
    given = short(prompts=CHAT, rate_rps=2.0, load=..., requests=20_000)
    cold = simulated(given | {"caches": {"pd_bytes": 0, "prfaas_bytes": 0}})
    warm = simulated(given | {"caches": CACHES | {"state_every": 1}})
    assert cold["cached_fraction"]["mean"] == 0
    assert warm["cached_fraction"]["mean"] > 0.7
    assert warm["ttft_s"]["mean"]["mean"] < cold["ttft_s"]["mean"]["mean"]


def test_without_caches_the_formulas_know_whole_prompts_and_agree_at_a_low_load():
    found = simulated(short(prompts=CHAT, load=0.02, requests=20_000))
    expected = found["steady"]["ttft_unloaded_s"]["mean"]
    step = 0.025
    assert found["ttft_s"]["mean"]["mean"] - step == pytest.approx(expected, rel=0.02)


def test_roles_follow_the_work_and_t_with_them():
    # 5 of 8 decode, at a rate that PD-P alone does not carry: decode has room to spare
    given = short(policy="all_local", rate_rps=1.2, load=..., requests=4_000)
    fixed, moved = simulated(given), simulated(given | {"roles": {"period_s": 30}})
    assert not fixed["stable"]
    assert moved["stable"]
    assert moved["conversions"]["mean"] >= 2
    assert moved["series"]["prefill_instances"][-1] > 3
    assert fixed["conversions"]["mean"] == 0


def test_a_fault_restarts_requests_and_a_spare_shortens_it():
    fault = {"place": "pd_p", "instances": 2, "begin_s": 500.0, "end_s": 800.0}
    given = short(load=0.8, requests=20_000)
    alone = simulated(given | {"faults": [fault]})
    helped = simulated(given | {"faults": [fault], "spares": [{"place": "pd_p", "instances": 2, "ready_s": 30.0}]})
    assert 0 < alone["restarted_fraction"]["mean"] < 0.01
    assert min(alone["series"]["prefill_instances"]) == 1
    assert helped["ttft_s"]["p99"]["mean"] < alone["ttft_s"]["p99"]["mean"]


def test_two_halves_of_the_link_carry_what_it_carries():
    halves = [{"share": 0.5}, {"share": 0.5}]
    one, two = simulated(short()), simulated(short(paths=halves))
    assert two["egress_bps"]["mean"] == pytest.approx(one["egress_bps"]["mean"], rel=1e-3)
    assert two["utilisation"]["link"]["mean"] == pytest.approx(one["utilisation"]["link"]["mean"], rel=1e-3)


def test_tcp_bounds_a_transfer_and_counts_what_is_sent_again():
    tcp = {"connections": 1, "window_bytes": 2**22, "loss": 1e-4}
    given = short(overrides={"links.wan.rtt_s": 0.03})
    free, bound = simulated(given), simulated(given | {"tcp": tcp})
    assert free["resent_fraction"]["mean"] == 0
    assert bound["resent_fraction"]["mean"] == pytest.approx(1e-4, rel=0.01)
    assert bound["waits_s"]["link"]["mean"] > free["waits_s"]["link"]["mean"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"caches": CACHES}, "caches: needs prompts"),
        ({"prompts": {"source": "trace"}}, "prompts.source: 'trace' needs a scenario whose traffic came from"),
        ({"prompts": {"source": "letters"}}, "prompts.source"),
        ({"prompts": CHAT | {"mean_turns": 0.5}}, "prompts.mean_turns: 0.5"),
        ({"prompts": CHAT | {"most_tokens": 2_000, "first": 3_000}}, "prompts: most_tokens must hold"),
        ({"decode": {"base_s": 0.02}}, "decode.base_s: 0.02 needs decode.iterations"),
        ({"decode": {"memory_bytes": 0}}, "decode.memory_bytes: 0"),
        (
            {"order": "shortest", "prefill": {"choice": "shortest_queue"}},
            "prefill.choice: 'shortest_queue' needs order fcfs",
        ),
        ({"prefill": {"chunk_tokens": 512, "batch_tokens": 4096}}, "prefill.batch_tokens: 4096 must be 0"),
        ({"paths": [{"share": 0.5}]}, "paths: 0.5 must have shares of the link that sum to 1"),
        ({"faults": [{"place": "pd_p", "instances": 9, "begin_s": 1, "end_s": 2}]}, "faults.0.instances: 9"),
        ({"roles": {"room": 0.9, "high": 0.8}}, "roles.room: 0.9 must be above 0 and at most roles.high, 0.8"),
        ({"weather": {"windows": [{"begin_s": 5, "end_s": 2}]}}, "weather.windows.0.end_s"),
        (
            {
                "rate_rps": 0.01,
                "load": ...,
                "weather": {"fluctuation": {"sd_share": 0.1, "relaxation_s": 1, "step_s": 0.001}},
            },
            "take longer steps",
        ),
    ],
)
def test_mistakes_are_named_by_field(changes, words):
    assert words in refused(short(**changes))


def test_a_trace_that_is_not_stored_is_refused(db):
    asked = parsed(short())
    unknown = scenario.parse(
        asked.raw["scenario"] | {"traffic": asked.raw["scenario"]["traffic"] | {"trace": "0" * 64}}
    )
    with pytest.raises(DocumentError, match="not stored here"):
        sources.prompts(TracePrompts(source="trace"), unknown.parsed, None, asked.experiment.deployment.s_kv)


def test_the_same_seed_gives_the_same_bits_with_everything_on():
    given = short(
        prompts=CHAT,
        caches=CACHES,
        rate_rps=2.0,
        load=...,
        policy="bandwidth_aware",
        overrides={"routing.threshold_tokens": 2_000},
        roles={},
        failures=[{"place": "pd_d", "mean_up_s": 500.0, "mean_down_s": 20.0}],
        weather={"fluctuation": {"sd_share": 0.2, "relaxation_s": 60.0}},
        decode={"iterations": True},
    )
    asked = parsed(given)
    first, second = (replicated(document.part(asked, 1), lambda *news: None) for _ in range(2))
    assert first.histograms.tolist() == second.histograms.tolist()
    assert first.mean_at.tolist() == second.mean_at.tolist()
    assert first.restarts > 0
