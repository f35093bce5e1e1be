"""Λ_max, cost and TTFT of one deployment under thousands of changes at once.

A stage's capacity and its work are products of what varies, but for the mean work of a request, which depends on the
lengths and on who goes where alone. So that is found once for every different pair of length and sigma, or read from
a table where there are too many of them, and the rest is a product of arrays. `planner.engine.varying` says the same
one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RectBivariateSpline

from planner.engine.cost import MILLION, SECONDS_PER_HOUR, volume_usd_per_h
from planner.engine.curves import Array, Curve
from planner.engine.deployment import Deployment
from planner.engine.lengths import TruncatedLogNormal, mean, normal_between
from planner.engine.priced import Prices
from planner.engine.throughput import rate, work, work_by_share
from planner.engine.ttft import ROUNDING
from planner.engine.varying import P90, Outcome, Parameter, Subject, varied_lengths

FEW = 400
"""Different lengths up to which the work of each is found for itself."""
LENGTHS, SIGMAS = 17, 9
"""Of a table for log-normal lengths, read by a cubic spline."""
STEPS = 129
"""Of a table for other lengths, read by straight lines: recorded lengths pass the threshold one by one."""
HALVINGS = 36

type Many = Mapping[Parameter, Array]
type By = Callable[[Parameter], Array]


@dataclass(frozen=True, slots=True)
class Loads:
    """Mean work of a request, and the mean length, shape (n,) each; see `throughput.Work`."""

    prfaas_s: Array
    link_bits: Array
    pd_p_s: Array
    tokens: Array


def outcomes(subject: Subject, factors: Many, which: Sequence[Outcome]) -> dict[Outcome, Array]:
    """Each outcome under every change, shape (n,): entry i has each parameter as many times as great as its entry i.

    What is not in `factors` stays as it is. NaN for a cost that is not known. Raises ValueError on TTFT under load,
    which is one by one.
    """
    if Outcome.TTFT_P90_LOADED in which:
        raise ValueError("TTFT under load is found one by one")
    size = max((np.size(each) for each in factors.values()), default=1)
    one = np.ones(size)

    def by(parameter: Parameter) -> Array:
        return np.broadcast_to(np.asarray(factors.get(parameter, one), dtype=float), (size,))

    found: dict[Outcome, Array] = {}
    if Outcome.TTFT_P90 in which:
        found[Outcome.TTFT_P90] = _ttft(subject.deployment, by)
    if Outcome.LAMBDA_MAX in which or Outcome.COST in which:
        loads = _loads(subject, by)
        most = found[Outcome.LAMBDA_MAX] = _lambda_max(subject.deployment, loads, by)
        found[Outcome.COST] = _cost(subject, loads, most, by)
    return {each: found[each] for each in which}


# --- what a request brings ---------------------------------------------------------------------------------------


def _loads(subject: Subject, by: By) -> Loads:
    given = subject.deployment
    pairs, place = np.unique(np.stack([by(Parameter.PROMPT), by(Parameter.SIGMA)], axis=1), axis=0, return_inverse=True)
    cuts = _cuts(given, by)
    if len(pairs) > FEW and np.all(cuts == cuts[0]):
        return _read(subject, pairs, place, float(cuts[0]))
    found = np.empty((4, place.size))
    for number, (factor, spread) in enumerate(pairs):
        at = place == number
        found[:, at] = _work(subject, float(factor), float(spread), cuts[at])
    return Loads(*found)


def _cuts(given: Deployment, by: By) -> Array:
    """Where requests are divided: thresholds in tokens, or remote shares."""
    if given.remote_share is None:
        return given.threshold_tokens * by(Parameter.THRESHOLD)
    return np.minimum(given.remote_share * by(Parameter.REMOTE_SHARE), 1.0)


def _work(subject: Subject, factor: float, spread: float, cuts: Array) -> Array:
    """Rows of `Loads` for each of `cuts`; NaN where no such lengths can be."""
    try:
        lengths = varied_lengths(subject.deployment.lengths, factor, spread)
    except ValueError:  # nothing is left within the bounds
        return np.full((4, cuts.size), np.nan)
    changed = replace(subject.deployment, lengths=lengths)
    demand = (work if changed.remote_share is None else work_by_share)(changed, cuts, subject.form)
    return np.stack([demand.prfaas_s, demand.link_bits, demand.pd_p_s, np.full(cuts.size, mean(lengths))])


def _read(subject: Subject, pairs: Array, place: NDArray[np.intp], cut: float) -> Loads:
    """From a table over the logarithms of the factors."""
    cuts, logs = np.array([cut]), np.log(pairs)
    if not isinstance(subject.deployment.lengths, TruncatedLogNormal):
        nodes = np.linspace(logs[:, 0].min(), logs[:, 0].max(), STEPS)
        table = np.stack([_work(subject, float(np.exp(node)), 1.0, cuts)[:, 0] for node in nodes], axis=1)
        return Loads(*(np.interp(logs[:, 0], nodes, row)[place] for row in table))
    longer, wider = (_nodes(column, count) for column, count in zip(logs.T, (LENGTHS, SIGMAS), strict=True))
    table = np.array([[_work(subject, float(np.exp(x)), float(np.exp(y)), cuts)[:, 0] for y in wider] for x in longer])
    if np.isnan(table).any():
        raise ValueError("some of the lengths are not possible: their bounds leave nothing of the distribution")
    splines = [RectBivariateSpline(longer, wider, values) for values in np.moveaxis(table, -1, 0)]
    return Loads(*(np.maximum(spline(*logs.T, grid=False), 0.0)[place] for spline in splines))


def _nodes(logs: Array, count: int) -> Array:
    """Over all of them; a little apart where they are all the same."""
    low, high = float(logs.min()), float(logs.max())
    return np.linspace(low, high, count) if high > low else np.linspace(low - 1e-3, high + 1e-3, 4)


# --- what comes of it --------------------------------------------------------------------------------------------


def _lambda_max(given: Deployment, loads: Loads, by: By) -> Array:
    decode = given.decode
    instance_rps = decode.instance_rps * by(Parameter.BATCH) / (by(Parameter.STEP) * by(Parameter.OUTPUT))
    rates = [
        rate(given.pd.prefill_instances * by(Parameter.N_P), loads.pd_p_s * by(Parameter.T_PREFILL_PD_P)),
        given.pd.decode_instances * by(Parameter.N_D) * instance_rps,
    ]
    if given.prfaas and given.link:
        instances = given.prfaas.instances * by(Parameter.N_PRFAAS)
        across = given.link.usable_bps * by(Parameter.BANDWIDTH)
        if math.isfinite(given.prfaas.egress_bps):
            across = np.minimum(across, instances * given.prfaas.egress_bps * by(Parameter.EGRESS))
        rates.append(rate(instances, loads.prfaas_s * by(Parameter.T_PREFILL_PRFAAS)))
        rates.append(rate(across, loads.link_bits * by(Parameter.S_KV)))
    most: Array = np.minimum.reduce(rates)
    return np.where(np.isnan(loads.tokens), np.nan, most)


def _cost(subject: Subject, loads: Loads, most: Array, by: By) -> Array:
    """USD a million tokens."""
    given, chips, power = subject.deployment, subject.chips, subject.power
    if chips is None:
        return np.full_like(most, np.nan)
    local = given.pd.prefill_instances * by(Parameter.N_P) + given.pd.decode_instances * by(Parameter.N_D)
    usd = local * _hour(chips.pd_usd_per_h, power.pd_usd_per_h, Parameter.PRICE_PD, by)
    if given.prfaas:
        each = _hour(chips.prfaas_usd_per_h, power.prfaas_usd_per_h, Parameter.PRICE_PRFAAS, by)
        usd = usd + given.prfaas.instances * by(Parameter.N_PRFAAS) * each + _link(chips, loads, most, by)
    tokens = loads.tokens * subject.prompt_ratio + given.decode.output_tokens * by(Parameter.OUTPUT)
    with np.errstate(divide="ignore", invalid="ignore"):
        each_million: Array = usd / (most * tokens * SECONDS_PER_HOUR) * MILLION
    return np.where((usd == 0) & (most == 0), 0.0, each_million)


def _hour(chips: float, power: float, price: Parameter, by: By) -> Array:
    return chips * by(price) + power * by(Parameter.POWER)


def _link(chips: Prices, loads: Loads, most: Array, by: By) -> Array:
    egress_bps = most * loads.link_bits * by(Parameter.S_KV)
    volume = volume_usd_per_h(chips.link, egress_bps) * by(Parameter.LINK_VOLUME)
    return chips.link.usd_per_h * by(Parameter.LINK_TIME) + volume


def pieces(subject: Subject) -> int:
    """Intervals of lengths that one prefill time stands for: the work of TTFT under one change. A curve that rises
    throughout has one, one that falls somewhere has one between each two of its points."""
    given = subject.deployment
    curves = [given.pd.t_prefill, *([given.prfaas.t_prefill] if given.prfaas else [])]
    return sum(curve.sublevel(np.ones(1))[1].shape[-1] for curve in curves)


# --- TTFT --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Way:
    """Requests with lower < L <= upper, a share of them, and the prefill time that they meet; arrays (n, 1)."""

    curve: Curve
    factor: Array
    lower: Array
    upper: Array
    share: Array


def _ttft(given: Deployment, by: By) -> Array:
    """The least x with P(T_prefill <= x) >= 90 %, by halving what lies between the least and the greatest prefill."""
    ways = _ways(given, by)
    within = _between(given, by)
    low, high = (pick([pick(_ends(given, way, by)) * way.factor for way in ways], axis=0) for pick in (np.min, np.max))
    low, high = np.log(low[:, 0]), np.log(high[:, 0])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = _share(ways, within, np.exp(middle)) >= P90 - ROUNDING
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    seconds: Array = np.exp(high)
    return np.where(np.isnan(_share(ways, within, seconds)), np.nan, seconds)


def _ways(given: Deployment, by: By) -> list[_Way]:
    cuts = _cuts(given, by)[:, np.newaxis]
    nothing, all_of_them = np.zeros_like(cuts), np.ones_like(cuts)
    endless = np.full_like(cuts, np.inf)
    local = by(Parameter.T_PREFILL_PD_P)[:, np.newaxis]
    if given.prfaas is None:
        return [_Way(given.pd.t_prefill, local, nothing, endless, all_of_them)]
    remote = by(Parameter.T_PREFILL_PRFAAS)[:, np.newaxis]
    if given.remote_share is not None:
        return [
            _Way(given.prfaas.t_prefill, remote, nothing, endless, cuts),
            _Way(given.pd.t_prefill, local, nothing, endless, 1 - cuts),
        ]
    return [
        _Way(given.prfaas.t_prefill, remote, cuts, endless, all_of_them),
        _Way(given.pd.t_prefill, local, nothing, cuts, all_of_them),
    ]


def _share(ways: list[_Way], within: Callable[[Array, Array], Array], seconds: Array) -> Array:
    """P(T_prefill <= x) for each x of `seconds`."""
    share = np.zeros_like(seconds)
    for way in ways:
        lower, upper = way.curve.sublevel(seconds / way.factor[:, 0])
        passed = within(np.maximum(lower, way.lower), np.minimum(upper, way.upper))
        share += (way.share * passed).sum(axis=-1)
    return share


def _between(given: Deployment, by: By) -> Callable[[Array, Array], Array]:
    """P(lower < L <= upper) of each change's own lengths, for bounds of shape (n, pieces)."""
    lengths, factor = given.lengths, by(Parameter.PROMPT)[:, np.newaxis]
    if not isinstance(lengths, TruncatedLogNormal):
        return lambda lower, upper: lengths.between(lower / factor, upper / factor)
    mu, sigma = lengths.mu + np.log(factor), lengths.sigma * by(Parameter.SIGMA)[:, np.newaxis]

    def score(at: Array) -> Array:
        z: Array = (np.log(np.clip(at, lengths.shortest, lengths.longest)) - mu) / sigma
        return z

    mass = normal_between(score(np.zeros(1)), score(np.full(1, np.inf)))

    def share(lower: Array, upper: Array) -> Array:
        with np.errstate(invalid="ignore"):  # NaN where no such lengths can be
            found: Array = np.maximum(normal_between(score(lower), score(upper)), 0.0) / mass
        return found

    return share


def _ends(given: Deployment, way: _Way, by: By) -> Array:
    """Values between which the curve lies over all lengths of all changes: its extremes are at kinks and ends."""
    lengths, factor = given.lengths, by(Parameter.PROMPT)
    longer = np.array([1.0]) if isinstance(lengths, TruncatedLogNormal) else np.array([factor.min(), factor.max()])
    ends = np.array([lengths.shortest * longer.min(), lengths.longest * longer.max()])
    kinks = way.curve.kinks
    return way.curve(np.concatenate([ends, kinks[(kinks > ends[0]) & (kinks < ends[1])]]))
