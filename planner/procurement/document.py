"""From a request to a question that cannot be wrong: names become figures, prices become dollars of a GPU-hour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from planner import scenario
from planner.catalog import NotInCatalogue
from planner.documents.copying import copied
from planner.documents.errors import DocumentError, FieldError, from_validation, refuse
from planner.documents.fields import fields_by_place
from planner.documents.plain import require_plain
from planner.documents.provenance import nearest
from planner.engine.lengths import TruncatedLogNormal
from planner.offers import newest, origin, usd_per_gpu_hour
from planner.procurement import decode
from planner.procurement.schema import Question
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, pd_cluster
from planner.scenario.document import UNSTATED, complete
from planner.scenario.references import Catalogue, model_profile


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked question: `raw` is complete, `scenario` and `baseline` are its parts."""

    question: Question
    raw: dict[str, Any]
    scenario: Scenario
    baseline: Scenario | None

    def frozen(self) -> dict[str, Any]:
        """The input of a job that answers it: all that the answer depends on."""
        return {"question": self.raw, "form": self.question.form}

    def provenance(self, path: str) -> dict[str, str]:
        """Kind and source of a figure of the question itself."""
        entry = nearest(self.raw, path)
        return {"kind": entry["kind"], "source": entry.get("source", "")} if entry else dict(UNSTATED)


def parse(document: Mapping[str, Any], catalogue: Catalogue) -> Asked:
    """A question whose names stand in `catalogue`; scenarios in it are documents. Raises DocumentError."""
    require_plain(document)
    raw = copied(dict(document))
    for place in ("scenario", "baseline"):
        if raw.get(place) is not None:
            raw[place] = complete(raw[place], place, catalogue)
    if raw.get("scenario") is None:
        raise refuse("scenario", None, "is missing: what is deployed now, as a scenario")
    _resolve_profiles(raw, catalogue)
    _derive_decode(raw, catalogue)
    _resolve_prices(raw, catalogue)
    _look_up_listed(raw, catalogue)
    try:
        question = Question.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(Question)) from problem
    given = scenario.parse(raw["scenario"])
    baseline = scenario.parse(raw["baseline"]) if raw.get("baseline") else None
    asked = Asked(question, raw, given, baseline)
    if found := list(_mistakes(asked)):
        raise DocumentError(found)
    return asked


# --- names become figures ----------------------------------------------------------------------------------------


def _resolve_profiles(raw: dict[str, Any], catalogue: Catalogue) -> None:
    """Profiles that are named and that the scenario does not hold yet are put into it. Raises DocumentError."""
    model = raw["scenario"]["model"]
    held = {profile["name"] for profile in model["profiles"]}
    for side in ("prfaas", "pd"):
        for at, chips in enumerate(raw[side] if isinstance(raw.get(side), list) else ()):
            name = chips.get("profile") if isinstance(chips, dict) else None
            if isinstance(name, str) and name not in held:
                held.add(name)
                _put_profile(raw["scenario"], name, f"{side}.{at}.profile", catalogue)


def _put_profile(document: dict[str, Any], name: str, field: str, catalogue: Catalogue) -> None:
    model = document["model"]
    try:
        entry = catalogue.entry("profiles", name)
    except NotInCatalogue as problem:
        known = ", ".join(sorted(each["name"] for each in catalogue.profiles(model["name"]))) or "none"
        raise refuse(field, name, f"is no profile of {model['name']}; there are: {known}") from problem
    if entry["model"] != model["name"]:
        raise refuse(field, name, f"is a profile of {entry['model']}, and the scenario serves {model['name']}")
    figures, origin = model_profile(entry)
    model["profiles"].append(figures)
    if origin:
        document.setdefault("provenance", {})[f"model.profiles.{name}"] = origin


def _derive_decode(raw: dict[str, Any], catalogue: Catalogue) -> None:
    """How instances of other chips than the scenario's decode, where their profiles have measured it."""
    given = scenario.parse(raw["scenario"])
    local, origins = pd_cluster(given.parsed), raw.setdefault("provenance", {})
    for at, chips in enumerate(raw["pd"] if isinstance(raw.get("pd"), list) else ()):
        name = chips.get("profile") if isinstance(chips, dict) and chips.get("decode") is None else None
        held = next((each for each in given.parsed.model.profiles if each.name == name), None)
        here = (local.hardware.name, local.gpus_per_instance)
        if held is None or (held.hardware, held.gpus_per_instance) == here:
            continue
        try:
            entry, hardware = catalogue.entry("profiles", held.name), catalogue.entry("hardware", held.hardware)
        except NotInCatalogue:
            continue
        if found := decode.derived(given, entry, hardware, f"pd.{at}.decode"):
            chips["decode"] = found[0]
            if isinstance(origins, dict):
                origins[f"pd.{at}.decode"] = found[1]


def _resolve_prices(raw: dict[str, Any], catalogue: Catalogue) -> None:
    """Offers that are named become dollars of a GPU-hour; prices of the scenario go before what is not given here."""
    given = raw.get("prices", [])
    if not isinstance(given, list):
        return
    for at, price in enumerate(given):
        if isinstance(price, dict) and "offer" in price:
            given[at] = _offered(raw, price, f"prices.{price.get('name', at)}.offer", catalogue)
    named = {str(price.get("name")) for price in given if isinstance(price, dict)}
    held = [price for price in raw["scenario"].get("prices", []) if price["name"] not in named]
    origins = raw.setdefault("provenance", {})
    for price in held:
        stated = nearest(raw["scenario"], f"prices.{price['name']}")
        if stated and isinstance(origins, dict):
            origins.setdefault(f"prices.{price['name']}", dict(stated))
    raw["prices"] = [*given, *held]


def _look_up_listed(raw: dict[str, Any], catalogue: Catalogue) -> None:
    """What the catalogue lists for the scenario's chips, if it lists them all: the cheapest offers and the dearest."""
    hardware = sorted({cluster["hardware"]["name"] for cluster in raw["scenario"]["clusters"]})
    offers = {name: newest(catalogue.prices(name)) for name in hardware}
    origins = raw["provenance"]
    for field, place in (("listed", 0), ("listed_dearest", -1)):
        raw[field] = []
        if all(offers.values()) and isinstance(origins, dict):
            chosen = {name: found[place] for name, found in offers.items()}
            raw[field] = [
                {"name": name, "usd_per_gpu_hour": offer["usd_per_gpu_hour"]} for name, offer in chosen.items()
            ]
            origins |= {f"{field}.{name}": origin(offer, "usd_per_gpu_hour") for name, offer in chosen.items()}


def _offered(raw: dict[str, Any], price: Mapping[str, Any], field: str, catalogue: Catalogue) -> dict[str, Any]:
    name = price["offer"]
    if set(price) - {"name", "offer"}:
        raise refuse(field, name, "takes the place of usd_per_gpu_hour: give one of them")
    try:
        entry = catalogue.entry("prices", str(name))
    except NotInCatalogue as problem:
        raise refuse(field, name, "is no stored price; the catalogue lists them under Prices") from problem
    if entry["hardware"] != price.get("name", entry["hardware"]):
        raise refuse(field, name, f"is an offer of {entry['hardware']}, and {price['name']} is to be priced")
    usd, path = usd_per_gpu_hour(entry, field, catalogue)
    origins = raw.setdefault("provenance", {})
    if isinstance(origins, dict):
        origins[f"prices.{entry['hardware']}"] = origin(entry, path)
    return {"name": entry["hardware"], "usd_per_gpu_hour": usd}


# --- what cannot be ----------------------------------------------------------------------------------------------


COMMON = {"schema_version", "problem", "form", "scenario", "prices", "listed", "listed_dearest", "links", "provenance"}
OPTIONS = {"prfaas", "pd", "reserve"}
FIELDS: Mapping[str, set[str]] = {
    "equal_cost": {*OPTIONS, "budget_usd_per_h", "baseline"},
    "least_cost": {*OPTIONS, "rate_rps", "promise", "seconds"},
    "front": {*OPTIONS, "rate_rps", "rates", "percentile", "seconds"},
    "break_even": {"vary"},
}
"""What a problem reads beside what all have; anything else would be asked in vain."""


def _mistakes(asked: Asked) -> Iterator[FieldError]:
    yield from _in_vain(asked.question)
    yield from _missing(asked)
    yield from _twice(asked.question)
    yield from _links(asked)
    yield from _promise(asked.question)
    yield from _varied(asked)
    question = asked.question
    names = [profile.name for profile in asked.scenario.parsed.model.profiles]
    for side, choices in (("prfaas", question.prfaas or []), ("pd", question.pd or [])):
        for at, chips in enumerate(choices):
            if chips.profile not in names:
                yield FieldError(f"{side}.{at}.profile", chips.profile, f"is none of {', '.join(names)}")
    if question.budget_usd_per_h is not None and question.baseline is not None:
        yield FieldError("budget_usd_per_h", question.budget_usd_per_h, "is given beside baseline; leave one out")
    yield from _decode(asked)


def _in_vain(question: Question) -> Iterator[FieldError]:
    for field in sorted(question.model_fields_set - COMMON - FIELDS[question.problem]):
        if getattr(question, field) is not None:
            read = ", ".join(sorted(FIELDS[question.problem]))
            yield FieldError(field, None, f"is not read by problem {question.problem}, which takes {read}")


def _twice(question: Question) -> Iterator[FieldError]:
    """Names that stand twice, of which only one could be meant."""
    for place, names in (
        ("prices", [price.name for price in question.prices]),
        ("links", [link.name for link in question.links or []]),
        ("prfaas", [chips.profile for chips in question.prfaas or []]),
        ("pd", [chips.profile for chips in question.pd or []]),
    ):
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield FieldError(f"{place}.{name}", None, "is named twice; leave one of them out")


def _links(asked: Asked) -> Iterator[FieldError]:
    question = asked.question
    own = {link.name for link in asked.scenario.parsed.links}
    for link in question.links or []:
        place = f"links.{link.name}"
        if link.achieved_bps is not None and link.achieved_bps > link.bandwidth_bps:
            said = f"must not exceed bandwidth_bps, {link.bandwidth_bps:g} bit/s"
            yield FieldError(f"{place}.achieved_bps", link.achieved_bps, said)
        if link.lines <= question.reserve.spare_lines:
            said = f"leaves none of the {link.lines} lines of {link.name}"
            yield FieldError("reserve.spare_lines", question.reserve.spare_lines, said)
        if question.problem == "break_even" and link.name not in own:
            yield FieldError(place, None, "is not the scenario's own link, which break_even compares")


def _missing(asked: Asked) -> Iterator[FieldError]:
    """What a problem needs beside the scenario."""
    question = asked.question
    if question.problem in ("least_cost", "front") and question.rate_rps is None:
        yield FieldError("rate_rps", None, "is missing: the rate that is to be carried, in req/s")
    if question.problem == "break_even" and question.vary is None:
        yield FieldError("vary", None, "is missing: the parameter over which two deployments are compared")
    if question.problem == "break_even" and not cluster_of_role(asked.scenario.parsed, "prfaas"):
        yield FieldError("scenario.clusters", None, "needs a cluster of role prfaas to compare with none")


def _promise(question: Question) -> Iterator[FieldError]:
    if question.form == "paper" and (question.promise or question.problem == "front"):
        yield FieldError("form", "paper", "must be exact here: TTFT under load is not a matter of mean lengths")


def _varied(asked: Asked) -> Iterator[FieldError]:
    vary = asked.question.vary
    if vary is None:
        return
    if vary.lowest == 0 and vary.parameter != "link_usd_per_gb":
        yield FieldError("vary.lowest", 0, f"must be greater than 0: nothing is {vary.parameter} of 0")
    if vary.lowest >= vary.highest:
        yield FieldError("vary.highest", vary.highest, f"must be greater than {vary.lowest:g}")
    lengths = asked.scenario.parsed.traffic.incremental_lengths()
    if vary.parameter == "length_factor" and not isinstance(lengths, TruncatedLogNormal):
        said = "needs prompt lengths that are a truncated log-normal, and these are not; vary something else"
        yield FieldError("vary.parameter", "length_factor", said)


def _decode(asked: Asked) -> Iterator[FieldError]:
    """A chip that the scenario does not decode on has no decode figures: never another chip's in their place."""
    local = pd_cluster(asked.scenario.parsed)
    for at, chips in enumerate(asked.question.pd or []):
        profile = next((each for each in asked.scenario.parsed.model.profiles if each.name == chips.profile), None)
        here = profile and (profile.hardware, profile.gpus_per_instance) == (
            local.hardware.name,
            local.gpus_per_instance,
        )
        if chips.decode is None and profile and not here:
            said = (
                f"is missing: the scenario says how {local.hardware.name} × {local.gpus_per_instance} decodes, not this"
            )
            yield FieldError(f"pd.{at}.decode", None, said)
