"""Several clusters as a form of rows, and the answer, as the server sends the pages."""

import json
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now

from planner import tasks
from planner.models import Entry, Job

pytestmark = pytest.mark.django_db
CASE = "case-study-prfaas-pd"
FLEET = {
    "name": "two-regions",
    "prfaas-0-name": "west", "prfaas-0-chips": "h200:8", "prfaas-0-instances": "4",
    "link-0-name": "a", "link-0-bandwidth": "100",
    "link-1-name": "b", "link-1-bandwidth": "10",
    "pd-0-name": "one", "pd-0-scenario": CASE, "pd-0-share": "60", "pd-0-prfaas1": "west", "pd-0-link1": "a",
    "pd-0-free": "on",
    "pd-1-name": "two", "pd-1-scenario": CASE, "pd-1-share": "40", "pd-1-prfaas1": "west", "pd-1-link1": "b",
}  # fmt: skip


@pytest.fixture
def planner(shipped, client):
    client.force_login(User.objects.create_user("ada"))
    return client


def ask(client, **changes):
    changes = {name.replace("__", "-"): text for name, text in changes.items()}
    return client.post(
        "/optimiser/clusters/", {key: text for key, text in (FLEET | changes).items() if text is not ...}
    )


def asked(client, **changes):
    answer = ask(client, **changes)
    assert answer.status_code == 302, summary(answer.content.decode())
    return Job.objects.get(pk=answer.headers["Location"].split("/")[2])


def computed(client, **changes):
    job = asked(client, **changes)
    kind = tasks.KINDS[job.kind]
    posed = kind.problem(job.input)
    result = kind.result(job.input, posed, kind.function(posed, lambda done, total, message: None))
    job.result = json.loads(json.dumps(result, allow_nan=False))
    job.state, job.started_at, job.finished_at = "succeeded", now(), now()
    job.save()
    return job


def text(page):
    return " ".join(unescape(re.sub("<[^>]+>", "", page)).split())


def summary(page):
    return text(page.split("data-summary")[1].split("</div>")[0]) if "data-summary" in page else ""


def beside(page, field):
    return text(page.split(f'id="{field}-error">')[1].split("</p>")[0])


def filled(page):
    """What a browser sends of the form when it is asked."""
    form = page.split("data-clusters-form")[1].split("</form>")[0]
    typed = {}
    for tag in re.findall("<input[^>]*>", form):
        name, value = re.search('name="(.*?)"', tag), re.search('value="(.*?)"', tag)
        if name and ('type="checkbox"' not in tag or "checked" in tag):
            typed[name[1]] = value[1] if value else "on" if "checkbox" in tag else ""
    for name, options in re.findall(r'<select name="(\S+?)".*?>(.*?)</select>', form, re.DOTALL):
        typed[name] = (re.search('value="([^"]*)" selected', options) or re.search('value="([^"]*)"', options))[1]
    return typed


def test_the_form_starts_from_a_scenario_and_can_be_asked_as_it_is(planner):
    page = planner.get(f"/optimiser/clusters/?scenario={CASE}").content.decode()
    typed = filled(page)
    assert (typed["prfaas-0-chips"], typed["prfaas-0-instances"]) == ("h200:8", "4")
    assert (typed["link-0-name"], typed["link-0-bandwidth"]) == ("wan", "100")
    assert (typed["pd-0-scenario"], typed["pd-0-share"], typed["pd-0-free"]) == (CASE, "100", "on")
    job = Job.objects.get(pk=planner.post("/optimiser/clusters/", typed).headers["Location"].split("/")[2])
    assert job.kind == "clusters"


def test_a_scenario_without_prfaas_is_a_fleet_without_routes(planner):
    typed = filled(planner.get("/optimiser/clusters/?scenario=case-study-homogeneous").content.decode())
    assert not [name for name in typed if name.startswith(("prfaas-", "link-"))]
    assert typed["pd-0-prfaas1"] == ""


def test_a_form_makes_the_fleet_that_was_typed(planner):
    fleet = asked(planner, pd__0__prfaas2="west", pd__0__link2="b").input["fleet"]
    assert fleet["name"] == "two-regions"
    assert fleet["prfaas"] == [{"name": "west", "hardware": "h200", "gpus_per_instance": 8, "instances": 4}]
    assert [(link["name"], link["bandwidth_bps"]) for link in fleet["links"]] == [("a", 1e11), ("b", 1e10)]
    one, two = fleet["pd"]
    assert (one["share"], two["share"]) == (0.6, 0.4)
    assert one["routes"] == [{"prfaas": "west", "link": "a"}, {"prfaas": "west", "link": "b"}]
    assert (one["free_split"], two["free_split"]) == (True, False)
    assert one["scenario"]["name"] == CASE


def test_a_link_without_a_bandwidth_is_unlimited(planner):
    job = computed(planner, link__1__bandwidth="")
    assert job.input["fleet"]["links"][1]["bandwidth_bps"] == "unlimited"
    page = planner.get(f"/jobs/{job.pk}/").content.decode()
    assert "unlimited" in text(page.split('data-table="links"')[1].split("</table>")[0])


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"pd__0__share": "50"}, "pd-1-share", "The shares add up to 90 %, not to 100 %."),
        ({"pd__0__share": ""}, "pd-0-share", "Which share"),
        ({"pd__0__share": "150"}, "pd-0-share", "less than or equal to 100"),
        ({"pd__0__share": "0", "pd__1__share": "100"}, "pd-0-share", "must be greater than 0"),
        ({"pd__1__name": "one"}, "pd-1-name", "Another PD cluster is called so."),
        ({"pd__0__name": "two words"}, "pd-0-name", "must be letters, digits"),
        ({"pd__0__name": ""}, "pd-0-name", "required"),
        ({"pd__0__prfaas1": "east"}, "pd-0-prfaas1", "There is no PrfaaS cluster of this name; there is west."),
        ({"pd__0__link1": ""}, "pd-0-link1", "Over which link?"),
        ({"pd__0__prfaas1": ""}, "pd-0-prfaas1", "To which PrfaaS cluster?"),
        ({"pd__0__scenario": "none-such"}, "pd-0-scenario", "Select a valid choice"),
        ({"prfaas__0__chips": "h100:8"}, "pd-0-prfaas1", "for which it has no profile"),
        ({"prfaas__0__instances": "-1"}, "prfaas-0-instances", "greater than or equal to 0"),
        ({"prfaas__0__instances": ""}, "prfaas-0-instances", "How many instances?"),
        ({"link__0__bandwidth": "fast"}, "link-0-bandwidth", "Enter a number."),
        ({"link__0__bandwidth": "-3"}, "link-0-bandwidth", "greater than or equal to 0"),
        ({"name": "two regions"}, "name", "must be letters, digits"),
        ({"name": ""}, "name", "required"),
    ],
)
@pytest.mark.once
def test_a_mistake_is_told_beside_its_field_and_in_the_summary(planner, changes, field, said):
    answer = ask(planner, **changes)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert said in beside(page, field)
    assert said in summary(page)
    assert f'href="#{field}"' in page
    assert not Job.objects.exists()


def test_rows_are_added_and_taken_away_with_everything_that_was_typed(planner):
    page = ask(planner, add="prfaas", pd__0__share="half").content.decode()
    typed = filled(page)
    assert (typed["prfaas-0-name"], typed["prfaas-1-name"]) == ("west", "prfaas-1")
    assert typed["pd-0-share"] == "half"
    assert summary(page) == ""
    page = planner.post("/optimiser/clusters/", typed | {"remove": "prfaas-0"}).content.decode()
    assert filled(page)["prfaas-0-name"] == "prfaas-1"
    assert "prfaas-1-name" not in filled(page)
    assert not Job.objects.exists()


def test_another_pd_cluster_is_like_the_first(planner):
    typed = filled(ask(planner, add="pd").content.decode())
    assert (typed["pd-2-name"], typed["pd-2-scenario"], typed["pd-2-prfaas1"]) == ("pd-1", CASE, "west")
    assert typed["pd-2-share"] == ""


def test_there_is_always_a_pd_cluster_and_never_more_than_can_be_asked(planner):
    page = ask(planner, remove="pd-1").content.decode()
    assert 'value="pd-0" aria-label="Remove' not in page
    assert 'aria-label="Remove link 2"' in page
    many = {f"link__{at}__name": f"l{at}" for at in range(20)}
    page = ask(planner, add="link", **many).content.decode()
    assert "Add a link" not in page
    assert "link-20-name" not in page


@pytest.mark.parametrize("action", [{"add": "cake"}, {"remove": "cake-1"}, {"remove": "pd-999"}, {"remove": "x"}])
def test_a_button_that_is_none_changes_nothing(planner, action):
    assert filled(ask(planner, **action).content.decode())["pd-1-name"] == "two"


def test_who_signs_in_on_the_way_comes_back_to_what_was_typed(shipped, client):
    answer = ask(client, pd__0__share="55")
    back = parse_qs(urlsplit(answer.headers["Location"]).query)["next"][0]
    typed = filled(client.get(back).content.decode())
    del typed["csrfmiddlewaretoken"]
    assert {key: text for key, text in typed.items() if text} == {**FLEET, "pd-0-share": "55"}
    assert not Job.objects.exists()


def test_what_the_fleet_carries_with_its_routes_stages_and_links(planner):
    job = computed(planner)
    page = planner.get(f"/jobs/{job.pk}/").content.decode()
    head = text(page.split('id="answer-title">')[1].split("</h2>")[0])
    result = job.result
    assert head.startswith(f"The fleet carries {result['lambda_max_rps']:.3f} req/s at most; what binds is ")
    for each, shown in zip(result["pd"], page.split("data-cluster=")[1:], strict=True):
        said = text(shown.split("</tbody>")[0])
        (route,) = each["routes"]
        assert f"up to {route['threshold_tokens']:,.0f}" in said
        assert f"longer than {route['threshold_tokens']:,.0f}" in said
        assert f"west{route['link']}" in said.replace(" ", "")
    stages = page.split('data-table="stages"')[1].split("</table>")[0]
    assert stages.count("<progress") == len(result["stages"])
    assert stages.count(" binds") == len(result["binding"])
    links = text(page.split('data-table="links"')[1].split("</table>")[0])
    assert f"{result['links'][1]['egress_bps'] / 1e9:.2f}" in links
    costs = text(page.split('data-table="costs"')[1].split("</section>")[0])
    assert f"{result['cost']['usd_per_h']:,.2f}" in costs
    assert f"{result['cost']['usd_per_million_tokens']:.4g}" in costs
    assert f'href="/jobs/{job.pk}/result.json"' in page


def test_the_same_fleet_can_be_asked_again(planner):
    job = asked(planner, pd__0__prfaas2="west", pd__0__link2="b", link__0__bandwidth="")
    assert "Waits for a worker." in planner.get(f"/jobs/{job.pk}/").content.decode()
    Job.objects.filter(pk=job.pk).update(state="failed", error="why", finished_at=now())
    page = planner.get(f"/jobs/{job.pk}/").content.decode()
    again = unescape(re.search('href="([^"]*)">Ask again', page)[1])
    second = planner.post("/optimiser/clusters/", filled(planner.get(again).content.decode()))
    assert Job.objects.get(pk=second.headers["Location"].split("/")[2]).input == job.input


def test_what_the_form_has_no_room_for_is_not_asked_again(planner):
    job = computed(planner)
    job.input["fleet"]["pd"][0]["routes"] *= 3
    job.save()
    assert "Ask again" not in planner.get(f"/jobs/{job.pk}/").content.decode()
    Entry.objects.filter(kind="scenarios").delete()
    assert "Ask again" not in planner.get(f"/jobs/{job.pk}/").content.decode()


def test_an_unknown_scenario_or_job_is_not_found(planner):
    assert planner.get("/optimiser/clusters/?scenario=none-such").status_code == 404
    assert planner.get("/optimiser/clusters/?job=00000000-0000-0000-0000-000000000000").status_code == 404


def test_the_optimiser_and_its_forms_lead_to_it(planner):
    assert (
        'href="/optimiser/clusters/?scenario=case-study-naive"'
        in planner.get("/optimiser/?scenario=case-study-naive").content.decode()
    )
    assert 'href="/optimiser/clusters/' in planner.get("/optimiser/least_cost/").content.decode()


def test_without_any_scenario_the_page_says_what_to_do(nothing_stored, client):
    assert "Put one together" in client.get("/optimiser/clusters/").content.decode()
