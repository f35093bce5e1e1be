"""How the stages of a simulation work, as its document says it: prefill, decode, paths, caches and roles."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from planner.documents.fields import NotNegative, Positive, Share, Table
from planner.engine import controller
from planner.engine.controller import Reallocation
from planner.engine.simulation import CacheRouting, Caching, Choice, Decoding, Order, Prefill, Track
from planner.simulating.circumstances import TcpTable, WeatherTable

TokenCount = Annotated[int, Field(ge=0, le=2**31)]
Seconds = Annotated[float, Field(ge=0, le=1e6)]


class PrefillTable(Table):
    """How instances take their prompts; who of those that wait is next is `order`."""

    choice: Literal["shared", "shortest_queue", "prefix_affine"] = "shared"
    """Which instance: whichever is free first, the one with the least work, or one for all that begin alike."""
    ageing: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Of the shortest first: seconds of prefill that a second of waiting is worth."""
    batch_tokens: TokenCount = 0
    """Prompts that wait are prefilled together up to so many tokens; 0: each alone."""
    chunk_tokens: TokenCount = 0
    """After so many tokens the next that waits has its turn; 0: each in one go."""

    def engine(self, order: str) -> Prefill:
        """The engine's settings. Raises ValueError on what cannot be had together."""
        return Prefill(Order(order), self.ageing, Choice(self.choice), self.batch_tokens, self.chunk_tokens)


class DecodeTable(Table):
    """How decode steps: by request, or by iteration with a step that depends on the batch and its contexts."""

    iterations: bool = False
    base_s: Seconds | None = None
    """Of a step, without any request; None: the scenario's step, whatever the batch."""
    request_s: Seconds = 0.0
    """More for each request, ..."""
    token_s: Seconds = 0.0
    """... and for each token of their contexts."""
    memory_bytes: Positive | None = None
    """For the KVCaches of an instance."""

    def engine(self) -> Decoding:
        """The engine's settings. Raises ValueError where step times are given and nothing steps."""
        memory = math.inf if self.memory_bytes is None else self.memory_bytes
        return Decoding(self.iterations, self.base_s, self.request_s, self.token_s, memory)


class PathTable(Table):
    """One of several ways that the link consists of, with what differs from the link."""

    share: Annotated[float, Field(gt=0, le=1)]
    """Of the link's bandwidth; the shares sum to 1."""
    rtt_s: NotNegative | None = None
    tcp: TcpTable | None = None
    weather: WeatherTable | None = None


class CachesTable(Table):
    """A prefix cache in each cluster: bytes, blocks, and what the router makes of them."""

    pd_bytes: NotNegative
    prfaas_bytes: NotNegative
    block_tokens: Annotated[int, Field(ge=1, le=2**20)] = 512
    routing: Literal["length", "own", "best", "by_bandwidth"] = "by_bandwidth"
    """What is judged against t: the whole prompt, what the PD cluster's cache leaves, what the better cache leaves, or
    the one or the other by how busy the link is."""
    copies: bool = True
    """Whether a better prefix in the other cluster is copied across, where the better one is judged by."""
    state_every: Annotated[int, Field(ge=0, le=2**20)] = 0
    """Blocks between two lengths at which request-level states are kept, beside the whole prompt's; 0: only there."""
    keeps_answers: bool = True

    def engine(self) -> Caching:
        """The engine's settings."""
        return Caching(
            self.pd_bytes,
            self.prfaas_bytes,
            self.block_tokens,
            CacheRouting(self.routing),
            self.copies,
            self.state_every,
            self.keeps_answers,
        )


class TrackTable(Table):
    """t as it was recorded, in the place of the scenario's; the last value lasts."""

    interval_s: Annotated[float, Field(ge=1e-3, le=1e9)]
    tokens: Annotated[list[NotNegative], Field(min_length=1, max_length=100_000, fail_fast=True)]

    def engine(self) -> Track:
        """The engine's track."""
        return Track(self.interval_s, tuple(self.tokens))


class RolesTable(Table):
    """PD instances change their role as one role is short and the other has room."""

    period_s: Annotated[float, Field(ge=1, le=1e6)] = 60.0
    high: Share = 0.85
    room: Share = 0.8
    patience: Annotated[float, Field(ge=1, le=1000)] = 2.0
    least_prefill: Annotated[int, Field(ge=0, le=10_000)] = 1
    least_decode: Annotated[int, Field(ge=1, le=10_000)] = 1
    delay_s: Annotated[float, Field(ge=0, le=1e6)] = 60.0
    calm: Annotated[float, Field(ge=1, le=1e6)] = 10.0
    """Looks in a row at which an instance could go back to the role that the scenario gives it, after which it does."""
    retunes: bool = True
    """Whether t becomes the best one of the new split, which Λ_max in exact form says."""

    def engine(self) -> Reallocation:
        """The controller's rule. Raises ValueError on marks that leave no hysteresis."""
        names = ("period_s", "high", "room", "patience", "least_prefill", "least_decode", "delay_s", "calm")
        return controller.reallocation(**{name: float(getattr(self, name)) for name in names})
