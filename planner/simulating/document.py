"""From a request to an experiment that cannot be wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from planner import scenario
from planner.documents.copying import copied
from planner.documents.errors import DocumentError, FieldError, from_validation, refuse
from planner.documents.fields import fields_by_place
from planner.documents.plain import require_plain
from planner.engine import controller
from planner.engine.deployment import Deployment
from planner.engine.search import Problem, best_by_split, searched, splits
from planner.engine.simulation import Experiment, Path, Track, Transport
from planner.engine.simulation.weather import Weather, Window
from planner.engine.simulation.work import Part
from planner.engine.throughput import Form, evaluate
from planner.entries.traffic import joint_lengths
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, deployment
from planner.scenario.document import complete
from planner.scenario.references import Catalogue
from planner.scenario.schema import LinkTable
from planner.simulating import sources
from planner.simulating.circumstances import Conditions, WeatherTable
from planner.simulating.mistakes import mistakes
from planner.simulating.schema import Run

LEAST_RPS = 1e-4
"""One request in some hours: of less there would be too much time to look at."""


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
    raw = copied(dict(document))
    if raw.get("scenario") is None:
        raise refuse("scenario", None, "is missing: what is simulated, as a scenario")
    raw["scenario"] = complete(raw["scenario"], "scenario", catalogue)
    try:
        run = Run.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(Run)) from problem
    if found := list(mistakes(run)):
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


def _experiment(run: Run, given: Scenario) -> Experiment:
    deployed, traffic = deployment(given), given.parsed.traffic
    prompts = sources.prompts(run.prompts, given.parsed, run.caches, deployed.s_kv) if run.prompts else None
    if prompts and prompts.uncached:
        deployed = replace(deployed, lengths=prompts.uncached)
    if prompts and prompts.output_tokens:
        deployed = replace(deployed, decode=replace(deployed.decode, output_tokens=prompts.output_tokens))
    if found := [*run.mistakes(instances(deployed)), *_roles_kept(run, instances(deployed))]:
        raise DocumentError(found)
    try:
        return Experiment(
            deployment=deployed,
            rate_rps=_rate(run, deployed),
            arrivals=traffic.arrivals.engine(),
            requests=run.requests,
            warm_up=run.warm_up,
            output_scv=traffic.output_scv(),
            lengths=joint_lengths(traffic),
            prompts=prompts.source if prompts else None,
            rule=_rule(run, given, deployed),
            track=_track(run, given),
            failover=run.failover,
            prefill=run.prefill.engine(run.order),
            transport=_transport(run, given),
            decoding=run.decode.engine(),
            caching=run.caches.engine() if run.caches else None,
            reallocation=run.roles.engine() if run.roles else None,
            best_tokens=_best_tokens(run, deployed),
            faults=run.all_faults(),
        )
    except DocumentError:
        # which is a ValueError, and names its field
        raise
    except ValueError as problem:
        raise refuse(_blamed(run, str(problem)), None, str(problem)) from problem


def _blamed(run: Run, said: str) -> str | None:
    """The field of what the engine refuses; None where no single one is to be changed."""
    fields = {
        "weather and failures change": "failures" if run.failures else "weather",
        "prompts must not be longer": "prefill.batch_tokens" if run.prefill.batch_tokens else "scenario.traffic",
        "requests must be at most": "requests",
        "decode needs": "scenario.decode.max_batch",
    }
    return next((field for words, field in fields.items() if said.startswith(words)), None)


def _roles_kept(run: Run, there: dict[str, int]) -> Iterator[FieldError]:
    total = there["pd_p"] + there["pd_d"]
    if run.roles and run.roles.least_prefill + run.roles.least_decode > total:
        kept, of = run.roles.least_prefill, f"with roles.least_decode, {run.roles.least_decode}"
        yield FieldError("roles.least_prefill", kept, f"must be at most the {total} instances of PD {of}")


def instances(deployed: Deployment) -> dict[str, int]:
    """How many instances there are of each place that can fail."""
    n_prfaas = deployed.prfaas.instances if deployed.prfaas else 0
    pd = deployed.pd
    return {"prfaas": int(n_prfaas), "pd_p": int(pd.prefill_instances), "pd_d": int(pd.decode_instances)}


def _rate(run: Run, deployed: Deployment) -> float:
    if run.rate_rps is not None:
        return _seen("rate_rps", run.rate_rps, run.rate_rps)
    most_rps = evaluate(deployed).lambda_max_rps
    if not 0 < most_rps < math.inf:
        raise refuse("load", run.load, "is a share of Λ_max, which is 0 here: give rate_rps")
    return _seen("load", run.load or 0.0, most_rps * (run.load or 0.0))


def _seen(field: str, value: float, rate_rps: float) -> float:
    """A rate at which something happens before nobody looks any more. Raises DocumentError."""
    if rate_rps < LEAST_RPS:
        raise refuse(field, value, f"is too low, {rate_rps:.3g} req/s: give {LEAST_RPS:g} req/s or more")
    return rate_rps


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
    least, most = deployed.threshold_tokens, deployed.lengths.longest
    if not 0 < least < most:
        raise refuse("policy", run.policy, "needs routing.policy threshold in the scenario: t is raised from there")
    return controller.bandwidth_aware(least, most)


def _track(run: Run, given: Scenario) -> Track | None:
    """t as it was recorded. Raises DocumentError where no length decides who goes where."""
    if run.threshold_track and given.parsed.routing.policy != "threshold":
        raise refuse("threshold_track", None, "needs routing.policy threshold in the scenario")
    return run.threshold_track.engine() if run.threshold_track else None


def _best_tokens(run: Run, deployed: Deployment) -> tuple[float, ...]:
    """t for each split of the PD cluster, by Λ_max in exact form, and the scenario's own at its own split.

    None where t is not retuned.
    """
    retunes = run.roles is not None and run.roles.retunes and run.threshold_track is None
    if not retunes or run.policy not in ("as_given", "bandwidth_aware"):
        return ()
    if deployed.prfaas is None or not 0 < deployed.threshold_tokens < math.inf:
        return ()
    problem = Problem(deployed, Form.EXACT, free_threshold=True, free_split=True)
    found = best_by_split(deployed, searched(problem), splits(deployed), Form.EXACT)
    planned = deployed.pd.prefill_instances
    return tuple(
        deployed.threshold_tokens if optimum.prefill_instances == planned else optimum.threshold_tokens
        for optimum in found
    )


def _transport(run: Run, given: Scenario) -> Transport:
    if not given.parsed.links:
        return Transport(run.chunks)
    link = given.parsed.links[0]
    if not run.paths:
        return Transport(run.chunks, (_path(run, link, run, None),))
    return Transport(
        run.chunks,
        tuple(
            _path(run, link.model_copy(update={"rtt_s": link.rtt_s if path.rtt_s is None else path.rtt_s}), own, bps)
            for path in run.paths
            for bps in [link.usable_bps * path.share]
            for own in [Conditions(weather=path.weather or _part(run.weather, path.share), tcp=path.tcp or run.tcp)]
        ),
    )


def _part(weather: WeatherTable | None, share: float) -> WeatherTable | None:
    """The link's weather on a path that is a share of it: what is said in bit/s is said of the whole link."""
    if weather is None:
        return None
    windows = [window.model_copy(update={"bps": window.bps * share}) for window in weather.windows]
    recording = weather.recording
    if recording:
        recording = recording.model_copy(update={"bps": [bps * share for bps in recording.bps]})
    return weather.model_copy(update={"windows": windows, "recording": recording})


def _path(run: Run, link: LinkTable, conditions: Conditions, bps: float | None) -> Path:
    """One way across, with its own weather; a brown-out in short lets through its share of it."""
    weather = conditions.link_weather(link)
    if run.brown_out:
        share = 1.0 if bps is None or not link.usable_bps else bps / link.usable_bps
        window = Window(run.brown_out.begin_s, run.brown_out.end_s, run.brown_out.bps * share)
        weather = replace(weather or Weather(), windows=(*(weather or Weather()).windows, window))
    return Path(bps, run.connection_bps or math.inf, link.rtt_s or 0.0, conditions.link_tcp(link), weather)
