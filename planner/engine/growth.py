"""The same fleet under more traffic and with faster prefill chips: what it carries, and when the link binds.

Decode does not become faster, nor does the link: only T_prefill is divided by a factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from planner.engine.curves import Scaled
from planner.engine.throughput import BINDING_TOLERANCE, Stage, stage_rates, work
from planner.engine.varying import Subject, tuned

MOST_SPEED_UP = 64.0
SPEED_UPS = 25
"""Factors among which the first at which the link binds is sought where the threshold follows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """At which rate in req/s each stage that requests pass saturates, Λ_max, and the bits a request sends across."""

    stage_rps: dict[Stage, float]
    lambda_max_rps: float
    link_bits: float
    threshold_tokens: float
    offload_fraction: float

    @property
    def binding(self) -> list[Stage]:
        """The stages within 0.1 % of Λ_max."""
        limit = self.lambda_max_rps * (1 + BINDING_TOLERANCE)
        return [stage for stage, rate in self.stage_rps.items() if rate <= limit]


def faster(subject: Subject, speed_up: float, remote_only: bool = False) -> Subject:
    """The subject with chips that prefill `speed_up` times as fast, in PrfaaS and in PD-P, or in PrfaaS alone."""
    given = subject.deployment
    pd = given.pd if remote_only else replace(given.pd, t_prefill=Scaled(given.pd.t_prefill, 1 / speed_up))
    prfaas = given.prfaas and replace(given.prfaas, t_prefill=Scaled(given.prfaas.t_prefill, 1 / speed_up))
    return replace(subject, deployment=replace(given, prfaas=prfaas, pd=pd))


def limits(subject: Subject) -> Limits:
    """Of a deployment as it stands; stages that no request passes are left out."""
    deployed = subject.deployment
    demand = work(deployed, deployed.threshold_tokens, subject.form)
    rates = {stage: float(limit) for stage, limit in stage_rates(deployed, demand).items()}
    p = float(demand.offload_fraction)
    idle = {stage for stage, share in ((Stage.PRFAAS, p), (Stage.LINK, p), (Stage.PD_P, 1 - p)) if not share > 0}
    passed = {stage: rate for stage, rate in rates.items() if stage not in idle}
    return Limits(passed, min(rates.values()), float(demand.link_bits), deployed.threshold_tokens, p)


def before_link(subject: Subject, remote_only: bool = False) -> list[Stage]:
    """The stages that bind before the link at the given threshold however fast prefill chips become."""
    rates = limits(subject).stage_rps
    link_rps = rates.get(Stage.LINK, math.inf)
    slow = [stage for stage in rates if stage not in (*_quicker(remote_only), Stage.LINK)]
    return [stage for stage in slow if rates[stage] < link_rps]


def _quicker(remote_only: bool) -> tuple[Stage, ...]:
    return (Stage.PRFAAS,) if remote_only else (Stage.PRFAAS, Stage.PD_P)


def link_binds_from(subject: Subject, remote_only: bool = False) -> float | None:
    """The smallest speed-up at which every prefill stage that becomes faster saturates beyond the link, at the given
    threshold and in closed form; below 1 where they do already. None where there is no such speed-up, or no link.

    Prefill saturates at speed-up · rate, the link at B / (p · S_kv). The link is then what binds, unless a stage that
    does not become faster binds before: see `before_link`.
    """
    rates = limits(subject).stage_rps
    if Stage.LINK not in rates or math.isinf(rates[Stage.LINK]):
        return None
    link_rps = rates[Stage.LINK]
    own = [rates[stage] for stage in _quicker(remote_only) if stage in rates]
    found = max(link_rps / each if each > 0 else math.inf for each in own)
    return found if math.isfinite(found) else None


def link_binds_from_tuned(subject: Subject, remote_only: bool = False) -> float | None:
    """The smallest speed-up from 1 to 64 at which the link binds where the threshold follows as the one that carries
    the most, by root finding; 1 where it does already, None where another stage always binds before."""

    def slack(log_speed_up: float) -> float:
        """Logarithm of the link's rate over Λ_max, less the tolerance within which a stage binds."""
        found = limits(tuned(faster(subject, float(np.exp(log_speed_up)), remote_only)))
        link_rps = found.stage_rps.get(Stage.LINK, math.inf)
        if not (math.isfinite(link_rps) and found.lambda_max_rps > 0):
            return 1.0
        return float(np.log(link_rps / found.lambda_max_rps)) - BINDING_TOLERANCE

    if subject.deployment.prfaas is None:
        return None
    if slack(0.0) <= 0:
        return 1.0
    logs = np.linspace(0.0, np.log(MOST_SPEED_UP), SPEED_UPS)
    for low, high in pairwise(logs):
        if slack(high) <= 0:
            return float(np.exp(brentq(slack, low, high, xtol=1e-9)))
    return None
