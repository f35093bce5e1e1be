"""From a request to an experiment that cannot be wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from planner import scenario
from planner.documents.errors import DocumentError, FieldError, from_validation, refuse
from planner.documents.fields import fields_by_place
from planner.documents.plain import require_plain
from planner.engine import controller
from planner.engine.deployment import Deployment
from planner.engine.simulation import Experiment, Order, Transport, brown_out
from planner.engine.simulation.work import Part
from planner.engine.throughput import evaluate
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, deployment
from planner.scenario.document import complete
from planner.scenario.references import Catalogue
from planner.simulating.schema import Run


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked simulation: `raw` is complete, `scenario` its part, `experiment` what the engine runs."""

    run: Run
    raw: dict[str, Any]
    scenario: Scenario
    experiment: Experiment

    def frozen(self) -> dict[str, Any]:
        """The input of a job that runs it."""
        return {"simulation": self.raw, "form": "exact"}


def parse(document: Mapping[str, Any], catalogue: Catalogue) -> Asked:
    """A simulation whose names stand in `catalogue`. Raises DocumentError."""
    require_plain(document)
    raw = deepcopy(dict(document))
    if raw.get("scenario") is None:
        raise refuse("scenario", None, "is missing: what is simulated, as a scenario")
    raw["scenario"] = complete(raw["scenario"], "scenario", catalogue)
    try:
        run = Run.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(Run)) from problem
    if found := list(_mistakes(run)):
        raise DocumentError(found)
    return loaded(raw)


def loaded(raw: Mapping[str, Any]) -> Asked:
    """A frozen simulation again."""
    run, given = Run.model_validate(dict(raw)), scenario.parse(raw["scenario"])
    return Asked(run, dict(raw), given, _experiment(run, given))


def part(asked: Asked, index: int) -> Part:
    """One replication, for a worker's child."""
    return Part(asked.experiment, asked.run.seed, index)


def warm_up(asked: Asked) -> Part:
    """A replication of a few requests, which has everything compiled."""
    return Part(replace(asked.experiment, requests=100), asked.run.seed, 0)


def parts(asked: Asked) -> list[dict[str, Any]]:
    """The inputs of the jobs that the replications are."""
    return [asked.frozen() | {"index": index} for index in range(asked.run.replications)]


def _mistakes(run: Run) -> Iterator[FieldError]:
    if (run.rate_rps is None) == (run.load is None):
        given = None if run.load is None else run.load
        yield FieldError("load", given, "needs either load, a share of Λ_max, or rate_rps; not both")
    if run.brown_out and run.brown_out.end_s <= run.brown_out.begin_s:
        yield FieldError("brown_out.end_s", run.brown_out.end_s, f"must be after {run.brown_out.begin_s:g} s")


def _experiment(run: Run, given: Scenario) -> Experiment:
    deployed = deployment(given)
    rate_rps = run.rate_rps
    if rate_rps is None:
        most_rps = evaluate(deployed).lambda_max_rps
        if not 0 < most_rps < math.inf:
            raise refuse("load", run.load, "is a share of Λ_max, which is 0 here: give rate_rps")
        rate_rps = most_rps * (run.load or 0.0)
    traffic = given.parsed.traffic
    try:
        return Experiment(
            deployment=deployed,
            rate_rps=rate_rps,
            arrivals=traffic.arrivals.engine(),
            requests=run.requests,
            warm_up=run.warm_up,
            output_scv=traffic.output_scv(),
            rule=_rule(run, given, deployed),
            order=Order(run.order),
            transport=_transport(run, given, deployed),
        )
    except ValueError as problem:
        raise refuse(None, None, str(problem)) from problem


def _rule(run: Run, given: Scenario, deployed: Deployment) -> controller.Rule | None:
    """Who routes. Raises DocumentError where there is no PrfaaS cluster to route to."""
    remote = cluster_of_role(given.parsed, "prfaas")
    if run.policy == "all_local":
        return controller.all_local()
    if run.policy == "as_given":
        return None
    if remote is None:
        raise refuse("policy", run.policy, "needs a cluster of role prfaas; without one use as_given")
    if run.policy == "all_remote":
        return controller.all_remote()
    least = deployed.threshold_tokens
    if not 0 < least < deployed.lengths.longest:
        raise refuse("policy", run.policy, "needs routing.policy threshold in the scenario: t is raised from there")
    return controller.bandwidth_aware(least, deployed.lengths.longest)


def _transport(run: Run, given: Scenario, deployed: Deployment) -> Transport:
    capacity = None
    if run.brown_out and deployed.link:
        out = run.brown_out
        capacity = brown_out(deployed.link.usable_bps, out.begin_s, out.end_s, out.bps)
    rtt_s = max((link.rtt_s or 0.0 for link in given.parsed.links), default=0.0)
    return Transport(run.chunks, run.connection_bps or math.inf, rtt_s, capacity)
