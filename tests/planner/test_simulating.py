"""Simulations as documents: read, run, put together from parts, refused by field."""

import json

import pytest

from planner import catalog, evaluation, scenario
from planner.documents.errors import DocumentError
from planner.engine.simulation.work import replicated
from planner.simulating import document, plain, result

CASE = "case-study-prfaas-pd"


def run(name=CASE, overrides=None, **changes):
    given = {"scenario": scenario.load(name, overrides).document(), "load": 0.7, "requests": 20_000, "replications": 3}
    return {key: value for key, value in (given | changes).items() if value is not ...}


def parsed(given):
    return document.parse(given, catalog.SHIPPED)


def simulated(given):
    asked = parsed(given)
    parts = [document.part(asked, index) for index in range(asked.run.replications)]
    return result.document(asked, [replicated(part, lambda *news: None) for part in parts])


def refused(given):
    with pytest.raises(DocumentError) as caught:
        parsed(given)
    return str(caught.value)


def test_a_stable_load_gives_intervals_about_what_the_formulas_say():
    found = simulated(run())
    steady = evaluation.evaluate(scenario.load(CASE))
    assert found["stable"]
    assert found["rate_rps"] == pytest.approx(0.7 * steady["lambda_max_rps"])
    assert (
        found["offload_fraction"]["low"] - 0.01
        <= steady["offload_fraction"]
        <= found["offload_fraction"]["high"] + 0.01
    )
    assert found["utilisation"]["prfaas"]["mean"] == pytest.approx(0.7, abs=0.02)
    assert found["egress_bps"]["mean"] == pytest.approx(found["steady"]["egress_bps"], rel=0.03)
    for name in ("mean", "p50", "p90", "p99"):
        value = found["ttft_s"][name]
        assert value["low"] <= value["mean"] <= value["high"]
        assert value["mean"] > found["steady"]["ttft_unloaded_s"][name]
    assert found["requests"] == 3 * 19_000


def test_a_promise_is_kept_by_as_many_as_its_percentile_says():
    plain_run = simulated(run())
    assert plain_run["goodput"] is None
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        kept = simulated(run(ttft_within_s=plain_run["ttft_s"][name]["mean"]))["goodput"]
        assert kept["share"]["mean"] == pytest.approx(share, abs=0.005)
        assert kept["rate_rps"]["mean"] == pytest.approx(share * plain_run["rate_rps"], rel=0.02)
    assert simulated(run(ttft_within_s=1e6))["goodput"]["share"]["mean"] == 1.0
    assert simulated(run(ttft_within_s=1e-3))["goodput"]["rate_rps"]["mean"] == 0.0
    assert simulated(run(ttft_within_s=5.0, load=1.3, requests=5_000))["goodput"] is None


def test_an_unstable_load_is_said_to_be_and_has_no_ttft():
    found = simulated(run(load=1.3, requests=5_000))
    assert not found["stable"]
    assert found["growth_rps"]["mean"] > 0.3
    assert found["ttft_s"] is None
    assert "Not stable" in found["notes"][0]
    assert "never finished" not in found["notes"][0]
    cut_off = {"begin_s": 0.0, "end_s": 1e9, "bps": 0.0}
    found = simulated(run(policy="all_remote", failover=False, brown_out=cut_off, requests=200, replications=2))
    assert "400 requests were never finished" in found["notes"][0]


def test_a_run_that_is_over_before_many_answers_are_says_that_it_is_short():
    found = simulated(run(requests=100))
    # 70 % of 3.12 req/s, and 1,024 tokens of 25 ms each
    assert (found["stable"], found["notes"][0][:75]) == (
        True, "A short run: requests come for 46 s, and an answer takes 26 s, so that the ",
    )  # fmt: skip
    assert simulated(run(requests=5_000))["notes"] == []


def test_replications_put_together_from_json_say_the_same():
    asked = parsed(run(requests=5_000))
    runs = [replicated(document.part(asked, index), lambda *news: None) for index in range(3)]
    kept = [json.loads(json.dumps(plain.as_json(each), allow_nan=False)) for each in runs]
    again = document.loaded(json.loads(json.dumps(asked.frozen()["simulation"])))
    assert result.document(again, [plain.from_json(each) for each in kept]) == result.document(asked, runs)


def test_a_seed_gives_the_same_bits_and_another_seed_others():
    one, same, other = (simulated(run(requests=5_000, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert one["ttft_s"] != other["ttft_s"]


def test_progress_counts_requests():
    told = []
    asked = parsed(run(requests=20_000))
    replicated(document.part(asked, 0), lambda *news: told.append(news))
    assert told[0] == (0, 20_000, "preparing")
    assert told[-1][:2] == (20_000, 20_000)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


@pytest.mark.parametrize("name", ["case-study-homogeneous", "case-study-naive"])
def test_the_other_deployments_are_simulated_too(name):
    found = simulated(run(name, requests=5_000))
    assert found["stable"]
    assert found["offload_fraction"]["mean"] == (0 if name.endswith("homogeneous") else 1)


def test_policies_and_pipelining_change_what_happens():
    away = simulated(run(policy="all_remote", rate_rps=1.0, load=..., requests=5_000))
    assert away["offload_fraction"]["mean"] == 1
    after = simulated(run(chunks=1, requests=5_000))
    assert after["waits_s"]["link"]["mean"] > simulated(run(requests=5_000))["waits_s"]["link"]["mean"]


def test_over_a_narrow_link_the_bandwidth_aware_policy_raises_t():
    narrow = {"links.wan.bandwidth_bps": 6e9}
    given = {"overrides": narrow, "rate_rps": 1.8, "load": ..., "requests": 40_000, "replications": 1}
    static = simulated(run(**given))
    aware = simulated(run(**given, policy="bandwidth_aware"))
    assert not static["stable"]
    assert max(aware["series"]["threshold_tokens"]) > 19_400
    assert aware["growth_rps"]["mean"] < 0.2 * static["growth_rps"]["mean"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scenario": ...}, "scenario: is missing"),
        ({"load": ...}, "load: needs either load, a share of Λ_max, or rate_rps"),
        ({"rate_rps": 1.0}, "load: 0.7 needs either load"),
        ({"load": 0.0}, "load: 0.0 must be greater than 0"),
        ({"requests": 10}, "requests: 10 must be at least 100"),
        ({"requests": 10**12}, "requests: 1000000000000 must be at most 1e+08"),
        ({"replications": 0}, "replications: 0 must be at least 1"),
        ({"policy": "random"}, "policy: 'random' must be one of"),
        ({"chunks": 0}, "chunks: 0 must be at least 1"),
        ({"warm_up": 1.0}, "warm_up: 1.0"),
        ({"brown_out": {"begin_s": 5.0, "end_s": 5.0}}, "brown_out.end_s: 5.0 must be after 5 s"),
        ({"ttft_within_s": -1}, "ttft_within_s: -1 must be at least"),
        ({"connection_bps": 0}, "connection_bps: 0 must be at least"),
        ({"nonsense": 1}, "nonsense: 1 is not a field here"),
    ],
)
def test_mistakes_are_told_by_field(changes, said):
    assert said in refused(run(**changes))


FAILS_ALL_THE_TIME = {"place": "pd_d", "mean_up_s": 1e-3, "mean_down_s": 1e-3}


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"load": 1e-6}, "load", "is too low, 3.12e-06 req/s: give 0.0001 req/s or more"),
        ({"load": ..., "rate_rps": 1e-6}, "rate_rps", "give 0.0001 req/s or more"),
        ({"overrides": {"clusters.prfaas.instances": 0}}, "load", "is a share of Λ_max, which is 0 here"),
        ({"overrides": {"decode.max_batch": 0.5}}, "scenario.decode.max_batch", "a batch of at least one request"),
        ({"failures": [FAILS_ALL_THE_TIME]}, "failures", "too often"),
        ({"prefill": {"batch_tokens": 10**9}}, "prefill.batch_tokens", "must not be longer than 4,000,000 tokens"),
    ],
)
def test_what_cannot_be_simulated_is_told_by_field(changes, field, said):
    with pytest.raises(DocumentError) as refusal:
        parsed(run(**changes))
    [error] = refusal.value.errors
    assert error.field == field
    assert said in error.message


def test_without_prfaas_nothing_can_be_sent_away():
    assert "policy: 'all_remote' needs a cluster of role prfaas" in refused(
        run("case-study-homogeneous", policy="all_remote")
    )
