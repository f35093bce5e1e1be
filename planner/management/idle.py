"""What was asked of a simulation and does nothing in it, in sentences: the terminal and the page say the same."""

from __future__ import annotations

from collections.abc import Iterator

from planner.management.simulated_facts import PLACES
from planner.simulating.document import Asked
from planner.simulating.schema import Run


def idle(asked: Asked, is_rate_known: bool = True) -> Iterator[str]:
    """Each with why; without a known rate nothing of when the last request comes."""
    yield from _tcp(asked)
    if is_rate_known and asked.run.prompts is None:
        yield from _too_late(asked, asked.run.requests / asked.experiment.rate_rps)
    yield from _spares(asked.run)


def _tcp(asked: Asked) -> Iterator[str]:
    paths = asked.experiment.transport.paths if asked.experiment.deployment.link else ()
    without = [number for number, path in enumerate(paths, 1) if path.tcp and path.tcp.rtt_s == 0]
    if without:
        some = len(without) < len(paths)
        which = f"Path {', '.join(map(str, without))} of the link" if some else "The link"
        yield f"{which} has no round trip: TCP bounds nothing; give links.{asked.scenario.parsed.links[0].name}.rtt_s."


def _too_late(asked: Asked, until_s: float) -> Iterator[str]:
    """Planned events after the last request has come, about `until_s` after the first."""
    faults = [(f"The fault of {PLACES[fault.place]}", fault.begin_s) for fault in asked.run.faults]
    paths = asked.experiment.transport.paths
    windows = {window.begin_s for path in paths if path.weather for window in path.weather.windows}
    for what, begin_s in [*faults, *(("The brown-out", begin_s) for begin_s in sorted(windows))]:
        if begin_s >= until_s:
            yield f"{what} from {begin_s:,g} s on begins after the last request has come, at about {until_s:,.0f} s."


def _spares(run: Run) -> Iterator[str]:
    fails = {fault.place for fault in run.faults} | {failures.place for failures in run.failures}
    for spares in run.spares:
        if spares.place not in fails:
            yield f"Hot spares of {PLACES[spares.place]} stand in for nothing: no fault or failure there is simulated."
