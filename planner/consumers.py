"""The websocket of a job: its progress on connection and at every change, until it has ended."""

import asyncio
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from planner.api.jobs import job_progress
from planner.jobs import group
from planner.models import Job

LOOK_AGAIN_AFTER_S = 2.0
UNKNOWN_JOB = 4404


class JobConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels publishes no types
    async def connect(self) -> None:
        self.job_id: UUID = self.scope["url_route"]["kwargs"]["job_id"]
        self.sent: dict[str, Any] | None = None
        self.looking = asyncio.create_task(self.look_again())
        # Joined before the first look, so that no change falls between the two.
        await self.channel_layer.group_add(group(self.job_id), self.channel_name)
        await self.accept()
        await self.send_progress()

    async def disconnect(self, code: int) -> None:
        self.looking.cancel()
        await self.channel_layer.group_discard(group(self.job_id), self.channel_name)

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Nothing is expected from a viewer."""

    async def job_changed(self, message: dict[str, Any]) -> None:
        await self.send_progress()

    async def look_again(self) -> None:
        """A message of the channel layer may get lost."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_AFTER_S)
            await self.channel_layer.send(self.channel_name, {"type": "job.changed"})

    async def send_progress(self) -> None:
        job = await database_sync_to_async(Job.objects.filter(pk=self.job_id).defer("input", "result").first)()
        if job is None:
            await self.close(UNKNOWN_JOB)
            return
        progress = job_progress(job)
        if progress != self.sent:
            self.sent = progress
            await self.send_json(progress)
        if job.is_ended:
            await self.close(1000)
