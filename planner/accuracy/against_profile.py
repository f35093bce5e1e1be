"""Runs against a profile: TTFT against T_prefill, TPOT against decode steps, and only where the two are alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planner.accuracy.lines import TTFT, Line
from planner.engine.accuracy import one_after_another
from planner.engine.curves import Curve
from planner.engine.profile import DecodeSteps
from planner.entries.measurement import MEASURED, Measurement, Run
from planner.entries.profile import Profile

SUBJECT = {"model": "the model", "hardware": "the chip", "gpus_per_instance": "GPUs an instance"}
"""What runs and profile have to have in common."""
REMARKED = ("engine", "precision")
"""What they should have in common; where they have not, it is said."""
AT_DEPLOYMENT = ("throughput_rps", "egress_bps")
type Predicted = tuple[float, float, bool]
"""Lower and upper bound, and whether they are extrapolated."""


class Unlike(Exception):
    """A figure that is not of the kind that was predicted; the message says why."""


def unlike(runs: Measurement, profile: Profile) -> str:
    """Why runs and profile are of different things; empty where they are of the same."""
    different = [
        f"{words} ({_said(runs, field)} in the runs, {_said(profile, field)} in the profile)"
        for field, words in SUBJECT.items()
        if getattr(runs, field) != getattr(profile, field)
    ]
    return f"another thing was measured: {', '.join(different)}" if different else ""


def remarks(runs: Measurement, profile: Profile) -> list[str]:
    """What else differs, which a reader of the errors has to know."""
    return [
        f"{field}: {_said(runs, field)} in the runs, {_said(profile, field)} in the profile"
        for field in REMARKED
        if getattr(runs, field) != getattr(profile, field)
    ]


def _said(document: Measurement | Profile, field: str) -> str:
    return str(getattr(document, field) or "not said")


def lines(runs: Measurement, profile: Profile | None, why_none: str = "") -> Iterator[Line]:
    """Every figure of every run with what the profile predicts for it. `why_none`: why there is no profile."""
    reason = unlike(runs, profile) if profile else why_none
    predictors = _predictors(profile) if profile and not reason else {}
    for at, run in enumerate(runs.rows, 1):
        for quantity in MEASURED:
            if getattr(run, quantity) is not None:
                yield _line(at, run, quantity, predictors, reason)


def _line(at: int, run: Run, quantity: str, predictors: Mapping[str, Prefill | Decode], reason: str) -> Line:
    if quantity in AT_DEPLOYMENT:
        reason = "it is of a whole deployment: choose the scenario that was run"
    sent = (run.input_tokens, run.output_tokens, run.concurrency, run.rate_rps)
    line = Line(at, quantity, getattr(run, quantity), *sent, reason=reason)
    if reason:
        return line
    try:
        lower, upper, is_extrapolated = predictors[quantity](run)
    except Unlike as problem:
        return replace(line, reason=str(problem))
    evidence = predictors[quantity].evidence
    return replace(line, lower=lower, upper=upper, is_extrapolated=is_extrapolated, evidence=evidence)


def _predictors(profile: Profile) -> dict[str, Prefill | Decode]:
    ttft, decode = Prefill(profile.prefill.curve(), _evidence(profile, "prefill")), Decode.of(profile)
    return {**dict.fromkeys(TTFT, ttft), "tpot_s": decode}


def _evidence(profile: Profile, part: str) -> str:
    """The kind of a part; what nobody states is the user's."""
    origin = profile.provenance.get(part)
    return origin.kind if origin else "user"


@dataclass(frozen=True, slots=True)
class Prefill:
    """TTFT by T_prefill: of a request alone that time itself, of several in flight from one to all of them."""

    curve: Curve
    evidence: str

    def __call__(self, run: Run) -> Predicted:
        """Seconds. Raises Unlike."""
        if run.cached_tokens:
            raise Unlike("part of the prompt was cached, and T_prefill is of a whole one")
        if run.rate_rps is not None:
            raise Unlike("requests came at a rate, so that they waited for others: simulate the deployment instead")
        if run.concurrency is None:
            raise Unlike("nobody says how many requests were in flight")
        seconds = float(self.curve(run.input_tokens))
        # A mean of 7.5 in flight is 8 at times.
        first, last = one_after_another(seconds, math.ceil(run.concurrency))
        inside = self.curve.lengths[0] <= run.input_tokens <= self.curve.lengths[-1]
        return float(first), float(last), not inside


@dataclass(frozen=True, slots=True)
class Decode:
    """TPOT by decode steps: by their fit where they tell one, or else by a step of the same batch."""

    profile: Profile
    fit: DecodeSteps | None
    evidence: str

    @classmethod
    def of(cls, profile: Profile) -> Decode:
        """With the fit s0 + s1·batch + s2·batch·context where the steps tell the three apart."""
        told = [step for step in profile.decode if step.context_tokens is not None]
        try:
            columns = ([getattr(step, name) for step in told] for name in ("batch", "context_tokens", "seconds"))
            fit = DecodeSteps(*columns)
        except ValueError:
            fit = None
        return cls(profile, fit, _evidence(profile, "decode"))

    def __call__(self, run: Run) -> Predicted:
        """Seconds. Raises Unlike."""
        if not self.profile.decode:
            raise Unlike("the profile has no decode steps")
        if run.concurrency is None:
            raise Unlike("nobody says how many requests were in flight")
        if self.fit is None:
            return self._step(run.concurrency)
        if run.output_tokens is None:
            raise Unlike("nobody says how many tokens were put out, and so how long the context was")
        context = run.input_tokens + run.output_tokens / 2
        seconds = float(self.fit(run.concurrency, context))
        return seconds, seconds, not self._measured(run.concurrency, context)

    def _step(self, batch: float) -> Predicted:
        """The steps of a batch at the contexts that the profile has: one time, or from the shortest to the longest."""
        alike = [step.seconds for step in self.profile.decode if step.batch == batch]
        if not alike:
            there = ", ".join(f"{size:g}" for size in sorted({step.batch for step in self.profile.decode}))
            raise Unlike(f"the profile has decode steps of other batches ({there}), too few to fit")
        return min(alike), max(alike), False

    def _measured(self, batch: float, context: float) -> bool:
        """Whether the profile has steps on both sides of a point."""
        steps = [(step.batch, step.context_tokens) for step in self.profile.decode if step.context_tokens is not None]
        batches, contexts = [size for size, _ in steps], [tokens for _, tokens in steps]
        return min(batches) <= batch <= max(batches) and min(contexts) <= context <= max(contexts)
