"""What could be bought: chips for either side, links, and how much of each there may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.engine.cost import LinkRate
from planner.engine.curves import Array, Curve
from planner.engine.deployment import Decode
from planner.engine.lengths import LengthDistribution
from planner.engine.search import GRID, threshold_grid
from planner.engine.throughput import BITS_PER_BYTE, Form, partial_loads

FREE = LinkRate()
ROUNDING = 1e-12
"""By so much a rate that fills instances exactly may have been rounded up."""


@dataclass(frozen=True, slots=True)
class PrfaasOption:
    """A kind of PrfaaS instance: its T_prefill, USD an hour, and how many there may be."""

    name: str
    t_prefill: Curve
    usd_per_h: float
    most: int
    egress_bps: float = np.inf
    """What an instance can send, in bit/s."""


@dataclass(frozen=True, slots=True)
class PdOption:
    """A kind of PD instance, which prefills or decodes; `most` counts both roles together."""

    name: str
    t_prefill: Curve
    decode: Decode
    usd_per_h: float
    most: int


@dataclass(frozen=True, slots=True)
class LinkOption:
    """A link of some size: what it carries in bit/s, and what it costs."""

    name: str
    usable_bps: float
    rate: LinkRate = FREE


@dataclass(frozen=True, slots=True)
class Reserve:
    """What is kept free: instances are planned to be busy `utilisation` of the time, with `spare` of each role beside.

    The link keeps `link_headroom` of its bandwidth, a share.
    """

    utilisation: float = 1.0
    spare: int = 0
    link_headroom: float = 0.0

    def __post_init__(self) -> None:
        """Raises ValueError on a share outside (0, 1], a headroom outside [0, 1), or a negative count."""
        if not 0 < self.utilisation <= 1 or not 0 <= self.link_headroom < 1 or self.spare < 0:
            raise ValueError("needs 0 < utilisation <= 1, 0 <= link_headroom < 1 and spare >= 0")

    def capacity(self, instances: float) -> float:
        """Instances that may be filled with work, of so many."""
        return max(instances - self.spare, 0.0) * self.utilisation

    def instances(self, busy: Array, whole: bool) -> Array:
        """Instances that so much work needs (in instances busy all the time), whole ones or not; none needs none."""
        needed = np.asarray(busy, dtype=float) / self.utilisation
        if whole:
            needed = np.ceil(needed * (1 - ROUNDING))
        counts: Array = np.where(np.asarray(busy) > 0, needed + self.spare, 0.0)
        return counts


NOTHING_SPARE = Reserve()


@dataclass(frozen=True, slots=True)
class Space:
    """Everything that could be bought for one model and its traffic. No PrfaaS at all is always among it."""

    lengths: LengthDistribution
    s_kv: Curve
    prfaas: tuple[PrfaasOption, ...]
    links: tuple[LinkOption, ...]
    pd: tuple[PdOption, ...]
    reserve: Reserve = NOTHING_SPARE
    form: Form = Form.EXACT

    def __post_init__(self) -> None:
        """Raises ValueError where there is nothing to decode on, or a PrfaaS cluster without a way to it."""
        if not self.pd:
            raise ValueError("needs at least one kind of PD instance")
        if bool(self.prfaas) != bool(self.links):
            raise ValueError("PrfaaS instances and links come together")

    def link_bps(self, option: LinkOption) -> float:
        """What may cross a link, in bit/s, with the headroom kept free."""
        return option.usable_bps * (1 - self.reserve.link_headroom)

    def combinations(self, thresholds: int) -> int:
        """How many deployments there are: chips, links, counts, splits and thresholds, each with each."""
        remote = 1 + sum(option.most for option in self.prfaas) * len(self.links)
        local = sum((option.most + 1) * (option.most + 2) // 2 for option in self.pd)
        return remote * local * thresholds


@dataclass(frozen=True, slots=True)
class Loads:
    """Mean work that an arriving request brings to each kind of instance, and to the link, for every threshold.

    `prfaas_s` has the shape (PrfaaS options, thresholds), `pd_p_s` (PD options, thresholds): instance-seconds;
    `link_bits` (thresholds,): bits.
    """

    thresholds: Array
    prfaas_s: Array
    pd_p_s: Array
    link_bits: Array


def loads(space: Space, thresholds: Array | None = None, count: int = GRID) -> Loads:
    """The loads of a space at given thresholds, or at `count` that are worth trying; the last keeps all local."""
    if thresholds is None:
        thresholds = threshold_grid(space.lengths, count) if space.prfaas else np.array([np.inf])
    local = [option.t_prefill for option in space.pd]
    remote = [option.t_prefill for option in space.prfaas]
    below, above = partial_loads(space.lengths, [space.s_kv, *local, *remote], thresholds, space.form)
    link_bits = BITS_PER_BYTE * above[0]
    # an instance that cannot send what it prefills is busy for as long as it sends
    shape = (len(space.prfaas), thresholds.size)
    sending = np.array([link_bits / option.egress_bps for option in space.prfaas]).reshape(shape)
    return Loads(thresholds, np.maximum(above[1 + len(local) :], sending), below[1 : 1 + len(local)], link_bits)
