"""How a simulation was set up, in words: what the terminal and the page say of everything that is not off."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.engine.simulation.tcp import Tcp
from planner.engine.simulation.weather import ConstantUse, DiurnalUse, Weather
from planner.entries.traffic import RenewalArrivals
from planner.simulating.document import Asked
from planner.simulating.prompts import SessionPrompts, TracePrompts
from planner.simulating.schema import Run

type Fact = tuple[str, str]

PROCESSES = {
    "poisson": "Poisson",
    "renewal": "renewal",
    "mmpp": "MMPP of two rates",
    "diurnal": "diurnal",
    "recorded": "as recorded",
}
PLACES = {"prfaas": "PrfaaS", "pd_p": "PD-P", "pd_d": "PD-D"}
CHOICES = {
    "shared": "whichever is free first",
    "shortest_queue": "the one with the least work",
    "prefix_affine": "one for all that begin alike",
}
CACHE_ROUTING = {
    "length": "the whole prompt",
    "own": "what the PD cluster's cache leaves",
    "best": "what the better cache leaves",
    "by_bandwidth": "what the better cache leaves while the link has room, or else the PD cluster's",
}


def decoding(run: Run) -> str:
    """How decode was simulated: who reads a TTFT must know it."""
    return "by iteration" if run.decode.iterations else "by request"


def arrivals(asked: Asked) -> Fact:
    """How requests arrive; of sessions, how these begin."""
    process = asked.scenario.parsed.traffic.arrivals
    said = PROCESSES.get(process.process, process.process)
    if isinstance(process, RenewalArrivals):
        said = f"{said}, CV {process.cv:g}"
    return "Sessions begin" if isinstance(asked.run.prompts, SessionPrompts) else "Arrivals", said


def facts(asked: Asked) -> list[Fact]:
    """Each as its name and what it is set to; decode always, the others where they are on."""
    run = asked.run
    return [
        *_routing(asked),
        *_prefill(run),
        *_decode(asked),
        *_link(asked),
        *_faults(run),
        *_roles(run),
        *_prompts(run),
        *_caches(run),
    ]


def _routing(asked: Asked) -> Iterator[Fact]:
    share = asked.experiment.remote_share
    if share is not None:
        yield "Drawn for PrfaaS", f"{100 * share:.4g} % of requests, whatever their lengths"
    if track := asked.run.threshold_track:
        yield "Threshold t", f"as recorded, from {min(track.tokens):,.0f} to {max(track.tokens):,.0f} tokens"


def _prefill(run: Run) -> Iterator[Fact]:
    given = run.prefill
    if given.choice != "shared":
        yield "Prefill instance", CHOICES[given.choice]
    if given.ageing:
        yield "Ageing", f"{given.ageing:g} s of prefill for each second of waiting"
    if given.batch_tokens:
        yield "Prefill in batches", f"of up to {given.batch_tokens:,} tokens"
    if given.chunk_tokens:
        yield "Prefill in turns", f"of {given.chunk_tokens:,} tokens"


def _decode(asked: Asked) -> Iterator[Fact]:
    given, step_s = asked.run.decode, asked.experiment.deployment.decode.step_s
    if not given.iterations:
        yield "Decode", f"by request, a step of {1000 * step_s:g} ms"
    elif given.base_s is None and not (given.request_s or given.token_s):
        yield "Decode", f"by iteration, a step of {1000 * step_s:g} ms"
    else:
        base_s = step_s if given.base_s is None else given.base_s
        parts = (
            f"{1000 * base_s:g} ms",
            f"{1e6 * given.request_s:g} µs a request",
            f"{1e9 * given.token_s:g} ns a token of context",
        )
        yield "Decode", f"by iteration, a step of {' + '.join(parts)}"
    if given.memory_bytes is not None:
        yield "Memory for KVCaches", f"{given.memory_bytes / 1e9:,g} GB a decode instance"


# --- the link ----------------------------------------------------------------------------------------------------


def _link(asked: Asked) -> Iterator[Fact]:
    if asked.experiment.deployment.link is None:
        return
    run, paths = asked.run, asked.experiment.transport.paths
    if len(paths) > 1:
        shares = (f"{100 * path.share:.4g} %" for path in run.paths)
        yield "Paths of the link", f"{len(paths)}: {', '.join(shares)}"
    are_alike = all((path.tcp, path.weather) == (paths[0].tcp, paths[0].weather) for path in paths)
    for at, path in enumerate(paths[:1] if are_alike else paths):
        which = "" if are_alike else f", path {at + 1}"
        if path.tcp:
            yield f"TCP{which}", _tcp(path.tcp)
        if path.weather:
            yield f"Weather of the link{which}", "; ".join(_weather(path.weather))
    if not run.failover:
        yield "Failover", "off: requests wait for a cluster that is down or cut off"


def _tcp(tcp: Tcp) -> str:
    window = "no bound on the window" if math.isinf(tcp.window_bytes) else f"{tcp.window_bytes / 2**20:,.4g} MiB each"
    return f"{tcp.connections:,} connections, {window}, {1000 * tcp.rtt_s:g} ms round trip, {100 * tcp.loss:g} % loss"


def _weather(weather: Weather) -> Iterator[str]:
    match weather.background:
        case ConstantUse(share=share):
            yield f"others use {100 * share:g} %"
        case DiurnalUse(mean_share=mean, amplitude=swing):
            yield f"others use {100 * mean:g} ± {100 * swing:g} % over the day"
        case None:
            pass
        case _:
            yield "others' use as it was recorded"
    if found := weather.fluctuation:
        yield f"fluctuation of {100 * found.sd_share:g} % with a memory of {found.relaxation_s:g} s"
    if out := weather.outages:
        yield f"outages: up {out.mean_up_s:,g} s, down {out.mean_down_s:,g} s on average"
    for window in weather.windows:
        yield f"at most {window.bps / 1e9:.2f} Gbps from {window.begin_s:,g} to {window.end_s:,g} s"
    if weather.recording:
        yield "capacity as it was recorded"


# --- faults, roles, prompts and caches ---------------------------------------------------------------------------


def _faults(run: Run) -> Iterator[Fact]:
    if run.faults:
        yield (
            "Faults",
            "; ".join(
                f"{fault.instances or 'all of'} {PLACES[fault.place]} from {fault.begin_s:,g} to {fault.end_s:,g} s"
                for fault in run.faults
            ),
        )
    if run.failures:
        yield (
            "Failures by chance",
            "; ".join(
                f"{PLACES[each.place]} up {each.mean_up_s:,g} s, down {each.mean_down_s:,g} s" for each in run.failures
            ),
        )
    if run.spares:
        yield (
            "Hot spares",
            "; ".join(
                f"{each.instances} of {PLACES[each.place]}, there after {each.ready_s:,g} s" for each in run.spares
            ),
        )


def _roles(run: Run) -> Iterator[Fact]:
    if given := run.roles:
        follows = "t follows" if given.retunes else "t stays"
        yield (
            "Roles",
            (
                f"change: looked at every {given.period_s:g} s, {100 * given.high:g} % is short, "
                f"{100 * given.room:g} % has room; {given.delay_s:g} s until it serves; {follows}"
            ),
        )


def _prompts(run: Run) -> Iterator[Fact]:
    if run.prompts is None:
        return
    if isinstance(run.prompts, TracePrompts):
        yield "Prompts", "those of the recorded trace"
    else:
        yield "Prompts", f"generated sessions of {run.prompts.kind}"


def _caches(run: Run) -> Iterator[Fact]:
    if given := run.caches:
        sizes = (f"PD {given.pd_bytes / 1e9:,g} GB", f"PrfaaS {given.prfaas_bytes / 1e9:,g} GB")
        yield "Prefix caches", f"{', '.join(sizes)}, blocks of {given.block_tokens:,} tokens"
        yield "Judged against t", CACHE_ROUTING[given.routing]
        if given.routing in ("best", "by_bandwidth"):
            yield "Better prefixes elsewhere", "are copied" if given.copies else "stay there"


def lines(asked: Asked) -> list[str]:
    """The same for a terminal."""
    return [f"  {_begun_small(name):<18} {said}" for name, said in facts(asked)]


def _begun_small(name: str) -> str:
    """As it stands within a line; TCP stays."""
    return name if name[:2].isupper() else name[0].lower() + name[1:]
