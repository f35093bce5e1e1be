"""Time to first token under load, by approximation.

TTFT is the wait for a prefill instance, the prefill, what of the transfer the prefill does not overlap (with the wait
for the link, and half a round trip), the wait for a decode slot, and the first decode step. The waits are those of
`planner.engine.queueing`; nothing is fitted to a result.

What is approximated, beside the waits themselves: layers are sent while later ones are computed, evenly over the
prefill, so that a transfer's tail is what takes longer than the prefill, and the state that is there only at its end;
the link sends one request at a time, and its wait is seen in full, though a prefill may overlap some of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.engine.arrivals import Arrivals, Mmpp2, Poisson, Renewal
from planner.engine.curves import Array, Curve
from planner.engine.deployment import Deployment
from planner.engine.lengths import LengthDistribution
from planner.engine.queueing import (
    Moments,
    Sampled,
    Service,
    Wait,
    Way,
    mean_passage,
    passage_quantiles,
    share_passed,
    thinned_scv,
    waiting,
    waiting_in_bursts,
)
from planner.engine.throughput import BITS_PER_BYTE, Stage

type Serving = tuple[float, float, float]
"""Instances that serve: N_prfaas, N_p, N_d."""

CELLS = 384
"""Shares of requests that one length stands for, the narrower the longer they are."""
PERCENTILES = np.array([0.5, 0.9, 0.99])
POISSON = Poisson()
SLOWEST_BPS = 1.0
"""A link that is down is one on which every queue grows without end."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What TTFT depends on beside the deployment: how requests arrive, how far it is, how outputs vary.

    Diurnal and recorded arrivals are taken as Poisson ones at the rate in question, which is to be the peak's.
    """

    arrivals: Arrivals = POISSON
    rtt_s: float = 0.0
    output_scv: float = 0.0
    """Squared coefficient of variation of output lengths."""


@dataclass(frozen=True, slots=True)
class LoadedTtft:
    """TTFT in seconds at a rate; infinite where a queue grows without end. `waits_s` are mean waits of who passes."""

    mean: float
    p50: float
    p90: float
    p99: float
    waits_s: dict[Stage, float]


@dataclass(frozen=True, slots=True)
class Route:
    """Requests that are prefilled in one place."""

    stage: Stage
    share: float
    seconds: Array
    """What each takes without any wait: prefill, tail of the transfer, half a round trip, first step."""
    weights: Array
    """Shape (n,), summing to `share`."""
    service: Sampled
    """How long an instance is busy with each."""
    link: Sampled | None = None
    """How long the link is; None where there is none, or it is endless."""


def routes(deployment: Deployment, around: Circumstances) -> list[Route]:
    """Where requests go at the deployment's threshold or share; the counts of its clusters do not matter."""
    (away, away_weights), (stay, stay_weights) = _divided(deployment)
    found = []
    if deployment.prfaas and away.size:
        found.append(_remote(deployment, around, away, away_weights))
    if stay.size:
        prefill_s = deployment.pd.t_prefill(stay)
        seconds = prefill_s + deployment.decode.step_s
        share = float(stay_weights.sum())
        found.append(Route(Stage.PD_P, share, seconds, stay_weights, Sampled(prefill_s, stay_weights)))
    return found


def _divided(deployment: Deployment) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Lengths in tokens, rising, with the shares of all requests that they stand for: what goes away, what stays."""
    tokens, weights, at = _cells(deployment.lengths, deployment.threshold_tokens)
    if deployment.remote_share is None:
        return (tokens[at:], weights[at:]), (tokens[:at], weights[:at])
    away, stay = deployment.shares
    kept_away, kept_stay = (slice(None if share > 0 else 0) for share in (away, stay))
    return (tokens[kept_away], away * weights[kept_away]), (tokens[kept_stay], stay * weights[kept_stay])


def _remote(deployment: Deployment, around: Circumstances, tokens: Array, weights: Array) -> Route:
    prfaas, link = deployment.prfaas, deployment.link
    if prfaas is None or link is None:
        raise ValueError("needs a PrfaaS cluster and a link")
    prefill_s = prfaas.t_prefill(tokens)
    seconds = prefill_s + deployment.decode.step_s + around.rtt_s / 2
    share, service = float(weights.sum()), Sampled(prefill_s, weights)
    if min(link.usable_bps, prfaas.egress_bps) == np.inf:
        return Route(Stage.PRFAAS, share, seconds, weights, service)
    sizes = deployment.s_kv(tokens)
    state = np.minimum(state_bytes(deployment.s_kv), sizes)
    transfer_s = BITS_PER_BYTE * sizes / max(link.usable_bps, SLOWEST_BPS)
    own_bps = max(min(link.usable_bps, prfaas.egress_bps), SLOWEST_BPS)
    state_s = BITS_PER_BYTE * state / own_bps
    tail_s = np.maximum(BITS_PER_BYTE * (sizes - state) / own_bps - prefill_s, 0.0) + state_s
    return Route(Stage.PRFAAS, share, seconds + tail_s, weights, service, Sampled(transfer_s, weights))


def state_bytes(s_kv: Curve) -> float:
    """The part of S_kv that does not grow with the prompt: what the line through its two longest points leaves at 0.

    It is the recurrent state, which exists only after the last token and so cannot be sent earlier.
    """
    shorter, longer = s_kv.lengths[-2:]
    at_shorter, at_longer = s_kv(s_kv.lengths[-2:])
    slope = (at_longer - at_shorter) / (longer - shorter)
    return float(np.clip(at_shorter - slope * shorter, 0.0, s_kv(s_kv.lengths[:1])[0]))


def _cells(lengths: LengthDistribution, threshold_tokens: float) -> tuple[Array, Array, int]:
    """Lengths in tokens that stand for shares of requests, rising, and how many of them are not offloaded."""
    local = float(lengths.between(0.0, threshold_tokens))
    edges = 1 - (1 - np.linspace(0.0, 1.0, CELLS + 1)) ** 2
    edges = np.unique(np.append(edges, local))
    middles, weights = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    return lengths.quantile(middles), weights, int(np.searchsorted(middles, local))


def under_load(deployment: Deployment, rate_rps: float, around: Circumstances | None = None) -> LoadedTtft:
    """TTFT of all requests together when `rate_rps` arrive; see the module for what it consists of."""
    n_prfaas = deployment.prfaas.instances if deployment.prfaas else 0.0
    passages = Passages(deployment, rate_rps, around or Circumstances())
    return passages.ttft((n_prfaas, deployment.pd.prefill_instances, deployment.pd.decode_instances))


class Passages:
    """A deployment's requests at a rate, whatever the counts of instances that serve them."""

    def __init__(self, deployment: Deployment, rate_rps: float, around: Circumstances) -> None:
        """The counts in `deployment` do not matter."""
        self._routes = routes(deployment, around)
        self._rate_rps, self._around, self._slots = rate_rps, around, deployment.decode.max_batch
        decode = deployment.decode
        # a request holds its place in a decode batch for all of its output
        self._held = Moments(decode.output_tokens * decode.step_s, around.output_scv)
        self._known: dict[tuple[Stage, float], Wait] = {}

    def ttft(self, serving: Serving) -> LoadedTtft:
        """TTFT with so many instances."""
        ways, waits = self._ways(serving), self._waits(serving)
        p50, p90, p99 = (float(value) for value in passage_quantiles(ways, PERCENTILES))
        mean_waits = {stage: float(wait.mean_s) for stage, wait in waits.items()}
        return LoadedTtft(mean_passage(ways), p50, p90, p99, mean_waits)

    def mean(self, serving: Serving) -> float:
        """Mean TTFT in seconds with so many instances, without the percentiles: a third of the time."""
        return mean_passage(self._ways(serving))

    def percentile(self, serving: Serving, share: float) -> float:
        """TTFT in seconds that a share in (0, 1) of the requests stays within, alone."""
        return float(passage_quantiles(self._ways(serving), np.array([share]))[0])

    def share_within(self, serving: Serving, seconds: float) -> float:
        """Share of the requests whose TTFT is at most so long, with so many instances."""
        return float(share_passed(self._ways(serving), np.array([seconds]))[0])

    def _waits(self, serving: Serving) -> dict[Stage, Wait]:
        """The wait at every stage that some request passes."""
        n_prfaas, n_p, n_d = serving
        waits = {Stage.PD_D: self._wait(Stage.PD_D, n_d * self._slots, 1.0, self._held)}
        for route in self._routes:
            servers = n_prfaas if route.stage is Stage.PRFAAS else n_p
            waits[route.stage] = self._wait(route.stage, servers, route.share, route.service)
            if route.link is not None:
                waits[Stage.LINK] = self._wait(Stage.LINK, 1.0, route.share, route.link)
        return waits

    def _ways(self, serving: Serving) -> list[Way]:
        waits = self._waits(serving)
        return [
            Way(
                route.seconds,
                route.weights,
                tuple(waits[stage] for stage in (route.stage, *([Stage.LINK] if route.link else []), Stage.PD_D)),
            )
            for route in self._routes
        ]

    def _wait(self, stage: Stage, servers: float, share: float, service: Service) -> Wait:
        known = self._known.get((stage, servers))
        if known is None:
            known = self._known[stage, servers] = _wait(self._around, self._rate_rps, share, servers, service)
        return known


def _wait(around: Circumstances, rate_rps: float, share: float, servers: float, service: Service) -> Wait:
    """The wait of a share of the requests, chosen by what they are and not by when they come."""
    arrivals = around.arrivals
    if servers <= 0:
        return waiting(1.0, 1.0, Moments(2.0, 0.0))  # a stage of no instances serves nobody
    if isinstance(arrivals, Mmpp2):
        return waiting_in_bursts(arrivals, rate_rps * share, servers, service)
    scv = arrivals.variation**2 if isinstance(arrivals, Renewal) else 1.0
    return waiting(rate_rps * share, servers, service, thinned_scv(scv, share))
