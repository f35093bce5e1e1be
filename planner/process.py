"""Runs a function of the engine in a child process: progress, stopping at once, failure, sudden death.

A child of its own per job because only a process can be stopped in the middle of an array expression, and because
arithmetic in a thread of the web server would hold up its event loop. `forkserver` because the server has threads,
and because it hands out children that have NumPy, SciPy and the simulator loaded already.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

Report = Callable[[int, int, str], None]
Function = Callable[[Any, Report], Any]

PRELOADED = [
    "numpy",
    "scipy.optimize",
    "scipy.special",
    "scipy.integrate",
    "planner.engine.purchasing",
    "planner.engine.simulation.loaded",
]
TICK_S = 0.1
REPORT_EVERY_S = 0.05
# The web pages stay quick while jobs compute.
NICENESS = 10

_context = multiprocessing.get_context("forkserver")
# multiprocessing looks after all children of this process whenever one starts; two threads must not do so at once.
_children = threading.Lock()


class Stopped(Exception):
    """It was asked to stop, and has."""


class ChildFailed(Exception):
    """The function raised; the message is that of its exception."""


class ChildDied(Exception):
    """The child ended without an answer: killed by hand or by the kernel for want of memory."""


@dataclass(frozen=True, slots=True)
class _Progress:
    done: int
    total: int
    message: str


@dataclass(frozen=True, slots=True)
class _Answer:
    outcome: Any


@dataclass(frozen=True, slots=True)
class _Failure:
    message: str
    trace: str


def run(function: Function, argument: Any, *, on_progress: Report, should_stop: Callable[[], bool]) -> Any:
    """The value of `function(argument, report)`, computed in a child process.

    `should_stop` is asked about ten times a second; when it says yes the child is killed and `Stopped` raised.
    Raises `ChildFailed` or `ChildDied` too. Whatever happens, no child outlives the call.
    """
    ours, theirs = _context.Pipe(duplex=False)
    child = _context.Process(target=_child, args=(function, argument, theirs), daemon=True)
    with ours, _alive(child, theirs):
        look_at = 0.0
        while True:
            if time.monotonic() >= look_at:
                if should_stop():
                    raise Stopped
                look_at = time.monotonic() + TICK_S
            if not ours.poll(TICK_S):
                continue
            match _received(ours, child):
                case _Progress(done, total, message):
                    on_progress(done, total, message)
                case _Answer(outcome):
                    return outcome
                case _Failure(message, trace):
                    logger.error("A job's function raised:\n%s", trace)
                    raise ChildFailed(message)


def make_ready() -> None:
    """Returns when a child starts in no time: the fork server is there, with NumPy and SciPy loaded.

    That takes seconds on a busy machine, in which a job that is claimed already would give no sign of life.
    """
    with contextlib.suppress(ChildDied):  # the job's own child will say so again
        run(_nothing, None, on_progress=_ignored, should_stop=_never)


def _nothing(argument: Any, report: Report) -> None: ...


def _ignored(done: int, total: int, message: str) -> None: ...


def _never() -> bool:
    return False


def _start_fork_server() -> None:
    # First, because the start of the tracker would unblock the signal that the fork server is to inherit as blocked.
    resource_tracker.ensure_running()
    with _children, _environment():
        forkserver.set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """What the fork server and its children inherit: where our packages are (Python 3.13 forgets to say), one thread
    of arithmetic, deafness to Ctrl-C."""
    root = str(Path(__file__).resolve().parent.parent)
    wanted = {
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    # Ctrl-C reaches the whole group of processes; the parent decides what it means.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _alive(child: ForkServerProcess, theirs: Connection) -> Iterator[None]:
    """The child lives inside this block, and not a moment longer."""
    _start_fork_server()
    # Only the child holds this end then, so that its death is an end of file at ours.
    with _children, theirs:
        try:
            child.start()
        except (EOFError, OSError) as error:
            raise ChildDied("its process could not be started: the fork server is gone") from error
    try:
        yield
    finally:
        with _children:
            if child.is_alive():
                child.kill()
            child.join()
            child.close()


def _received(ours: Connection, child: ForkServerProcess) -> object:
    try:
        return ours.recv()
    except (EOFError, ConnectionResetError):
        with _children:
            child.join(1)
        raise ChildDied(f"the process that computed it {_manner_of_death(child.exitcode)}") from None


def _manner_of_death(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"was killed by {signal.Signals(-exitcode).name}"
    return "ended without an answer"


# --- in the child ------------------------------------------------------------------------------------------------


def _child(function: Function, argument: Any, answers: Connection) -> None:
    os.nice(NICENESS)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        answer: object = _Answer(function(argument, _reporter(answers)))
    except Exception as error:  # whatever the function raised is its answer
        answer = _Failure(str(error) or type(error).__name__, traceback.format_exc())
    answers.send(answer)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
    os._exit(1)


def _reporter(answers: Connection) -> Report:
    """Passes on at most twenty reports a second, and the last one."""
    last = 0.0

    def report(done: int, total: int, message: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= REPORT_EVERY_S or done >= total:
            last = now
            answers.send(_Progress(done, total, message))

    return report
