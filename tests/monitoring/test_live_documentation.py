"""What is documented of the live view is what it does."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
import yaml

from monitoring.doors import viewing
from monitoring.lease import HELD_FOR
from monitoring.live import messages, ticks
from monitoring.liveness import ABSENT_AFTER_MS
from monitoring.models import Entered, Watch
from monitoring.state import STALE_AFTER_MS
from monitoring.watching import FIELDS, WHAT
from tests.monitoring.living import T0, Leader, counter, gauge, histogram, source

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "live.md").read_text()
API = yaml.safe_load((DOCS / "asyncapi.yaml").read_text())
SCHEMAS = API["components"]["schemas"]
OURS = (
    "Snapshot",
    "WatchNow",
    "SourceNow",
    "LinkNow",
    "QueueNow",
    "RoleNow",
    "Quantiles",
    "Lengths",
    "Value",
    "Current",
)


@pytest.mark.parametrize("name", OURS)
def test_every_field_of_a_snapshot_is_described(name):
    fields = getattr(messages, name).__struct_fields__
    assert list(SCHEMAS[name]["properties"]) == SCHEMAS[name]["required"] == list(fields)


@pytest.mark.django_db
def test_a_snapshot_is_as_the_api_says():
    leader = Leader()
    Entered.objects.create(
        watch=Watch.objects.create(name="west"), what="instances.decode", value=5.0, at_ms=T0, by="ada"
    )
    leader.store(
        source(role="router"),
        counter("link_egress_bits", range(30), link="wan"),
        counter("requests", range(30), role="router", route="local"),
        gauge("queued_requests", [4.0] * 30, role="prefill", stage="prefill", bound="compute"),
        histogram("ttft_s", [[1, 2]] * 30, [1.0], role="router"),
        histogram("uncached_tokens", [[1, 2]] * 30, [1024.0], role="router", route="local"),
    )
    snapshot = json.loads(msgspec.json.encode(leader.snapshot(T0 + 29_000)))
    (watch,) = snapshot["watches"]
    assert all(watch[part] for part in ("links", "roles", "queues", "lengths", "points"))
    jsonschema.validate(snapshot, {"$ref": "#/components/schemas/Snapshot", "components": API["components"]})


@pytest.mark.parametrize(
    "said",
    [
        *(f"| {code} |" for code in (viewing.TOO_SLOW, viewing.TOO_LARGE, viewing.AGAIN_LATER)),
        f"takes nothing for {viewing.SEND_WITHIN_S:g} s",
        f"more than {viewing.MOST_HEARD_BYTES} characters",
        f"up to {ticks.MOST}",
        f"at most {STALE_AFTER_MS // 1000} s old",
        f"(`{HELD_FOR.seconds} s`)".replace("`", ""),
        *(f"`{what}`" for what in WHAT),
        *(f'"{field}"' for field in FIELDS),
    ],
)
def test_bounds_and_names_are_those_of_the_page(said):
    assert said in TEXT


def test_times_in_words_are_those_that_count():
    assert (ABSENT_AFTER_MS, ticks.KEPT_MS) == (5 * 60_000, 10 * 60_000)
