"""The list of jobs, a job's page in each state, and the files that it offers."""

import csv
import io
import uuid
from functools import cache

import pytest
from django.utils.timezone import now

from planner import evaluation, scenario
from planner.models import Job

pytestmark = pytest.mark.django_db


@cache
def optimum():
    return evaluation.optimize(scenario.load("case-study-prfaas-pd"))


MAP = {
    "bandwidth_bps": [5e10, 1e11], "sigma": [0.9, 1.0, 1.1], "prefill_instances": [2, 3],
    "lambda_max_rps": [[[1.0, 2.0]] * 3] * 2, "threshold_tokens": [[[100.0, None]] * 3] * 2,
    "best_lambda_max_rps": [[2.0] * 3] * 2, "best_threshold_tokens": [[None] * 3] * 2,
    "best_prefill_instances": [[3] * 3] * 2, "given": {"bandwidth_bps": 1e11, "sigma": 1.0},
}  # fmt: skip


def make(**values):
    document = scenario.load("case-study-prfaas-pd").document()
    job = Job(
        kind="optimize", scenario="case-study-prfaas-pd", form="exact", version="0.1.0",
        input={"scenario": document, "form": "exact", "map": True},
    )  # fmt: skip
    for name, value in values.items():
        setattr(job, name, value)
    job.save()
    return job


def succeeded():
    return make(
        state="succeeded", done=7, total=7, started_at=now(), finished_at=now(), result={**optimum(), "map": MAP}
    )


def page_of(client, job):
    response = client.get(f"/jobs/{job.pk}/")
    assert response.status_code == 200
    return response.content.decode()


def test_an_empty_list_says_what_to_do(client):
    assert "press <em>Optimise</em>" in client.get("/jobs/").content.decode()


def test_counts_in_the_list_are_grouped_and_say_of_what(client):
    make(state="running", done=1_234_567, total=20_000_000)
    make(kind="simulate", state="running", done=7, total=9)
    page = client.get("/jobs/").content.decode()
    assert "1,234,567 / 20,000,000</span> steps" in page
    assert "7 / 9</span> requests" in page
    # how much there is to do, a worker says as it begins
    queued = make()
    assert "0 / 0" not in client.get("/jobs/").content.decode() + page_of(client, queued)


def test_the_list_is_cut_into_pages_newest_first(client, django_assert_max_num_queries):
    jobs = [make() for _ in range(26)]
    with django_assert_max_num_queries(4):
        first = client.get("/jobs/").content.decode()
    assert str(jobs[-1].pk) in first
    assert str(jobs[0].pk) not in first
    assert "Page 1 of 2" in first
    assert str(jobs[0].pk) in client.get("/jobs/?page=2").content.decode()


def test_an_unknown_page_of_the_list_is_the_nearest(client):
    make()
    assert client.get("/jobs/?page=99").status_code == 200
    assert client.get("/jobs/?page=x").status_code == 200


def test_a_running_job_shows_how_far_it_is(client):
    page = page_of(client, make(state="running", done=12, total=188, message="mapping", started_at=now()))
    assert "12 / 188" in page
    assert "mapping" in page
    assert 'value="12"' in page


def test_a_second_attempt_is_explained(client):
    page = page_of(client, make(state="running", attempt=2, started_at=now()))
    assert 'data-attempt>Attempt <span data-fact="attempt">2</span>: taken up again after its worker died.' in page


@pytest.mark.parametrize("state", ["failed", "lost"])
def test_a_job_without_result_says_why(client, state):
    page = page_of(client, make(state=state, error="The reason <b>", finished_at=now()))
    assert "The reason &lt;b&gt;" in page


def test_changes_are_offered_to_users_only(client, admin_client):
    running, ended = make(state="running", started_at=now()), make(state="cancelled", finished_at=now())
    assert "data-ask-cancel" not in page_of(client, running)
    assert "data-ask-cancel" in page_of(admin_client, running)
    assert "data-again" not in page_of(client, ended)
    assert "data-again" in page_of(admin_client, ended)


def test_the_result_stands_beside_what_was_given(client):
    page = page_of(client, succeeded())
    assert "PrfaaS compute and PD-P" in page
    assert "3.122" in page
    assert "3.139" in page
    assert 'id="job-map"' in page


def test_what_the_search_found_is_marked_apart_from_what_was_published(client):
    threshold = page_of(client, succeeded()).split('data-row="Threshold t"')[1].split("</tr>")[0]
    assert threshold.index('data-kind="published"') < threshold.index('data-kind="estimated"')


def test_the_websocket_address_follows_a_prefix(client, under_a_prefix):
    job = make()
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert f'data-socket="/planner/ws/jobs/{job.pk}/"' in page


def test_what_users_named_is_escaped(client):
    job = make(scenario="<script>alert(1)</script>", message="<i>")
    for address in ("/jobs/", "/case-study/", f"/jobs/{job.pk}/"):
        assert "<script>alert" not in client.get(address).content.decode()


def test_an_unknown_job_is_not_found(client):
    assert client.get(f"/jobs/{uuid.uuid4()}/").status_code == 404


def test_the_result_can_be_taken_away_as_json(client):
    job = succeeded()
    response = client.get(f"/jobs/{job.pk}/result.json")
    assert f"case-study-prfaas-pd-{str(job.pk)[:8]}.json" in response.headers["Content-Disposition"]
    assert response.json()["result"]["lambda_max_rps"] == pytest.approx(3.139, abs=5e-4)
    assert response.json()["input"]["form"] == "exact"


def test_the_map_can_be_taken_away_as_csv(client):
    lines = list(csv.reader(io.StringIO(client.get(f"/jobs/{succeeded().pk}/result.csv").content.decode())))
    assert lines[0] == ["bandwidth_bps", "sigma", "prefill_instances", "lambda_max_rps", "threshold_tokens"]
    assert lines[1] == ["50000000000.0", "0.9", "2", "1.0", "100.0"]
    assert lines[2][-1] == ""
    assert len(lines) == 1 + 2 * 3 * 2


def test_there_is_no_file_of_a_job_without_result(client):
    job = make(state="running")
    assert client.get(f"/jobs/{job.pk}/result.json").status_code == 404
    assert client.get(f"/jobs/{job.pk}/result.csv").status_code == 404


def test_a_name_cannot_break_out_of_the_file_name(client):
    job = succeeded()
    Job.objects.update(scenario='a"; b\r\nc')
    header = client.get(f"/jobs/{job.pk}/result.json").headers["Content-Disposition"]
    assert header == f'attachment; filename="a---b--c-{str(job.pk)[:8]}.json"'
