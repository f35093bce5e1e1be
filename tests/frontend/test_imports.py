"""The pages of imports as the server sends them: what a form shows is what is stored, and a refusal says what to do."""

import json
import re
from html import unescape
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner import store
from planner.catalog.traces.generate import conversations
from planner.models import Entry, Job, Upload

pytestmark = pytest.mark.django_db
GQA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 4, "hidden_size": 512,
    "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip
HYBRID = {
    "model_type": "falcon_h1", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 4, "head_dim": 64,
    "num_key_value_heads": 2, "mamba_d_ssm": 1024, "mamba_d_state": 64, "mamba_n_heads": 16, "mamba_d_head": 64,
    "mamba_n_groups": 1, "mamba_d_conv": 4, "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture
def writer(client, settings, tmp_path, django_user_model):
    settings.DATA_DIR = tmp_path
    client.force_login(django_user_model.objects.create(username="ada"))
    return client


def bring(client, kind, text, name="brought.json"):
    """The address of the preview."""
    answer = client.post("/catalogue/import/", {"kind": kind, "file": SimpleUploadedFile(name, text.encode())})
    assert answer.status_code == 302, answer.content.decode()
    return answer.headers["Location"]


def beside(page, field):
    """What is said to be wrong beside a field."""
    return unescape(re.sub("<[^>]+>", "", page.split(f'id="{field}-error">')[1].split("</p>")[0]))


def test_storing_takes_the_answers_that_the_form_shows(writer):
    address = bring(writer, "model", json.dumps(HYBRID))
    shown = {"name": "mine", "title": "My hybrid", "state_dtype": "bf16"}
    assert writer.post(address, {**shown, "do": "store"}).headers["Location"] == "/catalogue/models/mine/"
    entry = Entry.objects.get(kind="models", name="mine")
    assert entry.title == "My hybrid"
    states = {group["state_dtype"] for group in entry.document["layers"] if group["kind"] == "recurrent"}
    assert states == {"bf16"}


def test_a_trace_is_read_by_the_answers_that_the_form_shows(writer):
    address = bring(writer, "trace", conversations(), "busy.jsonl")
    writer.post(address, {"name": "quick", "timestamp_unit": "us", "do": "store"})
    assert Job.objects.get().input["choices"] == {"name": "quick", "timestamp_unit": "us"}


def test_reading_again_stores_nothing_and_keeps_the_answers(writer):
    address = bring(writer, "model", json.dumps(HYBRID))
    page = writer.post(address, {"name": "mine", "state_dtype": "bf16", "do": "read"}).content.decode()
    assert 'name="name" value="mine"' in page
    assert "<option selected>bf16</option>" in page
    assert not Entry.objects.exists()


def test_every_button_of_a_preview_belongs_to_the_form_with_the_answers(writer):
    page = writer.get(bring(writer, "model", json.dumps(GQA))).content.decode().split("<main")[1]
    assert page.count("<form") == 1
    assert re.search('<button[^>]*form="answers"[^>]*>Store 1 entry', page)


def test_a_name_that_is_taken_meanwhile_is_told_with_everything_that_was_typed(writer):
    address = bring(writer, "model", json.dumps(GQA))
    store.create("models", {"name": "mine", "layers": [
        {"kind": "attention", "layers": 1, "kv_heads": 1, "key_dim": 8, "value_dim": 8}]})  # fmt: skip
    page = writer.post(address, {"name": "mine", "title": "Other", "do": "store"}).content.decode()
    assert "is taken among models" in page
    assert 'value="Other"' in page


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["poem", ""])
def test_an_unknown_kind_is_told_and_never_read_as_another(writer, kind):
    answer = writer.post("/catalogue/import/", {"kind": kind, "text": json.dumps(GQA)})
    assert answer.status_code == 400
    assert beside(answer.content.decode(), "kind").startswith("Say what it is: one of model,")
    assert "LlamaForCausalLM" in answer.content.decode()
    assert not Upload.objects.exists()


def test_nothing_brought_is_told_beside_the_text(writer):
    answer = writer.post("/catalogue/import/", {"kind": "model"})
    assert (answer.status_code, beside(answer.content.decode(), "text")) == (400, "It is empty.")


def test_a_file_that_is_too_large_is_told_beside_the_file(writer, settings):
    settings.UPLOAD_MAX_BYTES = 10
    file = SimpleUploadedFile("large.json", b"x" * 100)
    page = writer.post("/catalogue/import/", {"kind": "model", "file": file}).content.decode()
    assert "It is larger than" in beside(page, "file")


def test_pasted_text_over_the_limit_is_told_beside_the_text(writer):
    answer = writer.post("/catalogue/import/", {"kind": "model", "text": "x" * (8 * 2**20 + 1)})
    assert answer.status_code == 413
    assert "longer than the 8 MiB" in beside(answer.content.decode(), "text")


def test_more_fields_than_any_form_has_are_refused_in_words(writer):
    answer = writer.post("/catalogue/import/", {"kind": "model", **{f"field{at}": "1" for at in range(1100)}})
    assert answer.status_code == 400
    assert "More than 1,000 fields" in beside(answer.content.decode(), "kind")


def test_a_file_name_that_is_too_long_is_told_beside_the_file(writer):
    body = (
        '--limit\r\nContent-Disposition: form-data; name="kind"\r\n\r\nmodel\r\n'
        f'--limit\r\nContent-Disposition: form-data; name="file"; filename="{"n" * 5000}.json"\r\n'
        "Content-Type: application/json\r\n\r\n{}\r\n--limit--\r\n"
    )
    answer = writer.post("/catalogue/import/", body.encode(), content_type="multipart/form-data; boundary=limit")
    assert answer.status_code == 400
    assert "name is too long" in beside(answer.content.decode(), "file")


@pytest.mark.parametrize("address", ["/optimiser/least_cost/", "/login/"])
def test_any_other_page_says_why_it_takes_no_such_form(writer, address):
    answer = writer.post(address, {f"field{at}": "1" for at in range(1100)})
    assert answer.status_code == 400
    assert "More than 1,000 fields were sent" in answer.content.decode()
    assert "PrfaaS Planner" in answer.content.decode()


# --- what is not there -------------------------------------------------------------------------------------------


def test_a_file_that_is_no_longer_kept_is_missed_in_our_words(writer):
    answer = writer.get(f"/catalogue/import/{uuid4()}/")
    assert answer.status_code == 404
    assert "forgotten a day after it was brought" in answer.content.decode()


@pytest.mark.parametrize("address", [f"/jobs/{uuid4()}/", "/scenarios/none-such/", "/nowhere/"])
def test_whatever_is_missing_leads_on(client, address):
    answer = client.get(address)
    page = answer.content.decode()
    assert (answer.status_code, "matches the given query" in page, "Nothing is here" in page) == (404, False, True)
    assert 'href="/catalogue/"' in page


@pytest.mark.parametrize(("names", "said"), [(["x1"], "1 entry stored"), (["x1", "x2"], "2 entries stored")])
def test_what_was_stored_is_counted_in_words(writer, names, said):
    chips = [{"name": name, "tdp_w": 700.0} for name in names]
    address = bring(writer, "catalogue", json.dumps({"schema_version": 1, "hardware": chips}))
    assert said in writer.post(address, {"do": "store"}, follow=True).content.decode()
