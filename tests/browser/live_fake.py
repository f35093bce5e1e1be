"""A server of snapshots as monitoring.live.messages has them, inside the browser: it says what a test tells it."""

import json
import math
import re
from urllib.parse import parse_qs, urlsplit

NAME = "case-study"
START_MS = 1_796_040_000_000
"""2026-11-30 12:00 UTC."""
SECOND = 1000
BOUNDS = [256.0 * 2**power for power in range(10)]
COUNTS = {"local": [4, 9, 21, 44, 71, 96, 40, 0, 0, 0, 0], "remote": [0, 0, 0, 0, 0, 0, 52, 88, 61, 22, 0]}


SPREAD = {"mean": 1.0, "low": 0.9, "high": 1.1}
"""Of a step in history."""


def value(number, ts_ms, age="live"):
    return {"value": number, "ts_ms": ts_ms, "age": age}


def points(ts_ms, brown_out=None):
    """What each line says at a time: ten minutes of less link are seen in all of them."""
    s = ts_ms / SECOND
    wave, ripple = math.sin(s / 400), 0.3 * math.sin(s / 7) + 0.2 * math.sin(s / 3.1)
    is_short = bool(brown_out and brown_out[0] <= ts_ms < brown_out[1])
    capacity = 6e9 if is_short else 10e9
    egress = min(capacity, (5.6 + 0.9 * wave + ripple) * 1e9 * (1.06 if is_short else 1.0))
    t = 23_400 if is_short else 19_600
    return {
        "egress_bps.wan": egress, "capacity_bps.wan": capacity, "link_utilisation.wan": egress / capacity,
        "kv_bps.wan": 0.96 * egress, "rtt_s.wan": 0.030 + (0.022 if is_short else 0.0) + 0.001 * ripple,
        "resent.wan": 0.0031 if is_short else 0.0002, "dropped_pps.wan": 14.0 if is_short else 0.0,
        "requests_rps.local": 1.02 + 0.1 * wave + 0.05 * ripple, "requests_rps.remote": 0.91 + 0.1 * wave,
        "offload": 0.47 + 0.02 * wave, "failed_rps": 0.0, "queue.prefill.compute": 2.0 + wave + abs(ripple),
        "queue.decode.compute": 0.6, "queue.transfer.link": 9.5 if is_short else 0.4, "queue.prefill.link": 0.0,
        "ttft_s.p50": 1.6, "ttft_s.p90": 3.4 + (2.2 if is_short else 0), "ttft_s.p99": 5.9 + (9.1 if is_short else 0),
        "instances.prfaas": 4.0, "instances.prefill": 3.0, "instances.decode": 5.0,
        "recommended_instances.prefill": 4.0, "recommended_instances.decode": 4.0,
        "utilisation.prfaas": 0.61 + 0.05 * wave, "utilisation.prefill": 0.72, "utilisation.decode": 0.49,
        "threshold_tokens": t, "recommended_threshold_tokens": t * 1.1, "lambda_max_rps": 2.61,
    }  # fmt: skip


def target(t, rps, egress, mean, p90):
    busy = {"prfaas": 0.5, "link": 0.8, "pd_p": 0.77, "pd_d": 0.49}
    return {
        "threshold_tokens": t, "lambda_max_rps": rps, "egress_bps": egress, "ttft_mean_s": mean, "ttft_p90_s": p90,
        "utilisation": busy,
    }  # fmt: skip


def advice(at, ts_ms):
    t = at["recommended_threshold_tokens"]
    return {
        "at_ms": ts_ms, "objective": "throughput", "reason": "link_busy", "problems": [],
        "sentence": "Link wan at 96 % of 6 Gbps and rising: raise t from 19.6K to 21.7K; "
        "Λ_max 2.75 req/s instead of 2.61; "
        "converting one decode node would give 3.00.",
        "threshold_tokens": t, "threshold_low": 0.97 * t, "threshold_high": 1.03 * t, "confidence": 0.97,
        "other_threshold_tokens": 18_100.0,
        "objectives": {
            "throughput": target(22_300.0, 2.81, 4.9e9, 2.24, 3.7), "ttft": target(18_100.0, 2.44, 6.0e9, 2.05, 3.4),
        },
        "instances": {"prfaas": 4, "prefill": 4, "decode": 4}, "lambda_max_rps": {"current": 2.61, "recommended": 2.75},
        "converted_instances": {"prfaas": 4, "prefill": 4, "decode": 4}, "lambda_max_converted_rps": 3.0,
        "conversion_s": 410.0, "conversion_lost_requests": 12.4, "link_carries_bps": 6e9, "unknown": ["retransmits"],
        "egress_bps": {"current": 5.76e9, "recommended": 5.1e9},
        "ttft_mean_s": {"current": 2.31, "recommended": 2.22}, "ttft_p90_s": {"current": 4.02, "recommended": 3.61},
        "utilisation": {
            "prfaas": {"current": 0.61, "recommended": 0.55}, "link": {"current": 0.96, "recommended": 0.85},
            "pd_p": {"current": 0.72, "recommended": 0.74}, "pd_d": {"current": 0.49, "recommended": 0.61},
        },
        "binding": "link", "samples": 1843.0,
        "drift": [{"what": "prefill_s.remote", "ratio": 1.04, "low": 0.98, "high": 1.1, "is_off": False}],
    }  # fmt: skip


def watch_now(ts_ms, brown_out=None, **changes):
    at = points(ts_ms, brown_out)
    seen = {key: value(number, ts_ms) for key, number in at.items()}
    link = {
        name: seen[f"{name}.wan"] for name in ("egress_bps", "capacity_bps", "rtt_s", "resent", "dropped_pps", "kv_bps")
    }
    return {
        "name": NAME, "title": "Case study", "scenario": "case-study-prfaas-pd",
        "links": [
            {
                "name": "wan", "ingress_bps": value(None, None, "absent"),
                "utilisation": seen["link_utilisation.wan"], "is_clamped": False, **link,
            }
        ],
        "requests_rps": {route: seen[f"requests_rps.{route}"] for route in ("local", "remote")},
        "offload": seen["offload"], "failed_rps": seen["failed_rps"],
        "input_tps": value(51e3, ts_ms), "cached_tps": value(0.0, ts_ms), "output_tps": value(1900.0, ts_ms),
        "threshold_tokens": seen["threshold_tokens"] | {"origin": "telemetry", "by": ""},
        "roles": [
            {
                "role": role, "instances": seen[f"instances.{role}"] | {"origin": "telemetry", "by": ""},
                "busy": value(2.0, ts_ms), "utilisation": seen[f"utilisation.{role}"],
            }
            for role in ("prfaas", "prefill", "decode")
        ],
        "queues": [],
        "ttft_s": {"p50": 1.6, "p90": 3.4, "p99": 5.9, "count": 900.0, "window_s": 60.0, "ts_ms": ts_ms, "age": "live"},
        "tpot_s": {}, "lengths": {"bounds": BOUNDS, "counts": COUNTS, "window_s": 900.0, "ts_ms": ts_ms, "age": "live"},
        "advice": advice(at, ts_ms), "points": at, **changes,
    }  # fmt: skip


def unmeasured(ts_ms):
    """The same watch while there is a source that has sent nothing of it."""
    unknown = value(None, None, "absent")
    setting = unknown | {"origin": "unknown", "by": ""}
    return watch_now(
        ts_ms, links=[], roles=[], requests_rps={"local": unknown, "remote": unknown}, offload=unknown,
        threshold_tokens=setting, lengths=None, advice=None, points=dict.fromkeys(points(ts_ms)),
    )  # fmt: skip


SOURCES = [
    {"name": "router", "state": "live", "age_ms": 400, "labels": {"role": "router"}, "skew_ms": 120, "problem": ""},
    {"name": "gateway", "state": "live", "age_ms": 900, "labels": {"link": "wan"}, "skew_ms": -40, "problem": ""},
    {"name": "pd-decode", "state": "stale", "age_ms": 42_000, "labels": {}, "skew_ms": None, "problem": "refused"},
]  # fmt: skip
ALERT = {
    "id": 7, "rule": "link near its limit", "state": "firing", "severity": "warning", "since_ms": START_MS - 90_000,
    "text": "wan: egress above 90 % of its capacity for 60 s", "watch": NAME, "value": 0.96,
    "acknowledged_by": "", "silenced_until_ms": None,
}  # fmt: skip
NOTES = [
    {
        "id": 3, "ts_ms": START_MS - 420_000, "end_ms": START_MS - 90_000, "kind": "typed",
        "text": "provider works on the wan link", "watch": NAME, "is_open": False,
    },
    {
        "id": 4, "ts_ms": START_MS - 240_000, "end_ms": None, "kind": "alertmanager",
        "text": "t set from 19,600 to 23,400", "watch": NAME, "is_open": False,
    },
]  # fmt: skip
WATCH = {
    "name": NAME, "title": "Case study", "scenario": "case-study-prfaas-pd", "clusters": [], "links": ["wan"],
    "headroom": 0.1, "objective": "throughput",
}  # fmt: skip


class FakeLive:
    """Routes of one tab. Each `tick` is the next second; `asked` keeps the addresses that were asked for."""

    def __init__(self, page, has_watch=True, brown_out=None):
        self.page, self.brown_out = page, brown_out
        self.seq, self.now_ms = 100, START_MS
        self.watches = [WATCH] if has_watch else []
        self.stored, self.sockets, self.asked = [], [], []
        self.refuses = self.is_gone = self.is_slow = self.has_gap = self.is_known = self.is_unmeasured = False
        self.waiting = []
        self.holes, self.posted, self.refusal = [], [], None
        self.changes, self.notes = {}, NOTES
        page.route_web_socket(re.compile(r"/ws/live/$"), self._connected)
        page.route(re.compile(r"/api/v1/live/"), self._answer)
        page.route(re.compile(r"/live/(\?|$)"), self._page)

    # --- what the test says ---

    def tick(self, count=1, sent=True):
        """So many seconds; those that are not sent are stored all the same."""
        for _ in range(count):
            self.seq, self.now_ms = self.seq + 1, self.now_ms + SECOND
            self.stored.append(self.snapshot())
            if sent:
                self.say(self.stored[-1])
        return self.stored[-1] if self.stored else None

    def say(self, snapshot):
        if self.sockets:
            self.sockets[-1].send(json.dumps(snapshot))

    def snapshot(self):
        now = unmeasured(self.now_ms) if self.is_unmeasured else watch_now(self.now_ms, self.brown_out, **self.changes)
        watches = [now | {"name": each["name"]} for each in self.watches]
        has = bool(watches)
        return {
            "v": 1, "seq": self.seq, "ts_ms": self.now_ms, "watches": watches, "sources": SOURCES if has else [],
            "alerts": [ALERT] if has else [], "notes": self.notes if has else [],
        }  # fmt: skip

    def disconnect(self):
        """Ends the connection, as a server that is killed does."""
        for socket in self.sockets:
            socket.close()
        self.sockets.clear()

    # --- what the page hears ---

    def _page(self, route):
        """The real page, by whose clock it is the fake's time."""
        response = route.fetch()
        body = re.sub(r'"now_ms": \d+', f'"now_ms": {self.now_ms}', response.text())
        route.fulfill(response=response, body=body)

    def _connected(self, socket):
        if self.refuses:
            socket.close()
            return
        if self.is_known:  # time has gone on for who comes back
            self.tick(sent=False)
        self.is_known = True
        self.sockets.append(socket)
        socket.send(json.dumps(self.snapshot()))

    def _answer(self, route):
        address = urlsplit(route.request.url)
        if route.request.method != "GET":
            self._posted(route, address.path)
            return
        self.asked.append(address.path.split("/api/v1/live/")[1] + (f"?{address.query}" if address.query else ""))
        if self.is_gone:
            route.abort()
            return
        if self.is_slow:
            self.waiting.append(route)
            return
        self._fulfill(route)

    def answer_all(self):
        """What was asked for while the server was slow."""
        self.is_slow = False
        while self.waiting:
            self._fulfill(self.waiting.pop(0))

    def _fulfill(self, route):
        address = urlsplit(route.request.url)
        given = {name: values[0] for name, values in parse_qs(address.query).items()}
        route.fulfill(json=self._document(address.path.split("/api/v1/live/")[1], given))

    def _posted(self, route, path):
        self.posted.append((route.request.method, path.split("/api/v1/live/")[1], route.request.post_data_json))
        if self.refusal:
            route.fulfill(status=400, json={"errors": [self.refusal]})
        else:
            route.fulfill(status=201, json=route.request.post_data_json)

    def _document(self, path, given):
        if path == "snapshot/":
            self.is_known = True
            return self.snapshot()
        if path == "watches/":
            return self.watches
        if path == "ticks/":
            return {
                "ticks": [each for each in self.stored if each["seq"] > int(given["since"])],
                "more": False,
                "gap": self.has_gap,
            }
        if path == "annotations/":
            return {"annotations": self.notes if self.watches else [], "more": 0}
        if path.endswith("/recommendations/"):
            at_ms = int(given.get("end", self.now_ms)) - 60_000
            split = {"prfaas": 4, "prefill": 3, "decode": 5}
            then = {
                "id": 1, "at_ms": at_ms, "reason": "keep", "sentence": "Keep t at 19.6K.", "problems": [],
                "current": {"threshold_tokens": 19_600.0, "instances": split, "binding": "pd_p"},
                "recommended": {"threshold_tokens": 21_700.0, "instances": split | {"prefill": 4, "decode": 4}},
            }  # fmt: skip
            nothing = then | {"id": 2, "reason": "stale", "sentence": "nothing is recommended", "recommended": {}}
            return {"count": 2, "results": [then] if "end" in given else [nothing, then]}
        if path.endswith("/history/"):
            return self._history(int(given["start"]), int(given["end"]))
        return []

    def _history(self, start, end):
        step = max(SECOND, -(-(end - start) // 600 // SECOND) * SECOND)
        times = [
            at
            for at in range(start // step * step, end, step)
            if at < self.now_ms and not any(begin <= at < end for begin, end in self.holes)
        ]
        if self.is_unmeasured:  # the names of all lines, of which nothing is known
            nothing = {name: [None] * len(times) for name in SPREAD}
            return {"step_ms": step, "ts_ms": times, "lines": dict.fromkeys(points(start), nothing), "lengths": None}
        rows = [points(at, self.brown_out) for at in times]
        lines = {
            key: {name: [factor * row[key] for row in rows] for name, factor in SPREAD.items()} for key in points(start)
        }
        return {"step_ms": step, "ts_ms": times, "lines": lines, "lengths": None}
