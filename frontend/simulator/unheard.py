"""What is simulated that the formulas know nothing of."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.engine.latency import Circumstances, LoadedTtft, under_load
from planner.engine.simulation.weather import ConstantUse, Weather
from planner.simulating.document import Asked
from planner.simulating.schema import Run

HEARD = {
    "schema_version", "scenario", "rate_rps", "load", "requests", "replications", "seed", "warm_up", "ttft_within_s",
    "chunks", "failover", "prefill", "decode",
}  # fmt: skip
"""Fields that do not matter to them, or that are looked into below; any other one that is not as it is unless given
does."""
TITLES = {
    "policy": "the routing policy",
    "threshold_track": "a threshold as it was recorded",
    "order": "the order of prefill",
    "connection_bps": "what bounds one transfer",
    "paths": "several paths",
    "tcp": "TCP",
    "weather": "the weather of the link",
    "brown_out": "the brown-out",
    "prompts": "requests that belong together",
    "caches": "prefix caches that fill and forget",
    "roles": "roles that change",
    "faults": "faults",
    "failures": "failures by chance",
}
PREFILL = {
    "choice": "a queue for each instance",
    "ageing": "ageing",
    "batch_tokens": "prefill in batches",
    "chunk_tokens": "prefill in turns",
}


def unheard(asked: Asked) -> list[str]:
    """Names of everything that is on and makes no difference to the formulas."""
    return list(dict.fromkeys([*_set(asked.run), *_within(asked.run), *_of_the_link(asked)]))


def approximation(asked: Asked) -> LoadedTtft | None:
    """TTFT under load by formula; None where it knows nothing of what is simulated, or has none."""
    if unheard(asked):
        return None
    experiment = asked.experiment
    around = Circumstances(experiment.arrivals, 2 * experiment.transport.paths[0].half_rtt_s, experiment.output_scv)
    found = under_load(experiment.deployment, experiment.rate_rps, around)
    return found if math.isfinite(found.mean) else None


def _set(run: Run) -> Iterator[str]:
    """Fields that are not as they are unless something is said; spares alone do nothing."""
    for name, field in Run.model_fields.items():
        is_set = getattr(run, name) != field.get_default(call_default_factory=True)
        if is_set and name not in HEARD and name != "spares":
            yield TITLES.get(name, name.replace("_", " "))


def _within(run: Run) -> Iterator[str]:
    if run.chunks == 1:
        yield "KVCaches that are sent after their prefill"
    for name, field in type(run.prefill).model_fields.items():
        if getattr(run.prefill, name) != field.default:
            yield PREFILL.get(name, name.replace("_", " "))
    if run.decode.iterations:
        yield "decode by iteration"
    if run.decode.memory_bytes is not None:
        yield "memory for KVCaches"


def _of_the_link(asked: Asked) -> Iterator[str]:
    """What the scenario's own link brings along."""
    link = asked.experiment.deployment.link
    for path in asked.experiment.transport.paths if link else ():
        if path.weather and path.weather != Weather(background=_constant(path.weather)):
            yield TITLES["weather" if not asked.run.brown_out or asked.run.weather else "brown_out"]
        if path.tcp and link and (path.transfer_bps < link.usable_bps or path.tcp.loss):
            yield TITLES["tcp"]


def _constant(weather: Weather) -> ConstantUse | None:
    """Use of others that is the same all day: it is off what the link carries, for the formulas too."""
    return weather.background if isinstance(weather.background, ConstantUse) else None
