"""Rules over REST: described, stored, refused field by field."""

import pytest

from monitoring.models import AlertRule, Watch

pytestmark = pytest.mark.django_db
RULE = {"name": "full", "kind": "threshold", "spec": {"figure": "link_utilisation.wan", "fire": 0.95, "clear": 0.9}}


@pytest.fixture(autouse=True)
def no_rules(db):
    AlertRule.objects.all().delete()


def test_a_rule_is_made_with_what_is_not_said_filled_in(rest):
    answer = rest("post", "alert-rules/", RULE)
    assert answer.status_code == 201, answer.content
    assert answer.headers["Location"].endswith("/api/v1/live/alert-rules/full/")
    found = answer.json()
    del found["changed_at"]
    assert found == {
        "name": "full", "title": "", "kind": "threshold", "watch": "", "for_s": 60.0, "no_data": "keep",
        "spec": {"figure": "link_utilisation.wan", "direction": "above", "fire": 0.95, "clear": 0.9},
        "no_data_for_s": 120.0, "severity": "warning", "labels": {}, "runbook": "", "runbook_url": "",
        "enabled": True, "problem": "", "changed_by": "ada",
    }  # fmt: skip


def test_a_rule_is_changed_in_part_and_deleted(rest):
    rest.made("alert-rules/", **RULE)
    changed = rest("patch", "alert-rules/full/", {"spec": {"clear": 0.7}, "for_s": 0}).json()
    assert (changed["spec"]["fire"], changed["spec"]["clear"], changed["for_s"]) == (0.95, 0.7, 0)
    assert rest("delete", "alert-rules/full/").status_code == 204
    assert rest("get", "alert-rules/full/").status_code == 404


def test_another_kind_begins_with_its_own_fields(rest):
    rest.made("alert-rules/", **RULE)
    changed = rest("patch", "alert-rules/full/", {"kind": "source"}).json()
    assert changed["spec"] == {"source": "*"}


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"name": "a b"}, "name", "must be up to 100 letters"),
        ({"name": "new"}, "name", "is not a name of a rule"),
        ({"kind": "magic"}, "kind", "must be one of threshold, rate, forecast, advice, burn, source, got 'magic'"),
        ({"kind": ["rate"]}, "kind", "must be one of"),
        ({"severity": "page"}, "severity", "critical, warning, info"),
        ({"no_data": None}, "no_data", "alert, ok, keep"),
        ({"for_s": -1}, "for_s", "must be from 0 to 86400 s, got -1"),
        ({"no_data_for_s": "soon"}, "no_data_for_s", "must be from 0"),
        ({"watch": "nowhere"}, "watch", "nowhere is no watch; known: none yet; empty: all"),
        ({"labels": {"severity": "x"}}, "labels", "severity is a label that each alert has by itself"),
        ({"labels": {"a b": "x"}}, "labels", "must be letters, digits and _"),
        ({"labels": {"team": 3}}, "labels", "team must be text"),
        ({"labels": []}, "labels", "must be an object"),
        ({"runbook_url": "javascript:alert(1)"}, "runbook_url", "must begin with http"),
        ({"runbook_url": "http://[x"}, "runbook_url", "must begin with http"),
        ({"runbook": 3}, "runbook", "must be text"),
        ({"enabled": "yes"}, "enabled", "must be true or false"),
        ({"spec": []}, "spec", "must be an object"),
        ({"spec": {"fire": "high"}}, "spec.fire", "must be a number, got 'high'"),
        ({"spec": {"fire": True}}, "spec.fire", "must be a number"),
        ({"spec": {"fire": 0.5, "clear": 0.6}}, "spec.clear", "must be at or below the level that fires, 0.5, got 0.6"),
        ({"spec": {"direction": "below", "fire": 0.5, "clear": 0.4}}, "spec.clear", "must be at or above"),
        ({"spec": {"direction": "sideways"}}, "spec.direction", "must be one of above, below"),
        ({"spec": {"figure": "a*b*c*d*e"}}, "spec.figure", "at most 3 stars"),
        ({"spec": {"figure": "Link Utilisation"}}, "spec.figure", "must be the name of a figure"),
        ({"spec": {"colour": 1}}, "spec.colour", "is not a field of threshold; allowed: figure, direction"),
        ({"kind": "rate", "spec": {"over_s": 1}}, "spec.over_s", "must be a number from 30 to 3600, got 1"),
        ({"kind": "advice", "spec": {"fire": 0.5}}, "spec.fire", "must be a number of at least 1"),
        ({"kind": "advice", "spec": {"instances": 1}}, "spec.instances", "must be true or false"),
        ({"kind": "burn", "spec": {"target": 0.9}}, "spec.fast", "can never be reached"),
        ({"colour": "red"}, "colour", "is not a field here"),
    ],
)  # fmt: skip
def test_what_a_rule_cannot_be_is_said_by_field(rest, changes, field, said):
    assert said in rest.refused("post", "alert-rules/", {**RULE, **changes})[field]
    assert not AlertRule.objects.exists()


def test_a_burn_that_needs_all_requests_is_the_most_that_may_be_asked_for(rest):
    # With 10 % allowed to be slow, all being slow burns ten times.
    spec = {"target": 0.9, "fast": 10, "slow": 6}
    assert rest.made("alert-rules/", name="slo", kind="burn", spec=spec)["spec"]["fast"] == 10
    assert "burns 10 times" in rest.refused("patch", "alert-rules/slo/", {"spec": {"fast": 10.1}})["spec.fast"]


def test_a_body_that_is_no_object_and_a_name_that_is_taken_are_refused(rest):
    assert "must be a JSON object" in rest.refused("post", "alert-rules/", [RULE])[None]
    rest.made("alert-rules/", **RULE)
    assert rest.refused("post", "alert-rules/", RULE) == {"name": "full is the name of another rule"}


def test_everybody_sees_rules_and_who_is_signed_in_changes_them(rest, anyone):
    rest.made("alert-rules/", **RULE)
    assert [each["name"] for each in anyone("get", "alert-rules/").json()] == ["full"]
    assert anyone("post", "alert-rules/", RULE | {"name": "x"}).status_code in (401, 403)
    assert anyone("patch", "alert-rules/full/", {}).status_code in (401, 403)
    assert anyone("delete", "alert-rules/full/").status_code in (401, 403)


def test_a_rule_of_a_watch_names_one_that_is_there(rest):
    Watch.objects.create(name="berlin")
    assert rest.made("alert-rules/", **RULE, watch="berlin")["watch"] == "berlin"
