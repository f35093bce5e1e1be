"""What is deployed: clusters, the link between them, decode, and the traffic they serve."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.engine.curves import Curve
from planner.engine.lengths import LengthDistribution


@dataclass(frozen=True, slots=True)
class PrfaasCluster:
    """Remote, compute-dense prefill: N_prfaas instances, each taking T_prefill(l) seconds for a prompt."""

    instances: float
    t_prefill: Curve
    egress_bps: float = math.inf
    """What one instance can send, in bit/s: its network cards, as evenly as they are used."""

    def __post_init__(self) -> None:
        """Raises ValueError on a negative count or bandwidth."""
        require_not_negative("N_prfaas", self.instances)
        require_not_negative("what a PrfaaS instance sends in bit/s", self.egress_bps)


@dataclass(frozen=True, slots=True)
class PdCluster:
    """Local cluster of N_p prefill and N_d decode instances; an instance can change from one role to the other."""

    prefill_instances: float
    decode_instances: float
    t_prefill: Curve

    def __post_init__(self) -> None:
        """Raises ValueError on a negative count."""
        require_not_negative("N_p", self.prefill_instances)
        require_not_negative("N_d", self.decode_instances)


@dataclass(frozen=True, slots=True)
class Link:
    """The way from the PrfaaS cluster to the PD cluster.

    `usable_bps` is what it carries, in bit/s: 0 when it is down, infinite when it never binds.
    """

    usable_bps: float

    def __post_init__(self) -> None:
        """Raises ValueError on a negative bandwidth."""
        require_not_negative("the link's bandwidth in bit/s", self.usable_bps)


@dataclass(frozen=True, slots=True)
class Decode:
    """Decode on one PD-D instance: up to `max_batch` requests, each gaining a token every `step_s` seconds."""

    max_batch: float
    step_s: float
    output_tokens: float

    def __post_init__(self) -> None:
        """Raises ValueError on a value that is not positive."""
        for name, value in (("max_batch", self.max_batch), ("step_s", self.step_s), ("output", self.output_tokens)):
            if not value > 0:
                raise ValueError(f"{name} must be positive, got {value:g}")

    @property
    def instance_rps(self) -> float:
        """Requests a second that one instance completes: BS_max / (T_decode · L_out), eq. 5 with N_d = 1."""
        return self.max_batch / (self.step_s * self.output_tokens)


@dataclass(frozen=True, slots=True)
class Deployment:
    """One PrfaaS cluster (or none) behind one link, one PD cluster, and the requests that they serve.

    A request longer than `threshold_tokens` is prefilled remotely: 0 sends all, infinity none. With a `remote_share`
    the router knows no lengths: each request goes to PrfaaS with that probability, and there is no threshold.
    `s_kv` is the KVCache that a prompt leaves, in bytes.
    """

    lengths: LengthDistribution
    s_kv: Curve
    prfaas: PrfaasCluster | None
    link: Link | None
    pd: PdCluster
    decode: Decode
    threshold_tokens: float
    remote_share: float | None = None
    """q in [0, 1], of the requests that go to PrfaaS whatever their lengths; None: their lengths decide."""

    def __post_init__(self) -> None:
        """Raises ValueError where requests would go to a PrfaaS cluster that is not there, and on two ways to route."""
        require_not_negative("the threshold in tokens", self.threshold_tokens)
        if (self.prfaas is None) != (self.link is None):
            raise ValueError("a PrfaaS cluster and a link come together")
        if self.prfaas is None and self.threshold_tokens < self.lengths.longest:
            raise ValueError("without a PrfaaS cluster every request stays local: the threshold must be infinite")
        if self.remote_share is not None:
            self._check_share(self.remote_share)

    def _check_share(self, share: float) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"the remote share must be from 0 to 1, got {share:g}")
        if self.prfaas is None:
            raise ValueError("a remote share needs a PrfaaS cluster")
        if not math.isinf(self.threshold_tokens):
            raise ValueError("a router that knows no lengths has no threshold: it must be infinite")

    @property
    def shares(self) -> tuple[float, float]:
        """Of the requests of a length that may go either way, which go to PrfaaS and which stay: all, by length."""
        return (1.0, 1.0) if self.remote_share is None else (self.remote_share, 1 - self.remote_share)

    @property
    def cuts(self) -> tuple[float, float]:
        """Lengths in tokens above which requests may go to PrfaaS, and up to which they may stay."""
        if self.remote_share is None:
            return self.threshold_tokens, self.threshold_tokens
        return 0.0 if self.remote_share > 0 else math.inf, math.inf if self.remote_share < 1 else 0.0

    @property
    def usable_bps(self) -> float:
        """What gets across, in bit/s: what the link carries, or else what all PrfaaS instances send; 0 without them."""
        if self.prfaas is None or self.link is None:
            return 0.0
        if math.isinf(self.prfaas.egress_bps):
            return self.link.usable_bps
        return min(self.link.usable_bps, self.prfaas.instances * self.prfaas.egress_bps)

    def split(self, prefill_instances: float, decode_instances: float) -> Deployment:
        """The same with another N_p/N_d."""
        return replace(
            self, pd=replace(self.pd, prefill_instances=prefill_instances, decode_instances=decode_instances)
        )


def require_not_negative(name: str, value: float) -> None:
    """Raises ValueError on a negative value or NaN."""
    if not value >= 0:
        raise ValueError(f"{name} must not be negative, got {value:g}")
