"""The life of a job, change by change. `test_both_databases` runs this file on PostgreSQL and Redis too."""

from datetime import timedelta
from uuid import uuid4

import pytest
from celery import current_app
from django.contrib.auth import get_user_model
from django.db.models.functions import Now

from planner import jobs, process, tasks
from planner.models import Job
from tests.stack import work

pytestmark = pytest.mark.django_db

DOCUMENT = {"scenario": {"name": "a scenario", "threshold_tokens": 19400}, "form": "exact", "map": False}


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """What the broker was told: (job id, attempt)."""
    told = []
    monkeypatch.setattr(current_app, "send_task", lambda name, args: told.append(tuple(args)))
    return told


@pytest.fixture(autouse=True)
def standin(monkeypatch):
    """Two steps of work in place of the optimisation."""
    kind = tasks.Kind(
        problem=lambda given: (given["scenario"]["threshold_tokens"], 2),
        function=work.steps,
        result=lambda given, problem, outcome: {"outcome": outcome},
    )
    monkeypatch.setitem(tasks.KINDS, "optimize", kind)


@pytest.fixture
def queued(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        return jobs.submit("optimize", "a scenario", DOCUMENT)


@pytest.fixture
def claim(queued):
    return jobs.Claim.take(queued.pk, 1)


def now(job):
    return Job.objects.get(pk=job.pk)


def silence(job, seconds):
    """As if nothing had been heard of it for so long."""
    Job.objects.filter(pk=job.pk).update(heartbeat_at=Now() - timedelta(seconds=seconds))


def test_a_job_is_queued_with_its_complete_input_and_the_broker_told_after_the_commit(
    told, django_capture_on_commit_callbacks
):
    user = get_user_model().objects.create_user("somebody")
    with django_capture_on_commit_callbacks(execute=True):
        job = jobs.submit("optimize", "a scenario", DOCUMENT, created_by=user.pk)
        assert told == []
    assert told == [(str(job.pk), 1)]
    assert (now(job).state, now(job).input, now(job).form, now(job).created_by) == ("queued", DOCUMENT, "exact", user)


def test_a_broker_out_of_reach_does_not_lose_the_job(monkeypatch, django_capture_on_commit_callbacks):
    def unreachable(name, args):
        raise ConnectionRefusedError

    monkeypatch.setattr(current_app, "send_task", unreachable)
    with django_capture_on_commit_callbacks(execute=True):
        job = jobs.submit("optimize", "a scenario", DOCUMENT)
    assert now(job).state == "queued"


def test_only_one_worker_gets_a_job(queued):
    assert jobs.Claim.take(queued.pk, 1)
    assert jobs.Claim.take(queued.pk, 1) is None
    assert (now(queued).state, now(queued).started_at is None) == ("running", False)


def test_a_job_is_computed_by_its_task(queued):
    tasks.run_job(str(queued.pk), 1)
    job = now(queued)
    assert (job.state, job.result, job.done, job.total) == ("succeeded", {"outcome": "done"}, 2, 2)
    assert job.finished_at >= job.started_at


def test_a_second_delivery_does_nothing(queued):
    tasks.run_job(str(queued.pk), 1)
    before = Job.objects.filter(pk=queued.pk).values().get()
    tasks.run_job(str(queued.pk), 1)
    assert Job.objects.filter(pk=queued.pk).values().get() == before


def test_a_message_about_a_job_that_is_not_there_does_nothing():
    tasks.run_job(str(uuid4()), 1)
    assert not Job.objects.exists()


def test_a_failing_function_fails_the_job_with_its_message(queued):
    Job.objects.filter(pk=queued.pk).update(
        input=DOCUMENT | {"scenario": {"threshold_tokens": work.FAILING}},
    )
    tasks.run_job(str(queued.pk), 1)
    assert (now(queued).state, now(queued).error) == ("failed", "no threshold of one token, please")


def test_a_fault_outside_the_function_is_said_too(queued):
    Job.objects.filter(pk=queued.pk).update(input={})
    tasks.run_job(str(queued.pk), 1)
    assert (now(queued).state, now(queued).error) == ("failed", "KeyError: 'scenario'")


def test_a_queued_job_is_cancelled_at_once_and_never_runs(queued):
    jobs.cancel(queued.pk)
    assert (now(queued).state, now(queued).cancel_requested) == ("cancelled", True)
    assert now(queued).finished_at
    tasks.run_job(str(queued.pk), 1)
    assert now(queued).state == "cancelled"


def test_a_running_job_is_asked_to_stop_and_then_cancelled(queued, claim):
    assert not claim.must_stop()
    jobs.cancel(queued.pk)
    assert now(queued).state == "running"
    assert claim.must_stop()
    claim.stopped()
    assert now(queued).state == "cancelled"


def test_an_ended_job_cannot_be_cancelled(queued, claim):
    claim.finish({"outcome": "done"})
    jobs.cancel(queued.pk)
    assert (now(queued).state, now(queued).cancel_requested) == ("succeeded", False)


def test_progress_is_written_at_most_four_times_a_second(queued, claim, monkeypatch):
    clock = 1000.0
    monkeypatch.setattr(jobs.time, "monotonic", lambda: clock)
    claim._written_at = clock
    seen = set()
    for step in range(100):  # a second
        clock += 0.01
        claim.report(step, 100, "thinking")
        claim.must_stop()
        seen.add(now(queued).done)
    assert len(seen - {0}) in {3, 4}


def test_without_news_there_is_still_a_sign_of_life(queued, claim):
    silence(queued, 8)
    claim._written_at -= 5
    assert not claim.must_stop()
    jobs.reap()
    assert now(queued).state == "running"


def test_a_silent_job_is_taken_up_once_more_and_then_lost(queued, claim, told, settings):
    silence(queued, settings.JOB_HEARTBEAT_TIMEOUT_S + 1)
    jobs.reap()
    assert (now(queued).state, now(queued).attempt) == ("queued", 2)
    assert told[-1] == (str(queued.pk), 2)

    assert jobs.Claim.take(queued.pk, 1) is None
    assert jobs.Claim.take(queued.pk, 2)
    silence(queued, settings.JOB_HEARTBEAT_TIMEOUT_S + 1)
    jobs.reap()
    assert now(queued).state == "lost"
    assert now(queued).error == "Lost after 2 attempts: the worker that computed it gave no more sign of life."


def test_a_job_that_gives_signs_of_life_is_left_alone(queued, claim, settings):
    silence(queued, settings.JOB_HEARTBEAT_TIMEOUT_S - 2)
    jobs.reap()
    assert (now(queued).state, now(queued).attempt) == ("running", 1)


def test_a_worker_that_comes_back_late_changes_nothing(queued, claim, settings):
    silence(queued, settings.JOB_HEARTBEAT_TIMEOUT_S + 1)
    jobs.reap()
    second = jobs.Claim.take(queued.pk, 2)
    before = Job.objects.filter(pk=queued.pk).values().get()
    claim.report(7, 9, "late")
    claim._written_at -= 5
    assert claim.must_stop()
    claim.finish({"outcome": "late"})
    claim.fail("late")
    claim.died("late")
    claim.stopped()
    assert Job.objects.filter(pk=queued.pk).values().get() == before
    second.finish({"outcome": "in time"})
    assert now(queued).result == {"outcome": "in time"}


def test_a_silent_job_that_was_to_be_cancelled_is_cancelled(queued, claim, settings):
    jobs.cancel(queued.pk)
    silence(queued, settings.JOB_HEARTBEAT_TIMEOUT_S + 1)
    jobs.reap()
    assert now(queued).state == "cancelled"


def test_a_dead_child_costs_an_attempt(queued, monkeypatch):
    def die(*args, **kwargs):
        raise process.ChildDied("the process that computed it was killed by SIGKILL")

    monkeypatch.setattr(process, "run", die)
    tasks.run_job(str(queued.pk), 1)
    assert (now(queued).state, now(queued).attempt) == ("queued", 2)
    tasks.run_job(str(queued.pk), 2)
    assert now(queued).state == "lost"


def test_a_worker_that_goes_down_hands_its_job_back_at_no_cost(queued, claim, told, monkeypatch):
    monkeypatch.setattr(jobs.stopping, "is_set", lambda: True)
    assert claim.must_stop()
    claim.stopped()
    assert (now(queued).state, now(queued).attempt) == ("queued", 1)
    assert told[-1] == (str(queued.pk), 1)


def test_at_start_whatever_was_queued_is_queued_again(queued, told):
    other = jobs.submit("optimize", "another", DOCUMENT)
    jobs.Claim.take(other.pk, 1)
    told.clear()
    jobs.recover()
    assert told == [(str(queued.pk), 1)]


def test_the_broker_is_reminded_of_a_job_that_waits_long_but_not_all_the_time(queued, told):
    jobs.reap()
    silence(queued, jobs.TELL_BROKER_AGAIN_AFTER_S + 1)
    told.clear()
    jobs.reap()
    jobs.reap()
    assert told == [(str(queued.pk), 1)]


def test_viewers_hear_of_every_change(queued, monkeypatch):
    heard = []
    monkeypatch.setattr(jobs, "notify", heard.append)
    claim = jobs.Claim.take(queued.pk, 1)
    claim.report(1, 2, "")
    claim._written_at -= 1
    claim.must_stop()
    claim.finish({})
    assert heard == [queued.pk] * 3


def test_the_reaper_looks_twice_and_reads_no_documents(queued, django_assert_num_queries):
    with django_assert_num_queries(2) as queries:
        jobs.reap()
    assert not any('"input"' in query["sql"] for query in queries.captured_queries)
