"""A server that is told of alerts, as badly behaved as a test wants it."""

import contextlib
import http.server
import json
import threading
from dataclasses import dataclass


@dataclass
class Told:
    path: str
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.told.append(Told(self.path, dict(self.headers), body))
        self.server.came.set()
        if self.path == "/slow":
            self.server.over.wait(20)
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        with contextlib.suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"said")

    def log_message(self, *_):
        """Silent."""


class Server(http.server.ThreadingHTTPServer):
    """`statuses` are answered in this order, then 200; an address of /slow answers when all is over."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.told, self.statuses = [], []
        self.came, self.over = threading.Event(), threading.Event()

    def url(self, path="/hook"):
        return f"http://127.0.0.1:{self.server_port}{path}"


@contextlib.contextmanager
def receiving():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
