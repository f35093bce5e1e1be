"""How an experiment differs from another that met the very same requests, replication by replication.

Two experiments of one seed have common random numbers: what chance brings to the one it brings to the other, and
leaves their difference alone. Its interval is that of a paired t test, and much narrower than those of the two means
where both follow the same requests. Numba is not needed for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.engine.curves import Array
from planner.engine.simulation.replication import Replication
from planner.engine.simulation.report import Estimate, Report, estimate, goodput, report
from planner.engine.simulation.settings import Experiment

type Measures = Mapping[str, float]
"""What one replication alone says, in SI units, by the names below; without what it has nothing to say of."""

MEASURES = (
    "ttft_mean_s",
    "ttft_p50_s",
    "ttft_p90_s",
    "ttft_p99_s",
    "throughput_rps",
    "goodput_rps",
    "offload_fraction",
    "egress_bps",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of one experiment less that of another: the mean over replications, and its 95 % interval."""

    estimate: Estimate

    @property
    def is_clear(self) -> bool | None:
        """Whether the interval leaves 0 out; None of one replication alone, which has no interval."""
        low, high = self.estimate.low, self.estimate.high
        return None if low is None or high is None else not low <= 0 <= high


def paired(ours: Sequence[float] | Array, others: Sequence[float] | Array) -> Difference:
    """Of values that belong together in pairs, one at least. Raises ValueError on unequal counts, or none."""
    one, other = np.asarray(ours, dtype=float), np.asarray(others, dtype=float)
    if one.shape != other.shape or not one.size:
        raise ValueError(f"needs as many values of the one as of the other, got {one.size} and {other.size}")
    return Difference(estimate(one - other))


def measures(experiment: Experiment, run: Replication, within_s: float | None = None) -> Measures:
    """What a replication says; of a promise on TTFT its goodput, too."""
    alone = report(experiment, [run])
    kept = None if within_s is None else goodput([run], within_s)
    return {
        **_times(alone),
        "throughput_rps": alone.throughput_rps.mean,
        **({"goodput_rps": kept.rate_rps.mean} if kept else {}),
        "offload_fraction": alone.offload_fraction.mean,
        "egress_bps": alone.egress_bps.mean,
    }


def differences(ours: Mapping[int, Measures], others: Mapping[int, Measures]) -> dict[str, Difference]:
    """By measure, of the replications that both have, by their index; without measures that none of these has."""
    common = sorted(ours.keys() & others.keys())
    found = {}
    for name in MEASURES:
        pairs = [(ours[at][name], others[at][name]) for at in common if name in ours[at] and name in others[at]]
        if pairs:
            found[name] = paired(*zip(*pairs, strict=True))
    return found


def _times(alone: Report) -> dict[str, float]:
    times = alone.ttft_s
    if times is None:
        return {}
    return {
        "ttft_mean_s": times.mean.mean,
        "ttft_p50_s": times.p50.mean,
        "ttft_p90_s": times.p90.mean,
        "ttft_p99_s": times.p99.mean,
    }
