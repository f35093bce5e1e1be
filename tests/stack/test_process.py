"""A function in a child process: progress, stop, failure, sudden death, and nothing left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from planner import process
from tests.stack import work
from tests.stack.installation import ROOT, is_gone, until


def never():
    return False


def ignore(done, total, message):
    pass


def run(function, argument=None, on_progress=ignore, should_stop=never):
    return process.run(function, argument, on_progress=on_progress, should_stop=should_stop)


class Watcher:
    """Remembers the reports; `work` says its process id in the message."""

    def __init__(self):
        self.reports = []
        self.begun = threading.Event()

    def __call__(self, done, total, message):
        self.reports.append((done, total))
        self.child = int(message)
        self.begun.set()


@pytest.fixture
def watcher():
    return Watcher()


def test_the_outcome_comes_back_and_progress_on_the_way(watcher):
    assert run(work.steps, (19400, 20), watcher) == "done"
    assert watcher.reports == sorted(watcher.reports)
    assert watcher.reports[-1] == (20, 20)
    assert len(watcher.reports) > 3
    assert is_gone(watcher.child)


def test_the_message_of_a_failure_is_that_of_the_exception():
    with pytest.raises(process.ChildFailed, match=r"^no threshold of one token, please$"):
        run(work.steps, (work.FAILING, 1))


def test_a_child_that_computes_without_a_pause_is_stopped_at_once(watcher):
    asked = []

    def should_stop():
        if watcher.begun.is_set():
            asked.append(time.monotonic())
        return watcher.begun.is_set()

    with pytest.raises(process.Stopped):
        run(work.forever, None, watcher, should_stop)
    assert time.monotonic() - asked[0] < 0.3
    assert is_gone(watcher.child)


def test_a_killed_child_is_not_mistaken_for_a_failed_one(watcher):
    def kill(done, total, message):
        os.kill(int(message), signal.SIGKILL)

    with pytest.raises(process.ChildDied, match="killed by SIGKILL"):
        run(work.forever, None, kill)


def test_a_child_that_ends_without_an_answer_has_died():
    with pytest.raises(process.ChildDied, match="ended without an answer"):
        run(work.die)


def test_a_failure_of_the_caller_leaves_no_child(watcher):
    def broken(done, total, message):
        watcher(done, total, message)
        raise OSError("the database does not answer")

    with pytest.raises(OSError, match="database"):
        run(work.forever, None, broken)
    assert is_gone(watcher.child)


def test_a_child_knows_the_engine_but_neither_django_nor_the_site():
    modules, blas_threads = run(work.loaded)
    assert "planner.engine.search" in modules
    assert "numpy" in modules
    assert not [name for name in modules if name.split(".")[0] in {"django", "config", "celery", "rest_framework"}]
    assert blas_threads == "1"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_after_the_first_a_child_starts_in_no_time():
    run(work.nothing)
    begun = time.monotonic()
    run(work.nothing)
    assert time.monotonic() - begun < 0.5  # spawning one takes 1.5 s


def test_several_threads_may_run_children_at_the_same_time():
    outcomes = []
    threads = [threading.Thread(target=lambda: outcomes.append(run(work.steps, (19400, 5)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["done"] * 4


ORPHAN_MAKER = """
from planner import process
from tests.stack import work
process.run(work.forever, None, on_progress=lambda *report: print(report[2], flush=True), should_stop=lambda: False)
"""


def test_a_child_dies_with_its_parent():
    with subprocess.Popen([sys.executable, "-c", ORPHAN_MAKER], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    until(lambda: is_gone(child), 2, "the end of the orphan")


def test_a_killed_fork_server_is_replaced():
    run(work.nothing)
    children = psutil.Process().children()
    [server] = [child for child in children if "multiprocessing.forkserver" in " ".join(child.cmdline())]
    server.kill()
    until(lambda: is_gone(server.pid), 2)
    assert run(work.steps, (19400, 1)) == "done"


def test_no_child_is_left():
    until(lambda: not multiprocessing.active_children(), 1)
