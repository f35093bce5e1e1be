"""Simulations side by side as documents: read, cut into parts, put together; and the case study under load."""

import json
from functools import cache

import pytest

from planner import catalog, evaluation, scenario, seeding, store, tasks
from planner.documents.errors import DocumentError
from planner.engine.arrivals import Poisson
from planner.engine.simulation.work import replicated
from planner.models import Job
from planner.simulating import document as simulations
from planner.simulating import result as simulation_result
from planner.simulating import side_by_side, under_load

CASE, ALONE = "case-study-prfaas-pd", "case-study-homogeneous"


def run(name=CASE, **changes):
    given = {"scenario": scenario.load(name).document(), "load": 0.6, "requests": 1000, "replications": 2}
    return {key: value for key, value in (given | changes).items() if value is not ...}


def parsed(*runs):
    return side_by_side.parse({"runs": list(runs)}, catalog.SHIPPED)


def refused(given):
    with pytest.raises(DocumentError) as caught:
        side_by_side.parse(given, catalog.SHIPPED)
    return str(caught.value)


@cache
def part(text):
    """What a worker keeps of a part."""
    given = json.loads(text)
    kind = tasks.KINDS["replication"]
    posed = kind.problem(given)
    return json.dumps(kind.result(given, posed, kind.function(posed, lambda *news: None)), allow_nan=False)


# --- parts and result --------------------------------------------------------------------------------------------


def test_the_first_replication_of_every_run_comes_before_the_second_of_any():
    asked = parsed(run(replications=1), run(ALONE, replications=3), run(load=0.3, replications=2))
    order = [
        (given["simulation"]["scenario"]["name"], given["simulation"]["load"], given["index"])
        for given in side_by_side.parts(asked)
    ]
    assert order == [
        (CASE, 0.6, 0), (ALONE, 0.6, 0), (CASE, 0.3, 0), (ALONE, 0.6, 1), (CASE, 0.3, 1), (ALONE, 0.6, 2),
    ]  # fmt: skip


def test_each_run_is_bit_for_bit_the_simulation_of_its_own():
    given = [run(replications=1), run(ALONE, replications=3, seed=7), run(load=0.3)]
    cut, asked = tasks.IN_PARTS["side_by_side"], parsed(*given).frozen()
    found = cut.merge(asked, [json.loads(part(json.dumps(each))) for each in cut.parts(asked)])
    alone = []
    for each in given:
        simulation = simulations.parse(each, catalog.SHIPPED)
        count = simulation.run.replications
        runs = [replicated(simulations.part(simulation, index), lambda *news: None) for index in range(count)]
        alone.append(simulation_result.document(simulation, runs))
    assert found == {"runs": alone}


def test_a_frozen_input_is_read_again_as_it_was():
    asked = parsed(run(), run(ALONE))
    kept = json.loads(json.dumps(asked.frozen(), allow_nan=False))
    again = side_by_side.loaded(kept["side_by_side"])
    assert again.frozen() == kept
    assert [each.experiment.rate_rps for each in again.runs] == [each.experiment.rate_rps for each in asked.runs]


def test_the_digest_knows_order_and_every_value_but_not_the_order_of_keys():
    one = parsed(run(), run(ALONE))
    assert parsed(dict(reversed(run().items())), run(ALONE)).digest == one.digest
    assert parsed(run(ALONE), run()).digest != one.digest
    assert parsed(run(seed=2), run(ALONE)).digest != one.digest


def test_names_are_said_once_and_never_too_long_for_a_job():
    assert parsed(run(), run(ALONE), run(load=0.3)).names == f"{CASE}, {ALONE}"
    long = [run(scenario=scenario.load(CASE).document() | {"name": f"{letter * 99}"}) for letter in "abc"]
    assert parsed(*long).names == f"{'a' * 99} and 2 more"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "runs: is missing"),
        ({"runs": []}, "runs: [] needs at least 1 entries"),
        ({"runs": "all"}, "runs: 'all' must be a list"),
        ({"runs": [run()] * 41}, "takes at most 40 entries"),
        ({"runs": [run(replications=101)] * 10}, "runs: have 1,010 replications together; at most 1,000"),
        ({"runs": [run(), run(load=-1)]}, "runs.1.load: -1 must be greater than 0"),
        ({"runs": [run(load=...)]}, "runs.0.load: needs either load"),
        ({"runs": [run(scenario=...)]}, "runs.0.scenario: is missing"),
        ({"runs": [run()], "weather": 1}, "weather: 1 is not a field here"),
    ],
)
def test_mistakes_are_told_by_field(given, said):
    assert said in refused(given)


def test_the_mistakes_of_all_runs_are_told_together():
    said = refused({"runs": [run(load=-1), run(), run(requests=1)]})
    assert "runs.0.load" in said
    assert "runs.2.requests" in said


# --- the case study under load -----------------------------------------------------------------------------------


@pytest.fixture
def stored(db):
    seeding.seed()


def edit(name=CASE, **fields):
    entry = store.named(store.SCENARIOS, name)
    document = entry.document | fields
    return store.update(entry, document, revision=entry.revision)


def cv(simulation):
    arrivals = simulation.experiment.arrivals
    return 1.0 if isinstance(arrivals, Poisson) else arrivals.variation


def end(job, state="succeeded"):
    Job.objects.filter(pk=job.pk).update(state=state)


def test_the_case_study_is_twelve_simulations_of_its_three_deployments(stored):
    asked = under_load.now()
    assert len(asked.runs) == len(under_load.CASES) == 12
    most = {name: evaluation.evaluate(scenario.load(name))["lambda_max_rps"] for name in scenario.SHIPPED}
    for case, each in zip(under_load.CASES, asked.runs, strict=True):
        assert each.scenario.name == case.scenario
        assert (each.run.requests, each.run.replications) == (50_000, 4)
        assert each.experiment.rate_rps == pytest.approx(1.7 if case.is_common else 0.85 * most[case.scenario])
        assert cv(each) == case.cv
    assert {(case.is_common, case.cv) for case in under_load.CASES} == {
        (False, 1.0), (False, 4.0), (True, 1.0), (True, 4.0),
    }  # fmt: skip


def test_before_anything_is_stored_it_is_as_shipped(db):
    shipped = under_load.now()
    seeding.seed()
    assert under_load.now().digest == shipped.digest


def test_an_edited_scenario_gives_other_simulations(stored):
    before = under_load.now()
    edit(routing={"policy": "threshold", "threshold_tokens": 25_000.0})
    after = under_load.now()
    assert after.digest != before.digest
    assert after.runs[0].experiment.deployment.threshold_tokens == 25_000


def test_arrivals_are_the_table_s_own_whatever_the_scenario_has(stored):
    edit(traffic=store.named(store.SCENARIOS, CASE).document["traffic"] | {"arrivals": {"process": "renewal", "cv": 2}})
    asked = under_load.now()
    assert [cv(each) for each in asked.runs[::3]] == [1.0, 4.0, 1.0, 4.0]
    assert asked.runs[0].scenario.provenance("traffic.arrivals")["kind"] == "user"


def test_a_job_is_found_while_scenarios_and_version_are_the_same(stored, monkeypatch):
    job = under_load.submit()
    assert job.kind == "side_by_side"
    assert under_load.done(under_load.now()) is None
    end(job)
    assert under_load.done(under_load.now()) == job
    edit(title="only another title")
    assert under_load.done(under_load.now()) is None
    assert under_load.before() == job


def test_a_job_of_another_version_is_one_of_before(stored, settings):
    job = under_load.submit()
    end(job)
    settings.VERSION = "99"
    assert under_load.done(under_load.now()) is None
    assert under_load.before() == job


def test_the_same_scenarios_side_by_side_for_another_reason_are_none_of_ours(stored):
    job = under_load.submit()
    others = json.loads(json.dumps(job.input))
    others["side_by_side"]["runs"][5]["seed"] = 2
    asked = side_by_side.loaded(others["side_by_side"])
    Job.objects.filter(pk=job.pk).update(input=asked.frozen(), state="succeeded")
    assert Job.objects.get().scenario == ", ".join(scenario.SHIPPED)
    assert under_load.before() is None


def test_it_is_submitted_once_however_often_it_is_asked_for(stored):
    job = under_load.submit()
    assert under_load.submit() == job
    end(job, "failed")
    again = under_load.submit()
    assert again != job
    end(again)
    assert under_load.submit() == again


def test_a_new_installation_simulates_it_once(stored):
    under_load.submit_first()
    under_load.submit_first()
    job = Job.objects.get()
    assert (job.kind, job.created_by) == ("side_by_side", None)
    end(job, "cancelled")
    under_load.submit_first()
    assert Job.objects.count() == 1


def test_a_start_says_why_it_cannot_simulate_and_goes_on(stored, settings, caplog):
    settings.CASE_STUDY_REQUESTS = 1
    under_load.submit_first()
    assert "The case study cannot be simulated: runs.0.requests" in caplog.text
    assert not Job.objects.exists()
