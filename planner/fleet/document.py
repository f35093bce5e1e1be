"""From a request to a fleet that the engine can search: scenarios and profiles by name become figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from planner import scenario
from planner.catalog import NotInCatalogue
from planner.documents.copying import copied
from planner.documents.errors import from_validation, refuse
from planner.documents.fields import fields_by_place
from planner.documents.plain import require_plain
from planner.engine import fleet as engine
from planner.engine.curves import Curve
from planner.fleet.pricing import put_prices
from planner.fleet.schema import FleetDocument, PdShare, PrfaasCluster
from planner.scenario import Scenario
from planner.scenario.build import beyond_remote_cache, deployment, pd_cluster
from planner.scenario.document import complete
from planner.scenario.references import Catalogue, model_profile


@dataclass(frozen=True, slots=True)
class Fleet:
    """A checked fleet: `raw` is complete, `scenarios` are those of its PD clusters, in their order."""

    parsed: FleetDocument
    raw: dict[str, Any]
    scenarios: tuple[Scenario, ...]

    def frozen(self) -> dict[str, Any]:
        """The input of a job that searches it."""
        return {"fleet": self.raw, "form": "exact"}


def parse(document: Mapping[str, Any], catalogue: Catalogue) -> Fleet:
    """A fleet whose names stand in `catalogue`; scenarios in it are documents. Raises DocumentError."""
    require_plain(document)
    raw = copied(dict(document))
    for at, pd in enumerate(raw["pd"] if isinstance(raw.get("pd"), list) else ()):
        if isinstance(pd, dict) and pd.get("scenario") is not None:
            pd["scenario"] = complete(pd["scenario"], f"pd.{pd.get('name', at)}.scenario", catalogue)
    try:
        parsed = FleetDocument.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(FleetDocument)) from problem
    for at, pd in enumerate(parsed.pd):
        _put_profiles(parsed, raw["pd"][at], pd, catalogue)
    scenarios = tuple(scenario.parse(pd["scenario"]) for pd in raw["pd"])
    put_prices(raw, parsed, scenarios, catalogue)
    found = Fleet(FleetDocument.model_validate(raw), raw, scenarios)
    build(found)
    return found


def loaded(raw: Mapping[str, Any]) -> Fleet:
    """A frozen fleet again."""
    parsed = FleetDocument.model_validate(dict(raw))
    return Fleet(parsed, dict(raw), tuple(scenario.parse(pd.scenario) for pd in parsed.pd))


def _put_profiles(parsed: FleetDocument, raw: dict[str, Any], pd: PdShare, catalogue: Catalogue) -> None:
    """Profiles of the PD cluster's model on the hardware that it sends to, where its scenario does not hold them."""
    for route in pd.routes:
        cluster = next((each for each in parsed.prfaas if each.name == route.prfaas), None)
        model = raw["scenario"]["model"]
        held = {(each["hardware"], each["gpus_per_instance"]) for each in model["profiles"]}
        if cluster is None or (cluster.hardware, cluster.gpus_per_instance) in held:
            continue
        entry = _stored_profile(model["name"], cluster, catalogue)
        if entry is not None:
            figures, origin = model_profile(entry)
            model["profiles"].append(figures)
            if origin:
                raw["scenario"].setdefault("provenance", {})[f"model.profiles.{entry['name']}"] = origin


def _stored_profile(model: str, cluster: PrfaasCluster, catalogue: Catalogue) -> dict[str, Any] | None:
    try:
        stored = catalogue.profiles(model)
    except NotInCatalogue:
        return None
    wanted = (cluster.hardware, cluster.gpus_per_instance)
    return next((each for each in stored if (each["hardware"], each["gpus_per_instance"]) == wanted), None)


# --- for the engine ----------------------------------------------------------------------------------------------


def build(given: Fleet) -> engine.Fleet:
    """The fleet as the engine has it. Raises DocumentError on what it cannot be."""
    pairs = list(zip(given.parsed.pd, given.scenarios, strict=True))
    clusters = tuple(
        engine.FleetPrfaas(
            cluster.name,
            cluster.instances,
            {pd.name: _curve(pd, of, cluster) for pd, of in pairs if cluster.name in {r.prfaas for r in pd.routes}},
        )
        for cluster in given.parsed.prfaas
    )
    try:
        return engine.Fleet(
            prfaas=clusters,
            links=tuple(engine.FleetLink(link.name, link.usable_bps) for link in given.parsed.links),
            pd=tuple(_pd(pd, of) for pd, of in pairs),
        )
    except ValueError as problem:
        raise refuse("pd", None, str(problem)) from problem


def _pd(pd: PdShare, of: Scenario) -> engine.FleetPd:
    deployed, cluster = deployment(of), pd_cluster(of.parsed)
    return engine.FleetPd(
        name=pd.name,
        share=pd.share,
        instances=cluster.instances,
        prefill_instances=None if pd.free_split else deployed.pd.prefill_instances,
        lengths=deployed.lengths,
        s_kv=deployed.s_kv,
        t_prefill=deployed.pd.t_prefill,
        decode=deployed.decode,
        routes=tuple(engine.Route(route.prfaas, route.link) for route in pd.routes),
    )


def _curve(pd: PdShare, of: Scenario, cluster: PrfaasCluster) -> Curve:
    wanted = (cluster.hardware, cluster.gpus_per_instance)
    model = of.parsed.model
    for profile in model.profiles:
        if (profile.hardware, profile.gpus_per_instance) == wanted:
            return beyond_remote_cache(of.parsed, profile.curve())
    known = ", ".join(f"{each.hardware} × {each.gpus_per_instance}" for each in model.profiles)
    said = (
        f"sends {model.name} to {cluster.name}, {wanted[0]} × {wanted[1]}, for which it has no profile; it has {known}"
    )
    raise refuse(f"pd.{pd.name}.routes", None, said)
