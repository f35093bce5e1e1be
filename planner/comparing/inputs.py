"""The figures that an outcome rests on, one by one: what each is called, where it stands, and what moves with it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from planner.comparing import costs
from planner.comparing.facts import weaker
from planner.comparison import Asked
from planner.documents import paths
from planner.documents.errors import refuse
from planner.documents.fields import PROVENANCE_KINDS
from planner.engine.curves import Curve
from planner.engine.latency import Circumstances
from planner.engine.lengths import TruncatedLogNormal, mean
from planner.engine.outcomes import pieces
from planner.engine.throughput import Form
from planner.engine.varying import Outcome, Parameter, Subject, few
from planner.entries.traffic import RecordedReuse, TruncatedLogNormalLengths
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, deployment, pd_cluster
from planner.scenario.rules import profile
from planner.scenario.schema import Cluster, LinkTable

PRICES = (
    Parameter.PRICE_PRFAAS, Parameter.PRICE_PD, Parameter.POWER, Parameter.LINK_VOLUME, Parameter.LINK_TIME
)  # fmt: skip
ZERO = "is 0, whatever factor it is taken times"
MOST_SAMPLES = 16_384
"""Recorded lengths, of which as many of equal probability stand for more of them: each is looked at many times."""
MOST_PIECES = 500_000
"""Intervals of lengths that are looked at for TTFT in one answer: about two seconds."""


@dataclass(frozen=True)
class Input:
    """One figure of a scenario. `value` is in the SI unit; of a curve, the one at the mean length.

    A decision (t, a count) is nobody's measurement: it can be varied, but is not uncertain. `reason` says why a
    figure cannot be varied; empty where it can. `stated` is the figure as the document has it.
    """

    name: str
    label: str
    unit: str
    value: float | None
    path: str
    kind: str
    source: str
    moves: tuple[Parameter, ...]
    stated: Any
    is_decision: bool = False
    reason: str = ""

    @cached_property
    def key(self) -> bytes:
        """A digest that is the same wherever the same figure of the same source is used, whatever its path."""
        figures = [self.name, self.stated, self.kind, self.source]
        return hashlib.sha256(json.dumps(figures, sort_keys=True).encode()).digest()

    @property
    def is_price(self) -> bool:
        """Whether it is of what things cost."""
        return self.moves[0] in PRICES

    def document(self) -> dict[str, Any]:
        """As result documents have it."""
        return {
            "name": self.name,
            "label": self.label,
            "unit": self.unit,
            "value": self.value,
            "path": self.path,
            "kind": self.kind,
            "source": self.source,
            "is_decision": self.is_decision,
            "varies": not self.reason,
            "reason": self.reason,
        }


def subject(asked: Asked, given: Scenario) -> Subject:
    """The scenario as the engine varies it; without prices where some are not known."""
    deployed = deployment(given)
    ratio = mean(given.parsed.traffic.input_tokens.lengths()) / mean(deployed.lengths)
    deployed = replace(deployed, lengths=few(deployed.lengths, MOST_SAMPLES))
    chips, power = costs.chip_prices(given), costs.power_prices(asked, given)
    form = Form(asked.comparison.form)
    if chips is None or power is None:
        return Subject(deployed, form, prompt_ratio=ratio)
    return Subject(deployed, form, chips, power, ratio)


def require_quick(known: Subject, given: Scenario, changes: int, field: str) -> None:
    """Raises DocumentError where TTFT under so many changes would take too long: profiles of many points that fall."""
    each = pieces(known)
    if each * changes > MOST_PIECES:
        said = f"asks for too much: {given.name} has {each} points of a prefill time that falls; ask for fewer"
        raise refuse(field, None, said)


def circumstances(given: Scenario) -> Circumstances:
    """How requests arrive, how far the link goes, and how outputs vary."""
    document = given.parsed
    rtt_s = max((link.rtt_s or 0.0 for link in document.links), default=0.0)
    return Circumstances(document.traffic.arrivals.engine(), rtt_s, document.traffic.output_scv())


def inputs(asked: Asked, given: Scenario, known: Subject) -> list[Input]:
    """Every figure that an outcome of the scenario, which is `known` to the engine, may rest on."""
    return [
        *_curves(given, known),
        *_traffic(given, known),
        *_decode(given),
        *_link(given),
        *_decisions(given),
        *_prices(asked, given),
    ]


def kind_under(known: Sequence[Input], which: Outcome) -> str:
    """The weakest kind of evidence among the inputs that an outcome may rest on; prices count for cost alone."""
    counted = [each for each in known if which is Outcome.COST or not each.is_price]
    return weaker(*(each.kind for each in counted))


# --- figure by figure --------------------------------------------------------------------------------------------


def _input(
    given: Scenario,
    name: str,
    label: str,
    unit: str,
    path: str,
    value: float | None,
    *moves: Parameter,
    is_decision: bool = False,
    reason: str = "",
) -> Input:
    """An input whose figures stand at a path of the scenario's document."""
    origin = _origin(given, path)
    if not reason and not value:
        reason = ZERO
    elif not reason and value and math.isinf(value):
        reason = "is unlimited"
    number = None if value is None or not math.isfinite(value) else float(value)
    return Input(name, label, unit, number, path, origin["kind"], origin["source"], moves, _stated(given, path),
                 is_decision, reason)  # fmt: skip


def _stated(given: Scenario, path: str) -> Any:
    """The figures at a path; None where the document leaves them out."""
    try:
        return paths.get(given.raw, path)
    except paths.NoSuchPath:
        return None


def _origin(given: Scenario, path: str) -> dict[str, str]:
    """The weakest origin among the figures under a path."""
    under = [each for each in given.figures() if each == path or each.startswith(f"{path}.")]
    found = [given.provenance(each) for each in under or [path]]
    return max(found, key=lambda origin: PROVENANCE_KINDS.index(origin["kind"]))


def _curves(given: Scenario, known: Subject) -> Iterator[Input]:
    """T_prefill of each profile that is used, and S_kv."""
    document, length = given.parsed, mean(known.deployment.lengths)
    remote, local = cluster_of_role(document, "prfaas"), pd_cluster(document)
    clusters = [(remote, Parameter.T_PREFILL_PRFAAS)] if remote else []
    found: dict[str, tuple[Cluster, list[Parameter]]] = {}
    for cluster, parameter in [*clusters, (local, Parameter.T_PREFILL_PD_P)]:
        used = profile(document, cluster)
        if used is not None:  # the rules have refused others
            found.setdefault(used.name, (cluster, []))[1].append(parameter)
    for name, (cluster, moves) in found.items():
        curve = next(each for each in document.model.profiles if each.name == name).curve()
        chips = f"{cluster.hardware.name} × {cluster.gpus_per_instance}"
        label = f"T_prefill on {chips}, at {length:,.0f} tokens"
        yield _input(given, f"t_prefill.{name}", label, "s", f"model.profiles.{name}", _at(curve, length), *moves)
    s_kv = _at(document.model.s_kv.curve(), length)
    yield _input(given, "s_kv", f"S_kv, at {length:,.0f} tokens", "byte", "model.s_kv", s_kv, Parameter.S_KV)


def _at(curve: Curve, length: float) -> float:
    return float(curve(length))


def _traffic(given: Scenario, known: Subject) -> Iterator[Input]:
    traffic = given.parsed.traffic
    if isinstance(traffic.prefix, RecordedReuse):
        path = "traffic.prefix"
    else:
        is_log_normal = isinstance(traffic.input_tokens, TruncatedLogNormalLengths)
        path = "traffic.input_tokens.mu" if is_log_normal else "traffic.input_tokens"
    prompt = mean(traffic.input_tokens.lengths())
    yield _input(given, "prompt_tokens", "Mean prompt length", "token", path, prompt, Parameter.PROMPT)
    lengths = known.deployment.lengths
    if isinstance(lengths, TruncatedLogNormal):
        where = "traffic.input_tokens.sigma"
        yield _input(given, "prompt_sigma", "σ of prompt lengths", "1", where, lengths.sigma, Parameter.SIGMA)
    else:
        reason = "lengths are not log-normal, or not after what the prefix cache leaves of them"
        yield _input(given, "prompt_sigma", "σ of prompt lengths", "1", path, None, Parameter.SIGMA, reason=reason)
    output = traffic.mean_output_tokens()
    yield _input(
        given, "output_tokens", "Mean output length", "token", "traffic.output_tokens", output, Parameter.OUTPUT
    )


def _decode(given: Scenario) -> Iterator[Input]:
    decode = given.parsed.decode
    yield _input(given, "decode_step", "Decode step", "s", "decode.step_s", decode.step_s, Parameter.STEP)
    label = "Requests that a decode instance holds, BS_max"
    yield _input(given, "max_batch", label, "request", "decode.max_batch", decode.max_batch, Parameter.BATCH)


def _link(given: Scenario) -> Iterator[Input]:
    """What crosses, and what it may cost; nothing without a PrfaaS cluster."""
    document, remote = given.parsed, cluster_of_role(given.parsed, "prfaas")
    if remote is None:
        return
    link = document.links[0]
    field = "bandwidth_bps" if link.achieved_bps is None else "achieved_bps"
    where = f"links.{link.name}"
    yield _input(
        given, "bandwidth", "Usable link bandwidth", "bit/s", f"{where}.{field}", link.usable_bps, Parameter.BANDWIDTH
    )
    if remote.egress_bps is not None:
        where = f"clusters.{remote.name}.egress_bps"
        label = "What a PrfaaS instance can send"
        yield _input(given, "instance_egress", label, "bit/s", where, remote.egress_bps, Parameter.EGRESS)


def _decisions(given: Scenario) -> Iterator[Input]:
    document, routing = given.parsed, given.parsed.routing
    remote, local = cluster_of_role(document, "prfaas"), pd_cluster(document)
    if routing.policy == "blind":
        yield _input(given, "remote_share", "Share that goes to PrfaaS, q", "1", "routing.remote_share",
                     routing.remote_share, Parameter.REMOTE_SHARE, is_decision=True)  # fmt: skip
    else:
        reason = "" if routing.policy == "threshold" else f"policy {routing.policy} has no threshold"
        yield _input(given, "threshold", "Threshold t", "token", "routing.threshold_tokens",
                     routing.threshold_tokens, Parameter.THRESHOLD, is_decision=True, reason=reason)  # fmt: skip
    pd = f"clusters.{local.name}"
    counts = [(f"{pd}.prefill_instances", "N_p", local.prefill_instances, Parameter.N_P),
              (f"{pd}.decode_instances", "N_d", local.decode_instances, Parameter.N_D)]  # fmt: skip
    if remote:
        counts.insert(0, (f"clusters.{remote.name}.instances", "N_prfaas", remote.instances, Parameter.N_PRFAAS))
    for path, label, count, parameter in counts:
        yield _input(given, label.lower(), label, "instance", path, count, parameter, is_decision=True)


def _prices(asked: Asked, given: Scenario) -> Iterator[Input]:
    document = given.parsed
    remote, local = cluster_of_role(document, "prfaas"), pd_cluster(document)
    for price in document.prices:
        moves = [Parameter.PRICE_PRFAAS] if remote and remote.hardware.name == price.name else []
        moves += [Parameter.PRICE_PD] if local.hardware.name == price.name else []
        if moves:
            yield _input(given, f"price.{price.name}", f"Price of {price.name}", "USD/GPU-hour",
                         f"prices.{price.name}.usd_per_gpu_hour", price.usd_per_gpu_hour, *moves)  # fmt: skip
    yield from _electricity(asked)
    if remote:
        yield from _link_prices(given, document.links[0])


def _electricity(asked: Asked) -> Iterator[Input]:
    """Its price, which stands in the comparison; nothing where it is in the price of a GPU-hour."""
    power = asked.comparison.power
    if power is None:
        return
    origin, reason = asked.provenance("power"), "" if power.usd_per_kwh else ZERO
    stated = [power.usd_per_kwh, power.pue]
    yield Input("electricity", "Price of electricity", "USD/kWh", power.usd_per_kwh, "power.usd_per_kwh",
                origin["kind"], origin["source"], (Parameter.POWER,), stated, reason=reason)  # fmt: skip


def _link_prices(given: Scenario, link: LinkTable) -> Iterator[Input]:
    for field, label, unit, parameter in (
        ("usd_per_gb", "Link, by volume", "USD/GB", Parameter.LINK_VOLUME),
        ("usd_per_month", "Link, by time", "USD/month", Parameter.LINK_TIME),
    ):
        value = getattr(link.price, field) if link.price else None
        if value is not None:
            where = f"links.{link.name}.price.{field}"
            yield _input(given, f"link.{field}", label, unit, where, value, parameter)
