"""The life of a job in parts. `test_both_databases` runs this file on PostgreSQL and Redis too."""

from datetime import timedelta

import pytest
from celery import current_app
from django.conf import settings
from django.db.models.functions import Now

from planner import jobs, shards, tasks
from planner.models import Job
from tests.stack import work

pytestmark = pytest.mark.django_db

PARTS = 3


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """What the broker was told: (job id, attempt)."""
    told = []
    monkeypatch.setattr(current_app, "send_task", lambda name, args: told.append(tuple(args)))
    return told


@pytest.fixture(autouse=True)
def standin(monkeypatch):
    """Parts of two steps each, put together as a list in place of the front."""
    part = tasks.Kind(
        problem=lambda given: (given["threshold_tokens"], 2),
        function=work.steps,
        result=lambda given, problem, outcome: {"part": given["index"], "outcome": outcome},
    )
    whole = tasks.InParts(
        part="front_shard",
        parts=lambda given: [given | {"index": index} for index in range(PARTS)],
        merge=lambda given, parts: {"parts": [part["part"] for part in parts]},
    )
    monkeypatch.setitem(tasks.KINDS, "front_shard", part)
    monkeypatch.setitem(tasks.IN_PARTS, "front", whole)


@pytest.fixture
def whole(django_capture_on_commit_callbacks):
    """A job that has been cut into parts, none of which has begun."""
    with django_capture_on_commit_callbacks(execute=True):
        job = jobs.submit("front", "a scenario", {"threshold_tokens": 19400})
        tasks.run_job(str(job.pk), 1)
    return job


def now(job):
    return Job.objects.get(pk=job.pk)


def parts_of(whole):
    return list(Job.objects.filter(parent=whole).order_by("shard"))


def run(part):
    tasks.run_job(str(part.pk), now(part).attempt)


def test_it_is_cut_into_jobs_that_the_broker_hears_of(whole, told):
    parts = parts_of(whole)
    assert [(part.kind, part.shard, part.state) for part in parts] == [
        ("front_shard", index, "queued") for index in range(PARTS)
    ]
    assert told[1:] == [(str(part.pk), 1) for part in parts]
    assert now(whole).state == "running"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_its_parts_are_merged_in_their_order_whichever_ends_last(whole, order):
    parts = parts_of(whole)
    for index in order:
        assert now(whole).state == "running"
        run(parts[index])
    ended = now(whole)
    assert (ended.state, ended.result) == ("succeeded", {"parts": [0, 1, 2]})
    assert ended.done == ended.total == 2 * PARTS
    assert ended.finished_at


def test_progress_counts_the_steps_of_all_parts(whole):
    run(parts_of(whole)[0])
    seen = now(whole)
    assert (seen.done, seen.total, seen.message) == (2, 2 * PARTS, f"1 of {PARTS} parts done")


def test_a_part_that_fails_fails_the_whole_and_stops_the_others(whole):
    parts = parts_of(whole)
    Job.objects.filter(pk=parts[1].pk).update(input={"threshold_tokens": work.FAILING, "index": 1})
    run(parts[0])
    run(parts[1])
    assert (now(whole).state, now(whole).error) == ("failed", "Part 2 of 3: no threshold of one token, please")
    assert now(parts[2]).state == "cancelled"


def test_cancelling_it_ends_it_at_once_and_its_parts_with_it(whole):
    parts = parts_of(whole)
    claim = jobs.Claim.take(parts[0].pk, 1)
    jobs.cancel(whole.pk)
    assert now(whole).state == "cancelled"
    assert [now(part).state for part in parts] == ["running", "cancelled", "cancelled"]
    assert claim.must_stop()
    claim.stopped()
    assert now(parts[0]).state == "cancelled"


def test_cancelling_a_part_cancels_the_whole(whole):
    parts = parts_of(whole)
    jobs.cancel(parts[0].pk)
    tasks.settle()
    assert now(whole).state == "cancelled"
    assert {now(part).state for part in parts} == {"cancelled"}


def test_a_part_whose_worker_vanished_is_computed_again(whole):
    parts = parts_of(whole)
    jobs.Claim.take(parts[0].pk, 1)
    long_ago = Now() - timedelta(seconds=settings.JOB_HEARTBEAT_TIMEOUT_S + 1)
    Job.objects.update(heartbeat_at=long_ago)
    jobs.reap()
    assert (now(parts[0]).state, now(parts[0]).attempt) == ("queued", 2)
    assert (now(whole).state, now(whole).attempt) == ("running", 1)
    for part in parts:
        run(part)
    assert now(whole).result == {"parts": [0, 1, 2]}


def test_what_the_last_worker_did_not_say_is_said_later(whole, monkeypatch):
    parts = parts_of(whole)
    with monkeypatch.context() as gone:
        gone.setattr(shards, "settle", lambda *_: None)
        for part in parts:
            run(part)
    assert now(whole).state == "running"
    tasks.settle()
    tasks.settle()
    assert (now(whole).state, now(whole).result) == ("succeeded", {"parts": [0, 1, 2]})


def test_a_worker_that_comes_late_cuts_nothing(whole):
    late = jobs.Claim(whole.pk, attempt=7)
    late.split("front_shard", [{"index": 0}])
    assert len(parts_of(whole)) == PARTS


def test_parts_do_not_stand_in_the_list_of_jobs(whole, client):
    listed = client.get("/api/v1/jobs/").json()["results"]
    assert [job["kind"] for job in listed] == ["front"]


def test_a_job_that_comes_later_has_its_turn_before_the_rest_of_a_long_one(whole):
    parts = parts_of(whole)
    assert jobs.Claim.take(parts[0].pk, 1)
    later = jobs.submit("front_shard", "a scenario", {"threshold_tokens": 19400, "index": 0})
    run(parts[1])  # a worker is told of the second part, and another job has none running
    assert now(later).state == "succeeded"
    assert now(parts[1]).state == "queued"
    run(later)  # the message of the one that is done is good for the one that was left
    assert now(parts[1]).state == "succeeded"


def test_of_parts_of_two_jobs_that_have_as_many_running_the_older_ones_are_next(whole):
    assert jobs.in_turn() == (parts_of(whole)[0].pk, 1)
    Job.objects.filter(parent=whole).update(state="succeeded")
    assert jobs.in_turn() is None


def test_a_worker_that_is_beaten_to_a_job_takes_the_next_one(whole, monkeypatch):
    """Or else its message would be gone, and the next one would wait until the broker is reminded."""
    parts, in_turn = parts_of(whole), jobs.in_turn
    beaten = iter([(parts[0].pk, 1)])
    monkeypatch.setattr(jobs, "in_turn", lambda: next(beaten, None) or in_turn())
    assert jobs.Claim.take(parts[0].pk, 1)
    run(parts[0])
    assert now(parts[1]).state == "succeeded"
