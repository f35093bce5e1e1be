"""The intake, the pipeline and the scraping of this web process: started and stopped with it."""

from __future__ import annotations

import asyncio

from monitoring import mappings
from monitoring.intake import Intake
from monitoring.pipeline import Pipeline
from monitoring.scraping import Scraping
from monitoring.storage.told import Follower

_running: list[tuple[Intake, Scraping]] = []


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
    _running.append((intake, scraping))
    return intake


async def stop() -> None:
    """Ends; what is not committed is acknowledged to nobody."""
    while _running:
        intake, scraping = _running.pop()
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
