"""The case study as a monitor sees it."""

import numpy as np

from planner.engine.advice import Histogram, Observed, Queues
from tests.engine.case_study import LENGTHS

FINE = np.geomspace(128, 131_072, 300)
DOUBLINGS = 2.0 ** np.arange(7, 18)


def histogram(bounds=FINE, requests=10_000.0, lengths=LENGTHS, **others):
    """What so many requests would show on average."""
    shares = np.diff(np.concatenate([[0.0], lengths.between(0.0, np.asarray(bounds)), [1.0]]))
    return Histogram(tuple(bounds), tuple(requests * np.maximum(shares, 0.0)), **others)


def counted(drawn, bounds=FINE, **others):
    """What drawn lengths show."""
    counts = np.histogram(drawn, np.concatenate([[0.0], bounds, [np.inf]]))[0]
    return Histogram(tuple(bounds), tuple(float(count) for count in counts), **others)


def observed(now_s=0.0, **changes):
    """A healthy afternoon."""
    parts = {
        "lengths": histogram(),
        "age_s": 1.0,
        "rate_rps": 1.8,
        "capacity_bps": 100e9,
        "egress_bps": 6.9e9,
        "resent_share": 0.0,
        "queues": Queues(0.0, 0.0, 0.0, 0.0),
        "threshold_tokens": 19_600.0,
        "prfaas_instances": 4.0,
        "prefill_instances": 3.0,
        "decode_instances": 5.0,
    }
    return Observed(now_s, **(parts | changes))
