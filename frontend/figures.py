"""Numbers as text: the one place on the server where SI units become what a reader expects."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

NONE = "–"
EXACT = Context(prec=400)


def rate(value: float | None) -> str:
    """Requests per second."""
    return NONE if value is None else f"{value:.3f}"


def seconds(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def milli(value: float | None) -> str:
    """Seconds of something short, to a millisecond."""
    return NONE if value is None else f"{value:.3f}"


def share(value: float) -> str:
    """From a fraction that somebody chose, in percent, no more digits than it has."""
    return f"{value * 100:.3g}"


def tokens(value: float | None) -> str:
    """Exact tokens, grouped: a threshold is what somebody typed."""
    return NONE if value is None else f"{value:,.0f}"


def gbps(value: float | None) -> str:
    """From bit/s."""
    return NONE if value is None else f"{value / 1e9:.2f}"


def gbps_of_three_digits(value: float) -> str:
    """From bit/s, as exact as published rates are."""
    return f"{float(f'{value / 1e9:.3g}'):,g}"


def rounded(value: float, digits: int) -> str:
    """Grouped; a half away from zero, as browsers round: the same number is never written in two ways on a page."""
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, EXACT):,f}"


def percent(value: float | None) -> str:
    """From a fraction."""
    return NONE if value is None else rounded(value * 100, 1)


def ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def usd(value: float | None) -> str:
    """US dollars and cents, grouped."""
    return NONE if value is None else rounded(value, 2)


def price(value: float | None) -> str:
    """US dollars of a small thing, such as a GPU-hour or a million tokens."""
    if value is None:
        return NONE
    return f"{value:,.2f}" if value >= 1000 else f"{value:.4g}"


def difference(ours: float | None, published: float | None) -> str:
    """Signed, in percent of the published value."""
    if ours is None or not published:
        return NONE
    change = round((ours / published - 1) * 100, 1)
    return "0.0" if change == 0 else f"{change:+.1f}".replace("-", "−")


def duration(total_s: float) -> str:
    """The two largest units: `42 s`, `3 min 05 s`, `2 h 07 min`."""
    whole = round(total_s)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def length(tokens: float) -> str:
    """A length as the field writes it, K being 1024, where that is exact."""
    return f"{tokens / 1024:,.0f}K" if tokens >= 1024 and tokens % 1024 == 0 else f"{tokens:,.0f}"
