"""Routing that knows no lengths: a share q of the requests goes to PrfaaS, drawn for each. What it carries is what a
threshold's gain is to be held against.

Every stage's work is in proportion to q or 1 - q, so that Λ_max = min(A / q, C / (1 - q), Θ_pd-d), with A the rate at
which the remote side saturates if all requests go there, and C that of PD-P if all stay.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array
from planner.engine.deployment import Deployment
from planner.engine.throughput import Form, rate, sides


def best_remote_share(deployment: Deployment, form: Form = Form.EXACT) -> float:
    """The share q in [0, 1] with the greatest Λ_max at the deployment's split; see `best_shares`."""
    return float(best_shares(deployment, deployment.pd.prefill_instances, form))


def best_shares(deployment: Deployment, prefill_instances: ArrayLike, form: Form) -> Array:
    """The share q in [0, 1] with the greatest Λ_max for each N_p, in the shape of `prefill_instances`.

    Both sides saturate together at q = A / (A + C), where they carry A + C; 0 or 1 where one side carries nothing.
    Where decode binds before, every q from 1 - C / Θ_pd-d to A / Θ_pd-d carries as much: of them the one with the
    lower mean unloaded TTFT is taken, an end, and the lower q where it is the same for all. The PD cluster keeps its
    number of instances. Raises ValueError without a PrfaaS cluster.
    """
    if deployment.prfaas is None:
        raise ValueError("a remote share needs a PrfaaS cluster")
    n_p = np.asarray(prefill_instances, dtype=float)
    n_d = deployment.pd.prefill_instances + deployment.pd.decode_instances - n_p
    away, stay = sides(deployment, form)
    remote = np.minimum(rate(deployment.prfaas.instances, away.prfaas_s), rate(deployment.usable_bps, away.link_bits))
    local = rate(n_p, stay.pd_p_s)
    most = np.minimum(remote + local, n_d * deployment.decode.instance_rps)
    some = np.where(most > 0, most, 1.0)
    least_share = np.where(most > 0, np.clip(1 - local / some, 0.0, 1.0), 0.0)
    most_share = np.where(most > 0, np.clip(remote / some, 0.0, 1.0), 1.0)
    away, stay = sides(deployment, Form.EXACT)
    found: Array = most_share if away.ttft_s < stay.ttft_s else least_share
    return found
