"""Recordings: from what is stored, over REST, and back to a simulation that gives the same rates and percentiles."""

import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client

from monitoring import mappings, recording
from monitoring.mapping.engine import State, map_readings
from monitoring.models import Source
from monitoring.recording import RecordingError, parse, simulation
from monitoring.replaying import course, emulated
from monitoring.replaying.pace import Pace
from monitoring.replaying.recorder import Wanted, taken
from monitoring.storage.writer import Writer
from planner.catalog import SHIPPED
from planner.engine.lengths import offload_fraction
from planner.entries.traffic import EmpiricalLengths
from planner.simulating import document
from tests.monitoring.replayed import (
    BROWN_OUT,
    CALM,
    DURATION_S,
    ROUGH,
    SCENARIO,
    scenario_document,
    simulated,
    sources,
)

T0 = 1_790_000_400_000
END = T0 + round(DURATION_S * 1000)
FINE = max(high / low for low, high in zip(emulated.FINE_TOKENS, emulated.FINE_TOKENS[1:], strict=False))


def stored(which=CALM, names=("router", "pd-prefill")):
    """What these sources tell of the day, as the doors' pipeline would store it."""
    times = np.arange(0.0, DURATION_S + 1, 1.0)
    for name in names:
        each, source = sources(which)[name], Source.objects.create(name=f"demo-{name}")
        readings = each.readings(times.tolist(), 0.0, Pace(T0, 1.0))
        outcome = map_readings(readings, each.labels, mappings.compiled_for(each.systems), State())
        with transaction.atomic():
            Writer().store([(source.pk, series) for series in outcome.mapped])


def plain(**changes):
    found = {
        "kind": "recording", "start_ms": T0, "interval_s": 10,
        "requests_rps": {"local": [1.0, 2.0, 3.0], "remote": [1.0, 0.0, 2.0]},
        "uncached_tokens": {
            "local": {"bounds": [1000.0, 2000.0], "counts": [0, 60, 0]},
            "remote": {"bounds": [20000.0, 40000.0], "counts": [0, 30, 0]},
        },
        "threshold_tokens": [19_400.0, 19_400.0, 19_400.0],
    }  # fmt: skip
    return found | changes


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"interval_s": 0}, "interval_s: 0: input should be greater than or equal to 1"),
        ({"requests_rps": {"local": [-1.0]}}, "requests_rps.local.0: -1.0: input should be greater than or equal to 0"),
        ({"requests_rps": {"sideways": [1.0]}}, "requests_rps.sideways"),
        ({"threshold_tokens": [1.0]}, "threshold_tokens has 1 intervals; requests_rps has 3"),
        ({"uncached_tokens": {"local": {"bounds": [2, 1], "counts": [1, 1, 1]}}}, "bounds must rise"),
        ({"uncached_tokens": {"local": {"bounds": [1], "counts": [1]}}}, "counts"),
        ({"more": 1}, "more: 1: extra inputs are not permitted"),
    ],
)
def test_a_recording_with_a_mistake_is_refused_by_its_field(changes, said):
    with pytest.raises(RecordingError) as problem:
        parse(plain(**changes))
    assert said in str(problem.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"requests_rps": {"local": [None, None, None]}}, "requests_rps: no request was recorded"),
        ({"requests_rps": {"local": [0.0, 0.0, 0.0]}}, "requests_rps: no request was recorded"),
        ({"uncached_tokens": {}}, "uncached_tokens: no length was recorded"),
    ],
)
def test_of_a_recording_without_requests_nothing_is_simulated(changes, said):
    with pytest.raises(RecordingError, match=said):
        simulation(parse(plain(**changes)), scenario_document())


# --- what it becomes ---------------------------------------------------------------------------------------------


def test_rates_become_recorded_arrivals():
    found = simulation(parse(plain()), scenario_document()).document
    arrivals = found["scenario"]["traffic"]["arrivals"]
    assert arrivals == {"process": "recorded", "interval_s": 10, "rate_rps": [2.0, 2.0, 5.0]}
    assert found["rate_rps"] == pytest.approx(3.0)
    assert found["requests"] == 100  # ninety, but no fewer than are simulated


def test_intervals_that_were_not_measured_are_filled_in_and_told():
    given = plain(requests_rps={"local": [None, 1.0, None, 3.0, None]}, threshold_tokens=[])
    found = simulation(parse(given), scenario_document())
    assert found.document["scenario"]["traffic"]["arrivals"]["rate_rps"] == [1.0, 2.0, 3.0]
    assert "requests_rps: 1 of 3 intervals were not measured, and are filled in" in found.notes


def test_lengths_lie_in_their_buckets_with_the_recorded_shares():
    found = simulation(parse(plain()), scenario_document()).document["scenario"]["traffic"]["input_tokens"]
    samples, counts = np.array(found["samples"]), np.array(found["counts"])
    is_short = samples < 10_000
    assert ((samples[is_short] > 1000) & (samples[is_short] < 2000)).all()
    assert ((samples[~is_short] > 20_000) & (samples[~is_short] < 40_000)).all()
    assert counts[is_short].sum() / counts.sum() == pytest.approx(2 / 3, rel=1e-4)


def test_a_bucket_in_which_the_threshold_lies_is_cut_there():
    same = {"bounds": [10_000.0, 40_000.0], "counts": [0, 50, 0]}
    found = simulation(parse(plain(uncached_tokens={"local": same, "remote": same})), scenario_document())
    lengths = EmpiricalLengths.model_validate(found.document["scenario"]["traffic"]["input_tokens"]).lengths()
    assert offload_fraction(lengths, 19_400.0) == pytest.approx(0.5, abs=1e-5)
    assert "up to a factor of 4" in found.notes[-1]


def test_a_threshold_that_moved_is_told_and_followed():
    found = simulation(parse(plain(threshold_tokens=[19_000.0, None, 24_000.0])), scenario_document())
    assert found.document["threshold_track"] == {"interval_s": 10, "tokens": [19_000.0, 21_500.0, 24_000.0]}
    assert any("moved from 19,000 to 24,000 tokens" in note for note in found.notes)
    experiment = document.parse(found.document, SHIPPED).experiment
    assert (experiment.routing.least_tokens, experiment.routing.most_tokens) == (19_000.0, 24_000.0)


def test_link_and_instances_are_as_recorded():
    link = {"name": "wan", "capacity_bps": [1e11, 3e9, 1e11], "egress_bps": [1e9, 3e9, 1e9]}
    given = plain(link=link, instances={"prfaas": [3, 3, 3], "prefill": [4, 4, 2], "decode": [6, 6, 6]})
    found = simulation(parse(given), scenario_document())
    assert found.document["weather"] == {"recording": {"interval_s": 10, "bps": [1e11, 3e9, 1e11]}}
    deployed = document.parse(found.document, SHIPPED).experiment.deployment
    assert (deployed.prfaas.instances, deployed.pd.prefill_instances, deployed.pd.decode_instances) == (3, 4, 6)
    assert any("instances.prefill: from 2 to 4" in note for note in found.notes)


# --- from the store ----------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_recording_has_the_rates_of_what_was_simulated_and_counts_each_request_once():
    stored()
    found = taken(Wanted(T0, END))
    requests = simulated().requests
    for route, number in (("local", 0), ("remote", 1)):
        own = requests[(requests["route"] == number) & (requests["arrival_s"] <= DURATION_S)]
        # what lies between two samples is counted where the later one is: from a second before an interval on
        counted, _ = np.histogram(own["arrival_s"], np.arange(-1.0, DURATION_S, 10.0))
        assert np.array(found.requests_rps[route][1:]) == pytest.approx(counted[1:] / 10)
        assert sum(found.uncached_tokens[route].counts) == pytest.approx(own.size, abs=5)
    assert found.sources == ["demo-router"]
    assert set(found.threshold_tokens) == {19_400.0}
    assert {role: set(over) for role, over in found.instances.items()} == {"prfaas": {4}, "prefill": {3}, "decode": {5}}


@pytest.mark.django_db
def test_the_link_of_a_recording_shows_its_brown_out():
    stored(ROUGH, ["router", "gateway"])
    link = taken(Wanted(T0, END)).link
    assert link.name == "wan"
    during = slice(round(BROWN_OUT.begin_s / 10) + 1, round(BROWN_OUT.end_s / 10) - 1)
    assert set(link.capacity_bps[during]) == {BROWN_OUT.bps}
    assert np.array(link.egress_bps[during]) == pytest.approx(BROWN_OUT.bps, rel=1e-6)


@pytest.mark.django_db
def test_a_recorded_day_simulated_again_has_its_rates_lengths_and_percentiles():
    stored(names=["router"])
    asked = document.parse(simulation(taken(Wanted(T0, END)), scenario_document()).document, SHIPPED)
    requests = simulated().requests
    arrived = requests[requests["arrival_s"] <= DURATION_S]
    assert asked.experiment.rate_rps == pytest.approx(arrived.size / DURATION_S, rel=0.02)
    lengths = asked.experiment.deployment.lengths
    for share in (0.1, 0.5, 0.9, 0.99):
        was = np.quantile(arrived["tokens"], share, method="inverted_cdf")
        assert was / FINE <= lengths.quantile(share) <= was * FINE
    assert offload_fraction(lengths, 19_400.0) == pytest.approx((arrived["route"] == 1).mean(), abs=0.01)
    again = course.simulated(asked.experiment, 2, DURATION_S).requests
    for one in (again, arrived):
        assert np.isfinite(one["first_s"]).all()
    # another draw of the same day: an unloaded system's TTFT, whose median moves with the lengths alone
    medians = [np.median(one["first_s"] - one["arrival_s"]) for one in (again, arrived)]
    assert medians[0] == pytest.approx(medians[1], rel=FINE - 1 + 0.1)


# --- over REST and on the command line ---------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_window_is_a_recording_over_rest():
    stored(names=["router", "gateway"])
    answer = Client().get("/api/v1/live/recording/", {"start": T0, "end": END})
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    assert parse(answer.json()).link.name == "wan"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "field", "said"),
    [
        ({"interval_s": "7"}, "interval_s", "must be one of 10, 60, 600"),
        ({"link": "moon"}, "link", "was not measured; known: none"),
        ({"start": "1", "end": "1790000400000"}, "start", "1 to 100,000 intervals"),
    ],
)
def test_a_window_that_cannot_be_is_refused_by_its_field(query, field, said):
    answer = Client().get("/api/v1/live/recording/", {"start": T0, "end": END, **query})
    assert answer.status_code == 400
    assert said in json.dumps(answer.json())
    assert field in json.dumps(answer.json())


@pytest.mark.django_db
def test_an_empty_window_is_a_recording_of_nothing():
    found = parse(Client().get("/api/v1/live/recording/", {"start": T0, "end": END}).json())
    with pytest.raises(RecordingError, match="no request was recorded"):
        recording.measured(found)


@pytest.mark.django_db
def test_the_command_writes_the_simulation_of_a_recording(tmp_path, capsys):
    (tmp_path / "day.json").write_text(json.dumps(plain()))
    call_command("recording", str(tmp_path / "day.json"), SCENARIO)
    told = capsys.readouterr()
    assert document.parse(json.loads(told.out), SHIPPED).run.rate_rps == pytest.approx(3.0)
    assert "lengths are known to within their buckets" in told.err
    call_command("recording", str(tmp_path / "day.json"), SCENARIO, part="scenario")
    assert json.loads(capsys.readouterr().out)["name"] == SCENARIO


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-scenario"], "no-such-scenario"),
        ([SCENARIO, "--speed", "0"], "speed must be from 1"),
        ([SCENARIO, "--die", "moon", "1", "2"], "--die moon: must be one of router, prfaas"),
        ([SCENARIO, "--burst", "1", "2", "x"], "--burst 1 2 x: must be numbers"),
        ([SCENARIO, "--as-recorded"], "--duration: must be at most 540 s"),
        (["day.json"], "--scenario: is missing"),
        (["day.json", "--scenario", SCENARIO, "--brown-out", "1", "2", "3"], "are as they were recorded"),
    ],
)
def test_a_replay_that_cannot_be_is_refused_before_anything_is_sent(arguments, said, tmp_path, monkeypatch):
    (tmp_path / "day.json").write_text(json.dumps(plain()))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=said) as problem:
        call_command("replay", *arguments)
    assert problem.value.returncode == 2
    assert not Source.objects.exists()
