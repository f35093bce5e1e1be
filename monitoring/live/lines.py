"""The names of what charts show, the same for what is now and for what was: `egress_bps.wan`, `ttft_s.p90`.

A name is a figure, and of which link, route, stage or role. What is not live is null: a chart has a gap there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from monitoring.live.messages import Current, LinkNow, Quantiles, Value, WatchNow
from monitoring.live.selection import ROUTES

OF_LINK = (
    "egress_bps", "ingress_bps", "capacity_bps", "link_utilisation", "rtt_s", "resent", "dropped_pps", "kv_bps",
)  # fmt: skip
OF_ROLE = ("instances", "utilisation", "recommended_instances")
OF_QUANTILES = ("ttft_s", "tpot_s")
QUANTILES = ("p50", "p90", "p99")
ALONE = (
    "offload", "failed_rps", "input_tps", "cached_tps", "output_tps", "threshold_tokens",
    "recommended_threshold_tokens", "lambda_max_rps",
)  # fmt: skip


def keys(links: Iterable[str], roles: Iterable[str], queues: Iterable[tuple[str, str]]) -> list[str]:
    """All names of a watch that has these links, roles, and queues by stage and bound."""
    found = [f"{figure}.{link}" for link in links for figure in OF_LINK]
    found += [f"requests_rps.{route}" for route in ROUTES]
    found += ALONE
    found += [f"queue.{stage}.{bound}" for stage, bound in sorted(set(queues))]
    found += [f"{figure}.{share}" for figure in OF_QUANTILES for share in QUANTILES]
    return found + [f"{figure}.{role}" for role in roles for figure in OF_ROLE]


def points(watch: WatchNow) -> dict[str, float | None]:
    """What charts append."""
    found = dict[str, float | None](_points(watch))
    names = keys(
        (each.name for each in watch.links),
        (each.role for each in watch.roles),
        ((each.stage, each.bound) for each in watch.queues),
    )
    return {name: found.get(name) for name in names}


def _points(watch: WatchNow) -> Iterator[tuple[str, float | None]]:
    for link in watch.links:
        yield from _of_link(link)
    for route, rate in watch.requests_rps.items():
        yield f"requests_rps.{route}", live(rate)
    for name in ("offload", "failed_rps", "input_tps", "cached_tps", "output_tps", "threshold_tokens"):
        yield name, live(getattr(watch, name))
    for stage, bound in sorted({(each.stage, each.bound) for each in watch.queues}):
        waiting = [live(each.requests) for each in watch.queues if (each.stage, each.bound) == (stage, bound)]
        yield f"queue.{stage}.{bound}", total(waiting)
    for figure in OF_QUANTILES:
        quantiles: Quantiles = getattr(watch, figure)
        for share in QUANTILES:
            yield f"{figure}.{share}", getattr(quantiles, share) if quantiles.age == "live" else None
    for role in watch.roles:
        yield f"instances.{role.role}", live(role.instances)
        yield f"utilisation.{role.role}", live(role.utilisation)
    yield from _recommended(watch)


def _of_link(link: LinkNow) -> Iterator[tuple[str, float | None]]:
    for figure in OF_LINK:
        measured: Value = getattr(link, "utilisation" if figure == "link_utilisation" else figure)
        yield f"{figure}.{link.name}", live(measured)


def _recommended(watch: WatchNow) -> Iterator[tuple[str, float | None]]:
    """Only what is recommended now."""
    advice = watch.advice
    if advice is None:
        return
    yield "lambda_max_rps", advice.lambda_max_rps.current
    if advice.is_valid:
        yield "recommended_threshold_tokens", advice.threshold_tokens
        for role, instances in advice.instances.items():
            yield f"recommended_instances.{role}", float(instances)


def live(measured: Value | Current) -> float | None:
    """A value that is of now."""
    return measured.value if measured.age == "live" else None


def total(values: Sequence[float | None]) -> float | None:
    """None where one is not known: a sum with a hole looks like less."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) and known else None
