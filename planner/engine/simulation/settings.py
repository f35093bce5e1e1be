"""What is simulated: a deployment, its traffic, how it routes and sends, and how much of it is counted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from planner.engine.arrivals import Arrivals, Mmpp2
from planner.engine.controller import Reallocation, Rule, static
from planner.engine.deployment import Deployment
from planner.engine.latency import POISSON
from planner.engine.lengths import JointLengths
from planner.engine.simulation.faults import Faults, Place
from planner.engine.simulation.options import Caching, Decoding, Prefill, Transport
from planner.engine.simulation.prompts import PromptSource

LEAST_A_WINDOW = LEAST_A_STAY = 1e-3
"""Requests, on average: with fewer, time would be spent on counting windows, or stays in a state, alone."""
MOST_CHANGES = 1_000.0
"""Of links and instances for each request, on average: they are laid out for thousands of requests at once."""
MOST_TOKENS = 4_000_000
"""Longest prompt for which prefill times are held token by token."""


@dataclass(frozen=True, slots=True)
class Track:
    """The threshold as it was recorded: `tokens[i]` from `i * interval_s` on, and the last one for good."""

    interval_s: float
    tokens: tuple[float, ...]

    def __post_init__(self) -> None:
        """Raises ValueError on an interval that is not positive, and on thresholds that are none."""
        if not 0 < self.interval_s < math.inf:
            raise ValueError(f"interval_s must be positive and finite, got {self.interval_s:g}")
        if not self.tokens or not all(tokens >= 0 for tokens in self.tokens):
            raise ValueError("a recorded threshold needs one value at least, and none that is negative")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One simulation, but for its seed and the number of its replications.

    `rule` says which requests are sent away: without one, those longer than the deployment's threshold, or its remote
    share of all. A `track` goes before it.
    """

    deployment: Deployment
    rate_rps: float
    arrivals: Arrivals = POISSON
    requests: int = 100_000
    warm_up: float = 0.05
    """Share of the requests, the first ones, that are not counted: they met an emptier system."""
    output_scv: float = 0.0
    """Squared coefficient of variation of output lengths, which are gamma-distributed, of one token at least."""
    lengths: JointLengths | None = None
    """Prompts, what is cached of each, and answers, of the same requests. Without it increments are as the deployment
    has them, the whole prompts too, and answers do not depend on them."""
    prompts: PromptSource | None = None
    """Requests that know what they have in common with others; without it, lengths by the deployment's traffic."""
    rule: Rule | None = None
    track: Track | None = None
    """t over time, whatever happens; it changes as windows end."""
    failover: bool = True
    """Whether a cluster of which nothing is up, or to which no link is, gets no requests while the other one can."""
    prefill: Prefill = field(default_factory=Prefill)
    transport: Transport = field(default_factory=Transport)
    decoding: Decoding = field(default_factory=Decoding)
    caching: Caching | None = None
    reallocation: Reallocation | None = None
    """How PD instances change their role; None: they never do."""
    best_tokens: tuple[float, ...] = ()
    """t for each N_p from 0 to all PD instances, taken over as roles change; empty: t stays as it is."""
    faults: Faults | None = None
    window_s: float = 10.0
    """Egress is averaged, and the threshold adjusted, over windows of so many seconds."""

    def __post_init__(self) -> None:
        """Raises ValueError on numbers out of range, instances that are not whole, and a route to nowhere."""
        self._check_amounts()
        self._check_times()
        self._check_prompts()
        if self.deployment.prfaas is None and self.routing.least_tokens < self.deployment.lengths.longest:
            raise ValueError("without a PrfaaS cluster every request stays local: the threshold must be infinite")
        for name, count in zip(("N_prfaas", "N_p", "N_d"), self.instances, strict=True):
            if count != int(count):
                raise ValueError(f"{name} must be whole to be simulated, got {count:g}")
        if self.decode_slots < 1:
            raise ValueError("decode needs an instance, and a batch of at least one request")
        if self.best_tokens and len(self.best_tokens) != sum(self.instances[1:]) + 1:
            raise ValueError(f"best_tokens needs one t for each N_p from 0 on, got {len(self.best_tokens)}")

    def _check_times(self) -> None:
        for name, value in (("rate", self.rate_rps), ("window in seconds", self.window_s)):
            if not 0 < value < math.inf:
                raise ValueError(f"the {name} must be positive and finite, got {value:g}")
        if self.rate_rps * self.window_s < LEAST_A_WINDOW:
            raise ValueError(
                f"windows of {self.window_s:g} s are too many at {self.rate_rps:g} req/s: "
                f"take {LEAST_A_WINDOW / self.rate_rps:.3g} s at least"
            )
        if self._changes_per_s > MOST_CHANGES * self.rate_rps:
            raise ValueError(
                f"weather and failures change {self._changes_per_s:.3g} times a second, too often at "
                f"{self.rate_rps:g} req/s: take longer steps, at most {MOST_CHANGES:,.0f} changes a request"
            )
        if isinstance(self.arrivals, Mmpp2) and self.rate_rps * max(self.arrivals.sojourns_s) < LEAST_A_STAY:
            raise ValueError(f"sojourns so short make no bursts at {self.rate_rps:g} req/s: take Poisson arrivals")

    def _check_amounts(self) -> None:
        if not 1 <= self.requests <= 2**40:
            raise ValueError(f"requests must be from 1 to 2^40, got {self.requests}")
        if not 0 <= self.warm_up < 1:
            raise ValueError(f"warm_up must be a share from 0 to below 1, got {self.warm_up:g}")
        if not 0 <= self.output_scv < math.inf:
            raise ValueError(f"scv of outputs must not be negative or infinite, got {self.output_scv:g}")

    def _check_prompts(self) -> None:
        """Prefix caches need prompts that have something in common, and times for any number of tokens."""
        if self.caching and self.prompts is None:
            raise ValueError("prefix caches need requests that have something in common: sessions, or a recorded trace")
        if self.caching and self.prefill.batch_tokens:
            raise ValueError("batches of prompts with a prefix cache are not simulated: choose one of them")
        if self.prompts and self.requests > self.prompts.most_requests:
            raise ValueError(f"requests must be at most {self.prompts.most_requests:,.0f}, all of the recorded trace")
        if self.needs_times and self.longest_tokens > MOST_TOKENS:
            raise ValueError(f"prompts must not be longer than {MOST_TOKENS:,} tokens, got {self.longest_tokens:,}")

    @property
    def _changes_per_s(self) -> float:
        """How often a link or an instance changes by itself, in the long run."""
        links = sum(path.weather.changes_per_s for path in self.transport.paths if path.weather)
        n_prfaas, n_p, n_d = (int(count) for count in self.instances)
        there = {Place.PRFAAS: n_prfaas, Place.PD_P: n_p, Place.PD_D: n_d}
        return links + (self.faults.changes_per_s(there) if self.faults else 0.0)

    @property
    def needs_times(self) -> bool:
        """Whether prefill times are looked up while it runs, for lengths that nobody knows before."""
        return bool(self.caching or self.prefill.batch_tokens or self.prefill.chunk_tokens)

    @property
    def reroutes(self) -> bool:
        """Whether a request may go where no threshold that is given here sends it."""
        changing = self.faults or self.reallocation or any(path.weather for path in self.transport.paths)
        return bool((self.failover and (changing or self._lacks_a_stage)) or self.best_tokens)

    @property
    def _lacks_a_stage(self) -> bool:
        """Whether some requests belong to a cluster that never has an instance, or to which no link ever is."""
        deployed, (n_prfaas, n_p, _) = self.deployment, self.instances
        sends, keeps = self._routes
        if deployed.prfaas is None or deployed.link is None:
            return False
        is_linked = any((deployed.link.usable_bps if path.bps is None else path.bps) for path in self.transport.paths)
        return (sends and not (n_prfaas and is_linked)) or (keeps and not n_p)

    @property
    def _routes(self) -> tuple[bool, bool]:
        """Whether some requests go to PrfaaS, and whether some stay."""
        if self.remote_share is not None:
            return self.remote_share > 0, self.remote_share < 1
        return self.routing.least_tokens < self.deployment.lengths.longest, self.routing.most_tokens > 0

    @property
    def remote_share(self) -> float | None:
        """The share of requests that is drawn and sent away, whatever their lengths; None: the rule applies."""
        return self.deployment.remote_share if self.rule is None and self.track is None else None

    @property
    def longest_tokens(self) -> int:
        """The longest prompt, or batch of prompts."""
        longest = self.prompts.longest_tokens if self.prompts else math.ceil(self.deployment.lengths.longest)
        return max(longest, self.prefill.batch_tokens)

    @property
    def routing(self) -> Rule:
        """The rule that applies; of a track its bounds alone."""
        if self.track:
            return Rule(min(self.track.tokens), max(self.track.tokens))
        return self.rule or static(self.deployment.threshold_tokens)

    @property
    def instances(self) -> tuple[float, float, float]:
        """N_prfaas, N_p, N_d."""
        prfaas, pd = self.deployment.prfaas, self.deployment.pd
        return prfaas.instances if prfaas else 0.0, pd.prefill_instances, pd.decode_instances

    @property
    def decode_slots(self) -> int:
        """Requests that decode at a time, in whole places of each instance's batch."""
        return int(self.deployment.pd.decode_instances) * int(self.deployment.decode.max_batch)

    @property
    def uncounted(self) -> int:
        """Requests of the warm-up."""
        return int(self.warm_up * self.requests)
