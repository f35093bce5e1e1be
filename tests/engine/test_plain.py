import numpy as np
import pytest

from planner.engine.search import surface
from planner.engine.throughput import Form, work
from tests.engine import plain
from tests.engine.case_study import prfaas_pd


@pytest.mark.parametrize("bandwidth_bps", [6e9, 100e9])
def test_the_surface_agrees_with_plain_loops_over_the_same_equations(bandwidth_bps):
    thresholds, splits = np.geomspace(300, 120_000, 9), [0, 1, 3, 5, 8]
    fleet = prfaas_pd(bandwidth_bps=bandwidth_bps)
    ours = surface(fleet, work(fleet, thresholds, Form.EXACT), splits)
    theirs = plain.surface(plain.CASE_STUDY | {"bandwidth_bps": bandwidth_bps}, thresholds, 8, splits)
    assert ours == pytest.approx(np.array(theirs), rel=1e-4)
