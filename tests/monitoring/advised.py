"""Hand-made snapshots of the case study under load, as the ticker would hand them over."""

import math
from itertools import pairwise
from statistics import NormalDist

import msgspec

from monitoring.live.messages import (
    Current,
    Lengths,
    LinkNow,
    Quantiles,
    QueueNow,
    RoleNow,
    Snapshot,
    SourceNow,
    Value,
    WatchNow,
)
from monitoring.models import Tick, Watch

CASE = "case-study-prfaas-pd"
NOW_MS = 1_790_000_400_000
BOUNDS = [100.0 * 1.15**at for at in range(52)]
"""Up to 124,763 tokens; 131,072 is the longest request."""


def case_study_shares(bounds, threshold_tokens):
    """Share of the requests in each bucket, below and above t: log-normal, μ = 9.90, σ = 1.00, from 128 to 128K."""
    normal = NormalDist(9.90, 1.00)
    low, high = normal.cdf(math.log(128)), normal.cdf(math.log(131_072))

    def below(tokens):
        return (normal.cdf(math.log(min(max(tokens, 128), 131_072))) - low) / (high - low)

    edges = [128.0, *bounds, 131_072.0]
    local = [max(below(min(b, threshold_tokens)) - below(min(a, threshold_tokens)), 0) for a, b in pairwise(edges)]
    every = [max(below(b) - below(a), 0) for a, b in pairwise(edges)]
    return local, [whole - part for whole, part in zip(every, local, strict=True)]


def value(figure, ts_ms=NOW_MS, age="live"):
    return Value(figure, ts_ms, age)


def told(figure, ts_ms=NOW_MS):
    return Current(figure, ts_ms, "live", "telemetry")


NOTHING = Value()


def watch_now(
    name="case", scenario=CASE, *, t=19_400.0, rate_rps=2.0, egress_bps=7e9, capacity_bps=100e9, requests=20_000.0,
    instances=(4, 3, 5), ts_ms=NOW_MS, age="live",
):  # fmt: skip
    local, remote = case_study_shares(BOUNDS, t)
    counts = {route: [share * requests for share in shares] for route, shares in (("local", local), ("remote", remote))}
    return WatchNow(
        name=name,
        title="",
        scenario=scenario,
        links=[
            LinkNow(
                "wan", value(egress_bps, ts_ms, age), NOTHING, value(capacity_bps, ts_ms), NOTHING, NOTHING,
                value(0.0, ts_ms), NOTHING, NOTHING,
            )
        ],
        requests_rps={"local": value(rate_rps / 2, ts_ms), "remote": value(rate_rps / 2, ts_ms)},
        offload=value(0.5, ts_ms),
        failed_rps=NOTHING,
        input_tps=NOTHING,
        cached_tps=NOTHING,
        output_tps=NOTHING,
        threshold_tokens=told(t, ts_ms),
        roles=[
            RoleNow(role, told(float(count), ts_ms), NOTHING, NOTHING)
            for role, count in zip(("prfaas", "prefill", "decode"), instances, strict=True)
        ],
        queues=[
            QueueNow("prefill", "compute", value(0.0, ts_ms), "prfaas"),
            QueueNow("prefill", "compute", value(0.0, ts_ms), "prefill"),
            QueueNow("transfer", "link", value(0.0, ts_ms)),
        ],
        ttft_s=Quantiles(),
        tpot_s=Quantiles(),
        lengths=Lengths(BOUNDS, counts, 600.0, ts_ms, "live"),
    )  # fmt: skip


def snapshot(*watches, ts_ms=NOW_MS, seq=1):
    return Snapshot(seq, ts_ms, list(watches), [SourceNow("gw", "live", 400, {})])


def stored(found):
    """As the leading process stores it."""
    return Tick.objects.create(seq=found.seq, ts_ms=found.ts_ms, payload=msgspec.json.encode(found))


def watch(name="case", scenario=CASE, **fields):
    return Watch.objects.create(name=name, scenario=scenario, **fields)
