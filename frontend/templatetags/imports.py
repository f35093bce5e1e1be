"""Words of the import pages."""

from __future__ import annotations

from django import template

register = template.Library()

STORING = {
    "new": "adds it",
    "changed": "changes the entry of this name, keeping its history; choose another name to have both",
    "equal": "nothing: it is there already, and equal",
}


@register.filter
def storing(status: str) -> str:
    return STORING[status]
