"""How many requests a second a deployment can carry, and which stage binds (equations 1-6).

Everything rests on one number a stage: the mean work that an *arriving* request brings to it. A stage of
capacity C then saturates at a request rate of C / work, which is Θ/p of the paper, and is infinite where no
request comes by. So p = 0, p = 1, an empty pool and a dead or endless link need no rule of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array, Curve
from planner.engine.deployment import Deployment
from planner.engine.lengths import LengthDistribution, conditional, offload_fraction
from planner.engine.profile import Outside, outside
from planner.engine.ttft import Ttft, percentiles

BITS_PER_BYTE = 8
BINDING_TOLERANCE = 1e-3


class Form(StrEnum):
    """Which length stands for a stage's requests."""

    EXACT = "exact"
    """Mean work, E[T | L > t]: a stage's true capacity."""
    PAPER = "paper"
    """Work of the mean length, T(l_long), as the paper has it."""


class Stage(StrEnum):
    """What a request passes, and what can bind."""

    PRFAAS = "prfaas"
    LINK = "link"
    PD_P = "pd_p"
    PD_D = "pd_d"


@dataclass(frozen=True, slots=True)
class Work:
    """Mean work that an arriving request brings to each stage, for each threshold.

    Every array has the thresholds' shape. `prfaas_s` and `pd_p_s` are instance-seconds of prefill,
    `link_bits` bits across the link; `offload_fraction` is p; `l_long` and `l_short` are the mean lengths
    of either side, NaN where that side is empty.
    """

    offload_fraction: Array
    l_long: Array
    l_short: Array
    prfaas_s: Array
    link_bits: Array
    pd_p_s: Array

    @property
    def ttft_s(self) -> Array:
        """Mean unloaded TTFT in seconds (in exact form): a request is prefilled once, here or there."""
        return self.prfaas_s + self.pd_p_s


@dataclass(frozen=True, slots=True)
class Throughput:
    """What a deployment carries at its limit.

    `stage_lambda_rps` is the total request rate at which each stage saturates (Θ/p and its kin; infinite
    where none come by); a stage that the deployment does not have is absent. Θ is a stage's own rate in the
    requests that reach it, NaN where none do. `egress_bps` and `ttft_s` hold at Λ_max.
    """

    form: Form
    lambda_max_rps: float
    stage_lambda_rps: dict[Stage, float]
    theta_prfaas_rps: float
    theta_pd_p_rps: float
    theta_pd_d_rps: float
    offload_fraction: float
    l_long: float
    l_short: float
    egress_bps: float
    ttft: Ttft
    extrapolated: dict[str, Outside]
    """By the name of a curve, what of the requests that it serves it was not measured for."""

    @property
    def binding(self) -> tuple[Stage, ...]:
        """Every stage within 0.1 % of Λ_max: two at an interior optimum."""
        limit = self.lambda_max_rps * (1 + BINDING_TOLERANCE)
        return tuple(stage for stage, rate in self.stage_lambda_rps.items() if rate <= limit)

    def utilisation(self, stage: Stage) -> float:
        """Busy share of a stage at Λ_max, in [0, 1]; 1 for a stage that carries nothing."""
        rate = self.stage_lambda_rps[stage]
        return self.lambda_max_rps / rate if rate > 0 else 1.0


def kv_throughput(s_kv: Curve, t_prefill: Curve, lengths: ArrayLike) -> Array:
    """Φ_kv(l) = S_kv(l) / T_prefill(l), the KVCache that one busy instance emits, in bit/s (eq. 1)."""
    rate: Array = BITS_PER_BYTE * s_kv(lengths) / t_prefill(lengths)
    return rate


def egress_demand(gpus: float, gpus_per_instance: float, kv_rate_bps: ArrayLike) -> Array:
    """Bit/s that a cluster of busy prefill instances pushes out: (N/P) · Φ_kv(L_avg) (eq. 2)."""
    demand: Array = gpus / gpus_per_instance * np.asarray(kv_rate_bps, dtype=float)
    return demand


def rate(capacity: ArrayLike, work: ArrayLike) -> Array:
    """Requests a second at which `capacity` is used up by `work` a request; infinite where there is no work."""
    amount, each = np.broadcast_arrays(np.asarray(capacity, dtype=float), np.asarray(work, dtype=float))
    limit = np.full(each.shape, np.inf)
    with np.errstate(over="ignore"):  # so little work that its rate has no number is as good as none
        np.divide(amount, each, out=limit, where=each > 0)
    return limit


def work(deployment: Deployment, thresholds: ArrayLike, form: Form) -> Work:
    """Mean work a request at each stage, for each of `thresholds` (any shape).

    Under the deployment's remote share it is the same for every threshold.
    """
    if deployment.remote_share is None:
        return _work_by_length(deployment, thresholds, form)
    return work_by_share(deployment, np.full(np.shape(thresholds), deployment.remote_share), form)


def work_by_share(deployment: Deployment, shares: ArrayLike, form: Form) -> Work:
    """Mean work a request at each stage where PrfaaS gets a share of the requests whatever their lengths, for each of
    `shares` (any shape): that share of what all of them bring, and the rest of what all bring PD-P."""
    q = np.asarray(shares, dtype=float)
    away, stay = sides(deployment, form)
    return Work(
        offload_fraction=q,
        l_long=np.where(q > 0, away.l_long, np.nan),
        l_short=np.where(q < 1, stay.l_short, np.nan),
        link_bits=q * away.link_bits,
        pd_p_s=(1 - q) * stay.pd_p_s,
        prfaas_s=q * away.prfaas_s,
    )


def sides(deployment: Deployment, form: Form) -> tuple[Work, Work]:
    """Mean work a request at each stage if all go to PrfaaS, and if all stay."""
    return _work_by_length(deployment, 0.0, form), _work_by_length(deployment, np.inf, form)


def _work_by_length(deployment: Deployment, thresholds: ArrayLike, form: Form) -> Work:
    lengths, t = deployment.lengths, np.asarray(thresholds, dtype=float)
    short, long = lengths.partial_means(t)
    below, above = partial_loads(lengths, _curves(deployment), t, form)
    p = offload_fraction(lengths, t)
    return Work(
        offload_fraction=p,
        l_long=conditional(long, p),
        l_short=conditional(short, lengths.between(0.0, t)),
        link_bits=BITS_PER_BYTE * above[0],
        pd_p_s=below[1],
        prfaas_s=above[2] if deployment.prfaas else np.zeros_like(p),
    )


def partial_loads(
    lengths: LengthDistribution, curves: Sequence[Curve], thresholds: Array, form: Form
) -> tuple[Array, Array]:
    """Mean of each curve over requests up to a threshold and beyond it, an arriving request each.

    Both have the shape (len(curves), *thresholds.shape).
    """
    if form is Form.EXACT:
        kinks = np.concatenate([curve.kinks for curve in curves])
        return lengths.partial_expectations(curves, thresholds, kinks)
    p, q = offload_fraction(lengths, thresholds), lengths.between(0.0, thresholds)
    short, long = lengths.partial_means(thresholds)
    l_short, l_long = conditional(short, q), conditional(long, p)
    below = np.stack([_representative(curve, l_short, q) for curve in curves])
    return below, np.stack([_representative(curve, l_long, p) for curve in curves])


def _curves(deployment: Deployment) -> list[Curve]:
    """S_kv, T_prefill of PD-P and, where there is one, T_prefill of PrfaaS."""
    remote = [deployment.prfaas.t_prefill] if deployment.prfaas else []
    return [deployment.s_kv, deployment.pd.t_prefill, *remote]


def _representative(curve: Curve, length: Array, probability: Array) -> Array:
    """P(A) · f(E[L | A]), the paper's stand-in for E[f(L); A]; 0 where A is empty."""
    at = np.where(probability > 0, length, 1.0)
    share: Array = probability * np.where(probability > 0, curve(at), 0.0)
    return share


def stage_rates(deployment: Deployment, demand: Work) -> dict[Stage, Array]:
    """The request rate at which each stage of the deployment saturates, for each threshold of `demand`."""
    rates: dict[Stage, Array] = {}
    if deployment.prfaas and deployment.link:
        rates[Stage.PRFAAS] = rate(deployment.prfaas.instances, demand.prfaas_s)
        rates[Stage.LINK] = rate(deployment.usable_bps, demand.link_bits)
    rates[Stage.PD_P] = rate(deployment.pd.prefill_instances, demand.pd_p_s)
    rates[Stage.PD_D] = np.full_like(demand.pd_p_s, deployment.pd.decode_instances * deployment.decode.instance_rps)
    return rates


def lambda_max(rates: dict[Stage, Array]) -> Array:
    """Λ_max: the rate at which the first stage saturates (eq. 6)."""
    least: Array = np.minimum.reduce(list(rates.values()))
    return least


def egress(lambda_rps: ArrayLike, link_bits: ArrayLike) -> Array:
    """Bit/s across the link at a request rate: Λ · p · E[S_kv | L > t]."""
    bits: Array = np.asarray(lambda_rps, dtype=float) * np.asarray(link_bits, dtype=float)
    return bits


def evaluate(deployment: Deployment, form: Form = Form.EXACT) -> Throughput:
    """Λ_max of a deployment as it stands, its binding stages, egress and unloaded TTFT (equations 3-6)."""
    exact = work(deployment, deployment.threshold_tokens, Form.EXACT)
    demand = exact if form is Form.EXACT else work(deployment, deployment.threshold_tokens, form)
    rates = {stage: float(limit) for stage, limit in stage_rates(deployment, demand).items()}
    most = min(rates.values())
    p = float(demand.offload_fraction)
    remote = min(rates.get(Stage.PRFAAS, np.inf), rates.get(Stage.LINK, np.inf))
    return Throughput(
        form=form,
        lambda_max_rps=most,
        stage_lambda_rps=rates,
        theta_prfaas_rps=remote * p if p > 0 else np.nan,
        theta_pd_p_rps=rates[Stage.PD_P] * (1 - p) if p < 1 else np.nan,
        theta_pd_d_rps=rates[Stage.PD_D],
        offload_fraction=p,
        l_long=float(demand.l_long),
        l_short=float(demand.l_short),
        egress_bps=float(egress(most, demand.link_bits)),
        ttft=Ttft(float(exact.ttft_s), *percentiles(deployment)),
        extrapolated=extrapolated_curves(deployment),
    )


def extrapolated_curves(deployment: Deployment) -> dict[str, Outside]:
    """The curves that some request takes outside their measured range."""
    lengths, (away_above, stay_upto) = deployment.lengths, deployment.cuts
    found = {"T_prefill of PD-P": outside(deployment.pd.t_prefill, lengths, upper=stay_upto)}
    if deployment.prfaas:
        remote = {"S_kv": deployment.s_kv, "T_prefill of PrfaaS": deployment.prfaas.t_prefill}
        found = {name: outside(curve, lengths, lower=away_above) for name, curve in remote.items()} | found
    return {name: share for name, share in found.items() if share}
