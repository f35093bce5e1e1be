"""Scenario in, result out: joins the document to the engine and puts units and provenance on what comes back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from planner import __version__
from planner.engine import search, sweep
from planner.engine.curves import Array
from planner.engine.deployment import Deployment
from planner.engine.lengths import TruncatedLogNormal
from planner.engine.throughput import Form, Stage, Throughput
from planner.engine.throughput import evaluate as evaluate_throughput
from planner.scenario import Scenario, parse
from planner.scenario.build import deployment, frees_share, frees_split, frees_threshold, pd_cluster
from planner.scenario.document import override
from planner.scenario.evidence import evidence

MAP_BANDWIDTHS = np.geomspace(1 / 64, 4, 17)
"""Multiples of the given bandwidth, a factor of √2 apart; the given one is among them."""
MAP_SIGMAS = np.linspace(0.5, 1.75, 11)
"""Multiples of the given sigma; the given one is among them."""


def evaluate(scenario: Scenario, form: str = "exact") -> dict[str, Any]:
    """The result document of a scenario at the values that it holds."""
    return result_document(scenario, deployment(scenario), Form(form))


def result_document(
    scenario: Scenario, deployed: Deployment, form: Form, found: tuple[str, ...] = ()
) -> dict[str, Any]:
    """What a deployment carries, in SI units; null for a stage that it does not use, and for a t or a share of requests
    without meaning.

    `found` names the fields that the program set itself, which therefore need no evidence.
    """
    at = evaluate_throughput(deployed, form)
    used = used_stages(deployed, at)
    usable = deployed.usable_bps if deployed.link else math.inf
    rests_on = evidence(scenario, {stage.value for stage in used}, found)
    return {
        "scenario": scenario.name,
        "form": form.value,
        "lambda_max_rps": at.lambda_max_rps,
        "binding": [stage.value for stage in at.binding if stage in used],
        "theta_rps": {
            "prfaas": number(at.theta_prfaas_rps),
            "pd_p": number(at.theta_pd_p_rps),
            "pd_d": number(at.theta_pd_d_rps),
        },
        "stages": {stage.value: _stage(at, stage) if stage in used else None for stage in Stage},
        "offload_fraction": at.offload_fraction,
        "mean_offloaded_tokens": number(at.l_long),
        "mean_local_tokens": number(at.l_short),
        "policy": scenario.parsed.routing.policy,
        "threshold_tokens": number(deployed.threshold_tokens),
        "remote_share": deployed.remote_share,
        "instances": {
            "prfaas": deployed.prfaas.instances if deployed.prfaas else 0,
            "prefill": deployed.pd.prefill_instances,
            "decode": deployed.pd.decode_instances,
        },
        "egress_bps": at.egress_bps,
        "link_utilisation": at.utilisation(Stage.LINK) if Stage.LINK in used else None,
        "link_usable_bps": number(usable),
        "ttft_unloaded_s": {"mean": at.ttft.mean, "p50": at.ttft.p50, "p90": at.ttft.p90, "p99": at.ttft.p99},
        "extrapolated": bool(at.extrapolated),
        "provenance": rests_on.weakest,
        "evidence": asdict(rests_on),
        "notes": notes(scenario, at),
        "version": __version__,
    }


def used_stages(deployed: Deployment, at: Throughput) -> set[Stage]:
    """The stages that some request passes."""
    used = {Stage.PD_D}
    if at.offload_fraction > 0:
        used |= {Stage.PRFAAS, Stage.LINK} & at.stage_lambda_rps.keys()
    if at.offload_fraction < 1:
        used.add(Stage.PD_P)
    return used


def _stage(at: Throughput, stage: Stage) -> dict[str, float | None]:
    busy = at.utilisation(stage)
    return {"lambda_rps": number(at.stage_lambda_rps[stage]), "utilisation": busy, "slack": 1.0 - busy}


def number(value: float) -> float | None:
    """The value, or null where there is none (NaN) or no end to it (infinity): JSON knows neither."""
    return float(value) if math.isfinite(value) else None


def numbers(values: Array) -> list[Any]:
    """An array as nested lists, with null as `number` has it."""
    plain = values.astype(object)
    plain[~np.isfinite(values)] = None
    nested: list[Any] = plain.tolist()
    return nested


def notes(scenario: Scenario, at: Throughput) -> list[str]:
    """Sentences that a reader of the result must know."""
    said = [
        f"{name} is extrapolated for {_percent(share.requests)} of its requests, {_percent(share.tokens)} of their "
        f"tokens: these lie outside the measured {share.shortest:,.0f} to {share.longest:,.0f} tokens."
        for name, share in at.extrapolated.items()
    ]
    if scenario.parsed.traffic.prefix.reuse != "none":
        said.append("Lengths are incremental: t and the means count what the prefix cache leaves of the prompts.")
    slo, step = scenario.parsed.slo.tokens_per_s, scenario.parsed.decode.step_s
    if slo and step * slo > 1 + 1e-9:
        said.append(f"Decode gives {1 / step:.4g} tokens/s, below the {slo:.4g} tokens/s promised.")
    offered = scenario.parsed.traffic.rate_rps
    if offered and offered > at.lambda_max_rps:
        said.append(f"The {offered:.4g} req/s to be served exceed Λ_max, {at.lambda_max_rps:.4g} req/s.")
    return said


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 5e-4 else "less than 0.1 %"


def varied(scenario: Scenario) -> tuple[str, ...]:
    """Every field that `free` lets the search set: freeing one half of a split frees the other."""
    place = f"clusters.{pd_cluster(scenario.parsed).name}"
    fields = []
    if frees_threshold(scenario.parsed.free):
        fields.append("routing.threshold_tokens")
    if frees_share(scenario.parsed.free):
        fields.append("routing.remote_share")
    if frees_split(scenario.parsed.free):
        fields += [f"{place}.prefill_instances", f"{place}.decode_instances"]
    return tuple(fields)


def problem(scenario: Scenario, form: str, with_map: bool = False) -> search.Problem:
    """The search that the scenario's `free` asks for; the map's axes surround the given values."""
    deployed = deployment(scenario)
    return search.Problem(
        deployment=deployed,
        form=Form(form),
        free_threshold=frees_threshold(scenario.parsed.free),
        free_split=frees_split(scenario.parsed.free),
        axes=_axes(deployed) if with_map else None,
        free_share=frees_share(scenario.parsed.free),
    )


def _axes(deployed: Deployment) -> search.MapAxes | None:
    """What the map spans; None where the scenario has neither a bandwidth nor a sigma."""
    bandwidths = sigmas = None
    if deployed.link and 0 < deployed.link.usable_bps < math.inf:
        bandwidths = tuple((deployed.link.usable_bps * MAP_BANDWIDTHS).tolist())
    if isinstance(deployed.lengths, TruncatedLogNormal):
        sigmas = tuple((deployed.lengths.sigma * MAP_SIGMAS).tolist())
    return search.MapAxes(bandwidths, sigmas) if bandwidths or sigmas else None


def optimize(scenario: Scenario, form: str = "exact") -> dict[str, Any]:
    """The result document at the optimum of what `free` lists."""
    asked = problem(scenario, form)
    return optimum_document(scenario, asked, search.Solution(search.best(asked), None))


def optimum_document(scenario: Scenario, asked: search.Problem, solution: search.Solution) -> dict[str, Any]:
    """The result at the optimum, with what it was before, the scenario filled in, and the map."""
    fields, best = varied(scenario), solution.best
    filled = _filled(scenario, fields, best, asked.form)
    result = result_document(filled, deployment(filled), asked.form, found=fields)
    return {
        **result,
        "varied": list(fields),
        "given": evaluate(scenario, asked.form.value),
        "scenario_document": filled.document(),
        "map": _map_document(asked, solution.map) if solution.map else None,
    }


def _filled(scenario: Scenario, fields: Sequence[str], best: search.Optimum, form: Form) -> Scenario:
    """The scenario with the optimum in the place of what was free."""
    document = scenario.document()
    origin = {"kind": "estimated", "source": f"found by optimize, {form.value} form, version {__version__}"}
    values = {
        "threshold_tokens": best.threshold_tokens,
        "remote_share": best.remote_share,
        "prefill_instances": int(best.prefill_instances),
        "decode_instances": int(best.decode_instances),
    }
    for path in fields:
        override(document, path, values[path.rsplit(".", 1)[1]], origin)
    return parse(document)


def _map_document(asked: search.Problem, found: search.LambdaMap) -> dict[str, Any]:
    """The map with its axes, and the best split of each cell."""
    axes, given = asked.axes or search.MapAxes(None, None), asked.deployment
    top = found.lambda_max_rps.argmax(axis=2)[..., np.newaxis]
    sigma = given.lengths.sigma if isinstance(given.lengths, TruncatedLogNormal) else None
    return {
        "bandwidth_bps": list(axes.bandwidths_bps or (None,)),
        "sigma": list(axes.sigmas or (None,)),
        "prefill_instances": found.prefill_instances.astype(int).tolist(),
        "lambda_max_rps": numbers(found.lambda_max_rps),
        "threshold_tokens": numbers(found.threshold_tokens),
        "best_lambda_max_rps": numbers(np.take_along_axis(found.lambda_max_rps, top, 2)[..., 0]),
        "best_threshold_tokens": numbers(np.take_along_axis(found.threshold_tokens, top, 2)[..., 0]),
        "best_prefill_instances": found.prefill_instances[top[..., 0]].astype(int).tolist(),
        "given": {"bandwidth_bps": number(given.link.usable_bps) if given.link else None, "sigma": sigma},
    }


def optimization_problem(document: dict[str, Any], form: str, with_map: bool) -> search.Problem:
    """The engine's problem of a frozen document, ready to be sent to a child process."""
    return problem(parse(document), form, with_map)


def optimization_result(document: dict[str, Any], asked: search.Problem, solution: search.Solution) -> dict[str, Any]:
    """The result document of a job."""
    return optimum_document(parse(document), asked, solution)


def whatif(scenario: Scenario, form: str = "exact") -> dict[str, Any]:
    """The result, and the curves around it that a planner looks at while moving t or the split."""
    deployed, chosen = deployment(scenario), Form(form)
    return {
        "result": result_document(scenario, deployed, chosen),
        "threshold_sweep": _threshold_sweep(deployed, chosen),
        "split_sweep": _split_sweep(deployed, chosen),
        "lengths": _histogram(deployed),
    }


def _threshold_sweep(deployed: Deployment, form: Form) -> dict[str, Any] | None:
    if deployed.prfaas is None or deployed.remote_share is not None:
        return None
    swept = sweep.thresholds(deployed, form)
    rates = {f"{stage.value}_lambda_rps": numbers(values) for stage, values in swept.rates.items()}
    return {
        "threshold_tokens": swept.threshold_tokens.tolist(),
        **rates,
        "lambda_max_rps": numbers(swept.lambda_max_rps),
        "egress_bps": numbers(swept.egress_bps),
    }


def _split_sweep(deployed: Deployment, form: Form) -> dict[str, Any]:
    swept = sweep.splits(deployed, form)
    return {
        "prefill_instances": swept.prefill_instances.astype(int).tolist(),
        "decode_instances": swept.decode_instances.astype(int).tolist(),
        "lambda_max_rps": numbers(swept.lambda_max_rps),
        "best_lambda_max_rps": None if swept.best_lambda_max_rps is None else numbers(swept.best_lambda_max_rps),
        "best_threshold_tokens": None if swept.best_threshold_tokens is None else numbers(swept.best_threshold_tokens),
    }


def _histogram(deployed: Deployment) -> dict[str, Any]:
    edges, share = sweep.histogram(deployed.lengths)
    return {"edges_tokens": edges.tolist(), "share": share.tolist()}
