"""Stored SI numbers as people type and read them, exactly: what is written reads back to the same number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Context, Decimal

EXACT = Context(prec=400)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
WHOLE = re.compile(r"[+-]?\d+")
LARGEST_EXACT = 2**53
"""Whole numbers beyond are quantities, which floats hold."""
LONGEST = 60
"""Characters that one number may have."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of people's, and how much of the stored one it is."""

    text: str = ""
    scale: Decimal = Decimal(1)


PLAIN = Unit()
GB, TB_PER_S, GB_PER_S = Unit("GB", Decimal("1e9")), Unit("TB/s", Decimal("1e12")), Unit("GB/s", Decimal("1e9"))
MIB, KIB = Unit("MiB", Decimal(2**20)), Unit("KiB", Decimal(2**10))
GBPS, TFLOPS = Unit("Gbps", Decimal("1e9")), Unit("TFLOP/s", Decimal("1e12"))
PERCENT, MS, BILLIONS = Unit("%", Decimal("0.01")), Unit("ms", Decimal("0.001")), Unit("10⁹", Decimal("1e9"))
SECONDS, TOKENS, WATTS = Unit("s"), Unit("tokens"), Unit("W")

BY_PATH = {
    "memory_bytes_per_s": TB_PER_S,
    "scale_up_bytes_per_s": GB_PER_S,
    "memory_bytes": GB,
    "weight_bytes": GB,
    "window_bytes": MIB,
    "bytes": MIB,
    "tdp_w": WATTS,
    "rtt_s": MS,
    "loss": PERCENT,
    "share": PERCENT,
    "mean_share": PERCENT,
    "amplitude": PERCENT,
    "hit_ratio": PERCENT,
    "token_hit_ratio": PERCENT,
    "peak_hour": Unit("h UTC"),
    "amortisation_years": Unit("years"),
    "usd_per_gb": Unit("USD/GB"),
    "usd_per_month": Unit("USD/month"),
    "usd_per_gpu_hour": Unit("USD/GPU-hour"),
    "usd_per_gpu": Unit("USD/GPU"),
    "usd_per_kwh": Unit("USD/kWh"),
    "gpus_per_node": Unit("GPUs"),
    "gpus_per_instance": Unit("GPUs"),
    "max_batch": Unit("requests"),
    "batch": Unit("requests"),
    "concurrency": Unit("requests"),
    "window": TOKENS,
    "samples": TOKENS,
    "min": TOKENS,
    "max": TOKENS,
    "rate_rps": Unit("req/s"),
}
"""By the last name of a path; what is not here goes by its ending."""
BY_ENDING = {
    "dense_flops": TFLOPS,
    "_bps": GBPS,
    "_tokens": TOKENS,
    "tokens": TOKENS,
    "_parameters": BILLIONS,
    "_bytes": Unit("bytes"),
    "_rps": Unit("req/s"),
    "_s": SECONDS,
    "seconds": SECONDS,
    "_w": WATTS,
}


def unit_of(path: str) -> Unit:
    """The unit in which people read the figure at a dotted path."""
    *parents, last = path.split(".")
    if parents and parents[-1] == "dense_flops":
        return TFLOPS
    if last in BY_PATH:
        return BY_PATH[last]
    return next((unit for ending, unit in BY_ENDING.items() if last.endswith(ending)), PLAIN)


def written(value: float, unit: Unit = PLAIN) -> str:
    """The shortest decimal number that `read` turns back into exactly this value."""
    exact = EXACT.divide(Decimal(repr(value)), unit.scale).normalize(EXACT)
    if len(exact.as_tuple().digits) <= 15:
        return _plain(exact)
    for digits in range(1, 20):
        text = _plain(Context(prec=digits).plus(exact))
        if read(text, unit) == value:
            return text
    # midway between two numbers that floats hold, no rounding leads back to the right one
    return _plain(exact)


def _plain(number: Decimal) -> str:
    number = number.normalize(EXACT)
    return f"{number:f}" if not number or -10 <= number.adjusted() <= 18 else str(number)


def read(text: str, unit: Unit = PLAIN, whole: bool = False) -> float:
    """The stored number that a typed one stands for; a whole number where it is one of a kind that is counted.

    Raises ValueError on what is no finite number.
    """
    text = text.strip()
    if GROUPED.fullmatch(text):
        text = text.replace(",", "")
    if len(text) > LONGEST or not NUMBER.fullmatch(text):
        raise ValueError("must be a number, such as 12.5")
    exact = EXACT.multiply(Decimal(text), unit.scale)
    is_plain = bool(WHOLE.fullmatch(text)) and unit.scale == 1 and abs(exact) <= LARGEST_EXACT
    if is_plain or (whole and exact == exact.to_integral_value(context=EXACT)):
        return int(exact)
    number = float(exact)
    if not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number
