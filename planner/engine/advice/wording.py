"""The recommendation as one sentence. K is a thousand here, as t is typed: 19.6K are 19,600 tokens."""

from __future__ import annotations

import math

from planner.engine.advice.terms import Advice, Hindrance, Objective, Observed, Options, Point, Reason, Split

ONES = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def tokens(threshold_tokens: float) -> str:
    """t as it is typed."""
    if math.isinf(threshold_tokens):
        return "no limit"
    if threshold_tokens < 1000:
        return f"{threshold_tokens:.0f}"
    return f"{threshold_tokens / 1000:.1f}K"


def gbps(bps: float) -> str:
    """A bandwidth in Gbps, without digits that say nothing."""
    return f"{bps / 1e9:.3g} Gbps"


def sentence(advice: Advice, observed: Observed, options: Options) -> str:
    """Why, what to do, and what it brings."""
    if advice.hindrances:
        return nothing(advice.hindrances)
    if advice.recommended is None or advice.current is None:
        return ""
    parts = [f"{_cause(advice, observed)}: {_action(advice.current, advice.recommended)}"]
    parts += [_effect(advice, options)]
    parts += [_other_split(advice.split, options)] if advice.split else []
    return "; ".join(part for part in parts if part)


def nothing(hindrances: tuple[Hindrance, ...]) -> str:
    """Why nothing is recommended."""
    return "nothing is recommended: " + "; ".join(each.text for each in hindrances)


def _cause(advice: Advice, observed: Observed) -> str:
    queues, best = observed.queues, _goal(advice)
    match advice.reason:
        case Reason.LINK_BUSY:
            return _link(advice)
        case Reason.LINK_QUEUE:
            return f"{queues.link or 0:.0f} KVCaches wait for the {_link(advice)}"
        case Reason.RETRANSMITS:
            return f"{100 * (observed.resent_share or 0):.1f} % of what crosses is sent again, {_link(advice)}"
        case Reason.PRFAAS_BACKLOG:
            return _queue("PrfaaS", queues.prfaas, "PD-P", queues.pd_p)
        case Reason.LOCAL_QUEUE:
            return _queue("PD-P", queues.pd_p, "PrfaaS", queues.prfaas)
        case Reason.BOTH_SHORT:
            waiting = f", {queues.pd_p:.0f} requests wait" if queues.pd_p else ""
            return f"{_link(advice)}, but PD-P is short as well{waiting}"
        case Reason.TOO_LOW | Reason.TOO_HIGH:
            why = "carries the most" if advice.objective is Objective.THROUGHPUT else "is the quickest at this rate"
            return f"{tokens(best.threshold_tokens)} {why}" if best else ""
        case _:
            return f"{_link(advice)}" if advice.link_utilisation is not None else "nothing is short"


def _queue(longer: str, waiting: float | None, other: str, others: float | None) -> str:
    """Which queue is the longer one, or was: what was said stands until it is followed or said anew."""
    waits, there = waiting or 0.0, others or 0.0
    if waits > there:
        return f"{waits:.0f} requests wait for {longer}, {there:.0f} for {other}"
    return f"requests waited for {longer}, now {waits:.0f} there and {there:.0f} for {other}"


def _goal(advice: Advice) -> Point | None:
    return advice.best if advice.objective is Objective.THROUGHPUT else advice.quickest


def _link(advice: Advice) -> str:
    if advice.link_carries_bps is None:
        return "the link's load is not known"
    if advice.link_utilisation is None:
        return f"link of {gbps(advice.link_carries_bps)}"
    rising = " and rising" if advice.is_rising else ""
    return f"link at {100 * advice.link_utilisation:.0f} % of {gbps(advice.link_carries_bps)}{rising}"


def _action(current: Point, recommended: Point) -> str:
    before, after = current.threshold_tokens, recommended.threshold_tokens
    if before == after:
        return f"keep t at {tokens(before)}"
    return f"{'raise' if after > before else 'lower'} t from {tokens(before)} to {tokens(after)}"


def _effect(advice: Advice, options: Options) -> str:
    before, after = advice.current, advice.recommended
    if before is None or after is None or before.threshold_tokens == after.threshold_tokens:
        return ""
    if advice.objective is Objective.TTFT and before.ttft and after.ttft:
        share = options.ttft_percentile
        name = "mean" if share is None else f"P{100 * share:g}"
        both = [_seconds(point, share) for point in (after, before)]
        return f"{name} TTFT {both[0]} instead of {both[1]}"
    return f"Λ_max {after.lambda_max_rps:.2f} req/s instead of {before.lambda_max_rps:.2f}"


def _seconds(point: Point, share: float | None) -> str:
    found = point.ttft
    if found is None:
        return "unknown"
    named = {0.5: found.p50, 0.9: found.p90, 0.99: found.p99}
    value = named.get(share, found.mean) if share is not None else found.mean
    return f"{value:.2f} s" if math.isfinite(value) else "without end"


def _other_split(split: Split, options: Options) -> str:
    count, role = abs(split.instances), "decode" if split.instances > 0 else "prefill"
    many = ONES[count] if count < len(ONES) else str(count)
    verb = "convert" if split.change else "converting"
    what = f"{verb} {many} {role} node{'s' if count > 1 else ''}"
    gives = f"{split.best.lambda_max_rps:.2f}"
    if split.change:
        return f"{what} for {gives}"
    return f"{what} would give {gives}"
