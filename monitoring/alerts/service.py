"""The alerts of this web process: steps of every snapshot, and the sender beside them."""

from __future__ import annotations

from monitoring import running
from monitoring.alerts.evaluator import Alerting
from monitoring.alerts.sending import Sending
from monitoring.live import lines
from monitoring.live.messages import Snapshot
from monitoring.live.ticker import Step

_sending: list[Sending] = []


def steps() -> tuple[Step, ...]:
    """To be taken after all that fills figures of a snapshot."""
    return name_figures, Alerting()


def name_figures(snapshot: Snapshot) -> None:
    """Rules look at figures by the names that charts have."""
    for watch in snapshot.watches:
        watch.points = lines.points(watch)


async def start() -> None:
    """Begins to send while this process leads; telemetry must be taken by then. Raises NotRunning."""
    pipeline = running.pipeline()
    sending = Sending(lambda: pipeline.is_leading)
    sending.start()
    _sending.append(sending)


async def stop() -> None:
    """Ends."""
    while _sending:
        await _sending.pop().stop()
