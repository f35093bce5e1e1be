"""What the tests let a child process do. Like the engine, this imports nothing of Django."""

import os
import sys
import time

# Thresholds, in tokens, with a meaning of their own.
FAILING = 1
LONG = 2
STEP_S = 0.02


def steps(problem, report):
    """Work of a known length; its message is its process id."""
    threshold_tokens, count = problem
    if threshold_tokens == FAILING:
        raise ValueError("no threshold of one token, please")
    if threshold_tokens == LONG:
        count *= 100
    for step in range(count):
        report(step, count, str(os.getpid()))
        time.sleep(STEP_S)
    report(count, count, str(os.getpid()))
    return "done"


def forever(problem, report):
    report(0, 0, str(os.getpid()))
    while True:
        sum(range(1000))


def die(problem, report):
    os._exit(3)


def nothing(problem, report):
    """The shortest job there is."""


def loaded(problem, report):
    """The modules of this process, and how many threads its arithmetic may use."""
    return sorted(sys.modules), os.environ["OPENBLAS_NUM_THREADS"]
