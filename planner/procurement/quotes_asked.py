"""A request for quotes: its parameters, checked, and the options that the catalogue has for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.catalog import NotInCatalogue
from planner.documents.errors import DocumentError, refuse
from planner.documents.fields import Name, Positive, Table
from planner.documents.provenance import nearest
from planner.procurement import bill_prices, decode, document
from planner.procurement.bill_prices import Given, UnitPrice
from planner.procurement.bill_query import Prices, Query, table_of
from planner.procurement.document import Asked
from planner.procurement.schema import MOST_INSTANCES
from planner.scenario import Scenario, parse
from planner.scenario.build import cluster_of_role, pd_cluster
from planner.scenario.references import Catalogue

DEFAULT_SCENARIO = "case-study-prfaas-pd"
USUAL_LOAD = 0.85
MOST_LINKS = 20
MOST_PROFILES = 20
NO_DECODE = (
    "how it decodes is not known: the scenario says it of another chip, and the profile lacks three decode steps with "
    "their context, or weight_bytes"
)


class Wanted(Table):
    """What quotes are asked for: a budget in USD an hour, and what a deployment for it has to keep."""

    budget: Positive
    scenario: Name = DEFAULT_SCENARIO
    """Gives the traffic, how its own chip decodes, and its link."""
    model: Name | None = None
    slo: Positive | None = None
    """TTFT under load in seconds that `percentile` of the requests must not exceed."""
    percentile: Literal[50, 90, 99] = 90
    rate_rps: Positive | None = None
    load: Annotated[float, Field(ge=1e-6, le=1)] | None = None
    """Share of its own Λ_max at which a deployment is judged, where no rate is given."""
    order: Literal["rate", "cost_per_million_tokens"] = "rate"
    form: Literal["exact", "paper"] = "exact"
    hardware: Annotated[tuple[Name, ...], Field(max_length=MOST_PROFILES)] = ()
    """Chips to choose among; without any, all."""
    link: Annotated[tuple[Name, ...], Field(max_length=MOST_LINKS)] = ()
    price: Prices = ()

    @property
    def share(self) -> float | None:
        """Of its Λ_max, at which a deployment is judged; None where a rate is given."""
        if self.rate_rps is not None:
            return None
        return self.load or (USUAL_LOAD if self.slo is not None else 1.0)

    def judged_rps(self, lambda_max_rps: float) -> float:
        """The rate that a deployment is to carry."""
        return self.rate_rps if self.rate_rps is not None else lambda_max_rps * (self.share or 1.0)


@dataclass(frozen=True, slots=True)
class Posed:
    """A request with its options: `asked` has all of them at once, `left_out` what could not be one, and why."""

    wanted: Wanted
    asked: Asked
    prices: Given
    rtt_s: dict[str, float]
    """By link."""
    left_out: tuple[dict[str, str], ...]
    notes: tuple[str, ...]


def wanted(query: Query) -> Wanted:
    """The parameters as a table. Raises DocumentError, naming the parameter."""
    found = table_of(Wanted, query)
    if found.rate_rps is not None and found.load is not None:
        raise refuse("load", found.load, "is given beside rate_rps; leave one out")
    if found.slo is not None and found.form == "paper":
        raise refuse("form", "paper", "must be exact beside slo: TTFT under load is not a matter of mean lengths")
    return found


def posed(asked: Wanted, given: Scenario, catalogue: Catalogue) -> Posed:
    """The request with every option that the catalogue has for it. Raises DocumentError, naming the parameter."""
    base = _with_model(asked, given, catalogue)
    profiles = _profiles(asked, base, catalogue)
    chips = {profile["hardware"] for profile in profiles}
    given_prices = bill_prices.given(asked.price, chips, catalogue)
    prices = {chip: bill_prices.of_chip(chip, given_prices, base, catalogue) for chip in sorted(chips)}
    known = {chip: price for chip, price in prices.items() if price is not None}
    left_out = [_unpriced(profile) for profile in profiles if profile["hardware"] not in known]
    priced = [profile for profile in profiles if profile["hardware"] in known]
    local = [_pd(base, profile, catalogue) for profile in priced]
    left_out += [option for option in local if "reason" in option]
    pd = [option for option in local if "reason" not in option]
    if not pd:
        raise _nothing_decodes(asked, base, left_out)
    links = _links(asked, given, catalogue)
    question = _question(asked, base, pd, priced, links, known)
    return Posed(
        wanted=asked,
        asked=document.parse(question, catalogue),
        prices=known,
        rtt_s={link["name"]: link["rtt_s"] or 0.0 for link in links},
        left_out=tuple(left_out),
        notes=tuple(_notes(asked, given, links)),
    )


def _nothing_decodes(asked: Wanted, base: Scenario, left_out: list[dict[str, str]]) -> DocumentError:
    reasons = "; ".join(f"{each['profile']}: {each['reason']}" for each in left_out)
    named = ("hardware", ", ".join(asked.hardware)) if asked.hardware else ("model", base.parsed.model.name)
    return refuse(*named, f"has no chip to decode on that has a price: {reasons}")


def _with_model(asked: Wanted, given: Scenario, catalogue: Catalogue) -> Scenario:
    """The scenario with another model, its PD cluster alone: PrfaaS is among the options. Raises DocumentError."""
    if asked.model in (None, given.parsed.model.name):
        return given
    local = pd_cluster(given.parsed)
    raw = given.document()
    raw |= {"model": asked.model, "links": [], "free": [], "routing": {"policy": "all_local"}}
    raw["clusters"] = [cluster for cluster in raw["clusters"] if cluster["role"] == "pd"]
    origins = {path: origin for path, origin in raw.get("provenance", {}).items() if _stays(path, local.name)}
    try:
        return parse(raw | {"provenance": origins}, catalogue=catalogue)
    except DocumentError as problem:
        said = f"cannot take the place of {given.parsed.model.name} in scenario {given.name}: {problem}"
        raise refuse("model", asked.model, said) from problem


def _stays(path: str, local: str) -> bool:
    place = path.split(".")
    return place[0] not in ("model", "links", "routing", "clusters") or place[:2] == ["clusters", local]


# --- options -----------------------------------------------------------------------------------------------------


def _profiles(asked: Wanted, base: Scenario, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Profiles of the model, the scenario's own first, each with name, chip and GPUs an instance."""
    own = [profile.model_dump() for profile in base.parsed.model.profiles]
    names = {profile["name"] for profile in own}
    stored = [each for each in catalogue.profiles(base.parsed.model.name) if each["name"] not in names]
    known = {profile["hardware"] for profile in (*own, *stored)}
    for chip in asked.hardware:
        if chip not in known:
            said = f"has no profile of {base.parsed.model.name}; chips that have: {', '.join(sorted(known))}"
            raise refuse("hardware", chip, said)
    found = [each for each in (*own, *stored) if not asked.hardware or each["hardware"] in asked.hardware]
    if len(found) > MOST_PROFILES:
        said = f"is missing: the model has {len(found)} profiles, of which {MOST_PROFILES} can be asked about at once"
        raise refuse("hardware", None, said)
    return found


def _unpriced(profile: dict[str, Any]) -> dict[str, str]:
    chip = profile["hardware"]
    said = f"nobody says what {chip} costs: give price={chip}=USD a GPU-hour, or store an offer under Prices"
    return {"profile": profile["name"], "side": "both", "reason": said}


def _pd(base: Scenario, profile: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """A chip of the PD side: the scenario's own, or one whose decode follows from its profile; else why it is none."""
    local, named = pd_cluster(base.parsed), {"profile": profile["name"]}
    option = named | {"most": MOST_INSTANCES}
    if (profile["hardware"], profile["gpus_per_instance"]) == (local.hardware.name, local.gpus_per_instance):
        return option
    try:
        found = _derived(base, profile, catalogue)
    except DocumentError as problem:
        return named | {"side": "pd", "reason": str(problem)}
    if found is None:
        return named | {"side": "pd", "reason": NO_DECODE}
    return option | {"decode": found[0], "origin": found[1]}


def _derived(
    base: Scenario, profile: dict[str, Any], catalogue: Catalogue
) -> tuple[dict[str, float], dict[str, str]] | None:
    try:
        entry = catalogue.entry("profiles", profile["name"])
        hardware = catalogue.entry("hardware", profile["hardware"])
    except NotInCatalogue:
        return None
    return decode.derived(base, entry, hardware, profile["name"])


def _links(asked: Wanted, given: Scenario, catalogue: Catalogue) -> list[dict[str, Any]]:
    """The scenario's own link, and those of the catalogue that are named. Raises DocumentError."""
    found = [_link(raw, given.provenance(f"links.{raw['name']}")) for raw in given.document()["links"]]
    for name in asked.link:
        if name in [link["name"] for link in found]:
            raise refuse("link", name, "is among the links already: leave it out")
        try:
            entry = catalogue.entry("links", name)
        except NotInCatalogue as problem:
            raise refuse("link", name, f"is not in the catalogue; known: {', '.join(problem.known)}") from problem
        found.append(_link(entry, dict(nearest(entry, "price.usd_per_gb") or nearest(entry, "bandwidth_bps") or {})))
    return found


def _link(raw: dict[str, Any], origin: dict[str, str]) -> dict[str, Any]:
    fields = ("name", "bandwidth_bps", "achieved_bps", "price", "rtt_s")
    return {field: raw.get(field) for field in fields} | {"origin": origin}


def _question(
    asked: Wanted,
    base: Scenario,
    pd: list[dict[str, Any]],
    priced: list[dict[str, Any]],
    links: list[dict[str, Any]],
    prices: dict[str, UnitPrice],
) -> dict[str, Any]:
    """All options as one question of equal cost."""
    origins = {f"pd.{at}.decode": chips["origin"] for at, chips in enumerate(pd) if "origin" in chips}
    origins |= {f"links.{link['name']}": link["origin"] for link in links if link["origin"]}
    origins |= {f"prices.{chip}": {"kind": price.kind, "source": price.source} for chip, price in prices.items()}
    return {
        "problem": "equal_cost",
        "form": asked.form,
        "scenario": base.document(),
        "budget_usd_per_h": asked.budget,
        "prices": [{"name": chip, "usd_per_gpu_hour": price.usd_per_gpu_hour} for chip, price in prices.items()],
        "pd": [{key: value for key, value in chips.items() if key != "origin"} for chips in pd],
        "prfaas": _remote(base, priced) if links else [],
        "links": [{key: value for key, value in link.items() if key not in ("origin", "rtt_s")} for link in links],
        "provenance": origins,
    }


def _remote(base: Scenario, priced: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Chips of the PrfaaS side; the scenario's own sends what its cluster says."""
    own = cluster_of_role(base.parsed, "prfaas")
    found = []
    for profile in priced:
        option = {"profile": profile["name"], "most": MOST_INSTANCES}
        here = own and (own.hardware.name, own.gpus_per_instance) == (profile["hardware"], profile["gpus_per_instance"])
        found.append(option | ({"egress_bps": own.egress_bps} if own and here else {}))
    return found


def _notes(asked: Wanted, given: Scenario, links: list[dict[str, Any]]) -> Iterator[str]:
    if asked.model not in (None, given.parsed.model.name):
        yield f"How the PD chip decodes is scenario {given.name}'s, which serves {given.parsed.model.name}."
    if not links:
        yield "There is no link, and so no PrfaaS: name one of the catalogue by link=."
    free = [link["name"] for link in links if link["price"] is None]
    if free:
        yield f"No price is given for {', '.join(free)}: it counts as free, by the month and by the byte."
