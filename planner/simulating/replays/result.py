"""From what the replications of a window counted to a result document: as it was, and how each policy differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from planner import __version__, evaluation
from planner.documents.fields import PROVENANCE_KINDS
from planner.engine.curves import Array
from planner.engine.simulation import Replication, Series, report
from planner.engine.simulation.comparison import Measures, differences, measures
from planner.engine.simulation.report import estimate
from planner.simulating import plain, result
from planner.simulating.replays import document as replays
from planner.simulating.replays.calibration import calibration
from planner.simulating.replays.document import Asked, Variant
from planner.simulating.studies.result import difference_document

BANDS = ("egress_bps", "waiting")
"""What is told over time with its interval."""
SHARED = ("scenario", "seed", "version")


def merged(asked: Asked, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The result of a job from its parts' results, in the order of `replays.parts`."""
    each = len(asked.variants)
    return document(asked, [[plain.from_json(part) for part in parts[at::each]] for at in range(each)])


def document(asked: Asked, runs: Sequence[Sequence[Replication]]) -> dict[str, Any]:
    """The result of the replications of each variant, in SI units; null where there is nothing to say."""
    found = [_run(asked, variant, own) for variant, own in zip(asked.variants, runs, strict=True)]
    alone = [_alone(asked, variant, own) for variant, own in zip(asked.variants, runs, strict=True)]
    for one, own in zip(found, alone, strict=True):
        one["differences"] = None if own is alone[0] else _differences(own, alone[0])
    replay, run = asked.replay, asked.base.run
    return {
        "scenario": asked.base.scenario.name,
        "watch": replay.watch,
        "start_ms": replay.start_ms,
        "duration_s": run.requests / asked.base.experiment.rate_rps,
        "rate_rps": asked.base.experiment.rate_rps,
        "replications": run.replications,
        "requests": run.requests,
        "seed": run.seed,
        "runs": found,
        "measured": replay.measured,
        "calibration": calibration(replay.measured, found[0]),
        "provenance": max((each["provenance"] for each in found), key=PROVENANCE_KINDS.index),
        "notes": [*replay.notes, *_followed(found), *_notes(found)],
        "version": __version__,
    }


def _run(asked: Asked, variant: Variant, runs: Sequence[Replication]) -> dict[str, Any]:
    simulated = replays.simulation(asked, variant)
    found = result.document(simulated, runs, is_window=True)
    deployed = simulated.experiment.deployment
    prfaas = deployed.prfaas
    return {
        "name": variant.name,
        "title": variant.title,
        "asked": variant.policy.model_dump(exclude_none=True) if variant.policy else None,
        "threshold_tokens": evaluation.number(deployed.threshold_tokens),
        "recommended_share": _recommended_share(asked, variant),
        "instances": {
            "prfaas": int(prfaas.instances) if prfaas else 0,
            "prefill": int(deployed.pd.prefill_instances),
            "decode": int(deployed.pd.decode_instances),
        },
        **{name: value for name, value in found.items() if name not in SHARED},
        "bands": bands([report(simulated.experiment, [run]).series for run in runs], found["series"]["bin_s"]),
    }


def _recommended_share(asked: Asked, variant: Variant) -> float | None:
    """Of the window, in which anything was recommended; None where a run does not follow that."""
    follows = variant.policy is not None and variant.policy.policy == "as_recommended"
    return asked.replay.recommended.share if follows and asked.replay.recommended else None


def _alone(asked: Asked, variant: Variant, runs: Sequence[Replication]) -> dict[int, Measures]:
    experiment = replays.simulation(asked, variant).experiment
    return {run.index: measures(experiment, run) for run in runs}


def _differences(ours: Mapping[int, Measures], base: Mapping[int, Measures]) -> dict[str, Any]:
    """By measure, replication by replication: both met the same requests."""
    return {name: difference_document(found, base, name) for name, found in differences(ours, base).items()}


def bands(series: Sequence[Series], bin_s: float) -> dict[str, Any]:
    """Mean and 95 % interval over replications, for each bin; without bounds of one replication alone."""
    return {name: _band([_widened(each, name, bin_s) for each in series]) for name in BANDS}


def _widened(series: Series, name: str, bin_s: float) -> Array:
    """In bins of so many seconds, which are some of its own each."""
    values: Array = getattr(series, name)
    many = round(bin_s / series.bin_s)
    starts = np.arange(0, values.size, many)
    sums, counts = np.add.reduceat(values, starts), np.diff(np.append(starts, values.size))
    wide: Array = sums / counts
    return wide


def _band(values: Sequence[Array]) -> dict[str, list[float | None]]:
    """Of bins that all replications have: one may end before another."""
    shortest = min(each.size for each in values)
    told = [estimate([float(each[at]) for each in values]) for at in range(shortest)]
    return {bound: [getattr(each, bound) for each in told] for bound in ("mean", "low", "high")}


def _followed(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What was followed by whom does as was recommended at the time."""
    shares = [each["recommended_share"] for each in found if each["recommended_share"] is not None]
    if not shares:
        return
    rest = "" if shares[0] == 1 else ". In the rest the last one is kept; before the first one t is as recorded"
    yield (
        f"as recommended at the time: a t was recommended in {100 * shares[0]:.3g} % of the window{rest}. Each was a "
        "step from the t in force then: whoever had followed the first would have been told another one next"
    )


def _notes(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a reader must know of the simulations."""
    grew = [each["title"] for each in found if not each["stable"]]
    said = []
    if grew:
        said.append(f"queues still grew when the window ended: {'; '.join(grew)}. A longer window would show more TTFT")
    lost = [f"{each['title']}: {each['unfinished']:,}" for each in found if each["unfinished"]]
    if lost:
        said.append(f"requests that were never finished, so that there is no TTFT: {'; '.join(lost)}")
    return said
