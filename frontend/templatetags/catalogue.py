"""Numbers of the catalogue's tables for templates."""

from __future__ import annotations

from django import template

from frontend import figures

register = template.Library()
register.filter("as_length", figures.length)


@register.filter
def signed_percent(share: float | None) -> str:
    """A relative error with its sign, in percent."""
    if share is None:
        return figures.NONE
    rounded = round(share * 100, 1)
    return "0.0" if rounded == 0 else f"{rounded:+.1f}".replace("-", "−")


@register.filter
def mib(value: float | None) -> str:
    """Bytes in MiB."""
    return figures.NONE if value is None else f"{value / 2**20:,.1f}"


@register.filter
def significant(value: float | None) -> str:
    """Four significant digits, thousands apart, without an exponent."""
    if value is None:
        return figures.NONE
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"
