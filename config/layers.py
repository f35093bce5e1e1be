"""The channel layer of the one-process mode."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from channels.layers import InMemoryChannelLayer


class ThreadSafeLayer(InMemoryChannelLayer):  # type: ignore[misc]  # channels publishes no types
    """Channels' in-memory layer, for senders in other threads.

    The queues of the original belong to the event loop that reads them: a message put from a worker's thread is
    seen only when that loop next wakes up for another reason. Here a send hops to the loop that receives.
    """

    home: asyncio.AbstractEventLoop | None = None

    async def receive(self, channel: str) -> Any:
        self.home = asyncio.get_running_loop()
        return await super().receive(channel)

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        await self._at_home(super().send, channel, message)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self._at_home(super().group_send, group, message)

    async def _at_home(self, act: Callable[..., Coroutine[Any, Any, None]], name: str, message: dict[str, Any]) -> None:
        home = self.home
        if home is None or home is asyncio.get_running_loop():
            await act(name, message)
        elif home.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(act(name, message), home))
        # else: the server is going down and nobody listens any more.
