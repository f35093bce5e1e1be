"""The same equations in plain Python loops: an independent reference, and what benchmarks stand beside.

Lengths are cut into equal steps of ln L and every mean is a sum over them; no NumPy, no closed form.
"""

from math import erf, exp, log, sqrt

STEPS = 400


def interpolate(lengths, values, at):
    """Straight line in log-log through the two points around `at`, or the two outermost."""
    piece = 0
    while piece < len(lengths) - 2 and at > lengths[piece + 1]:
        piece += 1
    x0, x1, y0, y1 = lengths[piece], lengths[piece + 1], values[piece], values[piece + 1]
    return y0 * (at / x0) ** (log(y1 / y0) / log(x1 / x0))


def cumulative(mu, sigma, at):
    return 0.5 * (1 + erf((log(at) - mu) / (sigma * sqrt(2))))


def mean_work(case, threshold):
    """p, and mean work a request: PrfaaS seconds, link bits, PD-P seconds."""
    low, high = log(case["min"]), log(case["max"])
    step = (high - low) / STEPS
    p = prfaas_s = link_bits = pd_p_s = 0.0
    whole = cumulative(case["mu"], case["sigma"], case["max"]) - cumulative(case["mu"], case["sigma"], case["min"])
    for i in range(STEPS):
        left, right = low + i * step, low + (i + 1) * step
        for begin, end in ((left, min(right, log(threshold))), (max(left, log(threshold)), right)):
            if end <= begin:
                continue
            share = (
                cumulative(case["mu"], case["sigma"], exp(end)) - cumulative(case["mu"], case["sigma"], exp(begin))
            ) / whole
            length = exp((begin + end) / 2)
            if length > threshold:
                p += share
                prfaas_s += share * interpolate(case["tokens"], case["prfaas_s"], length)
                link_bits += share * 8 * interpolate(case["tokens"], case["kv_bytes"], length)
            else:
                pd_p_s += share * interpolate(case["tokens"], case["pd_s"], length)
    return p, prfaas_s, link_bits, pd_p_s


def lambda_max(case, work, n_p, n_d):
    """The least of the four stages' rates."""
    _, prfaas_s, link_bits, pd_p_s = work
    rates = [n_d * case["decode_rps"]]
    if prfaas_s > 0:
        rates += [case["n_prfaas"] / prfaas_s, case["bandwidth_bps"] / link_bits]
    if pd_p_s > 0:
        rates.append(n_p / pd_p_s)
    return min(rates)


def surface(case, thresholds, total, splits):
    """Λ_max for every threshold and every N_p, one at a time."""
    rows = []
    for threshold in thresholds:
        work = mean_work(case, threshold)
        rows.append([lambda_max(case, work, n_p, total - n_p) for n_p in splits])
    return rows


CASE_STUDY = {
    "mu": 9.90,
    "sigma": 1.00,
    "min": 128,
    "max": 131072,
    "tokens": [1024, 8192, 32768, 131072],
    "kv_bytes": [mib * 2**20 for mib in (190.8, 308.9, 701.3, 2316.3)],
    "prfaas_s": [0.44, 0.72, 1.84, 7.40],
    "pd_s": [0.516, 1.513, 4.958, 21.15],
    "n_prfaas": 4,
    "bandwidth_bps": 100e9,
    "decode_rps": 20 / (0.025 * 1024),
}
