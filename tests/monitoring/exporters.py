"""A tiny server of pages, as badly behaved as a test wants it, and of answers to PromQL."""

import contextlib
import gzip
import http.server
import json
import threading
import time
import urllib.parse
from dataclasses import dataclass, field


@dataclass
class Page:
    """What is answered: after `delay_s`, the body in parts `pause_s` apart."""

    body: bytes | str = b""
    status: int = 200
    headers: dict = field(default_factory=dict)
    delay_s: float = 0.0
    drip: int = 0
    repeat: int = 1

    @classmethod
    def packed(cls, text):
        return cls(gzip.compress(text.encode()), headers={"Content-Encoding": "gzip"})


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((time.monotonic(), self.path, dict(self.headers)))
        self.server.connections.add(self.client_address)
        with self.server.counting():
            page = self.server.answer(self)
            self.server.over.wait(page.delay_s)
            with contextlib.suppress(ConnectionError):
                self._send(page)

    def _send(self, page):
        body = page.body.encode() if isinstance(page.body, str) else page.body
        self.send_response(page.status)
        for name, value in page.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) * page.repeat))
        self.end_headers()
        for _ in range(page.repeat):
            self._write(body, page.drip)

    def _write(self, body, drip):
        if not drip:
            self.wfile.write(body)
            return
        for at in range(0, len(body), drip):
            self.wfile.write(body[at : at + drip])
            if self.server.over.wait(0.05):
                return

    def log_message(self, *_):
        """Silent."""


class Exporter(http.server.ThreadingHTTPServer):
    """Answers each path with its page; `asked` has what came, when and with which headers."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages, self.asked, self.connections = {}, [], set()
        self.at_once = self.most_at_once = 0
        self.over = threading.Event()
        self._lock = threading.Lock()

    def answer(self, request):
        found = self.pages.get(urllib.parse.urlsplit(request.path).path, Page("nothing here", 404))
        return found(request) if callable(found) else found

    @contextlib.contextmanager
    def counting(self):
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        yield
        with self._lock:
            self.at_once -= 1

    def url(self, path="/metrics"):
        return f"http://127.0.0.1:{self.server_port}{path}"


class Prometheus:
    """Answers instant and range queries with f(t) of one series a query: a page for each of its two paths."""

    def __init__(self, **series):
        self.series, self.queries = series, []

    def __call__(self, request):
        asked = urllib.parse.urlsplit(request.path)
        given = dict(urllib.parse.parse_qsl(asked.query))
        self.queries.append((asked.path, given))
        if given["query"] not in self.series:
            error = {"status": "error", "errorType": "bad_data", "error": "parse error: no such thing"}
            return Page(json.dumps(error), 400)
        metric, function = self.series[given["query"]]
        if asked.path.endswith("query_range"):
            times = _steps(*(float(given[name]) for name in ("start", "end", "step")))
            result = [{"metric": metric, "values": [[at, str(function(at))] for at in times]}]
            return Page(json.dumps(success("matrix", result)))
        at = float(given["time"])
        return Page(json.dumps(success("vector", [{"metric": metric, "value": [at, str(function(at))]}])))


def success(kind, result):
    return {"status": "success", "data": {"resultType": kind, "result": result}}


def _steps(start, end, step):
    return [start + step * at for at in range(int((end - start) / step + 1e-6) + 1)]


@contextlib.contextmanager
def serving(**pages):
    """The server, at work; the pages by their path without the slash."""
    server = Exporter()
    server.pages = {f"/{path}": page for path, page in pages.items()}
    # Its end is looked for often: no test waits for it.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
