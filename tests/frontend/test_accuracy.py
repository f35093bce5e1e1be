"""The accuracy pages as the server sends them: every error with its reason, a profile fitted only on demand."""

import json
import re
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner import store

pytestmark = pytest.mark.django_db
CSV = "input_tokens,output_tokens,concurrency,ttft_mean_s,ttft_p90_s\n1024,128,1,0.4,0.5\n32768,128,1,2.0,2.1\n"
PLACE = {"model": "internal-1t-hybrid", "hardware": "h200", "gpus_per_instance": "8"}


@pytest.fixture
def writer(shipped, client, settings, tmp_path, django_user_model):
    settings.DATA_DIR = tmp_path
    client.force_login(django_user_model.objects.create(username="ada"))
    return client


def bring(client, text=CSV, name="mine", file="runs.csv", **changed):
    address = client.post("/catalogue/import/", {"kind": "runs", "file": SimpleUploadedFile(file, text.encode())})
    answer = client.post(address.headers["Location"], {**PLACE, "name": name, "do": "store", **changed})
    assert answer.status_code == 302, answer.content.decode()
    return answer.headers["Location"]


def page_of(client, address, status=200):
    response = client.get(address)
    assert response.status_code == status, response.content.decode()[:2000]
    return response.content.decode()


def text(page):
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<abbr.*?</abbr>", "", page, flags=re.S)).split()))


def rows_of(page, table):
    found = re.search(rf"<table[^>]* {table}>(.*?)</table>", page, re.S)[1]
    return [text(row) for row in re.findall(r"<tr.*?</tr>", found, re.S)]


@pytest.mark.usefixtures("shipped")
def test_the_case_study_has_every_figure_its_rounding_and_its_bias(client):
    page = page_of(client, "/accuracy/")
    rows = rows_of(page, "data-table-6")
    assert len(rows) == 2 + 20
    # the paper prints 13 Gbps, which half a Gbps either way makes 3.8 %; ours is 12.22 in its form
    assert "PrfaaS-PD Egress Gbps 13 3.8 12.22 −6.0 12.01 −7.6" in rows
    assert [row.split()[0] for row in rows_of(page, "data-summaries")[1:]] == ["exact", "exact", "paper", "paper"]
    assert "Representative length" in text(page)


@pytest.mark.usefixtures("shipped")
def test_measured_runs_are_counted_by_whether_a_profile_is_of_them(client):
    page = page_of(client, "/accuracy/")
    assert "18 of 398 runs" in text(page)
    without = rows_of(page, "data-without-profile")[1:]
    assert sum(int(row.split()[-1]) for row in without) == 398 - 18
    assert len(rows_of(page, "data-all")) == 51
    assert page_of(client, "/accuracy/?page=2") != page


@pytest.mark.usefixtures("shipped")
def test_every_figure_of_the_page_has_a_mark(client):
    page = page_of(client, "/accuracy/?page=1")
    body = re.search(r"data-all>.*?<tbody>(.*?)</table>", page, re.S)[1]
    for row in re.findall(r"<tr>.*?</tr>", body, re.S):
        assert 'data-kind="measured"' in row


def test_runs_are_brought_compared_by_percentile_and_by_length(writer):
    assert bring(writer) == "/catalogue/measurements/mine/"
    assert "0.4" in text(page_of(writer, "/catalogue/measurements/mine/"))
    page = page_of(writer, "/accuracy/mine/")
    rows = rows_of(page, "data-errors")
    # 0.44 s predicted for 0.4 s and 1.84 s for 2.0 s: +10 % and -8 %; for the P90 -12 % and -12.4 %.
    assert "TTFT, mean all a value 2 +1.0 9.1 10.0" in rows
    assert "TTFT, P90 all a value 2 −12.2 12.2 12.4" in rows
    assert "TTFT, mean 32K to 64K a value 1 −8.0 8.0 8.0" in rows
    assert "mine" in text(re.search(r"data-own>(.*?)</section>", page_of(writer, "/accuracy/"), re.S)[1])


def test_what_is_not_compared_says_why(writer):
    bring(writer, "input_tokens,rate_rps,ttft_mean_s,throughput_rps\n1024,2,0.9,2\n")
    page = text(page_of(writer, "/accuracy/mine/"))
    assert "TTFT, mean, 1 figure: requests came at a rate, so that they waited for others" in page
    assert "Throughput, 1 figure: it is of a whole deployment: choose the scenario that was run" in page
    other = text(page_of(writer, "/accuracy/mine/?profile=minimax-m2-5-h200x8"))
    assert "Nothing is compared with this profile: another thing was measured: the model" in other


def test_a_profile_that_is_not_there_is_told_beside_the_form(writer):
    bring(writer)
    assert "profile: 'nope' is not among the stored profiles" in text(
        page_of(writer, "/accuracy/mine/?profile=nope", 400)
    )
    page_of(writer, "/accuracy/nothing/", 404)


def test_a_fit_is_shown_before_it_is_stored_and_replaces_nothing(writer):
    bring(writer)
    page = page_of(writer, "/accuracy/mine/refit/?profile=internal-1t-hybrid-h200x8")
    rows = rows_of(page, "data-before-after")
    assert "before: internal-1t-hybrid-h200x8 TTFT, mean 2 +1.0 9.1 10.0" in rows
    assert "after: fitted TTFT, mean 2 0.0 0.0 0.0" in rows
    assert "Stored scenarios keep the figures" in text(page)
    assert store.named("profiles", "mine-refit") is None
    answer = writer.post("/accuracy/mine/refit/", {"do": "new", "name": "mine-refit"})
    assert answer.headers["Location"] == "/catalogue/profiles/mine-refit/"
    document = store.named("profiles", "mine-refit").document
    assert document["prefill"] == {"tokens": [1024, 32768], "seconds": [0.4, 2.0], "interpolation": "log_log"}
    assert document["provenance"]["prefill"]["kind"] == "measured"
    assert "runs.csv" in document["provenance"]["prefill"]["source"]
    assert store.named("profiles", "internal-1t-hybrid-h200x8").revision == 1


def test_a_new_revision_is_made_only_of_the_one_that_was_seen(writer):
    bring(writer)
    posted = {"do": "revision", "profile": "internal-1t-hybrid-h200x8", "revision": "1"}
    assert writer.post("/accuracy/mine/refit/", posted).status_code == 302
    assert store.named("profiles", "internal-1t-hybrid-h200x8").revision == 2
    late = writer.post("/accuracy/mine/refit/", posted)
    assert late.status_code == 400
    assert "was changed by somebody else" in text(late.content.decode())
    assert store.named("profiles", "internal-1t-hybrid-h200x8").revision == 2


def test_a_taken_name_is_told_and_kept_in_the_form(writer):
    bring(writer)
    answer = writer.post("/accuracy/mine/refit/", {"do": "new", "name": "internal-1t-hybrid-h200x8"})
    assert answer.status_code == 400
    assert 'value="internal-1t-hybrid-h200x8"' in answer.content.decode()


def test_runs_under_load_are_not_fitted(writer):
    page = page_of(writer, "/accuracy/minimax-m2-5-h200x8-vllm-0-18-0-fp8/refit/", 400)
    assert "waiting in it" in text(page)
    assert "Store as a new profile" not in page


def test_only_who_is_signed_in_can_fit(shipped, client):
    answer = client.post("/accuracy/minimax-m2-5-h200x8-vllm-0-18-0-fp8/refit/", {"do": "new", "name": "x"})
    assert (answer.status_code, answer.headers["Location"].split("?")[0]) == (302, "/login/")
    assert "Sign in to fit a profile" in page_of(client, "/accuracy/minimax-m2-5-h200x8-vllm-0-18-0-fp8/")


def test_a_benchmark_of_another_tool_can_be_brought(writer):
    result = {"completed": 50, "total_input_tokens": 51200, "total_output_tokens": 6400, "mean_ttft_ms": 400.0,
              "p99_ttft_ms": 900.0, "mean_tpot_ms": 7.5, "max_concurrency": 1, "request_throughput": 1.5}  # fmt: skip
    bring(writer, json.dumps(result), file="vllm.json")
    (run,) = store.named("measurements", "mine").document["rows"]
    assert (run["ttft_p99_s"], run["throughput_rps"], run["concurrency"]) == (0.9, 1.5, 1)
