"""The sources of a replay where its database is the server's: made, with a new token, or a target to be scraped; and
the watch that shows them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from monitoring import tokens
from monitoring.models import Source, Target, Watch
from monitoring.replaying.emulated import Emulated
from monitoring.replaying.playing import Pages, door

PREFIX = "demo-"
"""How the names of its sources begin, so that nobody takes them for others."""
WATCH = "demo"
SCRAPED_EVERY_S, TIMEOUT_S = 1.0, 0.9


def install(sources: Sequence[Emulated], pages: Pages | None) -> dict[str, str]:
    """The secrets of those that push, by their names here. Tokens of an earlier replay are revoked."""
    found = {}
    for each in sources:
        with transaction.atomic():
            source, _ = Source.objects.update_or_create(
                name=PREFIX + each.name,
                defaults={"labels": each.labels, "systems": list(each.systems), "enabled": True},
            )
            source.tokens.all().delete()
            Target.objects.filter(source=source).delete()
            if pages is not None and door(each.name, pages) == "page":
                _target(source, f"http://{pages.host}:{pages.port}/{each.name}/metrics")
            else:
                found[each.name] = tokens.create(source)[1]
    return found


def watch(scenario: str, title: str, link: str | None) -> None:
    """What is replayed is watched, as a deployment of that scenario; what somebody has changed of the watch stays."""
    watched, is_new = Watch.objects.get_or_create(
        name=WATCH,
        defaults={"title": f"Demo: {title}"[:200], "scenario": scenario[:200], "links": [link] if link else []},
    )
    if not is_new and watched.scenario != scenario[:200]:
        watched.scenario = scenario[:200]
        watched.save(update_fields=["scenario", "changed_at"])


def _target(source: Source, url: str) -> None:
    Target.objects.create(source=source, url=url, interval_s=SCRAPED_EVERY_S, timeout_s=TIMEOUT_S)
