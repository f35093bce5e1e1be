"""How the stages of a simulated deployment work: prefill, transport, decode and prefix caches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from planner.engine.deployment import require_not_negative
from planner.engine.simulation.tcp import Tcp
from planner.engine.simulation.weather import Weather


class Order(StrEnum):
    """Who of those that wait for a prefill instance is next."""

    FCFS = "fcfs"
    SHORTEST = "shortest"
    """Whose prefill is the shortest: better on average, and the long ones wait for it."""


class Choice(StrEnum):
    """Which instance of a cluster prefills a request."""

    SHARED = "shared"
    """Whichever is free first: they have one queue."""
    SHORTEST_QUEUE = "shortest_queue"
    """The one with the least work before it, chosen as the request comes."""
    PREFIX_AFFINE = "prefix_affine"
    """The same one for all that begin alike, however long its queue."""


class CacheRouting(StrEnum):
    """What of a prompt is judged against t."""

    LENGTH = "length"
    """All of it: the router knows nothing of caches."""
    OWN = "own"
    """What the PD cluster's own cache leaves: bandwidth is scarce."""
    BEST = "best"
    """What the better of the two caches leaves: bandwidth is abundant."""
    BY_BANDWIDTH = "by_bandwidth"
    """The better one's while the link has room, or else the own one's."""


@dataclass(frozen=True, slots=True)
class Prefill:
    """How an instance works through its prompts; without anything said, each prompt whole and alone."""

    order: Order = Order.FCFS
    ageing: float = 0.0
    """Of the shortest first: seconds of prefill that a second of waiting is worth, so that long ones come too."""
    choice: Choice = Choice.SHARED
    batch_tokens: int = 0
    """Prompts that wait are prefilled together up to so many tokens, in the time of one of that length; 0: never."""
    chunk_tokens: int = 0
    """After so many tokens the next that waits has its turn; 0: each prompt is prefilled in one go."""

    def __post_init__(self) -> None:
        """Raises ValueError on numbers out of range, and on what cannot be had together."""
        if not 0 <= self.ageing < math.inf:
            raise ValueError(f"ageing must not be negative or infinite, got {self.ageing:g}")
        for name, tokens in (("batch_tokens", self.batch_tokens), ("chunk_tokens", self.chunk_tokens)):
            if not 0 <= tokens <= 2**31:
                raise ValueError(f"{name} must be from 0 to 2^31, got {tokens}")
        if self.order is Order.SHORTEST and self.choice is not Choice.SHARED:
            raise ValueError("the shortest first needs one queue for all instances: choice shared")
        if self.chunk_tokens and (self.batch_tokens or self.order is Order.SHORTEST):
            raise ValueError("prefill in chunks takes turns: neither in batches nor the shortest first")


@dataclass(frozen=True, slots=True)
class Path:
    """One link of those between the clusters. What crosses it lands half a round trip later."""

    bps: float | None = None
    """What it carries; None: what the deployment's link does, of one path alone."""
    connection_bps: float = math.inf
    """The most that one transfer gets, whatever the link has."""
    rtt_s: float = 0.0
    """Where no `tcp` says it."""
    tcp: Tcp | None = None
    """Its connections and what bounds them; None: nothing does, and nothing is sent twice."""
    weather: Weather | None = None
    """Without it, the same at any time."""

    def __post_init__(self) -> None:
        """Raises ValueError on no bandwidth for a transfer, or a negative or infinite round trip."""
        if self.bps is not None:
            require_not_negative("a path's bandwidth in bit/s", self.bps)
        if not self.connection_bps > 0:
            raise ValueError(f"a connection's bandwidth must be positive, got {self.connection_bps:g} bit/s")
        require_not_negative("the round trip in seconds", self.rtt_s)
        if math.isinf(self.rtt_s):
            raise ValueError("the round trip in seconds must be finite")

    @property
    def half_rtt_s(self) -> float:
        """From one end to the other."""
        return (self.tcp.rtt_s if self.tcp else self.rtt_s) / 2

    @property
    def transfer_bps(self) -> float:
        """The most that one transfer gets, in bit/s."""
        return min(self.connection_bps, self.tcp.transfer_bps if self.tcp else math.inf)


@dataclass(frozen=True, slots=True)
class Transport:
    """How a KVCache crosses to the PD cluster.

    A prefill makes its KVCache evenly, in `chunks` parts that are sent as they are there; the state that exists only
    after the last token goes with the last one. With 1, all of it is sent after the prefill. Transfers share a
    path evenly; each gets at most what the path allows one and what an instance of the cluster can send. Of several
    paths, each part takes the one with the least transfers for its bandwidth.
    """

    chunks: int = 16
    paths: tuple[Path, ...] = (Path(),)

    def __post_init__(self) -> None:
        """Raises ValueError on fewer than one chunk or path, and on several of which one has no bandwidth given."""
        if not 1 <= self.chunks <= 10_000:
            raise ValueError(f"chunks must be from 1 to 10,000, got {self.chunks}")
        if not 1 <= len(self.paths) <= 100:
            raise ValueError(f"paths must be from 1 to 100, got {len(self.paths)}")
        if len(self.paths) > 1 and any(path.bps is None for path in self.paths):
            raise ValueError("of several paths each needs a bandwidth of its own")


@dataclass(frozen=True, slots=True)
class Decoding:
    """How decode steps.

    By request, each holds a place in a batch for as many of the deployment's steps as it has tokens. By iteration, an
    instance's batch steps together: one that comes waits for the end of the step, and a step takes
    `base_s + request_s · requests + token_s · tokens in the batch's contexts`; without these, the deployment's step.
    """

    iterations: bool = False
    base_s: float | None = None
    request_s: float = 0.0
    token_s: float = 0.0
    memory_bytes: float = math.inf
    """For the KVCaches of an instance; a request takes room for its prompt and all of its output, or waits."""

    def __post_init__(self) -> None:
        """Raises ValueError on negative times, no memory, and step times that nothing asks for."""
        for name, value in (("base_s", self.base_s or 0.0), ("request_s", self.request_s), ("token_s", self.token_s)):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must not be negative or infinite, got {value:g}")
        if not self.memory_bytes > 0:
            raise ValueError(f"memory_bytes must be positive, got {self.memory_bytes:g}")
        if not self.iterations and (self.base_s is not None or self.request_s or self.token_s):
            raise ValueError("step times by batch and context need decode by iteration")


@dataclass(frozen=True, slots=True)
class Caching:
    """The clusters' prefix caches, each a pool of bytes: see `prefix_cache`."""

    pd_bytes: float
    prfaas_bytes: float
    block_tokens: int = 512
    routing: CacheRouting = CacheRouting.BY_BANDWIDTH
    copies: bool = True
    """Whether a better prefix in the other cluster is copied across, where the better one is judged by."""
    state_every: int = 0
    """Blocks between two lengths at which request-level states are kept besides the whole prompt's; 0: only there."""
    keeps_answers: bool = True
    """Whether the PD cluster's pool keeps what decode adds, and the KVCaches that it receives."""

    def __post_init__(self) -> None:
        """Raises ValueError on negative sizes or no tokens in a block."""
        require_not_negative("the PD cluster's prefix cache in bytes", self.pd_bytes)
        require_not_negative("the PrfaaS cluster's prefix cache in bytes", self.prfaas_bytes)
        if not 1 <= self.block_tokens <= 2**20:
            raise ValueError(f"block_tokens must be from 1 to 2^20, got {self.block_tokens}")
        if self.state_every < 0:
            raise ValueError(f"state_every must not be negative, got {self.state_every}")
