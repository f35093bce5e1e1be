"""All of it together: what is seen in, advice out."""

from __future__ import annotations

from dataclasses import replace

from planner.engine.advice import validity, wording
from planner.engine.advice.loads import loads
from planner.engine.advice.moving import Move, link_carries, moved, utilisation
from planner.engine.advice.optimum import (
    Capacity,
    best_threshold,
    confidence_of_side,
    interval_by_chance,
    threshold_interval,
)
from planner.engine.advice.points import Scene, point, quickest_threshold, ttft
from planner.engine.advice.splitting import split
from planner.engine.advice.terms import (
    Advice,
    Hindrance,
    Interval,
    Objective,
    Observed,
    Obstacle,
    Options,
    Reason,
    Remembered,
)
from planner.engine.deployment import Deployment
from planner.engine.lengths import Bucketed

FRESH = Remembered()
DEFAULTS = Options()


def advise(
    deployment: Deployment, observed: Observed, options: Options = DEFAULTS, remembered: Remembered = FRESH
) -> tuple[Advice, Remembered]:
    """What to do now, and what to hand in with the next call.

    Where something is in the way nothing is recommended, and what is remembered of the link stays.
    """
    scene, hindrances, carries, after = _seen(deployment, observed, options, remembered)
    if scene is None:
        return _nothing(options, hindrances, observed, carries), after
    return _advised(scene, observed, after)


def decide(
    deployment: Deployment, observed: Observed, options: Options = DEFAULTS, remembered: Remembered = FRESH
) -> tuple[float | None, Remembered]:
    """The t that `advise` recommends, without all that it says beside it: a tenth of the time. None: nothing is.

    Of roles nothing is remembered.
    """
    scene, _, _, after = _seen(deployment, observed, options, remembered)
    if scene is None:
        return None, after
    quickest_t = None
    if options.objective is Objective.TTFT:
        quickest_t, after = _quickest(scene, observed, after)
        if quickest_t is None:
            return None, after
    move, after = _moved(scene, observed, best_threshold(scene.loads, scene.there), quickest_t, after)
    return move.threshold_tokens, after


def _seen(
    deployment: Deployment, observed: Observed, options: Options, before: Remembered
) -> tuple[Scene | None, list[Hindrance], float | None, Remembered]:
    """The system as it is seen; without it what is in the way, and what the link carries all the same."""
    carries, after = link_carries(observed, options, before)
    hindrances = list(validity.absent(deployment, observed, options))
    lengths = validity.lengths_seen(deployment, observed)
    if lengths is not None and not hindrances:
        hindrances += validity.unmeasured(deployment, lengths, options)
    if hindrances or lengths is None or carries is None:
        return None, hindrances, carries, after
    return _scene(deployment, observed, options, lengths, carries), [], carries, after


def _nothing(options: Options, hindrances: list[Hindrance], observed: Observed, carries: float | None) -> Advice:
    found = tuple(hindrances)
    return Advice(
        options.objective,
        found,
        Reason.NOTHING,
        wording.nothing(found),
        link_carries_bps=carries,
        unknown=validity.unknown(observed),
    )


def _scene(deployment: Deployment, observed: Observed, options: Options, lengths: Bucketed, carries: float) -> Scene:
    n_prfaas, n_p, n_d = (
        float(count or 0.0)
        for count in (observed.prfaas_instances, observed.prefill_instances, observed.decode_instances)
    )
    if deployment.prfaas is None:
        raise ValueError("without a PrfaaS cluster there is no t to advise on")
    prfaas = replace(deployment.prfaas, instances=n_prfaas)
    link_bps = min(carries, n_prfaas * prfaas.egress_bps) if n_prfaas else carries
    pd = replace(deployment.pd, prefill_instances=n_p, decode_instances=n_d)
    seen = replace(deployment, lengths=lengths, prfaas=prfaas, pd=pd)
    there = Capacity(n_prfaas, link_bps * (1 - options.headroom), n_p, n_d, deployment.decode.instance_rps)
    return Scene(seen, options, loads(deployment, lengths), there, link_bps, observed.rate_rps)


def _advised(scene: Scene, observed: Observed, before: Remembered) -> tuple[Advice, Remembered]:
    options, t = scene.options, float(observed.threshold_tokens or 0.0)
    best_t = best_threshold(scene.loads, scene.there)
    quickest_t, before = _quickest(scene, observed, before)
    if options.objective is Objective.TTFT and quickest_t is None:
        rate = f"no t carries the {observed.rate_rps:.3g} req/s that come, so that none has a TTFT"
        return _nothing(options, [Hindrance(Obstacle.OVERLOADED, rate)], observed, scene.link_bps), before
    current = point(scene, t)
    move, after = _moved(scene, observed, best_t, quickest_t, before)
    recommended = current if move.threshold_tokens == t else point(scene, move.threshold_tokens)
    other, after = split(scene, observed, current, after) if options.changes_roles else (None, after)
    interval, by_chance, confidence = _known(scene, observed, t)
    advice = Advice(
        objective=options.objective,
        hindrances=(),
        reason=move.reason,
        sentence="",
        threshold_tokens=move.threshold_tokens,
        current=current,
        recommended=recommended,
        best=recommended if best_t == move.threshold_tokens else point(scene, best_t),
        quickest=None if quickest_t is None else point(scene, quickest_t),
        interval=interval,
        interval_by_chance=by_chance,
        confidence=confidence,
        gain_rps=recommended.lambda_max_rps - current.lambda_max_rps,
        split=other,
        link_carries_bps=scene.link_bps,
        link_utilisation=utilisation(observed, scene.link_bps),
        is_rising=after.is_rising,
        unknown=validity.unknown(observed),
    )
    return replace(advice, sentence=wording.sentence(advice, observed, options)), after


def _moved(
    scene: Scene, observed: Observed, best_t: float, quickest_t: float | None, before: Remembered
) -> tuple[Move, Remembered]:
    t = float(observed.threshold_tokens or 0.0)
    target = best_t if scene.options.objective is Objective.THROUGHPUT or quickest_t is None else quickest_t
    worth = observed.lengths.worth if observed.lengths else 0.0
    return moved(scene, observed, target, _is_worth_it(scene, t, target, worth), before)


def _known(scene: Scene, observed: Observed, t: float) -> tuple[Interval, Interval, float]:
    """How well the best t is known: both intervals, and the confidence that it lies on its side of the one in force."""
    worth, share = observed.lengths.worth if observed.lengths else 0.0, scene.options.confidence
    return (
        threshold_interval(scene.loads, scene.there, worth, share),
        interval_by_chance(scene.loads, scene.there, worth, share),
        confidence_of_side(scene.loads, scene.there, t, worth),
    )


def _is_worth_it(scene: Scene, t: float, target: float, worth: float) -> bool:
    """Whether going from the t in force to another is more than a trifle, in t and in what it is for, and no chance."""
    options = scene.options
    low, high = sorted((max(t, 1.0), max(target, 1.0)))
    if high <= low * (1 + options.hysteresis):
        return False
    if options.objective is Objective.TTFT:
        before, after = _seconds(scene, t), _seconds(scene, target)
        return after < before * (1 - options.least_gain)
    before, after = (point(scene, each, with_ttft=False).lambda_max_rps for each in (t, target))
    if after <= before * (1 + options.least_gain):
        return False
    return confidence_of_side(scene.loads, scene.there, t, worth) >= options.least_confidence


def _seconds(scene: Scene, threshold_tokens: float) -> float:
    """TTFT, as the options mean it."""
    found, share = ttft(scene, threshold_tokens), scene.options.ttft_percentile
    if share is None:
        return found.mean
    return {0.5: found.p50, 0.9: found.p90, 0.99: found.p99}[share]


def _quickest(scene: Scene, observed: Observed, before: Remembered) -> tuple[float | None, Remembered]:
    """The t with the least TTFT, looked for once a window, or when what serves has changed."""
    if not scene.rate_rps:
        return None, before
    of = (scene.there.prfaas, scene.there.pd_p, scene.there.pd_d)
    if observed.now_s < before.window_ends_s and before.quickest_of == of:
        return before.quickest_tokens, before
    found = quickest_threshold(scene)
    return found, before._replace(quickest_tokens=found, quickest_of=of)
