"""A real Alertmanager takes what we send, and what its webhook tells us of it is an annotation."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from monitoring import tokens
from monitoring.alerts import sending
from monitoring.alerts.evaluator import Alerting
from monitoring.models import Hook, Note, Receiver
from tests.alerts.receiving import receiving
from tests.alerts.snapshots import rule, watch
from tests.monitoring.senders import asked

# where Debian's name and the project's own differ
ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
pytestmark = [
    pytest.mark.skipif(
        not ALERTMANAGER, reason="no Alertmanager on this machine: apt-get install prometheus-alertmanager"
    ),
    pytest.mark.django_db(transaction=True),
]
CONFIG = """
route: {{receiver: ours, group_by: [alertname], group_wait: 10ms, group_interval: 200ms, repeat_interval: 1h}}
receivers:
  - name: ours
    webhook_configs: [{{url: "{url}", send_resolved: true}}]
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, what, within_s=40.0):
    end = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not happen within {within_s} s"
        time.sleep(0.05)
    return value


def answered(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  # our own child
            return json.loads(answer.read() or "true")
    except (urllib.error.URLError, ConnectionError, json.JSONDecodeError):
        return None


@pytest.fixture
def told():
    with receiving() as server:
        yield server


@pytest.fixture
def alertmanager(tmp_path, told):
    """Its address, once it answers."""
    (tmp_path / "alertmanager.yml").write_text(CONFIG.format(url=told.url()))
    address = f"127.0.0.1:{free_port()}"
    options = ["config.file=alertmanager.yml", "storage.path=data", f"web.listen-address={address}"]
    options += ["cluster.listen-address=", "log.level=error"]
    process = subprocess.Popen([ALERTMANAGER, *(f"--{each}" for each in options)], cwd=tmp_path)
    try:
        until(lambda: answered(f"http://{address}/api/v2/status"), "Alertmanager's start")
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(10)


def snapshot(now_ms, value):
    from monitoring.live.messages import Snapshot

    return Snapshot(1, now_ms, [watch(link_utilisation__wan=value)], [])


async def test_alerts_go_through_a_real_alertmanager_and_come_back_as_annotations(alertmanager, told, client):
    # Alertmanager goes by its own clock, which is this machine's.
    now_ms = sending.now_ms() - 60_000
    alerting, sender = Alerting(), sending.Sending(lambda: True)

    async def tick(at_ms, value):
        await asked(lambda: alerting(snapshot(at_ms, value)))
        await sender.look()
        await sender.settled()

    def begun():
        rule(figure="link_utilisation.wan", fire=0.9, clear=0.8)
        Receiver.objects.create(name="am", kind="alertmanager", url=alertmanager, repeat_s=60)
        return tokens.create(Hook.objects.create(name="am", kind="alertmanager"))[1]

    secret = await asked(begun)
    await tick(now_ms, 0.95)
    [held] = await asked(lambda: until(lambda: answered(f"{alertmanager}/api/v2/alerts"), "the alert's arrival"))
    assert held["labels"] == {
        "alertname": "full", "severity": "warning", "watch": "berlin", "figure": "link_utilisation.wan", "link": "wan",
    }  # fmt: skip
    assert held["annotations"]["summary"] == "link_utilisation.wan is 95 %; at or above 90 % it fires"
    assert await asked(lambda: Receiver.objects.get().last_error) == ""

    def come(status):
        """The first message of Alertmanager's with this status."""
        return until(lambda: next((t for t in told.told if t.json["status"] == status), None), f"a message: {status}")

    def passed_on(message):
        headers = {"Authorization": f"Bearer {secret}"}
        address = "/api/v1/live/hooks/alertmanager/"
        answer = client.post(address, message.body, content_type="application/json", headers=headers)
        assert (answer.status_code, answer.json()) == (200, {"accepted": 1, "truncated": 0})
        return Note.objects.get(kind="alertmanager")

    note = await asked(lambda: passed_on(come("firing")))
    assert (note.ts_ms, note.is_open, note.text) == (now_ms, True, f"full: {held['annotations']['summary']}")
    await tick(now_ms + 30_000, 0.1)
    note = await asked(lambda: passed_on(come("resolved")))
    assert (note.ts_ms, note.end_ms, note.is_open) == (now_ms, now_ms + 30_000, False)
    await sender.stop()
