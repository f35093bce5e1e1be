"""Several web processes show one truth, whoever of them writes, and go on showing it when that one is killed."""

import contextlib
import json
import logging
import time

import pytest
import websockets.sync.client

from tests.patience import UNTIL_ANSWER_S
from tests.stack import services
from tests.stack.ingest import Agent, prepared
from tests.stack.installation import Installation, until

logger = logging.getLogger(__name__)

TAKEN_OVER_S = 10


@pytest.fixture
def two(postgresql, tmp_path):
    """Web processes with one database; the first one leads."""
    with services.new_database(postgresql) as database, contextlib.ExitStack() as closing:
        found = []
        for name in ("first", "second"):
            installation = Installation(name, tmp_path / name, {"DATABASE_URL": database})
            closing.callback(installation.stop)
            installation.start_server()
            found.append(installation)
        yield found


@contextlib.contextmanager
def looking(installation):
    """What a viewer hears of it, one snapshot a call."""
    address = f"ws://127.0.0.1:{installation.port}/ws/live/"
    with websockets.sync.client.connect(address, origin=installation.address, max_size=None) as socket:
        yield lambda: socket.recv(UNTIL_ANSWER_S)


def heard(next_one, count):
    """Texts by number."""
    texts = [next_one() for _ in range(count)]
    return {json.loads(text)["seq"]: text for text in texts}


def rates(texts):
    """Of tokens a second in each snapshot; None where it is not known."""
    return [json.loads(text)["watches"][0]["output_tps"]["value"] for _, text in sorted(texts.items())]


def has_a_rate(next_one):
    return json.loads(next_one())["watches"][0]["output_tps"]["value"] is not None


def test_two_processes_show_the_same_and_when_one_is_killed_the_other_goes_on(two):
    first, second = two
    agent = Agent(second, prepared(second), pause_s=0.05).start()
    with looking(second) as at_second:
        with looking(first) as at_first:
            until(lambda: has_a_rate(at_first), TAKEN_OVER_S, "a rate of what is sent")
            until(lambda: has_a_rate(at_second), TAKEN_OVER_S, "the same at the other process")
            before, same = heard(at_first, 4), heard(at_second, 4)
            common = before.keys() & same.keys()
            assert common
            assert {seq: before[seq] for seq in common} == {seq: same[seq] for seq in common}
        last = json.loads(at_second())["seq"]
        first.kill_server()
        began = time.monotonic()
        after = {}
        until(lambda: _is_of_another(after, at_second, last), TAKEN_OVER_S, "a snapshot of the one that is left")
        logger.info("another one had taken over %.1f s after the kill", time.monotonic() - began)
        after |= heard(at_second, 3)
        # nothing is shown twice or as zero, and numbers go on
        assert sorted(after) == list(range(min(after), min(after) + len(after)))
        assert all(rate is None or rate > 0 for rate in rates(before | same | after))
        until(lambda: has_a_rate(at_second), TAKEN_OVER_S, "a rate again")
    missed = second.request("GET", f"/api/v1/live/ticks/?since={max(before)}").document
    assert missed["ticks"][0]["seq"] == max(before) + 1
    assert not missed["gap"]
    agent.finish()


def _is_of_another(after, next_one, last):
    """Whether more came than the one that was killed may still have stored."""
    text = next_one()
    seq = json.loads(text)["seq"]
    after[seq] = text
    return seq > last + 2
