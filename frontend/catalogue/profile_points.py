"""A profile's points beside what its curve says of them, and its decode steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.engine import profile as engine
from planner.engine.curves import Curve, QuadraticFit
from planner.entries.model import Model
from planner.entries.profile import Profile
from planner.models import Entry

LOOKED_AT = (1024.0, 8192.0, 32768.0, 131072.0)
"""Lengths at which profiles are compared, as the paper's tables do."""

SLOS = (20.0, 40.0, 80.0)
"""Tokens a second of one request; the paper's is 40."""
UNBOUNDED = 1e18
"""Bytes of a memory that never binds."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Of an instance: all of it, what the weights take, and S_kv of the model."""

    instance_bytes: float
    weight_bytes: float
    s_kv: Curve

    def requests(self, context_tokens: float) -> float:
        """How many requests of a context fit beside the weights."""
        left = max(self.instance_bytes - self.weight_bytes, 0.0)
        return float(left // float(self.s_kv(context_tokens)))


@dataclass(frozen=True, slots=True)
class Point:
    """A measured length: seconds, the curve's miss and the quadratic fit's, relative."""

    tokens: float
    seconds: float
    tokens_per_s: float
    left_out: float | None
    fit_residual: float | None
    falls: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The curve at a length at which it may or may not have been measured."""

    tokens: float
    seconds: float
    kv_rate_bps: float | None
    is_extrapolated: bool


@dataclass(frozen=True, slots=True)
class Numbers:
    """All that the page of a profile shows beside its fields."""

    points: list[Point]
    readings: list[Reading]
    fit: str
    largest_residual: float | None
    is_monotone: bool
    steps: list[dict[str, Any]]
    cached: list[dict[str, Any]]
    steps_fit: str
    cached_fit: str
    batches: list[dict[str, Any]]
    has_memory: bool
    slos: tuple[float, ...] = SLOS


def numbers(entry: Entry, model: Entry | None, hardware: Entry | None) -> Numbers:
    """The points of a stored profile with their quality; `model` and `hardware` are the entries that it names."""
    profile = Profile.model_validate(entry.document)
    tokens, seconds = profile.prefill.tokens, profile.prefill.seconds
    fit = engine.fitted(tokens, seconds)
    quality = engine.quality(profile.prefill.curve(), tokens, seconds)
    steps, steps_fit, fitted_steps = _steps(profile)
    cached, cached_fit = _cached(profile)
    memory = _memory(profile, model, hardware)
    return Numbers(
        points=_points(profile, fit, quality),
        readings=_readings(profile, model),
        fit=_polynomial(fit) if fit else "",
        largest_residual=float(abs(fit.residuals).max()) if fit else None,
        is_monotone=quality.monotone,
        steps=steps,
        cached=cached,
        steps_fit=steps_fit,
        cached_fit=cached_fit,
        batches=_batches(fitted_steps, memory) if fitted_steps or memory else [],
        has_memory=memory is not None,
    )


def _points(profile: Profile, fit: QuadraticFit | None, quality: engine.Quality) -> list[Point]:
    tokens, seconds = profile.prefill.tokens, profile.prefill.seconds
    without = [None, *engine.left_out(tokens, seconds).tolist(), None]
    residuals = fit.residuals.tolist() if fit else [None] * len(tokens)
    fallen = {to for _, to in quality.falls}
    return [
        Point(at, took, at / took, missed, residual, at in fallen)
        for at, took, missed, residual in zip(tokens, seconds, without, residuals, strict=True)
    ]


def _readings(profile: Profile, model: Entry | None) -> list[Reading]:
    curve = profile.prefill.curve()
    shortest, longest = profile.prefill.tokens[0], profile.prefill.tokens[-1]
    sizes = Model.model_validate(model.document).s_kv() if model else None
    found = []
    for at in LOOKED_AT:
        seconds = float(curve(at))
        rate = 8 * float(sizes(at)) / seconds if sizes else None
        found.append(Reading(at, seconds, rate, not shortest <= at <= longest))
    return found


def _polynomial(fit: QuadraticFit) -> str:
    """t0 + a·l + b·l² in numbers, l in thousands of tokens."""
    t0, a, b = (float(part) for part in fit.coefficients)
    return f"{t0:.3g} s + {a * 1e3:.3g} s · l + {b * 1e6:.3g} s · l², l in 1,000 tokens"


def _steps(profile: Profile) -> tuple[list[dict[str, Any]], str, engine.DecodeSteps | None]:
    """Decode steps with the fit's residual at each, and the fit, where they tell one."""
    rows: list[dict[str, Any]] = [
        {"batch": step.batch, "context": step.context_tokens, "seconds": step.seconds, "residual": None,
         "tokens_per_s": 1 / step.seconds}
        for step in profile.decode
    ]  # fmt: skip
    told = [row for row in rows if row["context"] is not None]
    try:
        fit = engine.DecodeSteps(*([row[key] for row in told] for key in ("batch", "context", "seconds")))
    except ValueError:
        return rows, "", None
    for row, residual in zip(told, fit.residuals.tolist(), strict=True):
        row["residual"] = residual
    s0, s1, s2 = (1e3 * float(part) for part in fit.coefficients)
    written = f"{s0:.3g} ms + {s1:.3g} ms · batch + {s2 * 1e3:.3g} ms · batch · context / 1,000 tokens"
    return rows, written, fit


def _memory(profile: Profile, model: Entry | None, hardware: Entry | None) -> Memory | None:
    """None where weights, memory or S_kv are not known."""
    a_chip = hardware.document.get("memory_bytes") if hardware else None
    if profile.weight_bytes is None or a_chip is None or model is None:
        return None
    s_kv = Model.model_validate(model.document).s_kv()
    return Memory(a_chip * profile.gpus_per_instance, profile.weight_bytes, s_kv)


def _batches(steps: engine.DecodeSteps | None, memory: Memory | None) -> list[dict[str, Any]]:
    """By context: how many requests fit into memory, and the largest batch by SLO that also fits."""
    found = []
    for context in LOOKED_AT:
        fits = memory.requests(context) if memory else None
        by_slo = (
            [engine.largest_batch(steps, slo, context, UNBOUNDED, 0.0, 0.0).by_slo for slo in SLOS] if steps else []
        )
        batches = [(min(batch, fits), fits < batch) if fits is not None else (batch, False) for batch in by_slo]
        found.append({"context": context, "fits": fits, "batches": batches})
    return found


def _cached(profile: Profile) -> tuple[list[dict[str, Any]], str]:
    """Prefill behind a prefix with the fit's residual at each point, and the fit, where they tell one."""
    rows: list[dict[str, Any]] = [
        {"new": each.new_tokens, "cached": each.cached_tokens, "seconds": each.seconds, "residual": None}
        for each in profile.prefill_cached
    ]
    try:
        fit = engine.CachedPrefill(*([row[key] for row in rows] for key in ("new", "cached", "seconds")))
    except ValueError:
        return rows, ""
    for row, residual in zip(rows, fit.residuals.tolist(), strict=True):
        row["residual"] = residual
    t0, a, b = (float(part) for part in fit.coefficients)
    return rows, f"{t0:.3g} s + {a * 1e3:.3g} s · n + {b * 1e6:.3g} s · n (n + 2c), n new and c cached in 1,000 tokens"
