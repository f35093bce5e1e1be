"""What a deployment and its price rest on, figure by figure, and the same deployment with some of them changed.

Every figure is varied by a factor: a curve is so many times as high everywhere, counts need not be whole ("as if").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from planner.engine import latency, search, ttft
from planner.engine.blind import best_remote_share
from planner.engine.cost import LinkRate, per_million
from planner.engine.curves import Curve, Scaled
from planner.engine.deployment import Decode, Deployment, Link, PdCluster, PrfaasCluster
from planner.engine.latency import Circumstances
from planner.engine.lengths import Empirical, LengthDistribution, TruncatedLogNormal, mean
from planner.engine.lengths.stretched import Stretched
from planner.engine.priced import Prices, cost
from planner.engine.throughput import Form, stage_rates, work

GRID = 400
"""Thresholds among which the best one's cell is sought, before it is solved for exactly."""
P90 = 0.9
FREE = Prices()
PLAIN = Circumstances()


class Parameter(StrEnum):
    """What can be varied of a deployment and its price."""

    T_PREFILL_PRFAAS = "t_prefill_prfaas"
    T_PREFILL_PD_P = "t_prefill_pd_p"
    S_KV = "s_kv"
    PROMPT = "prompt"
    """Lengths of prompts, and of what the prefix cache leaves of them."""
    SIGMA = "sigma"
    """Of log-normal lengths, at the same mu."""
    OUTPUT = "output"
    STEP = "step"
    BATCH = "batch"
    BANDWIDTH = "bandwidth"
    EGRESS = "egress"
    """What one PrfaaS instance can send."""
    THRESHOLD = "threshold"
    REMOTE_SHARE = "remote_share"
    N_PRFAAS = "n_prfaas"
    N_P = "n_p"
    N_D = "n_d"
    PRICE_PRFAAS = "price_prfaas"
    """Of an instance's chips, without power."""
    PRICE_PD = "price_pd"
    POWER = "power"
    """Price of electricity."""
    LINK_VOLUME = "link_volume"
    LINK_TIME = "link_time"


class Outcome(StrEnum):
    """What is asked of a deployment."""

    LAMBDA_MAX = "lambda_max_rps"
    COST = "usd_per_million_tokens"
    """A million tokens, in and out, at Λ_max."""
    TTFT_P90 = "ttft_p90_s"
    """Of prefill alone, without queues."""
    TTFT_P90_LOADED = "ttft_p90_loaded_s"
    """By the approximation of `planner.engine.latency`."""


type Factors = Mapping[Parameter, float]


@dataclass(frozen=True, slots=True)
class Subject:
    """A deployment with what it costs; `chips` None: what it costs is not known.

    `prompt_ratio` is E[prompt] over E[L]: what users send in, over what the prefix cache leaves to be prefilled.
    """

    deployment: Deployment
    form: Form = Form.EXACT
    chips: Prices | None = None
    power: Prices = FREE
    prompt_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Load:
    """At which rate TTFT under load is asked for: `rate_rps`, or a share of what the deployment carries itself."""

    rate_rps: float | None = None
    share: float = 0.85
    around: Circumstances = PLAIN


def varied(subject: Subject, factors: Factors) -> Subject:
    """The subject with each parameter so many times as great; a remote share stays within 1.

    Raises ValueError on a factor that is not positive, on a sigma where lengths are not log-normal, and on lengths
    that leave the distribution's bounds altogether.
    """
    for parameter, factor in factors.items():
        if not 0 < factor < np.inf:
            raise ValueError(f"{parameter} is varied by a positive factor, got {factor:g}")

    def by(parameter: Parameter) -> float:
        return factors.get(parameter, 1.0)

    given = subject.deployment
    share, pd, decode = given.remote_share, given.pd, given.decode
    deployed = replace(
        given,
        lengths=varied_lengths(given.lengths, by(Parameter.PROMPT), by(Parameter.SIGMA)),
        s_kv=_scaled(given.s_kv, by(Parameter.S_KV)),
        prfaas=_prfaas(given.prfaas, factors) if given.prfaas else None,
        link=Link(given.link.usable_bps * by(Parameter.BANDWIDTH)) if given.link else None,
        pd=PdCluster(
            pd.prefill_instances * by(Parameter.N_P),
            pd.decode_instances * by(Parameter.N_D),
            _scaled(pd.t_prefill, by(Parameter.T_PREFILL_PD_P)),
        ),
        decode=Decode(
            decode.max_batch * by(Parameter.BATCH),
            decode.step_s * by(Parameter.STEP),
            decode.output_tokens * by(Parameter.OUTPUT),
        ),
        threshold_tokens=given.threshold_tokens * by(Parameter.THRESHOLD),
        remote_share=None if share is None else min(share * by(Parameter.REMOTE_SHARE), 1.0),
    )
    chips = _repriced(subject.chips, factors) if subject.chips else None
    power = by(Parameter.POWER)
    powered = Prices(subject.power.prfaas_usd_per_h * power, subject.power.pd_usd_per_h * power)
    return replace(subject, deployment=deployed, chips=chips, power=powered)


def varied_lengths(given: LengthDistribution, factor: float, spread: float = 1.0) -> LengthDistribution:
    """Lengths `factor` times as long and, of a log-normal, its sigma `spread` times as great.

    A log-normal keeps its bounds: mu moves by ln(factor). Any other has every length stretched, its bounds too.
    Raises ValueError on a spread where there is no sigma.
    """
    if isinstance(given, TruncatedLogNormal):
        return TruncatedLogNormal(given.mu + np.log(factor), given.sigma * spread, given.shortest, given.longest)
    if spread != 1.0:
        raise ValueError("only log-normal lengths have a sigma")
    return given if factor == 1.0 else Stretched(given, factor)


def few(given: LengthDistribution, most: int) -> LengthDistribution:
    """Recorded lengths, of more than `most` as many of equal probability; any other distribution as it is."""
    if not isinstance(given, Empirical) or given.samples.size <= most:
        return given
    return Empirical(given.quantile((np.arange(most) + 0.5) / most))


def _scaled(curve: Curve, factor: float) -> Curve:
    return curve if factor == 1.0 else Scaled(curve, factor)


def _prfaas(given: PrfaasCluster, factors: Factors) -> PrfaasCluster:
    return PrfaasCluster(
        given.instances * factors.get(Parameter.N_PRFAAS, 1.0),
        _scaled(given.t_prefill, factors.get(Parameter.T_PREFILL_PRFAAS, 1.0)),
        given.egress_bps * factors.get(Parameter.EGRESS, 1.0),
    )


def _repriced(given: Prices, factors: Factors) -> Prices:
    rate = LinkRate(
        given.link.usd_per_h * factors.get(Parameter.LINK_TIME, 1.0),
        given.link.usd_per_byte * factors.get(Parameter.LINK_VOLUME, 1.0),
    )
    return Prices(
        given.prfaas_usd_per_h * factors.get(Parameter.PRICE_PRFAAS, 1.0),
        given.pd_usd_per_h * factors.get(Parameter.PRICE_PD, 1.0),
        rate,
    )


def tuned(subject: Subject) -> Subject:
    """The subject at the threshold, or the remote share, that carries the most with its counts."""
    deployed = subject.deployment
    if deployed.prfaas is None:
        return subject
    if deployed.remote_share is not None:
        return replace(subject, deployment=replace(deployed, remote_share=best_remote_share(deployed, subject.form)))
    thresholds = search.threshold_grid(deployed.lengths, GRID)
    grid = search.tried(deployed, thresholds, subject.form)
    split = np.array([deployed.pd.prefill_instances])
    found = search.fairest(search.best_by_split(deployed, grid, split, subject.form))
    return replace(subject, deployment=replace(deployed, threshold_tokens=found.threshold_tokens))


def outcome(subject: Subject, which: Outcome, load: Load | None = None) -> float:
    """One figure of a deployment as it stands, in the unit that the outcome's name has.

    NaN for a cost that is not known; infinite where nothing is carried, or a queue grows without end.
    """
    deployed = subject.deployment
    if which is Outcome.TTFT_P90:
        return float(ttft.quantiles(deployed.lengths, ttft.routes(deployed), np.array([P90]))[0])
    demand = work(deployed, deployed.threshold_tokens, subject.form)
    most = min(float(limit) for limit in stage_rates(deployed, demand).values())
    if which is Outcome.LAMBDA_MAX:
        return most
    if which is Outcome.COST:
        return _per_million(subject, most, most * float(demand.link_bits))
    asked = load or Load()
    rate_rps = most * asked.share if asked.rate_rps is None else asked.rate_rps
    return latency.under_load(deployed, rate_rps, asked.around).p90


def _per_million(subject: Subject, lambda_rps: float, egress_bps: float) -> float:
    if subject.chips is None:
        return float("nan")
    deployed, power = subject.deployment, subject.power
    paid = cost(deployed, subject.chips, egress_bps).usd_per_h + cost(deployed, power, egress_bps).usd_per_h
    tokens = mean(deployed.lengths) * subject.prompt_ratio + deployed.decode.output_tokens
    return per_million(paid, lambda_rps * tokens)
