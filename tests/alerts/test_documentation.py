"""docs/alerts.md is true."""

import json
import re
from pathlib import Path

import pytest

from monitoring.alerts import kinds, payloads, receivers, rules
from monitoring.alerts.defaults import RULES
from monitoring.models import Alert

TEXT = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def rows(after):
    """Of the table that follows a heading: the first cell, and the rest."""
    table = TEXT[TEXT.index(after) :].split("\n\n| ", 1)[1].split("\n\n", 1)[0]
    found = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {name.strip("`"): rest for cells, *rest in found for name in cells.split(", ")}


def test_the_program_that_checks_signatures_takes_ours_and_no_other():
    program = {}
    exec(blocks("python")[0], program)  # noqa: S102 - the documentation's
    body = payloads.body_of({"x": "ü"})
    headers = payloads.signed(body, "1", "secret", 1_790_000_400)
    assert program["is_ours"]("secret", headers, body)
    assert not program["is_ours"]("other", headers, body)
    assert not program["is_ours"]("secret", headers, body + b" ")


@pytest.mark.django_db
def test_the_rule_is_one_and_the_message_has_the_fields_of_a_message():
    rule, message = (json.loads(block) for block in blocks("json"))
    assert rules.mistakes({**rules.described(rules.AlertRule()), **rule}) == {}
    written = payloads.webhook(Alert(pk=17, rule_name="x"), "firing")
    assert message.keys() == written.keys()
    assert message["alert"].keys() == written["alert"].keys()


def test_every_kind_and_field_is_told():
    told = rows("makes no storm")
    assert told.keys() == kinds.KINDS.keys()
    for kind, fields in kinds.KINDS.items():
        assert told[kind][0].split(", ") == [field.name for field in fields]
    assert len(RULES) == len({each["kind"] for each in RULES}) == 6
    fields = rows("they are rows like any other")
    assert set(rules.FIELDS) - {"title", "spec"} == set(fields)
    assert rows("## Receivers").keys() == set(receivers.FIELDS) - {"name", "enabled"}
