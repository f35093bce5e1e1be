"""The channel layer of the one-process mode."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from channels.layers import InMemoryChannelLayer

Send = Callable[[str, dict[str, Any]], Coroutine[Any, Any, None]]


class ThreadSafeLayer(InMemoryChannelLayer):  # type: ignore[misc]  # channels publishes no types
    """Channels' in-memory layer, for senders in other threads.

    The queues of the original belong to the event loop that reads them: a message put from a worker's thread is
    seen only when that loop next wakes up for another reason. Here a send hops to the loop that receives, and does
    not wait for it: that loop may be ending.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._home: asyncio.AbstractEventLoop | None = None
        self._sending: set[asyncio.Task[None]] = set()

    async def receive(self, channel: str) -> Any:
        self._home = asyncio.get_running_loop()
        return await super().receive(channel)

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        await self._at_home(super().send, channel, message)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self._at_home(super().group_send, group, message)

    async def _at_home(self, act: Send, name: str, message: dict[str, Any]) -> None:
        home = self._home
        if home is None or home is asyncio.get_running_loop():
            await act(name, message)
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            home.call_soon_threadsafe(self._begin, act, name, message)

    def _begin(self, act: Send, name: str, message: dict[str, Any]) -> None:
        sending = asyncio.get_running_loop().create_task(act(name, message))
        # The loop itself holds a task only weakly.
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)
