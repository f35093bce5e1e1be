"""What rests on which source: while a source is lost there is one alert of it, and none of what it no longer tells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from monitoring.alerts import figures
from monitoring.live.messages import SourceNow
from monitoring.models import Series, Watch

READ_EVERY_MS = 60_000
LOST = ("stale", "absent")

type Told = Mapping[str, Collection[tuple[str, str, str]]]
"""By source: signal, link and cluster of what it has sent."""


def lost(sources: Iterable[SourceNow]) -> frozenset[str]:
    """The sources from which nothing comes that did."""
    return frozenset(each.name for each in sources if each.state in LOST)


def rests(told: Told, source: str, figure: str, clusters: Collection[str]) -> bool:
    """Whether a source has sent what a figure of a watch with these clusters is made of."""
    signals, link = figures.signals(figure), figures.link(figure)
    return any(
        (signals is None or signal in signals)
        and (not link or not of_link or of_link == link)
        and (not clusters or not cluster or cluster in clusters)
        for signal, of_link, cluster in told.get(source, ())
    )


class Resting:
    """What each source has sent, read anew now and then, and only while a source is lost."""

    def __init__(self) -> None:
        self._told: dict[str, set[tuple[str, str, str]]] = {}
        self._clusters: dict[str, list[str]] = {}
        self._read_ms: int | None = None

    def on_any(self, sources: Collection[str], watch: str, figure: str, now_ms: int) -> bool:
        """Whether a figure rests on one of these sources. Raises DatabaseError."""
        if not sources:
            return False
        if self._read_ms is None or not 0 <= now_ms - self._read_ms < READ_EVERY_MS:
            self._read(now_ms)
        clusters = self._clusters.get(watch, [])
        return any(rests(self._told, each, figure, clusters) for each in sources)

    def _read(self, now_ms: int) -> None:
        told: dict[str, set[tuple[str, str, str]]] = {}
        for source, signal, labels in Series.objects.values_list("source__name", "signal", "labels"):
            told.setdefault(source, set()).add((signal, labels.get("link", ""), labels.get("cluster", "")))
        self._told = told
        self._clusters = dict(Watch.objects.values_list("name", "clusters"))
        self._read_ms = now_ms
