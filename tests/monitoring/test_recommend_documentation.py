"""What is documented of the recommendation is what it says, and what it says is as the API has it."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
import yaml

from monitoring.live import messages
from monitoring.recommending import auditing
from monitoring.recommending.exposing import HELP, LABELS
from monitoring.recommending.recommender import Recommender
from monitoring.recommending.saying import CODES
from monitoring.signals import OURS
from planner.engine.advice import Options
from planner.engine.advice.drifting import TOLERANCE
from planner.watched.fitting import LEAST_REQUESTS
from tests.monitoring.advised import snapshot, watch, watch_now

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "recommendation.md").read_text()
API = yaml.safe_load((DOCS / "asyncapi.yaml").read_text())
SCHEMAS = API["components"]["schemas"]
TOLD = ("AdviceNow", "Target", "Pair", "Drift")


def cells(at=0):
    """Of all tables, the words in code in a column."""
    lines = [line.split("|")[1:-1] for line in TEXT.splitlines() if line.startswith("|")]
    return {word for line in lines if len(line) > at for word in line[at].split("`")[1::2]}


@pytest.mark.parametrize("name", TOLD)
def test_every_field_of_an_advice_is_described(name):
    fields = getattr(messages, name).__struct_fields__
    assert list(SCHEMAS[name]["properties"]) == SCHEMAS[name]["required"] == list(fields)


def test_every_reason_code_has_its_line():
    assert set(CODES) <= cells()


def test_every_field_has_its_line():
    others = {"at_ms", "objective", "reason", "sentence", "problems", "other_threshold_tokens"}
    assert set(messages.AdviceNow.__struct_fields__) - others <= cells()


def test_every_gauge_has_its_line_and_its_labels():
    assert set(HELP) <= cells()
    assert {label for labels in LABELS.values() for label in labels} <= cells(1)


@pytest.mark.parametrize(
    "said",
    [
        f"fewer than {Options().least_requests:g} lengths",
        f"for {Options().most_age_s:g} s",
        f"more than {Options().most_extrapolated:.0%} of the prefill work".replace("%", " %"),
        f"kept for {auditing.KEPT_MS // 86_400_000} days",
        f"beyond {TOLERANCE:.0%}".replace("%", " %"),
        f"{LEAST_REQUESTS} requests of a route",
        *(f"`{name}`" for name in OURS),
    ],
)
def test_bounds_and_names_are_those_of_the_page(said):
    assert said in " ".join(TEXT.split())


@pytest.mark.django_db
@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("requests", [20_000.0, 50.0])
def test_an_advice_is_as_the_api_says(requests):
    watch()
    now = watch_now(requests=requests, capacity_bps=10e9, egress_bps=9.6e9)
    now.advice = None
    Recommender()(snapshot(now))
    told = json.loads(msgspec.json.encode(now.advice))
    schema = {"$ref": "#/components/schemas/AdviceNow", "components": API["components"]}
    jsonschema.validate(told, schema)
    assert bool(told["objectives"]) == (requests > 200)
