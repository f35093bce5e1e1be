"""How bursty the arrivals are that a stage sees, as the squared coefficient of variation (scv) of the time between two.

Both rules are of W. Whitt, The queueing network analyzer, Bell System Technical Journal 62 (1983) 2779-2815.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array


def thinned_scv(scv: ArrayLike, share: ArrayLike) -> Array:
    """Of the arrivals that are left when each stays with probability `share`, apart from the others.

    Exact for independent times between arrivals, and for an index of dispersion: a small share is nearly Poisson.
    """
    left: Array = 1 + np.asarray(share, dtype=float) * (np.asarray(scv, dtype=float) - 1)
    return left


def departure_scv(
    arrival_scv: ArrayLike, utilisation: ArrayLike, service_scv: ArrayLike, servers: ArrayLike = 1.0
) -> Array:
    """Of what leaves a queue, and so arrives at the next: like its arrivals when idle, like its service when busy.

    1 of an M/M/c queue. `utilisation` is clipped to [0, 1].
    """
    busy = np.clip(np.asarray(utilisation, dtype=float), 0.0, 1.0) ** 2
    service = (np.maximum(service_scv, 0.2) - 1) / np.sqrt(servers)
    leaving: Array = 1 + (1 - busy) * (np.asarray(arrival_scv, dtype=float) - 1) + busy * service
    return leaving
