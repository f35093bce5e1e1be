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
    thinned_scv,
    waiting,
    waiting_in_bursts,
)
from planner.engine.throughput import BITS_PER_BYTE, Stage

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
    """Requests that are prefilled in one place: what of each is prefill, tail of the transfer, and its first step."""

    stage: Stage
    share: float
    prefill_s: Array
    after_s: Array
    weights: Array
    """Shape (n,), summing to `share`."""
    transfer_s: Array | None = None
    """Seconds on the link of each, where there is one and it is not endless."""

    @property
    def service(self) -> Sampled:
        """What an instance is busy with a request."""
        return Sampled(self.prefill_s, self.weights)


def routes(deployment: Deployment, around: Circumstances) -> list[Route]:
    """Where requests go at the deployment's threshold; the counts of its clusters do not matter."""
    tokens, weights, at = _cells(deployment.lengths, deployment.threshold_tokens)
    found = []
    if deployment.prfaas and at < tokens.size:
        found.append(_remote(deployment, around, tokens[at:], weights[at:]))
    if at:
        prefill_s = deployment.pd.t_prefill(tokens[:at])
        step_s = np.full(at, deployment.decode.step_s)
        found.append(Route(Stage.PD_P, float(weights[:at].sum()), prefill_s, step_s, weights[:at]))
    return found


def _remote(deployment: Deployment, around: Circumstances, tokens: Array, weights: Array) -> Route:
    prfaas, link = deployment.prfaas, deployment.link
    if prfaas is None or link is None:
        raise ValueError("needs a PrfaaS cluster and a link")
    prefill_s = prfaas.t_prefill(tokens)
    after_s = np.full(tokens.size, deployment.decode.step_s + around.rtt_s / 2)
    share = float(weights.sum())
    if link.usable_bps == np.inf:
        return Route(Stage.PRFAAS, share, prefill_s, after_s, weights)
    sizes = deployment.s_kv(tokens)
    state = np.minimum(state_bytes(deployment.s_kv), sizes)
    usable_bps = max(link.usable_bps, SLOWEST_BPS)
    transfer_s = BITS_PER_BYTE * sizes / usable_bps
    state_s = BITS_PER_BYTE * state / usable_bps
    tail_s = np.maximum(transfer_s - state_s - prefill_s, 0.0) + state_s
    return Route(Stage.PRFAAS, share, prefill_s, after_s + tail_s, weights, transfer_s)


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
    given = around or Circumstances()
    return loaded(deployment, rate_rps, given, routes(deployment, given))


def loaded(deployment: Deployment, rate_rps: float, around: Circumstances, ways: list[Route]) -> LoadedTtft:
    """The same on routes that were worked out before, as they stay the same for other counts of instances."""
    slot = _slot_wait(deployment, rate_rps, around)
    waits: dict[Stage, Wait] = {Stage.PD_D: slot}
    taken = []
    for route in ways:
        servers = deployment.pd.prefill_instances
        if route.stage is Stage.PRFAAS and deployment.prfaas:
            servers = deployment.prfaas.instances
        met = [_wait(around, rate_rps, route.share, servers, route.service)]
        waits[route.stage] = met[0]
        if route.transfer_s is not None:
            waits[Stage.LINK] = _wait(around, rate_rps, route.share, 1.0, Sampled(route.transfer_s, route.weights))
            met.append(waits[Stage.LINK])
        taken.append(Way(route.prefill_s + route.after_s, route.weights, (*met, slot)))
    mean_waits = {stage: float(wait.mean_s) for stage, wait in waits.items()}
    p50, p90, p99 = (float(value) for value in passage_quantiles(taken, PERCENTILES))
    return LoadedTtft(mean_passage(taken), p50, p90, p99, mean_waits)


def _wait(around: Circumstances, rate_rps: float, share: float, servers: float, service: Service) -> Wait:
    """The wait of a share of the requests, chosen by what they are and not by when they come."""
    arrivals = around.arrivals
    if servers <= 0:
        return waiting(1.0, 1.0, Moments(2.0, 0.0))  # a stage of no instances serves nobody
    if isinstance(arrivals, Mmpp2):
        return waiting_in_bursts(arrivals, rate_rps * share, servers, service)
    scv = arrivals.variation**2 if isinstance(arrivals, Renewal) else 1.0
    return waiting(rate_rps * share, servers, service, thinned_scv(scv, share))


def _slot_wait(deployment: Deployment, rate_rps: float, around: Circumstances) -> Wait:
    """The wait for a place in a decode batch, which a request holds for all of its output."""
    decode = deployment.decode
    held = Moments(decode.output_tokens * decode.step_s, around.output_scv)
    return _wait(around, rate_rps, 1.0, deployment.pd.decode_instances * decode.max_batch, held)
