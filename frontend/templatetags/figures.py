"""Formats, marks and words for templates."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from django import template
from django.conf import settings
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from frontend import figures, words

register = template.Library()

INDEX = re.compile(r"\b([A-ZΘΛΦ])_([a-z-]+)")

for _write in (
    figures.rate,
    figures.seconds,
    figures.tokens,
    figures.gbps,
    figures.percent,
    figures.ratio,
    figures.usd,
    figures.price,
):
    register.filter(_write.__name__, _write)

register.filter("bound_by", words.bound_by)


@register.filter
def symbols(text: str) -> SafeString:
    """`Λ_max` with its index set below: Λ<sub>max</sub>."""
    # Escaped before, so what is added here is the only markup.
    return mark_safe(INDEX.sub(r"\1<sub>\2</sub>", escape(text)))  # noqa: S308


@register.filter
def state_words(state: str) -> str:
    return words.STATES[state]


@register.filter
def counted(kind: str) -> str:
    """What the progress of a kind of job counts."""
    return words.COUNTED.get(kind, "steps")


@register.simple_tag
def mark(kind: str, source: str = "") -> SafeString:
    """The one-letter provenance mark; its title says the kind, and source or formula."""
    if not kind:
        return SafeString("")
    title = f"{kind}: {source or words.PROVENANCE[kind]}"
    return format_html('<abbr class="prov prov-{}" title="{}" data-kind="{}">{}</abbr>', kind, title, kind, kind[0])


@register.simple_tag
def left_out() -> str:
    """What the unloaded TTFT leaves out."""
    return words.UNLOADED


@register.simple_tag
def loaded() -> str:
    """What TTFT under load is made of."""
    return words.LOADED


@register.simple_tag
def loaded_error() -> str:
    """How far its approximation is off."""
    return words.LOADED_ERROR


@register.simple_tag
def key(stage: str) -> SafeString:
    """A stage's colour and line style, as in the charts."""
    if not stage:
        return SafeString("")
    return format_html(
        '<svg class="key key-{}" viewBox="0 0 26 10" aria-hidden="true"><line x1="0" y1="5" x2="26" y2="5"/></svg>',
        stage,
    )


@register.simple_tag
def moment(when: datetime | None) -> SafeString:
    """A time in UTC that the page's script rewrites into the viewer's zone, UTC staying in the title."""
    if when is None:
        return SafeString(figures.NONE)
    utc = when.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC" class="num">{} UTC</time>',
        utc.isoformat(), f"{utc:%Y-%m-%d %H:%M:%S}", f"{utc:%Y-%m-%d %H:%M}",
    )  # fmt: skip


@register.simple_tag
def version() -> str:
    return str(settings.VERSION)
