"""Viewers beside telemetry: how even snapshots come and how old they are when they do, one viewer reading nothing."""

import argparse
import asyncio
import contextlib
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import websockets

from tests.benchmarks.telemetry import PREPARE, busy_s, shell, template
from tests.stack import services
from tests.stack.installation import Installation

VIEWERS, RATE, SECONDS = 200, 50_000, 20.0
FRAME = 500
"""Samples."""
RECEIVES_BYTES = 4096
"""Of the one that reads nothing: so few fit in its buffer that the server notices soon."""
SETTLED_S = 3.0
SEQ_AND_TIME = re.compile(r'"seq":(\d+),"ts_ms":(\d+)')


async def viewed(address, until_s, arrivals):
    """Notes of each snapshot its number, when it was made and when it was here."""
    async with websockets.connect(
        address, origin=_origin(address), compression=None, max_size=None, open_timeout=60
    ) as found:
        while (left := until_s - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                text = await asyncio.wait_for(found.recv(), left)
                seq, made_ms = map(int, SEQ_AND_TIME.search(text[:200]).groups())
                arrivals.append((seq, made_ms, time.time() * 1000))


async def stalled(address, until_s):
    """Opens and then reads nothing; when it was let go, in seconds, None: never."""
    host, port = re.match(r"ws://([^:/]+):(\d+)", address).groups()
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVES_BYTES)
    raw.connect((host, int(port)))
    lines = (
        "GET /ws/live/ HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", f"Origin: {_origin(address)}",
    )  # fmt: skip
    raw.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    began = time.monotonic()
    while time.monotonic() < until_s:
        await asyncio.sleep(0.2)
        if not _is_open(int(port), raw.getsockname()[1]):
            return time.monotonic() - began
    return None


def _is_open(port, own):
    """Whether the server still holds its end of it."""
    there = {
        (each.laddr.port, each.raddr.port)
        for each in psutil.net_connections("tcp")
        if each.raddr and each.status == "ESTABLISHED"
    }
    return (port, own) in there


def _origin(address):
    return re.sub(r"^ws(://[^/]+).*", r"http\1", address)


async def fed(address, token, rate, until_s):
    """Samples acknowledged, of so many a second."""
    frame, headers, acknowledged = template(FRAME), {"Authorization": f"Bearer {token}"}, 0
    async with websockets.connect(address, additional_headers=headers, compression=None, max_size=None) as found:
        hello = json.loads(await found.recv())
        room = asyncio.Semaphore(hello["most_in_flight"])

        async def receive():
            nonlocal acknowledged
            while True:
                acknowledged += json.loads(await found.recv())["accepted"]
                room.release()

        receiving = asyncio.create_task(receive())
        began, seq, ts_ms = time.monotonic(), 0, 0
        while time.monotonic() < until_s:
            await asyncio.sleep(began + seq * FRAME / rate - time.monotonic())
            await room.acquire()
            seq, ts_ms = seq + 1, max(ts_ms + 1, round(time.time() * 1000))
            await found.send(frame.replace("@seq", str(seq)).replace("@ts", str(ts_ms)))
        receiving.cancel()
    return acknowledged


async def viewing(port, viewers, until_s):
    """In a process of its own: arrivals, and when the one that reads nothing was let go."""
    address, arrivals = f"ws://127.0.0.1:{port}/ws/live/", []
    *_, let_go_s = await asyncio.gather(
        *(viewed(address, until_s, arrivals) for _ in range(viewers)), stalled(address, until_s)
    )
    return arrivals, let_go_s


def _view(port, viewers, seconds):
    """What a child process prints."""
    arrivals, let_go_s = asyncio.run(viewing(port, viewers, time.monotonic() + seconds))
    print(json.dumps({"arrivals": arrivals, "let_go_s": let_go_s}))


def measured(installation, token, viewers, rate, seconds):
    """Of viewers in a process of their own and one sender in this one."""
    command = [sys.executable, "-m", "tests.benchmarks.live", "--view", str(installation.port)]
    command += ["--viewers", str(viewers), "--seconds", str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        address = f"ws://127.0.0.1:{installation.port}/ws/ingest/"
        process = psutil.Process(installation.server.pid)
        used_s, began = busy_s(process), time.monotonic()
        accepted = asyncio.run(fed(address, token, rate, time.monotonic() + seconds))
        took_s, used_s = time.monotonic() - began, busy_s(process) - used_s
        told = json.loads(child.communicate()[0])
    return accepted / took_s, used_s / took_s, process.memory_info().rss / 2**20, told


def summary(name, viewers, found):
    """Lines of one database."""
    rate, busy, memory, told = found
    arrivals = np.array(told["arrivals"], float)
    settled = arrivals[arrivals[:, 2] >= arrivals[:, 2].min() + SETTLED_S * 1000]
    age_s = (settled[:, 2] - settled[:, 1]) / 1000
    made_ms = np.array(sorted({made for _, made, _ in told["arrivals"]}))
    beats_s = np.diff(made_ms)[int(SETTLED_S) :] / 1000
    seqs = np.unique(settled[:, 0])
    heard = settled.shape[0] / (seqs.size * viewers)
    let_go = "still there" if told["let_go_s"] is None else f"let go after {told['let_go_s']:.1f} s"
    beside = f"{viewers} viewers; {busy:.2f} cores, RSS {memory:.0f} MiB"
    yield f"  {name:<12} {rate:>10,.0f} samples/s acknowledged beside {beside}"
    yield (
        f"  {'':<12} snapshots every {beats_s.mean():.3f} s (P99 {np.quantile(beats_s, 0.99):.2f} s); age on arrival "
        f"P50 {np.quantile(age_s, 0.5):.2f} s, P99 {np.quantile(age_s, 0.99):.2f} s; {heard:.1%} of them heard"
    )
    yield f"  {'':<12} the one that reads nothing: {let_go}, its socket's buffers hold the rest"


def of_database(name, variables, viewers, rate, seconds):
    """Lines."""
    with tempfile.TemporaryDirectory() as directory:
        settings = {"DJANGO_SETTINGS_MODULE": "config.settings"}
        installation = Installation(name, Path(directory), {**settings, **variables})
        installation.start_server()
        try:
            [token] = shell(installation, PREPARE)
            yield from summary(name, viewers, measured(installation, token, viewers, rate, seconds))
        finally:
            installation.stop()


def lines(viewers=VIEWERS, rate=RATE, seconds=SECONDS, databases=("SQLite", "PostgreSQL")):
    """For `make bench`."""
    yield f"live view: {viewers} viewers and one that reads nothing, {rate:,} samples/s offered for {seconds:g} s"
    if "SQLite" in databases:
        yield from of_database("SQLite", {}, viewers, rate, seconds)
    if "PostgreSQL" in databases:
        with services.postgresql() as server, services.new_database(server) as database:
            yield from of_database("PostgreSQL", {"DATABASE_URL": database}, viewers, rate, seconds)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.live", description=__doc__)
    parser.add_argument("--viewers", type=int, default=VIEWERS)
    parser.add_argument("--rate", type=int, default=RATE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--databases", nargs="+", default=["SQLite", "PostgreSQL"])
    parser.add_argument("--view", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.view is not None:
        _view(given.view, given.viewers, given.seconds)
        return
    for line in lines(given.viewers, given.rate, given.seconds, given.databases):
        print(line, flush=True)


if __name__ == "__main__":
    main()
