"""From the engine's advice to what viewers, programs and the audit log are told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import msgspec

from monitoring.live.messages import AdviceNow, Drift, Pair, Target
from monitoring.recommending.observing import Feed, Reading
from planner.engine.advice import Advice, Objective, Obstacle, Options, Point, Reason, Ttft
from planner.engine.throughput import Stage

WORDS = {
    "lengths": "uncached prompt lengths",
    "rate_rps": "request rates",
    "capacity_bps": "the link's capacity",
    "egress_bps": "egress",
    "resent_share": "retransmissions",
    "threshold_tokens": "t in force",
    "prfaas_instances": "PrfaaS instances",
    "prefill_instances": "prefill instances",
    "decode_instances": "decode instances",
}
REMEDIES = {
    Obstacle.NO_LENGTHS: "send uncached_tokens with route",
    Obstacle.FEW_SAMPLES: "wait for more",
    Obstacle.NO_THRESHOLD: "send threshold_tokens, or enter it",
    Obstacle.NO_INSTANCES: "send instances with role, or enter them",
    Obstacle.NO_CAPACITY: "send link_capacity_bps, or set it in the scenario",
    Obstacle.NO_RATE: "send requests, or follow the greatest Λ_max",
}
"""What can be done about a hindrance; of the others their text says it."""
NO_SCENARIO, FAILED = "no_scenario", "failed"
"""Why the engine could not even be asked."""
CODES = (
    *(each.value for each in Reason if each is not Reason.NOTHING),
    *(each.value for each in Obstacle),
    NO_SCENARIO,
    FAILED,
)
"""All that `reason` may say."""
MOST_NAMED = 3
"""Of figures that are stale."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why nothing is recommended: a code, and in words what would be needed."""

    code: str
    text: str


def problems(advice: Advice, feed: Feed, options: Options) -> list[Problem]:
    """The engine's hindrances; of what is stale it is said what."""
    found = []
    for each in advice.hindrances:
        stale = feed.stale(options.most_age_s) if each.code == Obstacle.STALE else []
        remedy = f": {REMEDIES[each.code]}" if each.code in REMEDIES else ""
        found.append(Problem(each.code.value, _stale(stale, feed) if stale else each.text + remedy))
    return found


def _stale(readings: list[Reading], feed: Feed) -> str:
    """The oldest first, and not all of many: one source that is lost takes all that it told with it."""
    oldest = sorted(readings, key=lambda reading: reading.ts_ms or 0)
    names = [WORDS[reading.name] for reading in oldest]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    since_ms = oldest[0].ts_ms
    lasting = "" if since_ms is None else f" for {feed.observed.now_s - since_ms / 1000:.0f} s"
    return f"no newer telemetry of {', '.join(names[:MOST_NAMED])}{more}{lasting}: see what its source does"


def told(advice: Advice, found: list[Problem], feed: Feed, drift: list[Drift]) -> AdviceNow:
    """What viewers get of an advice. Infinities, which JSON does not know, are left out."""
    at_ms = round(feed.observed.now_s * 1000)
    lengths = feed.observed.lengths
    samples = lengths.total if lengths else 0.0
    if found:
        return nothing(at_ms, advice.objective.value, found, advice, samples, drift)
    current, recommended, split = advice.current, advice.recommended, advice.split
    other = advice.best if advice.objective == Objective.TTFT else advice.quickest
    interval = advice.interval
    return AdviceNow(
        at_ms=at_ms,
        objective=advice.objective.value,
        reason=advice.reason.value,
        sentence=advice.sentence,
        threshold_tokens=finite(advice.threshold_tokens),
        threshold_low=finite(interval.low) if interval else None,
        threshold_high=finite(interval.high) if interval else None,
        confidence=finite(advice.confidence),
        other_threshold_tokens=finite(other.threshold_tokens) if other else None,
        objectives=_objectives(advice),
        instances=instances(advice, feed),
        lambda_max_rps=_pair(_lambda(current), _lambda(recommended)),
        converted_instances=_by_role(split.best, feed) if split else {},
        lambda_max_converted_rps=_lambda(split.best) if split else None,
        conversion_s=finite(split.pays_after_s) if split else None,
        conversion_lost_requests=finite(split.lost_requests) if split else None,
        egress_bps=_pair(current.egress_bps if current else None, recommended.egress_bps if recommended else None),
        ttft_mean_s=_pair(_ttft(current, "mean"), _ttft(recommended, "mean")),
        ttft_p90_s=_pair(_ttft(current, "p90"), _ttft(recommended, "p90")),
        utilisation=_utilisation(current, recommended),
        binding=current.binding[0].value if current and current.binding else "",
        link_carries_bps=finite(advice.link_carries_bps),
        samples=samples,
        unknown=list(advice.unknown),
        drift=drift,
    )


def nothing(
    at_ms: int,
    objective: str,
    found: list[Problem],
    advice: Advice | None = None,
    samples: float = 0.0,
    drift: list[Drift] | None = None,
) -> AdviceNow:
    """What is told while nothing is recommended: what is missing, and what follows from what is known."""
    current = advice.current if advice else None
    return AdviceNow(
        at_ms=at_ms,
        objective=objective,
        reason=found[0].code,
        sentence="nothing is recommended: " + "; ".join(each.text for each in found),
        problems=[each.text for each in found],
        lambda_max_rps=_pair(_lambda(current), None),
        egress_bps=_pair(current.egress_bps if current else None, None),
        ttft_mean_s=_pair(_ttft(current, "mean"), None),
        ttft_p90_s=_pair(_ttft(current, "p90"), None),
        utilisation=_utilisation(current, None),
        binding=current.binding[0].value if current and current.binding else "",
        link_carries_bps=finite(advice.link_carries_bps) if advice else None,
        samples=samples,
        unknown=list(advice.unknown) if advice else [],
        drift=drift or [],
    )


def instances(advice: Advice, feed: Feed) -> dict[str, int]:
    """By role, as recommended: another split only once a role was short for long enough that converting pays."""
    point = advice.recommended
    if advice.split is not None and advice.split.change:
        point = advice.split.best
    return _by_role(point, feed) if point is not None else {}


def _by_role(point: Point, feed: Feed) -> dict[str, int]:
    found = {"prefill": round(point.prefill_instances), "decode": round(point.decode_instances)}
    away = feed.observed.prfaas_instances
    return found if away is None else {"prfaas": round(away), **found}


def _objectives(advice: Advice) -> dict[str, Target]:
    points = {Objective.THROUGHPUT: advice.best, Objective.TTFT: advice.quickest}
    return {objective.value: _target(point) for objective, point in points.items() if point is not None}


def _target(point: Point) -> Target:
    return Target(
        threshold_tokens=finite(point.threshold_tokens),
        lambda_max_rps=_lambda(point),
        egress_bps=finite(point.egress_bps),
        ttft_mean_s=_ttft(point, "mean"),
        ttft_p90_s=_ttft(point, "p90"),
        utilisation={stage.value: finite(busy) for stage, busy in (point.utilisation or {}).items()},
    )


def as_json(advice: AdviceNow) -> dict[str, Any]:
    """The recommended side of an advice, for the audit log; {} while nothing is recommended."""
    if not advice.is_valid:
        return {}
    return {
        "threshold_tokens": advice.threshold_tokens,
        "threshold_low": advice.threshold_low,
        "threshold_high": advice.threshold_high,
        "confidence": advice.confidence,
        "objectives": {name: msgspec.to_builtins(each) for name, each in advice.objectives.items()},
        "instances": advice.instances,
        "lambda_max_rps": advice.lambda_max_rps.recommended,
        "converted_instances": advice.converted_instances,
        "lambda_max_converted_rps": advice.lambda_max_converted_rps,
        "conversion_s": advice.conversion_s,
        "conversion_lost_requests": advice.conversion_lost_requests,
        **_side(advice, "recommended"),
    }


def current_as_json(advice: AdviceNow, feed: Feed | None) -> dict[str, Any]:
    """What is in force beside it, null where it is not known."""
    known = {each.name: each.value for each in feed.readings} if feed else {}
    roles = {"prfaas": "prfaas_instances", "prefill": "prefill_instances", "decode": "decode_instances"}
    return {
        "threshold_tokens": finite(known.get("threshold_tokens")),
        "instances": {role: known.get(name) for role, name in roles.items()},
        "lambda_max_rps": advice.lambda_max_rps.current,
        "binding": advice.binding,
        **_side(advice, "current"),
    }


def _side(advice: AdviceNow, side: str) -> dict[str, Any]:
    return {
        "egress_bps": getattr(advice.egress_bps, side),
        "ttft_mean_s": getattr(advice.ttft_mean_s, side),
        "ttft_p90_s": getattr(advice.ttft_p90_s, side),
        "utilisation": {stage: getattr(pair, side) for stage, pair in advice.utilisation.items()},
    }


def finite(value: float | None) -> float | None:
    """The value, if it is a number of which JSON has a word."""
    return value if value is not None and math.isfinite(value) else None


def _pair(current: float | None, recommended: float | None) -> Pair:
    return Pair(finite(current), finite(recommended))


def _lambda(point: Point | None) -> float | None:
    return finite(point.lambda_max_rps) if point else None


def _ttft(point: Point | None, what: str) -> float | None:
    found: Ttft | None = point.ttft if point else None
    return finite(getattr(found, what)) if found else None


def _utilisation(current: Point | None, recommended: Point | None) -> dict[str, Pair]:
    both = [point.utilisation or {} if point else {} for point in (current, recommended)]
    return {
        stage.value: _pair(both[0].get(stage), both[1].get(stage))
        for stage in Stage
        if stage in both[0] or stage in both[1]
    }
