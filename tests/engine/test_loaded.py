"""What a process that forks has of the simulator's machine code before it forks."""

import os
import subprocess
import sys
from pathlib import Path

from planner.engine.simulation import Experiment
from planner.engine.simulation.run import replicate
from tests.engine.case_study import prfaas_pd

COUNT = """
import planner.engine.simulation.loaded
from planner.engine.simulation.kernel import advance
stats = advance.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def taken_and_compiled(**variables):
    """How many functions were taken from what is kept, and how many were compiled."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT], cwd=Path(__file__).parents[2], env=os.environ | variables,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return tuple(map(int, done.stdout.split()))


def test_what_is_kept_is_there_before_anybody_simulates():
    replicate(Experiment(prfaas_pd(), 1.0, requests=1), 0)  # which keeps it, if nobody has before
    assert taken_and_compiled() == (1, 0)


def test_where_nothing_is_kept_nobody_waits_for_it_to_be_compiled(tmp_path):
    assert taken_and_compiled(NUMBA_CACHE_DIR=str(tmp_path)) == (0, 0)
