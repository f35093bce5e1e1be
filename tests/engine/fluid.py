"""The case study without chance: requests as a fluid, two backlogs, and the advice on what is seen of them.

Whatever moves here moves by itself. Prefill by PrfaaS takes no time, and decode is never short.
"""

import numpy as np

from planner.engine.advice import Observed, Options, Queues, Remembered, decide
from planner.engine.throughput import BITS_PER_BYTE
from tests.engine.case_study import H20, LENGTHS, S_KV, prfaas_pd
from tests.engine.seen import histogram

CASE, SEEN = prfaas_pd(), histogram()
N_P = 3.0
TOKENS = LENGTHS.quantile((np.arange(20_000) + 0.5) / 20_000)
LOCAL_S = np.append(0.0, np.cumsum(H20(TOKENS))) / TOKENS.size
BITS = np.append(0.0, np.cumsum(BITS_PER_BYTE * S_KV(TOKENS))) / TOKENS.size
LOOKS_EVERY_S, MEAN_S = 5, 10


def followed(rate_rps, link_bps, seconds, delay_s, threshold_tokens=19_652.0, more_kv=1.0):
    """t at every second, and what waits in requests for the link and for PD-P, shape (seconds, 3).

    `rate_rps` and `link_bps` are functions of the second; a KVCache is `more_kv` times what the profile says.
    """
    t, said, link_bits, local_s = threshold_tokens, Remembered(), 0.0, 0.0
    seen, found = [], []
    for now in range(seconds):
        at, rate, bps = int(np.searchsorted(TOKENS, t, side="right")), rate_rps(now), link_bps(now)
        short, long = at / TOKENS.size, 1 - at / TOKENS.size
        each_s, each_bits = LOCAL_S[at] / short, more_kv * (BITS[-1] - BITS[at]) / long
        crosses = min(bps, link_bits + rate * long * each_bits)
        link_bits += rate * long * each_bits - crosses
        local_s = max(local_s + rate * LOCAL_S[at] - N_P, 0.0)
        waits = link_bits / each_bits, local_s / each_s
        seen.append((t, rate, bps, crosses, *waits))
        found.append((t, *waits))
        last = now - delay_s
        if last >= MEAN_S and now % LOOKS_EVERY_S == 0:
            said_t, said = decide(CASE, _observed(now, seen[last - MEAN_S + 1 : last + 1]), Options(), said)
            t = said_t or t
    return np.array(found)


def _observed(now, window):
    t, _, bps, _, link, local = window[-1]
    _, rate, _, crosses, _, _ = np.mean(window, axis=0)
    return Observed(
        float(now),
        lengths=SEEN,
        rate_rps=float(rate),
        capacity_bps=bps,
        egress_bps=float(crosses),
        resent_share=0.0,
        queues=Queues(0.0, link, local, 0.0),
        threshold_tokens=t,
        prfaas_instances=4.0,
        prefill_instances=N_P,
        decode_instances=5.0,
    )
