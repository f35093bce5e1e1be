"""How much telemetry a web process takes on one core, beside a consumer of Channels that stores nothing."""

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import websockets
from channels.generic.websocket import AsyncWebsocketConsumer

from tests.stack import services
from tests.stack.installation import Installation, free_port, until

SERIES = 500
"""Of a frame, each with one point: half of them counters."""
SECONDS = 8.0
CONNECTIONS = 1000
PREPARE = """
from monitoring import tokens
from monitoring.models import Source
print("token", tokens.create(Source.objects.create(name="bench", labels={"role": "decode"}))[1])
"""
COUNT = """
from monitoring.models import Frame, Sample, Source
print("count", Source.objects.get().accepted, Sample.objects.count(), Frame.objects.count())
"""


class Bare(AsyncWebsocketConsumer):
    """Channels alone: reads the JSON, says so, stores nothing."""

    async def connect(self):
        await self.accept()
        await self.send(json.dumps({"hello": 1}))

    async def receive(self, text_data=None, bytes_data=None):
        await self.send(json.dumps({"ack": json.loads(text_data or bytes_data)["seq"]}))


bare = Bare.as_asgi()
"""For Uvicorn."""


def template(series=SERIES):
    """A frame with places for its number and its time."""
    readings = [
        {
            "name": "output_tokens" if at % 2 else "running_requests",
            "kind": "counter" if at % 2 else "gauge",
            "labels": {"instance": f"decode-{at // 2}"},
            "points": [["@ts", 12345.5]],
        }
        for at in range(series)
    ]
    text = json.dumps({"v": 1, "seq": "@seq", "readings": readings}, separators=(",", ":"))
    return text.replace('"@ts"', "@ts").replace('"@seq"', "@seq")


async def sent(address, token, seconds):
    """Frames acknowledged and the seconds that it took, over one websocket with as many in flight as it allows."""
    frame, headers = template(), {"Authorization": f"Bearer {token}"}
    async with websockets.connect(address, additional_headers=headers, compression=None, max_size=None) as socket:
        hello = json.loads(await socket.recv())
        room = asyncio.Semaphore(hello.get("most_in_flight", 64))
        begun, seq, ts_ms = time.perf_counter(), hello.get("last_seq") or 0, 0
        first = seq

        async def receive():
            while True:
                answer = json.loads(await socket.recv())
                assert answer.get("accepted", SERIES) == SERIES, answer
                room.release()

        receiving = asyncio.create_task(receive())
        while time.perf_counter() - begun < seconds:
            await room.acquire()
            seq, ts_ms = seq + 1, max(ts_ms + 1, round(time.time() * 1000))
            await socket.send(frame.replace("@seq", str(seq)).replace("@ts", str(ts_ms)))
        for _ in range(hello.get("most_in_flight", 64)):
            await room.acquire()
        took_s = time.perf_counter() - begun
        receiving.cancel()
        return seq - first, took_s


async def many(address, token, count):
    """Seconds until so many connections are open and each has its acknowledgement."""
    begun = time.perf_counter()

    async def one():
        headers = {"Authorization": f"Bearer {token}"}
        metric = {"name": "link_rtt_s", "fields": {"gauge": 0.01}, "timestamp": round(time.time() * 1000)}
        async with websockets.connect(address, additional_headers=headers, open_timeout=60, compression=None) as socket:
            await socket.recv()
            await socket.send(json.dumps(metric))
            assert json.loads(await socket.recv())["ack"] == 1
            arrived.append(1)
            await everybody.wait()

    arrived, everybody = [], asyncio.Event()
    tasks = [asyncio.create_task(one()) for _ in range(count)]
    while len(arrived) < count and not any(task.done() for task in tasks):
        await asyncio.sleep(0.02)
    took_s = time.perf_counter() - begun
    everybody.set()
    await asyncio.gather(*tasks)
    return took_s


def pinned(pid, core):
    """Every thread that it has; those to come inherit it."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {core})


def busy_s(process):
    """Time of the core that it has used, whatever else ran there."""
    used = process.cpu_times()
    return used.user + used.system


def shell(installation, code):
    """What a line of code prints, after its first word."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    ended = subprocess.run(command, cwd=Path.cwd(), env=installation.environment, capture_output=True, text=True)
    return ended.stdout.split()[1:]


def of_database(name, variables, seconds, connections):
    """Lines on one database; and its rate, to hold beside the bare consumer's."""
    with tempfile.TemporaryDirectory() as directory:
        settings = {"DJANGO_SETTINGS_MODULE": "config.settings"}
        installation = Installation(name, Path(directory), {**settings, **variables})
        installation.start_server()
        try:
            [token] = shell(installation, PREPARE)
            pinned(installation.server.pid, 0)
            process = psutil.Process(installation.server.pid)
            used_s = busy_s(process)
            address = f"ws://127.0.0.1:{installation.port}/ws/ingest/"
            frames, took_s = asyncio.run(sent(address, token, seconds))
            begun = time.perf_counter()
            counted = until(lambda: _sorted_in(installation), 300, "the end of sorting in")
            behind_s = time.perf_counter() - begun
            used_s = busy_s(process) - used_s
            memory = process.memory_info().rss / 2**20
            opened_s = asyncio.run(many(address, token, connections))
            with_many = process.memory_info().rss / 2**20
        finally:
            installation.stop()
    assert counted[0] == counted[1] == frames * SERIES
    rate, whole = frames * SERIES / took_s, frames * SERIES / (took_s + behind_s)
    return rate, [
        f"  {name:<12} {rate:>10,.0f} samples/s acknowledged, {whole:>9,.0f} sorted in, "
        f"{frames * SERIES / used_s:>9,.0f} a second of the core, RSS {memory:.0f} MiB; "
        f"{connections:,} connections in {opened_s:.1f} s, RSS {with_many:.0f} MiB"
    ]


def _sorted_in(installation):
    accepted, samples, waiting = map(int, shell(installation, COUNT))
    return None if waiting else (accepted, samples)


def of_channels(seconds):
    """Samples a second that a bare consumer of Channels answers."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "tests.benchmarks.telemetry:bare", "--port", str(port), "--log-level"]
    with subprocess.Popen(
        [*command, "error"], env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    ) as server:
        try:
            until(lambda: _listens(port), 20, "the start of the consumer")
            pinned(server.pid, 0)
            frames, took_s = asyncio.run(sent(f"ws://127.0.0.1:{port}/", "none", seconds))
        finally:
            server.terminate()
    return frames * SERIES / took_s


def _listens(port):
    with contextlib.suppress(OSError), contextlib.closing(asyncio.new_event_loop()) as loop:
        _, writer = loop.run_until_complete(asyncio.open_connection("127.0.0.1", port))
        writer.close()
        return True


def lines(seconds=SECONDS, connections=CONNECTIONS):
    """For `make bench`."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    yield f"telemetry over one websocket, frames of {SERIES} samples, the web process on one core"
    alone = of_channels(seconds)
    yield f"  {'Channels':<12} {alone:>10,.0f} samples/s read by a bare consumer that stores nothing"
    rate, told = of_database("SQLite", {}, seconds, connections)
    yield from told
    with services.postgresql() as server, services.new_database(server) as database:
        other, told = of_database("PostgreSQL", {"DATABASE_URL": database}, seconds, connections)
    yield from told
    yield f"  beside the bare consumer: SQLite {rate / alone:.2f}, PostgreSQL {other / alone:.2f}"


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.telemetry", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    given = parser.parse_args()
    for line in lines(given.seconds, given.connections):
        print(line, flush=True)


if __name__ == "__main__":
    main()
