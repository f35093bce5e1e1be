"""The channel layer of the one-process mode."""

import asyncio
import threading
import time

from asgiref.sync import async_to_sync

from config.layers import ThreadSafeLayer


async def test_a_message_from_another_thread_arrives_at_once():
    layer = ThreadSafeLayer(capacity=1000)
    channel = await layer.new_channel()
    await layer.group_add("job.1", channel)
    waiting = asyncio.create_task(layer.receive(channel))
    await asyncio.sleep(0)  # it waits now

    def send():
        async_to_sync(layer.group_send)("job.1", {"type": "job.changed", "sent": time.monotonic()})

    thread = threading.Thread(target=send)
    thread.start()
    message = await asyncio.wait_for(waiting, 1)
    assert time.monotonic() - message["sent"] < 0.05
    thread.join()


async def test_a_message_nobody_waits_for_does_no_harm():
    layer = ThreadSafeLayer()
    await layer.group_send("job.1", {"type": "job.changed"})


def test_a_message_after_the_server_has_gone_does_not_block():
    layer = ThreadSafeLayer()

    async def serve():
        channel = await layer.new_channel()
        await layer.group_add("job.1", channel)
        await layer.send(channel, {"type": "job.changed"})
        return await layer.receive(channel)

    asyncio.run(serve())
    async_to_sync(layer.group_send)("job.1", {"type": "job.changed"})  # its loop is closed
