"""The case study as engine objects: profiles of table 5, the H20 profile inferred from table 6."""

import numpy as np

from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, Deployment, Link, PdCluster, PrfaasCluster
from planner.engine.lengths import TruncatedLogNormal

TOKENS = [1024, 8192, 32768, 131072]
S_KV = LogLogCurve(TOKENS, np.array([190.8, 308.9, 701.3, 2316.3]) * 2**20)
H200 = LogLogCurve(TOKENS, [0.44, 0.72, 1.84, 7.40])
H20 = LogLogCurve(TOKENS, [0.516, 1.513, 4.958, 21.15])
LENGTHS = TruncatedLogNormal(9.90, 1.00, 128, 131072)
DECODE = Decode(max_batch=20, step_s=0.025, output_tokens=1024)


def prfaas_pd(threshold=19400.0, n_p=3, n_d=5, n_prfaas=4, bandwidth_bps=100e9, **changes):
    parts = {
        "lengths": LENGTHS,
        "s_kv": S_KV,
        "prfaas": PrfaasCluster(n_prfaas, H200),
        "link": Link(bandwidth_bps),
        "pd": PdCluster(n_p, n_d, H20),
        "decode": DECODE,
        "threshold_tokens": threshold,
    }
    return Deployment(**(parts | changes))


def homogeneous(n_p=9, n_d=3):
    return prfaas_pd(np.inf, n_p, n_d, prfaas=None, link=None)


def naive():
    return prfaas_pd(0.0, 0, 8)
