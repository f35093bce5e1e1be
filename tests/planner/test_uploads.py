"""Files to import: taken whole or not at all, tried before they are stored, and traces read once to the end."""

import gzip
import json

import numpy as np
import pytest

from planner import process, seeding, store, tasks, uploads
from planner.catalog import files
from planner.catalog.traces.generate import completions, conversations
from planner.documents.errors import DocumentError
from planner.engine.traces import decode
from planner.models import Entry, Job, Trace, TraceChunk, Upload

pytestmark = pytest.mark.django_db
GQA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 4, "hidden_size": 512,
    "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture(autouse=True)
def data_directory(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def take(kind, content, name="file"):
    return uploads.take(kind, name, [content if isinstance(content, bytes) else content.encode()])


def import_trace(upload, **choices):
    """As a worker would do it, without the child process."""
    job = uploads.submit_trace(upload, choices)
    kind = tasks.KINDS[job.kind]
    order = kind.problem(job.input)
    return kind.result(job.input, order, kind.function(order, lambda done, total, message: None))


def test_a_model_is_shown_before_it_is_stored_and_gone_after():
    upload = take("model", json.dumps(GQA), "tiny.config.json")
    seen = uploads.preview(upload, {})
    assert [(put.entry.kind, put.entry.name, put.status) for put in seen.found] == [("models", "tiny", "new")]
    assert not Entry.objects.exists()
    uploads.keep(upload, {"name": "tiny-llama", "title": "Tiny"})
    entry = Entry.objects.get(kind="models")
    assert (entry.name, entry.title, entry.document["layers"][0]["kv_heads"]) == ("tiny-llama", "Tiny", 2)
    assert not Upload.objects.exists()
    assert not upload.path.exists()


def test_what_cannot_be_read_is_told_and_nothing_is_stored():
    seen = uploads.preview(take("model", '{"model_type": "rwkv"}'), {})
    assert seen.errors
    assert not seen.found
    assert not Entry.objects.exists()


@pytest.mark.parametrize("content", [b"", b"x" * 2000])
def test_a_file_that_is_empty_or_too_large_is_not_taken(settings, content):
    settings.UPLOAD_MAX_BYTES = 1000
    with pytest.raises(DocumentError):
        take("model", content)
    assert not Upload.objects.exists()
    assert not list((settings.DATA_DIR / "uploads").iterdir())


def test_a_name_from_outside_cannot_choose_where_the_file_goes(settings):
    upload = take("model", json.dumps(GQA), "../../evil.json")
    assert upload.name == "evil.json"
    assert upload.path == settings.DATA_DIR / "uploads" / str(upload.pk) / "evil.json"


def test_prices_are_stored_all_or_none():
    seeding.seed()
    good = "hardware,date,provider,kind,usd_per_gpu_hour\nh200,2026-11-01,Acme,on_demand,3.10\n"
    bad = good + "h200,2026-11-02,Acme,on_demand,cheap\n"
    before = Entry.objects.count()
    assert any("line 3" in str(error) for error in uploads.preview(take("prices", bad), {}).errors)
    with pytest.raises(DocumentError, match="line 3"):
        uploads.keep(take("prices", bad), {})
    assert Entry.objects.count() == before
    uploads.keep(take("prices", good), {})
    assert Entry.objects.count() == before + 1


def test_a_price_list_may_call_chips_otherwise_and_what_nobody_knows_can_be_chosen():
    seeding.seed()
    text = "hardware,kind,usd_per_gpu_hour\nNVIDIA H200 SXM,spot,3\nH100 PCIe,spot,2\n"
    upload = take("prices", text)
    seen = uploads.preview(upload, {})
    assert [each.field for each in seen.assumptions][:2] == ["hardware:nvidia-h200-sxm", "hardware:h100-pcie"]
    assert [error.field for error in seen.errors] == ["prices.h100-pcie-spot.hardware"]
    put = uploads.keep(upload, {"hardware:h100-pcie": "h100"})
    assert [each.entry.document["hardware"] for each in put] == ["h200", "h100"]


def test_entries_of_one_file_may_name_each_other():
    chip = {"name": "x1", "title": "X1"}
    offer = {"name": "x1-acme", "hardware": "x1", "kind": "spot", "usd_per_gpu_hour": 2.0}
    whole = {"schema_version": 1, "prices": [offer], "hardware": [chip]}
    upload = take("catalogue", files.as_yaml(whole))
    assert [(put.entry.name, put.status) for put in uploads.preview(upload, {}).found] == [
        ("x1", "new"),
        ("x1-acme", "new"),
    ]
    assert not Entry.objects.exists()
    uploads.keep(upload, {})
    assert Entry.objects.count() == 2


def test_traffic_whose_requests_are_not_here_comes_without_them_and_says_so():
    seeding.seed()
    known = store.written(Entry.objects.get(name="synthetic-completions"))
    traffic = {**known, "name": "mine", "trace": "ab" * 32}
    for document in (traffic, {"schema_version": 1, "traffic": [traffic]}):
        seen = uploads.preview(take("catalogue", files.as_yaml(document)), {})
        assert [put.status for put in seen.found] == ["new"]
        assert "the recorded requests of 'mine' are not stored here" in seen.notes[0]
    uploads.keep(take("catalogue", files.as_yaml(traffic)), {})
    assert store.written(store.named("traffic", "mine")) == {
        field: value for field, value in traffic.items() if field != "trace"
    }


@pytest.mark.parametrize(("make", "name"), [(conversations, "conversations.jsonl"), (completions, "completions.csv")])
def test_a_trace_is_stored_once_with_its_requests_and_its_statistics(make, name):
    text = make()
    shown = import_trace(take("trace", gzip.compress(text.encode()), name + ".gz"))
    entry = Entry.objects.get(kind="traffic")
    assert shown["entry"] == {"kind": "traffic", "name": name.split(".")[0]}
    assert entry.document["trace"] == Trace.objects.get().digest
    chunks = [decode(bytes(chunk.data)) for chunk in TraceChunk.objects.all()]
    inputs = np.concatenate([chunk.input_tokens for chunk in chunks])
    rows = text.strip().split("\n")
    assert inputs.size == shown["facts"]["rows"] == Trace.objects.get().rows == len(rows) - (name.endswith("csv"))
    column = (
        [json.loads(row)["input_length"] for row in rows]
        if "jsonl" in name
        else [int(r.split(",")[1]) for r in rows[1:]]
    )
    assert sorted(inputs) == sorted(column)
    assert shown["facts"]["input_tokens"]["mean"] == pytest.approx(np.mean(column))


def test_the_same_trace_under_another_name_is_not_stored_again():
    import_trace(take("trace", completions(), "a.csv"))
    import_trace(take("trace", completions(), "a.csv"), name="b")
    assert Entry.objects.filter(kind="traffic").count() == 2
    assert Trace.objects.count() == 1


def test_a_trace_that_is_no_trace_is_refused_before_a_job_is_made():
    with pytest.raises(DocumentError):
        uploads.submit_trace(take("trace", "t,running,waiting\n1.0,5,2\n2.0,6,3\n"), {})
    assert not Job.objects.exists()


def test_a_trace_that_breaks_late_stores_nothing():
    upload = take("trace", completions() + "2026-01-05 10:00:00,many,3\n", "broken.csv")
    with pytest.raises(DocumentError, match="line 1502"):
        import_trace(upload)
    assert not Entry.objects.exists()
    assert not Trace.objects.exists()


def test_stored_traffic_makes_a_scenario_of_recorded_lengths():
    seeding.seed()
    import_trace(take("trace", conversations(), "conversations.jsonl"))
    document = {**Entry.objects.get(kind="scenarios", name="case-study-prfaas-pd").document, "name": "mine"}
    entry = store.create("scenarios", {**document, "traffic": "conversations"})
    assert entry.document["traffic"]["input_tokens"]["distribution"] == "empirical"
    assert store.scenario_of(entry).provenance("traffic.input_tokens.samples")["kind"] == "measured"


def test_a_recorded_trace_does_not_replace_another_and_no_words_offer_it():
    import_trace(take("trace", completions(), "a.csv"))
    upload = take("trace", completions(), "a.csv")
    for choices in ({}, {"replace": "yes"}):
        (error,) = uploads.preview(upload, choices).errors
        assert error.message == "is taken among traffic; choose another name"
        with pytest.raises(DocumentError, match=r"choose another name$"):
            uploads.submit_trace(upload, choices)


def test_a_job_that_is_refused_says_why_in_the_same_words(monkeypatch):
    monkeypatch.setattr(process, "make_ready", lambda: None)
    monkeypatch.setattr(
        process, "run", lambda function, problem, on_progress, should_stop: function(problem, lambda *told: None)
    )
    job = uploads.submit_trace(take("trace", completions(), "a.csv"), {})
    import_trace(take("trace", completions(), "a.csv"))
    tasks.run_job(str(job.pk), job.attempt)
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", "name: 'a' is taken among traffic; choose another name")


def test_of_a_large_trace_only_the_beginning_is_read_for_the_page(settings):
    settings.PREVIEW_MAX_BYTES = 1000
    upload = take("trace", completions(), "large.csv")
    seen = uploads.preview(upload, {})
    assert (seen.is_whole, seen.found, seen.errors) == (False, (), ())
    assert [each.theirs for each in seen.mapping][:2] == ["TIMESTAMP", "ContextTokens"]
    assert "Only the beginning" in seen.notes[0]
    assert import_trace(upload)["facts"]["rows"] == 1500


@pytest.mark.parametrize(
    ("kind", "name"), [("hardware", "h200"), ("models", "ring-2-5-1t"), ("links", "case-study-100g")]
)
def test_an_entrys_own_export_is_read_back_without_a_word_about_its_kind(kind, name):
    seeding.seed()
    entry = Entry.objects.get(kind=kind, name=name)
    document = {**store.written(entry), "name": "copy"}
    assert [put.entry.kind for put in uploads.keep(take("catalogue", files.as_yaml(document)), {})] == [kind]


@pytest.mark.parametrize("text", ["name: a\n", "name: a\ntitle: A\nnotes: what\n"])
def test_a_lone_entry_that_says_nothing_of_its_kind_is_no_hardware(text):
    with pytest.raises(DocumentError, match=r"says nothing of its kind.*hardware, models"):
        uploads.keep(take("catalogue", text), {})


def test_a_lone_entry_that_is_none_is_told_what_is_wrong_with_it():
    with pytest.raises(DocumentError, match="tdp_w"):
        uploads.keep(take("catalogue", "name: x\nmemory_bytes: 1.0e9\ntdp_w: hot\n"), {})


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("Qwen--Qwen3.5-397B-A17B_config.json", "qwen-qwen3-5-397b-a17b"),
        ("qwen3-next.config.json", "qwen3-next"),
        ("trace.jsonl.gz", "trace"),
    ],
)
def test_a_name_is_made_of_the_files_without_its_endings(file, name):
    assert uploads.name_of(Upload(name=file)) == name


@pytest.mark.parametrize(
    ("said", "file", "name"),
    [
        ({"_name_or_path": "acme/Tiny-7B"}, "config.json", "tiny-7b"),
        ({"_name_or_path": "/data/models/Tiny-7B/"}, "config (1).json", "tiny-7b"),
        ({"_name_or_path": "acme/Tiny-7B"}, "something.config.json", "tiny-7b"),
        ({}, "tiny.config.json", "tiny"),
        ({}, "config.json", "llama"),
        ({}, "pasted text", "llama"),
        ({"model_type": None}, "config.json", "llama"),
    ],
)
def test_a_model_is_called_what_it_calls_itself_before_what_its_file_is_called(said, file, name):
    upload = take("model", json.dumps({**GQA, **said}), file)
    assert uploads.read(upload, {})[0].document["name"] == name
    assert uploads.read(upload, {"name": "mine"})[0].document["name"] == "mine"


@pytest.mark.parametrize(
    ("file", "name"),
    [("results.json", "tiny-h200x8"), ("profile_export_aiperf.csv", "tiny-h200x8"), ("tiny-tp8.csv", "tiny-tp8")],
)
def test_a_profile_is_not_called_results(file, name):
    upload = take("profile", "tokens,seconds\n1024,0.1\n8192,0.9\n", file)
    given = {"model": "tiny", "hardware": "h200", "gpus_per_instance": "8"}
    assert uploads.read(upload, given)[0].document["name"] == name


def test_a_source_names_the_file_and_not_where_it_was_kept():
    upload = take("model", json.dumps(GQA), "tiny.json")
    document = uploads.read(upload, {})[0].document
    assert "tiny.json" in json.dumps(document)
    assert str(upload.pk) not in json.dumps(document)


def test_an_import_replaces_what_is_stored_only_when_told_so():
    uploads.keep(take("model", json.dumps(GQA), "config.json"), {})
    other = take("model", json.dumps({**GQA, "num_key_value_heads": 4}), "config.json")
    assert "choose another name, or say replace" in str(uploads.preview(other, {}).errors[0])
    with pytest.raises(DocumentError, match="is taken among models"):
        uploads.keep(other, {})
    assert Entry.objects.get().document["layers"][0]["kv_heads"] == 2
    uploads.keep(other, {"replace": "yes"})
    assert (Entry.objects.get().document["layers"][0]["kv_heads"], Entry.objects.get().revision) == (4, 2)


def test_two_entries_of_one_name_in_a_file_are_refused():
    twice = {"schema_version": 1, "hardware": [{"name": "x1"}, {"name": "x1", "tdp_w": 700.0}]}
    with pytest.raises(DocumentError, match="stands 2 times"):
        uploads.keep(take("catalogue", files.as_yaml(twice)), {})
    assert not Entry.objects.exists()
