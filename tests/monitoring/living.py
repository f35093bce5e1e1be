"""A process that writes and keeps the latest, without its threads: what is stored is followed, and looked at."""

import numpy as np
from django.db import transaction

from monitoring.live.ticker import Builder
from monitoring.models import Source
from monitoring.readings import Histogram, Point
from monitoring.state import State
from monitoring.storage.writer import Writer
from monitoring.wire import Mapped

T0 = 1_790_000_400_000 // 600_000 * 600_000


class Leader:
    """Call `begin` for one that takes over what others have stored."""

    def __init__(self):
        self.writer, self.state = Writer(), State()
        self.state.is_ready = True

    def begin(self, now_ms, monkeypatch):
        monkeypatch.setattr("monitoring.state.loading.now_ms", lambda: now_ms)
        self.state.begin()
        return self

    def store(self, source, *series):
        with transaction.atomic():
            told = self.writer.store([(source.pk, each) for each in series])
        self.state.follow(told)

    def snapshot(self, now_ms, *steps):
        return Builder(self.state, steps).build(now_ms)

    def watch(self, now_ms):
        """The only one, as it is."""
        (found,) = self.snapshot(now_ms).watches
        return found


def source(name="router", **labels):
    return Source.objects.create(name=name, labels=labels)


def mapped(signal, kind, points, **labels):
    """Points are pairs of seconds since T0 and a value; of increases also since when."""
    made = tuple(
        Point(T0 + round(each[0] * 1000), each[1], T0 + round(each[2] * 1000) if len(each) > 2 else None)
        for each in points
    )
    return Mapped(signal, kind, tuple(sorted(labels.items())), made)


def counter(signal, values, begin_s=0, step_s=1.0, **labels):
    return mapped(signal, "counter", [(begin_s + at * step_s, float(v)) for at, v in enumerate(values)], **labels)


def gauge(signal, values, begin_s=0, step_s=1.0, **labels):
    return mapped(signal, "gauge", [(begin_s + at * step_s, float(v)) for at, v in enumerate(values)], **labels)


def histogram(signal, increases, bounds, begin_s=0, **labels):
    """One sample a second, cumulative, of these increases by bucket; the first sample is the beginning."""
    counts = np.cumsum(np.array(increases, float), axis=0)
    points = [
        (begin_s + at, Histogram(tuple(map(float, bounds)), tuple(row))) for at, row in enumerate(counts.tolist())
    ]
    return mapped(signal, "histogram", points, **labels)
