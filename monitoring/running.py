"""The intake, the pipeline, the scraping and the sending of alerts of this web process: started and stopped with it."""

from __future__ import annotations

import asyncio

from monitoring import mappings
from monitoring.alerts.sending import Sending
from monitoring.intake import Intake
from monitoring.pipeline import Follower, Pipeline
from monitoring.scraping import Scraping

_running: list[tuple[Intake, Scraping, Sending]] = []


class NotRunning(Exception):
    """This process takes no telemetry: it is starting, or ending."""


async def start(follower: Follower | None = None) -> Intake:
    """Begins to take telemetry, the mappings read, so that the first message does not wait for them.
    A follower is told of all that this process sorts in."""
    await asyncio.to_thread(mappings.compiled_for, ())
    intake = Intake(Pipeline(follower))
    intake.pipeline.start()
    scraping = Scraping(intake)
    scraping.start()
    sending = Sending(lambda: intake.pipeline.is_leading)
    sending.start()
    _running.append((intake, scraping, sending))
    return intake


async def stop() -> None:
    """Ends; what is not committed is acknowledged to nobody."""
    while _running:
        intake, scraping, sending = _running.pop()
        await sending.stop()
        await scraping.stop()
        await intake.pipeline.stop()
        intake.close()


def intake() -> Intake:
    """Raises NotRunning."""
    if not _running:
        raise NotRunning("telemetry is not taken yet, or no longer")
    return _running[-1][0]


def pipeline() -> Pipeline:
    """Raises NotRunning."""
    return intake().pipeline
