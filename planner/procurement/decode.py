"""How a chip decodes, where its profile has measured steps: the largest batch that memory and the promise allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.documents.errors import refuse
from planner.documents.fields import PROVENANCE_KINDS
from planner.engine.lengths import mean
from planner.engine.profile import DecodeSteps, largest_batch
from planner.entries.hardware import Hardware
from planner.entries.profile import Profile
from planner.scenario import Scenario


def derived(
    scenario: Scenario, profile: Mapping[str, Any], hardware: Mapping[str, Any], field: str
) -> tuple[dict[str, float], dict[str, str]] | None:
    """max_batch and step_s of an instance, and what they rest on; None where the profile has not enough for it.

    Every request is taken to be half way through its output. Raises DocumentError where not even one fits.
    """
    found, chip = Profile.model_validate(dict(profile)), Hardware.model_validate(dict(hardware))
    promised = scenario.parsed.slo.tokens_per_s
    points = [(each.batch, each.context_tokens, each.seconds) for each in found.decode if each.context_tokens]
    if len(points) < 3 or None in (promised, found.weight_bytes, chip.memory_bytes):
        return None
    traffic = scenario.parsed.traffic
    context = mean(traffic.input_tokens.lengths()) + traffic.mean_output_tokens() / 2
    try:
        steps = DecodeSteps(*zip(*points, strict=True))
        batch = largest_batch(
            steps,
            slo_tokens_per_s=promised or 0.0,
            context_tokens=context,
            memory_bytes=(chip.memory_bytes or 0.0) * found.gpus_per_instance,
            weight_bytes=found.weight_bytes or 0.0,
            kv_bytes_per_request=float(scenario.parsed.model.s_kv.curve()(context)),
        )
    except ValueError as problem:
        raise refuse(field, None, str(problem)) from problem
    if not 1 <= batch.batch < float("inf"):
        raise refuse(field, None, f"no batch of {found.name} keeps {promised:g} tokens/s within its memory")
    kind = max(
        (profile.get("provenance", {}).get("decode", {"kind": "user"})["kind"], "inferred"), key=PROVENANCE_KINDS.index
    )
    source = (
        f"derived from the decode steps of {found.name} at {context:,.0f} tokens of context: "
        f"{batch.batch:g} requests, bound by {batch.binds}"
    )
    figures = {"max_batch": batch.batch, "step_s": float(steps(batch.batch, context))}
    return figures, {"kind": kind, "source": source}
