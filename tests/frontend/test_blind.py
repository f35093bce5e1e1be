"""A scenario that routes whatever the length, on the pages that know of thresholds."""

import json

import pytest
from django.contrib.auth.models import User

from frontend import outcome
from planner import evaluation, scenario, store
from planner.models import Job

pytestmark = pytest.mark.django_db


def blind(share=0.25, **more):
    """The case study by share, its share and split free."""
    document = scenario.load("case-study-prfaas-pd").document()
    document |= {"name": "blind", "routing": {"policy": "blind", "remote_share": share}} | more
    document["free"] = ["routing.remote_share", "clusters.pd.prefill_instances"]
    return scenario.parse(document)


@pytest.fixture
def planner(client):
    client.force_login(User.objects.create_user("ada"))
    return client


def test_the_table_of_an_optimum_has_the_share_in_the_place_of_the_threshold():
    rows = {row.label: row for row in outcome.rows(evaluation.optimize(blind()), blind().document())}
    assert "Threshold t" not in rows
    row = rows["Remote share q"]
    assert (row.unit, row.given, row.found, row.found_kind) == ("%", "25.0", "74.7", "estimated")


def test_a_result_of_before_there_were_shares_has_its_threshold():
    result = evaluation.optimize(scenario.load("case-study-prfaas-pd"))
    del result["remote_share"], result["given"]["remote_share"]
    rows = outcome.rows(result, scenario.load("case-study-prfaas-pd").document())
    assert "Threshold t" in {row.label for row in rows}


def test_the_panel_of_such_a_scenario_has_no_threshold_to_move(planner):
    store.create(store.SCENARIOS, blind().document(), by=None)
    page = planner.get("/scenarios/blind/").content.decode()
    data = json.loads(page.split('id="whatif-data" type="application/json">')[1].split("</script>")[0])
    [choices] = data["scenarios"]
    assert choices["threshold"] is None
    assert planner.get("/scenarios/").status_code == 200


def test_the_page_of_its_optimum_names_the_share(planner):
    result = evaluation.optimize(blind()) | {"map": None}
    asked = {"scenario": blind().document(), "form": "exact", "map": False}
    job = Job.objects.create(
        kind="optimize", scenario="blind", form="exact", version="0.1.0", state="succeeded", input=asked, result=result
    )
    page = planner.get(f"/jobs/{job.pk}/").content.decode()
    assert 'data-row="Remote share q"' in page
