"""From a question to what the engine searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from planner.documents.errors import refuse
from planner.engine.cost import HOURS_PER_MONTH, LinkRate
from planner.engine.deployment import Decode
from planner.engine.latency import Circumstances
from planner.engine.least_cost import Bought
from planner.engine.options import LinkOption, PdOption, PrfaasOption, Reserve, Space
from planner.engine.throughput import Form
from planner.entries.link import LinkPrice
from planner.procurement.document import Asked
from planner.procurement.schema import LinkChoice, PdChips, PrfaasChips, Question
from planner.scenario import Scenario
from planner.scenario.build import beyond_remote_cache, cluster_of_role, pd_cluster, threshold
from planner.scenario.rules import profile as profile_of
from planner.scenario.schema import Cluster, DecodeTable, LinkTable, Price, Profile

BYTES_PER_GB = 1e9


def space(asked: Asked) -> Space:
    """What could be bought. Raises DocumentError where a chip has no price."""
    document, question = asked.scenario.parsed, asked.question
    remote, local, links = choices(asked)
    return Space(
        lengths=document.traffic.incremental_lengths(),
        s_kv=beyond_remote_cache(document, document.model.s_kv.curve()),
        prfaas=tuple(_prfaas(asked, chips) for chips in remote),
        links=tuple(_link(asked, link) for link in links) if remote else (),
        pd=tuple(
            PdOption(chips.profile, found.curve(), _decode(asked, chips), usd_per_h(asked, found), chips.most)
            for chips in local
            for found in [named(asked.scenario, chips.profile)]
        ),
        reserve=Reserve(
            question.reserve.target_utilisation, question.reserve.spare_instances, question.reserve.link_headroom
        ),
        form=Form(question.form),
    )


def _prfaas(asked: Asked, chips: PrfaasChips) -> PrfaasOption:
    found = named(asked.scenario, chips.profile)
    t_prefill = beyond_remote_cache(asked.scenario.parsed, found.curve())
    return PrfaasOption(chips.profile, t_prefill, usd_per_h(asked, found), chips.most, chips.egress_bps or math.inf)


def choices(asked: Asked) -> tuple[list[PrfaasChips], list[PdChips], list[LinkChoice]]:
    """The options as they were given, or those that the scenario itself has."""
    document, question = asked.scenario.parsed, asked.question
    prfaas = cluster_of_role(document, "prfaas")
    remote = question.prfaas
    if remote is None:
        own = [(_profile(asked.scenario, prfaas).name, prfaas.egress_bps)] if prfaas else []
        remote = [PrfaasChips(profile=name, egress_bps=egress_bps) for name, egress_bps in own]
    local = question.pd or [PdChips(profile=_profile(asked.scenario, pd_cluster(document)).name)]
    links = question.links
    if links is None:
        links = [_repriced(asked, link) for link in document.links]
    if remote and not links:
        raise refuse("links", None, "is missing: what PrfaaS prefills crosses a link")
    return remote, local, links


def circumstances(asked: Asked) -> Circumstances:
    """How the scenario's requests arrive, how far its link goes, and how its outputs vary."""
    document = asked.scenario.parsed
    rtt_s = max((link.rtt_s or 0.0 for link in document.links), default=0.0)
    return Circumstances(document.traffic.arrivals.engine(), rtt_s, document.traffic.output_scv())


def own_space(asked: Asked, scenario: Scenario, prices: Sequence[Price] | None = None) -> Space:
    """What a scenario has, at the prices of a question or at others. Raises DocumentError where a chip has no price."""
    at = list(asked.question.prices if prices is None else prices)
    links = [_repriced(asked, link) for link in scenario.parsed.links]
    plain = Question(problem="equal_cost", form=asked.question.form, scenario={}, prices=at, links=links or None)
    return space(Asked(plain, {}, scenario, None))


def _repriced(asked: Asked, link: LinkTable) -> LinkChoice:
    """A scenario's link, at the price that the question has for one of its name."""
    given = next((each for each in asked.question.links or [] if each.name == link.name), None)
    price = given.price if given else link.price
    # As a document says it: no number there is endless.
    bandwidth: Any = "unlimited" if math.isinf(link.bandwidth_bps) else link.bandwidth_bps
    return LinkChoice(name=link.name, bandwidth_bps=bandwidth, achieved_bps=link.achieved_bps, price=price)


def bought(scenario: Scenario) -> Bought:
    """What a scenario has, as a purchase from a space of its own options."""
    document = scenario.parsed
    prfaas, pd = cluster_of_role(document, "prfaas"), pd_cluster(document)
    return Bought(
        prfaas=0 if prfaas else None,
        link=0 if prfaas else None,
        pd=0,
        prfaas_instances=float(prfaas.instances) if prfaas else 0.0,
        prefill_instances=float(pd.prefill_instances or 0),
        decode_instances=float(pd.decode_instances or 0),
        threshold_tokens=threshold(document),
    )


def named(scenario: Scenario, name: str) -> Profile:
    """A profile of the scenario's model, which every checked question has."""
    return next(profile for profile in scenario.parsed.model.profiles if profile.name == name)


def usd_per_h(asked: Asked, profile: Profile) -> float:
    """What an instance costs an hour. Raises DocumentError where nobody says what its chip costs."""
    for price in asked.question.prices:
        if price.name == profile.hardware:
            return price.usd_per_gpu_hour * profile.gpus_per_instance
    known = ", ".join(price.name for price in asked.question.prices) or "none"
    raise refuse("prices", None, f"has no price for {profile.hardware}, in USD a GPU-hour; priced are: {known}")


def _link(asked: Asked, link: LinkChoice) -> LinkOption:
    """The link as it is planned for: without its spare lines, which are paid all the same."""
    line_bps = link.bandwidth_bps if link.achieved_bps is None else link.achieved_bps
    serving = max(link.lines - asked.question.reserve.spare_lines, 0)
    price = rate(link.price)
    paid = LinkRate(price.usd_per_h * link.lines, price.usd_per_byte)
    return LinkOption(link.name, line_bps * serving if serving else 0.0, paid)


def rate(price: LinkPrice | None) -> LinkRate:
    """A link's price by the hour and by the byte; free where none is given."""
    if price is None:
        return LinkRate()
    return LinkRate((price.usd_per_month or 0.0) / HOURS_PER_MONTH, (price.usd_per_gb or 0.0) / BYTES_PER_GB)


def _decode(asked: Asked, chips: PdChips) -> Decode:
    given: DecodeTable = chips.decode or asked.scenario.parsed.decode
    return Decode(given.max_batch, given.step_s, asked.scenario.parsed.traffic.mean_output_tokens())


def _profile(scenario: Scenario, cluster: Cluster) -> Profile:
    found = profile_of(scenario.parsed, cluster)
    if found is None:  # the rules have refused such a document
        raise refuse(f"clusters.{cluster.name}.hardware", cluster.hardware.name, "has no profile")
    return found
