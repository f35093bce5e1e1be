"""What is documented of the websocket is what it does."""

import json
import re
from pathlib import Path

import pytest
import yaml

from monitoring import intake
from monitoring.doors import websocket
from monitoring.doors.websocket import Ack, Failure, Hello
from monitoring.sources import frames

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "telemetry-ingest.md").read_text()
API = yaml.safe_load((DOCS / "asyncapi.yaml").read_text())
SCHEMAS = API["components"]["schemas"]


def test_the_envelope_of_the_page_is_read_whole():
    [example] = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    found = frames.decode(example, 0)
    assert (len(found.readings), found.rejected, found.seq) == (3, [], 7)


def test_the_example_of_the_api_is_read_whole():
    [example] = API["components"]["messages"]["envelope"]["examples"]
    found = frames.decode(json.dumps(example["payload"]), 0)
    assert (len(found.readings), found.rejected) == (2, [])


@pytest.mark.parametrize("message", [Hello, Ack, Failure])
def test_every_field_of_an_answer_is_described(message):
    described = SCHEMAS[message.__name__]
    assert set(described["properties"]) == set(message.__struct_fields__)
    assert described["required"] == [name for name in message.__struct_fields__ if name in described["required"]]


@pytest.mark.parametrize(
    "said",
    [
        f'"most_in_flight": {websocket.MOST_IN_FLIGHT}, "most_frame_bytes": {websocket.MOST_FRAME_BYTES}',
        f"more than {intake.LATE_MS // 60_000} minutes old or more than {intake.AHEAD_MS // 1000} s ahead",
        f"| frames in a row that cannot be read | {websocket.MOST_ERRORS} |",
        f"| answers that are not received | {websocket.SEND_WITHIN_S:.0f} s |",
        f"Up to {websocket.MOST_REJECTED} are told",
        *(f"| {code} |" for code in (websocket.GARBAGE, websocket.NO_TOKEN, websocket.NOT_KNOWN)),
    ],
)
def test_bounds_and_codes_are_those_of_the_page(said):
    assert said in TEXT
