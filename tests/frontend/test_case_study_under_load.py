"""The case study under load as the server sends its page: the table of a job, or how to get it."""

import csv
import io
import json
import re
from functools import cache
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import now

from frontend import under_load as pages
from planner import scenario, store, tasks
from planner.models import Job
from planner.simulating import side_by_side, under_load

pytestmark = pytest.mark.django_db
REQUESTS = 1000
NAMES = ("PrfaaS-PD", "Homogeneous PD", "Naive heterogeneous")


@pytest.fixture(autouse=True)
def few_requests(settings, shipped):
    settings.CASE_STUDY_REQUESTS = REQUESTS


@pytest.fixture
def planner():
    client = Client()
    client.force_login(User.objects.create_user("planner"))
    return client


@cache
def result(text):
    """What the parts of an input make together."""
    given, cut = json.loads(text), tasks.IN_PARTS["side_by_side"]
    kind, found = tasks.KINDS[cut.part], []
    for part in cut.parts(given):
        posed = kind.problem(part)
        found.append(kind.result(part, posed, kind.function(posed, lambda *news: None)))
    return json.dumps(cut.merge(given, found), allow_nan=False)


def succeeded(**changes):
    """A job that has simulated the scenarios as they are stored, without its parts."""
    job = under_load.submit()
    job.result = json.loads(result(json.dumps(job.input)))
    job.state, job.started_at, job.finished_at = "succeeded", now(), now()
    for name, value in changes.items():
        setattr(job, name, value)
    job.save()
    return job


def section(client):
    response = client.get("/case-study/")
    assert response.status_code == 200
    return response.content.decode().split('id="under-load"')[1].split("</section>")[0]


def rows(text):
    """The cells of each row of the table, without marks."""
    plain = re.sub(r"<abbr.*?</abbr>", "", text)
    found = re.findall(r'<tr data-row="(.*?)">(.*?)</tr>', plain, re.S)
    return [
        (name, [re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.S)]) for name, row in found
    ]


def edit(**fields):
    entry = store.named(store.SCENARIOS, scenario.SHIPPED[0])
    store.update(entry, entry.document | fields, revision=entry.revision)


def test_without_a_job_the_page_says_what_is_missing_and_how_long_it_takes(client, planner):
    text = section(client)
    assert "about a minute" in text
    assert "48 replications of 1,000 requests" in text
    assert "The paper has no figures under load" in text
    assert "<table" not in text
    assert "Sign in to simulate" in text
    assert "<form" not in text
    assert "csrfmiddlewaretoken" in section(planner)


def test_the_button_starts_one_job_and_the_page_follows_it(planner):
    for _ in range(2):
        answer = planner.post("/case-study/under-load/")
        assert (answer.status_code, answer["Location"]) == (302, "/case-study/#under-load")
    job = Job.objects.get()
    assert job.created_by.username == "planner"
    text = section(planner)
    assert f'data-job="{job.pk}"' in text
    assert f'data-socket="/ws/jobs/{job.pk}/"' in text
    assert "data-progress" in text
    assert "data-simulate" not in text


def test_a_stranger_is_asked_to_sign_in_and_starts_nothing(client):
    where = urlsplit(client.post("/case-study/under-load/")["Location"])
    assert (where.path, parse_qs(where.query)) == ("/login/", {"next": ["/case-study/"]})
    assert not Job.objects.exists()


def test_another_site_cannot_press_the_button():
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("planner"))
    assert client.post("/case-study/under-load/").status_code == 403
    assert client.get("/case-study/under-load/").status_code == 405


def test_the_table_has_what_the_job_has_found(planner):
    job = succeeded()
    text = section(planner)
    found = rows(text)
    assert [name for name, _ in found] == [f"{name}, {how}" for how in ("Poisson", "CV 4") * 2 for name in NAMES]
    for (_, cells), run in zip(found, job.result["runs"], strict=True):
        p90 = run["ttft_s"]["p90"]
        assert cells[1] == f"{run['rate_rps']:.3f}"
        assert cells[2] == f"{run['load'] * 100:.1f}"
        assert cells[5] == f"{p90['mean']:.2f} [{p90['low']:.2f}, {p90['high']:.2f}]"
        assert cells[8] == f"{run['steady']['ttft_unloaded_s']['p90']:.2f}"
    assert [cells[2] for _, cells in found[:6]] == ["85.0"] * 6
    assert [cells[1] for _, cells in found[6:]] == ["1.700"] * 6
    assert "The paper has no figures under load" in text
    assert "4 replications of 1,000 requests" in text
    # half of a step of 25 ms
    assert "Decode is simulated by request" in text
    assert "12.5 ms on average" in text
    assert "data-simulate" not in text


def test_every_computed_number_is_marked_and_none_that_was_chosen(planner):
    succeeded()
    for number, row in enumerate(re.findall(r"<tr data-row.*?</tr>", section(planner), re.S)):
        marks = ['data-kind="inferred"' in cell for cell in re.findall(r"<td.*?</td>", row, re.S)]
        rate, share = (True, False) if number < 6 else (False, True)
        assert marks == [False, rate, share, *[True] * 6]


def run(p90, low=None, high=None):
    bounds = {"mean": p90, "low": p90 - 0.1 if low is None else low, "high": p90 + 0.1 if high is None else high}
    return {"ttft_s": None if p90 == 0 else {"p90": bounds}}


@pytest.mark.parametrize(
    ("poisson", "bursts", "said"),
    [
        ((4, 12, 5), (13, 57, 29), "4.00 s with PrfaaS-PD, 12.00 s with Homogeneous PD and 5.00 s with Naive "
         "heterogeneous; with bursts (CV 4) it is 13.00 s, 57.00 s and 29.00 s: "
         "PrfaaS-PD has the shortest both times."),
        ((4, 12, 5), (13, 57, 9), "the shortest has PrfaaS-PD at first, and Naive heterogeneous in bursts."),
        ((4, 12, 4.1), (13, 57, 29), "the shortest has none beyond chance at first, and PrfaaS-PD in bursts."),
        ((4, 12, 4.1), (13, 12.9, 29), "none is the shortest beyond chance."),
        ((4, 12, 5), (13, 0, 0), "it is 13.00 s, not stable and not stable: PrfaaS-PD has the shortest both times."),
        ((0, 0, 0), (0, 0, 0), "none is the shortest beyond chance."),
    ],
)  # fmt: skip
def test_the_sentence_follows_from_the_numbers(poisson, bursts, said):
    own = [run(1)] * 6
    assert pages.sentence([*own, *map(run, poisson), *map(run, bursts)]).endswith(said)


def test_one_replication_alone_decides_nothing():
    alone = [{"ttft_s": {"p90": {"mean": mean, "low": None, "high": None}}} for mean in (1, 2, 3) * 4]
    assert pages.sentence(alone).endswith("none is the shortest beyond chance.")


def test_edited_scenarios_are_said_and_can_be_simulated_again(client, planner):
    succeeded()
    edit(routing={"policy": "threshold", "threshold_tokens": 25_000.0})
    text = section(planner)
    assert "of the scenarios as they were" in text
    assert "edited since" in text
    assert len(rows(text)) == 12
    assert "Simulate again" in text
    assert "Sign in to simulate again" in section(client)
    planner.post("/case-study/under-load/")
    text = section(planner)
    assert "data-progress" in text
    assert len(rows(text)) == 12
    assert "data-simulate" not in text


def test_figures_of_another_version_are_said_to_be(planner):
    succeeded(version="0.0.1")
    text = section(planner)
    assert "Version 0.0.1 has simulated these figures" in text
    assert "Simulate again" in text


def test_a_failed_attempt_is_told_and_can_be_repeated(planner):
    job = under_load.submit()
    Job.objects.update(state="failed", error="no memory")
    text = section(planner)
    assert f'The last attempt ended with an error: <a href="/jobs/{job.pk}/">' in text
    assert "data-simulate" in text


def test_scenarios_that_cannot_be_simulated_say_why(planner, settings):
    settings.CASE_STUDY_REQUESTS = 1
    text = section(planner)
    assert "runs.0.requests: 1 must be at least 100" in text
    assert "data-simulate" not in text
    assert planner.post("/case-study/under-load/").status_code == 302
    assert not Job.objects.exists()


def test_a_load_that_is_not_stable_has_no_ttft(planner):
    job = succeeded()
    job.result["runs"][7] |= {"stable": False, "ttft_s": None}
    job.save()
    cells = rows(section(planner))[7][1]
    assert cells[3] == "not stable"
    assert len(cells) == 6


def test_the_table_can_be_taken_away(planner):
    job = succeeded()
    text = section(planner)
    for ending in ("csv", "json"):
        assert f'href="/jobs/{job.pk}/result.{ending}"' in text
    found = list(csv.DictReader(io.StringIO(planner.get(f"/jobs/{job.pk}/result.csv").content.decode())))
    assert [line["arrivals"] for line in found] == ["Poisson"] * 3 + ["CV 4"] * 3 + ["Poisson"] * 3 + ["CV 4"] * 3
    for line, each in zip(found, job.result["runs"], strict=True):
        assert line["decode"] == "by_request"
        assert float(line["ttft_p90_s_mean"]) == each["ttft_s"]["p90"]["mean"]
        assert float(line["lambda_max_rps"]) == each["steady"]["lambda_max_rps"]
    assert planner.get(f"/jobs/{job.pk}/result.json").json()["result"] == job.result


def test_the_page_of_its_job_has_a_row_for_each_simulation(client):
    job = succeeded()
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    table = page.split('data-table="side-by-side"')[1].split("</table>")[0]
    assert table.count('<th scope="row">case-study-') == 12
    assert "s [95 %]" in table
    assert table.count('<td class="text">as given</td><td class="text">by request</td>') == 12


def test_one_replication_has_no_interval_on_its_page(client):
    given = {"scenario": scenario.load(scenario.SHIPPED[1]).document(), "rate_rps": 1.0, "requests": 100}
    asked = side_by_side.parse({"runs": [given | {"replications": 1}]}, store.STORED)
    frozen = asked.frozen()
    job = Job.objects.create(
        kind="side_by_side", scenario=asked.names, form="exact", version="1", state="succeeded", input=frozen,
        result=json.loads(result(json.dumps(frozen))),
    )  # fmt: skip
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert "[95 %]" not in page
    assert client.get(f"/jobs/{job.pk}/result.csv").content.decode().count("\n") == 2


def test_the_page_asks_the_database_little(planner, django_assert_max_num_queries):
    succeeded()
    planner.get("/case-study/")
    with django_assert_max_num_queries(6):
        planner.get("/case-study/")
