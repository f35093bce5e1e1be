"""What is watched, as snapshots and histories need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import OuterRef, QuerySet, Subquery

from monitoring.models import Entered, Watch

EVERYTHING = "all"
"""The watch that is there while nobody has made one: over all that is measured."""


@dataclass(frozen=True, slots=True)
class Said:
    """A value that somebody has entered; None: what was entered before was withdrawn."""

    value: float | None
    at_ms: int
    by: str = ""


@dataclass(frozen=True, slots=True)
class Watched:
    """A deployment."""

    name: str
    title: str = ""
    scenario: str = ""
    clusters: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    entered: Mapping[str, Said] = field(default_factory=dict, hash=False)
    """The newest of each."""

    def covers(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels is of it."""
        of_cluster = not self.clusters or labels.get("cluster") in (None, *self.clusters)
        return of_cluster and labels.get("watch") in (None, self.name)


def all_watched() -> list[Watched]:
    """Every one, or the one over everything."""
    entered: dict[int, dict[str, Said]] = {}
    for each in newest_entered():
        entered.setdefault(each.watch_id, {})[each.what] = Said(each.value, each.at_ms, each.by)
    found = [of(watch, entered.get(watch.pk, {})) for watch in Watch.objects.all()]
    return found or [Watched(EVERYTHING)]


def newest_entered() -> QuerySet[Entered]:
    """Of each watch and kind the one that counts."""
    same = Entered.objects.filter(watch=OuterRef("watch"), what=OuterRef("what")).order_by("-at_ms", "-pk")
    return Entered.objects.filter(pk=Subquery(same.values("pk")[:1])).order_by("what")


def of(watch: Watch, entered: Mapping[str, Said]) -> Watched:
    """As it is stored."""
    return Watched(watch.name, watch.title, watch.scenario, tuple(watch.clusters), tuple(watch.links), entered)


def named(name: str) -> Watched | None:
    """The one of this name; None if there is none."""
    return next((each for each in all_watched() if each.name == name), None)
